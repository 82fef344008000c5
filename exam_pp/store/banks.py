"""Reading and writing test banks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from exam_pp.errors import DataError
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.validation import data_error, parse_json
from exam_pp.test_bank import BankLine, TestBank

log = logging.getLogger(__name__)


def read_bank(path: str | Path) -> TestBank:
    """A bank of questions, nuggets or both.

    Also reads the older shape with ``questions`` instead of ``items``. Ids that occur more than once are
    logged: entries by id are the first of each, lines hold every one. Raises :class:`DataError`, also for
    a bank without any entry.
    """
    bank = TestBank.from_lines(_lines(path))
    if not any(query.entries for query in bank):
        raise DataError("holds no questions and no nuggets.", file=str(path))
    if bank.duplicates:
        log.warning(
            "%s: %d entries repeat the id of another one (first: %s): it is graded once, and counts once%s",
            path, len(bank.duplicates), bank.duplicates[0],
            ", but each time in nugget scores" if "nugget" in bank.kinds else "",
        )  # fmt: skip
    return bank


def _lines(path: str | Path) -> Iterator[BankLine]:
    for number, line in read_lines(path):
        value = parse_json(line, path, number)
        if not isinstance(value, dict):
            raise DataError("is not a JSON object.", file=str(path), line=number)
        yield _bank_line(value, path, number)


def _bank_line(value: dict[str, Any], path: str | Path, number: int) -> BankLine:
    if "items" not in value and "questions" in value:
        value = {**value, "items": value["questions"]}
        del value["questions"]
    items = value.get("items")
    for position, item in enumerate(items if isinstance(items, list) else (), 1):
        if isinstance(item, dict) and not {"question_id", "nugget_id"} & item.keys():
            raise DataError(
                "question_id (or nugget_id) is missing.",
                file=str(path), line=number, field=f"items.{position}",
            )  # fmt: skip
    try:
        bank_line = BankLine.model_validate(value)
    except ValidationError as error:
        raise data_error(error, path, number) from error
    for position, item in enumerate(bank_line.items, 1):
        if item.query_id != bank_line.query_id:  # whose is it?
            raise DataError(
                f"{item.query_id!r} is not the query of the line, {bank_line.query_id!r}.",
                file=str(path), line=number, field=f"items.{position}.query_id",
            )  # fmt: skip
    return bank_line


def write_bank(lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write bank lines atomically; keys that were never set are left out."""
    with atomic_output(path, inputs=inputs) as stream:
        for line in lines:
            stream.write(line.model_dump_json(exclude_unset=True).encode() + b"\n")
