"""Reading and writing of files of sampled pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Schema, register
from exam_pp.formats.sample import fits
from exam_pp.plugins.trust.pair_sample import FORMAT, PairSample, drawn_number
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
