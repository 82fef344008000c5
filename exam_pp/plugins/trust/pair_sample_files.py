"""Files of sampled pairs, and the pairs of one that a person labels, checked against the graded file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Format, Schema, register
from exam_pp.formats.sample import fits
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.plugins.trust.pair_sample import FORMAT, PairSample, drawn_number
from exam_pp.prompts.base import with_aliases
from exam_pp.store.edits import file_sha256
from exam_pp.store.files import write_text
from exam_pp.store.parsing import read_document


def read_pair_sample(path: str | Path) -> PairSample:
    """Read a file of sampled pairs."""
    hint = " Write it with exam-pp sample-pairs; the same graded file, options and seed give the same pairs."
    sample = read_document(PairSample, path, FORMAT, "a sample of pairs", hint)
    counts = Counter((pair.query_id, pair.passage_id, pair.entry_id) for pair in sample.pairs)
    for key, count in counts.items():
        if count > 1:
            query_id, passage_id, entry_id = key
            raise DataError(
                f"has passage {passage_id!r} with entry {entry_id!r} of query {query_id!r} {count} "
                "times; keep one of them.",
                file=str(path),
            )
    _check_draw(sample, path)
    return sample


def _check_draw(sample: PairSample, path: str | Path) -> None:
    """Raise :class:`DataError` if pairs, population, probabilities and seed contradict each other.

    The probabilities of pairs that were not drawn are unknown, but not below the lowest.
    """
    numbers = {(pair.query_id, pair.passage_id, pair.entry_id): at for at, pair in enumerate(sample.pairs, 1)}
    lowest = sample.lowest_probability
    for key in sample.could_be_drawn():
        number = drawn_number(sample.by, sample.seed, *key)
        at = numbers.pop(key, None)
        probability = lowest if at is None else sample.pairs[at - 1].probability
        if probability < lowest or (probability > lowest and sample.by in ("even", "entry")):
            problem = f"contradicts lowest_probability ({lowest:g})"
            raise _changed(problem, path, f"pairs.{at}.probability")
        if (at is None and number < lowest) or (at is not None and number >= probability < 1):
            query_id, passage_id, entry_id = key
            problem = (
                f"does not draw these pairs with these probabilities (passage {passage_id!r} with entry "
                f"{entry_id!r} of query {query_id!r})"
            )
            raise _changed(problem, path, "seed")
    for at in numbers.values():
        raise _changed("is not in the population", path, f"pairs.{at}")


def _changed(problem: str, path: str | Path, field: str) -> DataError:
    message = f"{problem}; draw the pairs again with exam-pp sample-pairs."
    return DataError(message, file=str(path), field=field)


def write_pair_sample(sample: PairSample, path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write a file of sampled pairs atomically; raises :class:`OutputError` if it would replace an input."""
    text = sample.model_dump_json(by_alias=True, exclude_none=True, indent=1)
    write_text(path, text + "\n", inputs=inputs)


@dataclass(frozen=True)
class PairsToLabel:
    """A sample of pairs from ``path``; ``entries`` maps query id to passage id to the ids of its entries."""

    path: str | Path
    sample: PairSample
    entries: Mapping[str, Mapping[str, set[str]]]

    def of(self, query_id: str) -> Mapping[str, set[str]]:
        """Passage id to the ids of its entries, of a query."""
        return self.entries.get(query_id, {})

    def restrict(self, criteria: GradeFilter) -> GradeFilter:
        """The filter for the prompt class of the sample; raises SelectionError if it names another one."""
        sampled = self.sample.prompt_class
        if sampled is None:
            return criteria
        if criteria.prompt_class not in (None, sampled):
            raise SelectionError(
                f"The pairs of {self.path} were drawn from grades of the prompt {sampled!r}, not of "
                f"--prompt {criteria.prompt_class!r}."
            )
        return with_aliases(replace(criteria, prompt_class=sampled))

    def check_all(
        self, known: Container[tuple[str, str, str]], where: str | Path, queries: Collection[str] = ()
    ) -> None:
        """Raise DataError unless ``known`` has all pairs, or all pairs of the queries.

        ``where`` names the files that should have them.
        """
        absent = [
            f"{pair.query_id}/{pair.passage_id} for {pair.entry_id}"
            for pair in self.sample.pairs
            if (not queries or pair.query_id in queries)
            and (pair.query_id, pair.passage_id, pair.entry_id) not in known
        ]
        if absent:
            names = counted_names(absent, "pair", "pairs")
            raise DataError(f"names {names} not in {where}.", file=str(self.path))


def read_pairs_to_label(path: str | Path, graded: str | Path, *, force: bool = False) -> PairsToLabel:
    """Read a sample of pairs that were drawn from a graded file.

    Raises :class:`DataError` if the sample has no pairs, and unless ``force`` is set, if it was drawn from
    another file or another state of this file.
    """
    sample = read_pair_sample(path)
    if not sample.pairs:
        raise DataError("has no pairs to label.", file=str(path), field="pairs")
    if not force and sample.graded_sha256 != file_sha256(graded):
        raise DataError(
            f"the pairs were drawn from another file than {graded}, or it has changed since then. Use "
            "--force if its passages are those from which the pairs were drawn.",
            file=str(path), field="graded_sha256",
        )  # fmt: skip
    entries: dict[str, dict[str, set[str]]] = {}
    for pair in sample.pairs:
        entries.setdefault(pair.query_id, {}).setdefault(pair.passage_id, set()).add(pair.entry_id)
    return PairsToLabel(path, sample, entries)


register(
    Format(
        "pair-sample", "pairs", "sample of pairs for people to label",
        fits(lambda sample: sample.object.get("format") == FORMAT),
        lambda path: read_pair_sample(path).pairs, "pair",
        read_by="exam-pp review --pairs",
        written_by="exam-pp sample-pairs",
        schema=Schema("pair-sample", "a sample of pairs", PairSample),
    ),
)  # fmt: skip
