"""Test banks from the files of question answering collections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exam_pp.data_model import QueryPassages
from exam_pp.errors import DataError, OutputError, SelectionError
from exam_pp.formats.squad import read_squad
from exam_pp.formats.tqa import read_tqa
from exam_pp.prompts.answer_key import checkable_golds
from exam_pp.store.banks.bank_json import write_bank
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.test_bank import BankLine, TestBank
from exam_pp.wording import counted

BankFormat = Literal["tqa", "squad2"]


@dataclass
class ImportedBank:
    """Counts for the closing lines; ``held_back`` are questions of SQuAD2 files that give no answer."""

    queries: int = 0
    entries: int = 0
    unanswerable: int = 0
    not_checkable: int = 0
    held_back: int = 0
    passages: int = 0

    def lines(self) -> Iterator[str]:
        """What was imported, for people."""
        passages = f", {counted(self.passages, 'passage')}" if self.passages else ""
        yield f"{counted(self.queries, 'query')}, {counted(self.entries, 'question')}{passages} imported."
        if self.unanswerable:
            are = counted(self.unanswerable, "question is", "questions are")
            yield f"{are} unanswerable (gold_answers: [])."
        if self.held_back:
            have = counted(self.held_back, "question has", "questions have")
            yield f"{have} no gold_answers, as the file gives none: answer-key prompts refuse the bank."
        if self.not_checkable:
            have = counted(self.not_checkable, "question has", "questions have")
            yield (
                f"{have} a gold answer that cannot be compared with text "
                '(such as "all of the above"): prompts with an answer key leave them out.'
            )


def import_bank(
    form: BankFormat, files: Sequence[Path], output: Path, passages: Path | None = None
) -> ImportedBank:
    """Write the bank of TQA or SQuAD2 files, and for SQuAD2 the paragraphs as ``passages``.

    Raises :class:`ExamError`; both outputs are written, or neither.
    """
    check_output(output, files)
    if passages is not None:
        if form == "tqa":
            raise SelectionError("TQA files hold no passages: leave --passages-output out.")
        check_output(passages, files)
        if passages.resolve() == output.resolve():
            raise OutputError("--passages-output and -o name the same file.")
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
        not_checkable=sum(e.gold_answers is not None and checkable_golds(e) is None for e in entries),
        held_back=sum(entry.gold_answers is None for entry in entries) if form == "squad2" else 0,
        passages=len(texts) if passages is not None else 0,
    )


def _check(bank: TestBank, lines: Sequence[BankLine], files: Sequence[Path]) -> None:
    names = ", ".join(str(file) for file in files)
    if not any(query.entries for query in bank):
        raise DataError("holds no questions.", file=names)
    if bank.duplicates:
        raise DataError(f"the question id {bank.duplicates[0]!r} occurs twice in a query.", file=names)
    if len(bank.queries) < len(lines):
        twice = Counter(line.query_id for line in lines).most_common(1)[0][0]
        raise DataError(f"the query {twice!r} occurs twice; is a file named twice?", file=names)
