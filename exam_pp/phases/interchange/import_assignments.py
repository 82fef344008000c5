"""Import of answers with nugget assignments by a model or a judge, as graded passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.banks import BankLine
from exam_pp.data_model import QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.formats.nugget_assignments import (
    DEFAULT_GRADER,
    AssignmentSummary,
    NuggetIds,
    add_assignments,
)
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages, write_passages
from exam_pp.store.trec.queries import write_queries


@dataclass(frozen=True)
class AssignmentSources:
    """Inputs and outputs of an import of nugget assignments.

    Answers in ``passages`` get the assignments as additional grades; all other answers become passages.
    Nuggets get the ids of ``bank``, joined by query and text; without a bank, ids are digests of both.
    ``bank_output`` and ``queries_output`` are files for the nuggets and the query texts.
    """

    files: Sequence[Path]
    output: Path
    grader: str = DEFAULT_GRADER
    passages: Path | None = None
    bank_output: Path | None = None
    queries_output: Path | None = None
    bank: Path | None = None

    @property
    def inputs(self) -> list[Path]:
        """All input files."""
        return [*self.files, *(path for path in (self.passages, self.bank) if path)]


def import_assignments(sources: AssignmentSources) -> AssignmentSummary:
    """Write a graded file, and the nuggets as a bank if ``bank_output`` is set.

    Nuggets are joined by query and text. Labels are read as in replies ("Not Support" is valid); a nugget
    with an unknown label is ungraded and keeps the label. Raises :class:`~exam_pp.errors.DataError` for an
    answer that occurs twice or differs from its text in ``passages``, and
    :class:`~exam_pp.errors.SelectionError` if no nugget is in ``bank``.
    """
    outputs = [sources.output, sources.bank_output, sources.queries_output]
    for output in outputs:
        if output is not None:
            check_output(output, sources.inputs)
    summary = AssignmentSummary()
    queries: dict[str, QueryPassages] = {}
    for query in read_passages(sources.passages) if sources.passages else ():
        known = queries.setdefault(query.query_id, QueryPassages(query.query_id, []))
        known.passages += query.passages
    ids = NuggetIds(read_bank(sources.bank)) if sources.bank is not None else NuggetIds()
    bank = add_assignments(queries, sources.files, sources.grader, summary, ids)
    if sources.bank is not None and summary.foreign and not summary.matched:
        raise SelectionError(
            f"No nugget is in {sources.bank} (compared by query and text); name the bank that was assigned."
        )
    _write(sources, queries.values(), bank)
    return summary


def _write(
    sources: AssignmentSources, queries: Iterable[QueryPassages], bank: Mapping[str, BankLine]
) -> None:
    if sources.bank_output is not None:
        write_bank(bank.values(), sources.bank_output, inputs=sources.inputs)
    if sources.queries_output is not None:
        texts = {query_id: line.query_text for query_id, line in bank.items() if line.query_text}
        write_queries(texts, sources.queries_output, inputs=sources.inputs)
    write_passages(queries, sources.output, inputs=sources.inputs)
