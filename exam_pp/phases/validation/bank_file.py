"""Checks of test banks: the format of each line, and the checks of `exam-pp bank lint`."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from exam_pp.errors import DataError
from exam_pp.phases.banks.statistics import lint
from exam_pp.phases.validation.by_reading import add_problems, check_duplicate_keys
from exam_pp.phases.validation.checks import Findings
from exam_pp.store.banks.bank_json import with_items
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import parse_json
from exam_pp.test_bank import BankLine, TestBank
from exam_pp.wording import counted


def check_bank(path: Path, findings: Findings) -> str:
    """Check a test bank; returns a summary of its contents."""
    file = str(path)
    check_duplicate_keys(path, findings)
    lines: list[BankLine] = []
    entry_lines: dict[tuple[str, str], int] = {}
    query_lines: dict[str, int] = {}
    for number, text in read_lines(path):
        line = _bank_line(text, path, number, findings)
        if line is None:
            continue
        lines.append(line)
        query_lines.setdefault(line.query_id, number)
        for item in line.items:
            entry_lines.setdefault((line.query_id, item.entry_id), number)
    if not lines and not findings.has(file):
        findings.add("empty", file, None, "", "has no lines of a bank")
    bank = TestBank.from_lines(lines)
    for problem in lint(bank):
        where = f"query {problem.query_id}" if problem.query_id in bank.queries else ""
        line_number = query_lines.get(problem.query_id)
        if problem.entry_id is not None:
            line_number = entry_lines.get((problem.query_id, problem.entry_id), line_number)
            where += f", {problem.entry_id}"
        findings.add("bank", file, line_number, where, problem.problem, problem.severity)
    entries = sum(len(line.items) for line in lines)
    return f"{counted(len(bank.queries), 'query')}, {counted(entries, 'entry')}"


def _bank_line(text: bytes, path: Path, number: int, findings: Findings) -> BankLine | None:
    try:
        value = parse_json(text, path, number)
        return BankLine.model_validate(with_items(value) if isinstance(value, dict) else value)
    except DataError as error:
        findings.add("format", str(path), number, "", error.problem)
    except ValidationError as error:
        add_problems(error, path, number, findings)
    return None
