"""Evaluate: qrels of people whose holes are filled with labels from grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.results import Qrel
from exam_pp.store.files import atomic_output, read_text_lines
from exam_pp.store.trec.runs import read_qrels
from exam_pp.wording import counted

FILLED = "1"
"""The second column of lines that were filled in; people's lines keep theirs, which is 0 nearly always."""


@dataclass(frozen=True)
class FilledQrels:
    """The judgments of people, then the labels for passages of their queries that they did not judge."""

    source: PathLike
    judged: Sequence[Qrel]
    filled: Sequence[Qrel]
    notes: Sequence[str]

    @property
    def qrels(self) -> list[Qrel]:
        """All of them, to evaluate with."""
        return [*self.judged, *self.filled]


def fill_holes(existing: PathLike, labels: Iterable[Qrel]) -> FilledQrels:
    """The qrels with labels for the passages that they lack; a judgment is never changed.

    Labels of queries that the qrels do not have are left out, since means are over the queries of the
    qrels. Raises :class:`~exam_pp.errors.ExamError` for qrels that cannot be used, and where no query is
    in both.
    """
    judged = read_qrels(existing)
    known = {(qrel.query_id, qrel.passage_id) for qrel in judged}
    queries = {qrel.query_id for qrel in judged}
    given = list(labels)
    if not any(qrel.query_id in queries for qrel in given):
        raise SelectionError(f"No query with grades is in {existing}.")
    filled = [q for q in given if q.query_id in queries and (q.query_id, q.passage_id) not in known]
    both = sum((qrel.query_id, qrel.passage_id) in known for qrel in given)
    notes = [
        f"{counted(len(judged), 'judgment')} of {existing} kept, {counted(len(filled), 'hole')} filled "
        f"(second column {FILLED})."
    ]
    if both:
        passages = counted(both, "judged passage has", "judged passages have")
        notes.append(f"{passages} a grade too: the judgment stands.")
    if others := len({qrel.query_id for qrel in given} - queries):
        notes.append(f"Left out: labels of {counted(others, 'query')} not in {existing}.")
    return FilledQrels(existing, judged, filled, notes)


def write_filled(filled: FilledQrels, path: PathLike, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write the lines of people as they are, with those that fill a query's holes after its last one."""
    with atomic_output(path, inputs=inputs) as stream:
        for line in _lines(filled):
            stream.write(line.encode() + b"\n")


def _lines(filled: FilledQrels) -> Iterator[str]:
    lines = [line for _, line in read_text_lines(filled.source)]
    last = {line.split(maxsplit=1)[0]: number for number, line in enumerate(lines)}
    holes: dict[str, list[str]] = {}
    for qrel in filled.filled:
        line = f"{qrel.query_id} {FILLED} {qrel.passage_id} {qrel.relevance}"
        holes.setdefault(qrel.query_id, []).append(line)
    for number, line in enumerate(lines):
        yield line
        query_id = line.split(maxsplit=1)[0]
        if last[query_id] == number:
            yield from holes.get(query_id, ())
