"""Hole filling: relevance labels for unjudged passages, added to manual qrels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.judgments import outside_scale_notes
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.results import Qrel
from exam_pp.store.files import atomic_output, read_text_lines
from exam_pp.store.trec.runs import read_qrels
from exam_pp.text.wording import counted

FILLED = "1"
"""Second column of added lines; in lines of judgments it is unchanged, and usually 0."""


@dataclass(frozen=True)
class FilledQrels:
    """The ``judged`` lines of the qrels file ``source``, and ``filled`` lines with labels for its holes."""

    source: PathLike
    judged: Sequence[Qrel]
    filled: Sequence[Qrel]
    notes: Sequence[str]

    @property
    def qrels(self) -> list[Qrel]:
        """Judgments and added labels together."""
        return [*self.judged, *self.filled]


def fill_holes(existing: PathLike, labels: Iterable[Qrel]) -> FilledQrels:
    """Add labels for unjudged passages to the qrels; judgments are never changed.

    Labels of queries without judgments are skipped, because means are over the queries of the qrels.
    Raises :class:`~exam_pp.errors.DataError` for invalid qrels, and
    :class:`~exam_pp.errors.SelectionError` if no query has both judgments and labels.
    """
    judged = read_qrels(existing)
    known = {(qrel.query_id, qrel.passage_id) for qrel in judged}
    queries = {qrel.query_id for qrel in judged}
    labelled = list(labels)
    if not any(qrel.query_id in queries for qrel in labelled):
        raise SelectionError(f"None of the graded queries is in {existing}.")
    filled = [q for q in labelled if q.query_id in queries and (q.query_id, q.passage_id) not in known]
    both = sum((qrel.query_id, qrel.passage_id) in known for qrel in labelled)
    notes = [
        f"Kept {counted(len(judged), 'judgment')} of {existing} and filled {counted(len(filled), 'hole')} "
        f"(second column {FILLED})."
    ]
    if both:
        passages = counted(both, "judged passage is", "judged passages are")
        notes.append(f"{passages} also graded: judgments take precedence.")
    if unjudged_queries := len({qrel.query_id for qrel in labelled} - queries):
        notes.append(
            f"Skipped the labels of {counted(unjudged_queries, 'query')} without judgments in {existing}."
        )
    notes += outside_scale_notes(
        (qrel.relevance for qrel in filled), (qrel.relevance for qrel in judged), "Filled holes: "
    )
    return FilledQrels(existing, judged, filled, notes)


def write_filled(filled: FilledQrels, path: PathLike, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write the judgments unchanged, and the added lines of a query after its last judgment."""
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
