"""Sampled pairs of passage and bank entry that a person labels, checked against the graded file."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.plugins.trust.pair_sample import PairSample
from exam_pp.plugins.trust.pair_sample_files import read_pair_sample
from exam_pp.prompts.base import with_aliases
from exam_pp.store.edits import file_sha256


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
