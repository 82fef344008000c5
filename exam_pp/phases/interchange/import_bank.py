"""Import of test banks from question answering data sets, other tools, and spreadsheets."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exam_pp.data_model import QueryPassages
from exam_pp.errors import DataError, OutputError, SelectionError
from exam_pp.formats.bank_csv import bank_of_rows, count_unused_cells, read_bank_csv
from exam_pp.formats.base import FORMATS
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.squad import read_squad
from exam_pp.formats.tqa import read_tqa
from exam_pp.phases.interchange.edited_spreadsheet import SpreadsheetChanges, edited_bank
from exam_pp.prompts.answer_key import gold_answers
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.test_bank import BankLine, TestBank, is_stale, of_title_query
from exam_pp.wording import counted

log = logging.getLogger(__name__)

BankFormat = Literal["tqa", "squad2"]
TextFormat = Literal["bank", "csv", "genq", "nuggetizer", "autojudge"]
_NAMES = {"autojudge": "autojudge-bank"}
"""Short names of formats in `exam-pp bank import` to the names in the registry."""


@dataclass
class ImportedBank:
    """Counts for the summary.

    ``held_back`` counts questions of SQuAD2 files without gold answers, ``not_checkable`` those with a gold
    answer that refers to other choices, such as "all of the above".
    """

    queries: int = 0
    entries: int = 0
    unanswerable: int = 0
    not_checkable: int = 0
    held_back: int = 0
    passages: int = 0

    def lines(self) -> Iterator[str]:
        """The lines of the summary."""
        passages = f", {counted(self.passages, 'passage')}" if self.passages else ""
        yield f"Imported {counted(self.queries, 'query')}, {counted(self.entries, 'question')}{passages}."
        if self.unanswerable:
            are = counted(self.unanswerable, "question is", "questions are")
            yield f"{are} unanswerable (gold_answers: [])."
        if self.held_back:
            have = counted(self.held_back, "question has", "questions have")
            yield f"{have} no gold answers in the file; prompts with an answer key cannot use this bank."
        if self.not_checkable:
            have = counted(self.not_checkable, "question has", "questions have")
            yield (
                f'{have} a gold answer that refers to other choices (such as "all of the above"); few '
                "replies match it, and `exam-pp grade --answer-match strict` skips such questions."
            )


def import_bank(
    form: BankFormat, files: Sequence[Path], output: Path, passages: Path | None = None
) -> ImportedBank:
    """Write the bank of TQA or SQuAD2 files, and for SQuAD2 the paragraphs to ``passages``.

    Both outputs are written or neither. Raises :class:`ExamError`.
    """
    check_output(output, files)
    if passages is not None:
        if form == "tqa":
            raise SelectionError("TQA files have no passages; remove --also passages.")
        check_output(passages, files)
        if passages.resolve() == output.resolve():
            raise OutputError("--also passages and -o name the same file; name two files.")
    texts: list[QueryPassages] = []
    if form == "tqa":
        lines = [line for file in files for line in read_tqa(file)]
    else:
        paragraphs = [paragraph for file in files for paragraph in read_squad(file)]
        lines, texts = [p.bank for p in paragraphs], [p.passages for p in paragraphs]
    bank = TestBank.from_lines(lines)
    _check(bank, lines, files)
    with ExitStack() as outputs:
        if passages is not None:
            writer = outputs.enter_context(passages_writer(passages, inputs=files))
            for query in texts:
                writer.write(query)
        write_bank(lines, output, inputs=files)
    entries = [entry for query in bank for entry in query.entries.values()]
    return ImportedBank(
        queries=len(bank.queries),
        entries=len(entries),
        unanswerable=sum(entry.gold_answers == [] for entry in entries),
        not_checkable=sum(e.gold_answers is not None and gold_answers(e, "strict") is None for e in entries),
        held_back=sum(entry.gold_answers is None for entry in entries) if form == "squad2" else 0,
        passages=len(texts) if passages is not None else 0,
    )


def _check(bank: TestBank, lines: Sequence[BankLine], files: Sequence[Path]) -> None:
    names = ", ".join(str(file) for file in files)
    if not any(query.entries for query in bank):
        raise DataError("has no questions.", file=names)
    if bank.duplicates:
        raise DataError(f"the question id {bank.duplicates[0]!r} occurs twice in a query.", file=names)
    if len(bank.queries) < len(lines):
        duplicate = Counter(line.query_id for line in lines).most_common(1)[0][0]
        raise DataError(
            f"the query {duplicate!r} occurs twice; check that no file is named twice.", file=names
        )


@dataclass(frozen=True)
class ImportedTexts:
    """Counts for the summary, edits in a spreadsheet, and dropped fields."""

    queries: int
    entries: int
    changes: SpreadsheetChanges
    dropped: DroppedFields

    def lines(self) -> Iterator[str]:
        """The lines of the summary."""
        yield f"Imported {counted(self.queries, 'query')}, {counted(self.entries, 'entry')}."
        yield from self.changes.lines()
        yield from self.dropped.lines()


def import_texts(
    form: TextFormat,
    files: Sequence[Path],
    output: Path,
    base: Path | None = None,
    *,
    title_queries: bool = False,
) -> ImportedTexts:
    """Write the bank of spreadsheets, of files of other tools, or of banks.

    With ``title_queries``, the queries ``query/facet`` become facets of their title query.

    With a ``base`` (for ``csv``) the spreadsheets are an edited copy of this bank: fields without a column
    are kept, and every change is recorded in the bank's history. Raises :class:`ExamError`.
    """
    inputs = [*files, *([base] if base else [])]
    check_output(output, inputs)
    changes, dropped = SpreadsheetChanges(), DroppedFields()
    if form == "csv":
        lines = _bank_of_spreadsheets(files, base, changes, dropped)
    elif form == "bank":
        lines = [line for file in files for line in read_bank(file).lines]
    else:
        read = FORMATS.get(_NAMES.get(form, form)).records
        assert read is not None, "all formats of banks have a reader"
        lines = [line for file in files for line in read(file)]
    if title_queries:
        lines = [of_title_query(line) for line in lines]
    bank = TestBank.from_lines(lines)
    entries = sum(len(query.entries) for query in bank)
    if not entries:
        raise DataError("has no questions or nuggets.", file=", ".join(map(str, files)))
    if bank.duplicates:
        log.warning(
            "%s more than once (first: %s); `exam-pp bank show` lists all of them.",
            counted(len(bank.duplicates), "entry id occurs", "entry ids occur"), bank.duplicates[0],
        )  # fmt: skip
    write_bank(lines, output, inputs=inputs)
    return ImportedTexts(len(bank.queries), entries, changes, dropped)


def _bank_of_spreadsheets(
    files: Sequence[Path], base: Path | None, changes: SpreadsheetChanges, dropped: DroppedFields
) -> list[BankLine]:
    for file in files:
        count_unused_cells(file, dropped)
    rows = [(file, row) for file in files for row in read_bank_csv(file)]
    if base is not None:
        return edited_bank(rows, read_bank(base).lines, changes)
    changes.reidentified = sum(is_stale(row.entry_id, row.text) for _, row in rows)
    return bank_of_rows(rows)
