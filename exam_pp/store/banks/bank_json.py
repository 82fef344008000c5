"""Reading and writing test banks as JSON lines."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from exam_pp.banks import BankLine, TestBank, entry_id
from exam_pp.errors import DataError
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import parse_json, valid, write_records
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)


def read_bank(path: str | Path) -> TestBank:
    """Read a bank of questions, nuggets or both.

    Also reads the older format with ``questions`` instead of ``items``, and lines that are a single question
    or nugget. Duplicate ids are logged: ``queries`` has the first entry of each id, ``lines`` has all
    entries.

    Args:
        path: The file, gzipped or not; ``-`` is standard input.

    Returns:
        The bank; its ``queries`` are in file order.

    Raises:
        DataError: The file is not in the format, or has no entries.
    """
    bank = TestBank.from_lines(read_bank_lines(path))
    if not any(query.entries for query in bank):
        raise DataError("has no questions or nuggets.", file=str(path))
    if bank.duplicates:
        log.warning(
            "%s: %s of another entry (first: %s). Such an id is graded once and counts once%s.",
            path, counted(len(bank.duplicates), "entry has the id", "entries have the id"),
            bank.duplicates[0],
            ", except in nugget scores, which count every entry" if "nugget" in bank.kinds else "",
        )  # fmt: skip
    return bank


def is_bank_file(path: str | Path) -> bool:
    """Whether a file is a bank by its first line.

    Raises :class:`DataError` if the file cannot be read.
    """
    from exam_pp.store.games_files import is_games_line  # noqa: PLC0415 - for few commands

    return any(line[:1] == b"{" and not is_games_line(line) for _, line in islice(read_lines(path), 1))


def read_bank_lines(path: str | Path) -> Iterator[BankLine]:
    """Yield the lines of a bank; raises :class:`DataError`."""
    for number, line in read_lines(path):
        yield _parse(line, path, number)


def _parse(line: bytes, path: str | Path, number: int) -> BankLine:
    if not line.lstrip().startswith(b"{"):
        problem = (
            "is not a line of a test bank, which is a JSON object. exam-pp validate detects the format of a "
            "file; exam-pp bank import reads other formats."
        )
        raise DataError(problem, file=str(path), line=number)
    value: dict[str, Any] = parse_json(line, path, number)
    return _bank_line(value, path, number)


def _bank_line(value: dict[str, Any], path: str | Path, number: int) -> BankLine:
    value = with_items(value)
    items = value.get("items")
    for position, item in enumerate(items if isinstance(items, list) else (), 1):
        if isinstance(item, dict) and not {"question_id", "nugget_id"} & item.keys():
            raise DataError(
                "question_id (or nugget_id) is missing.",
                file=str(path), line=number, field=f"items.{position}",
            )  # fmt: skip
    bank_line = valid(BankLine.model_validate, value, path, number)
    for position, item in enumerate(bank_line.items, 1):
        if item.query_id != bank_line.query_id:
            raise DataError(
                f"{item.query_id!r} differs from the query_id of the line, {bank_line.query_id!r}.",
                file=str(path), line=number, field=f"items.{position}.query_id",
            )  # fmt: skip
    return bank_line


_ENTRY_TEXTS = {
    "question_text": "question",
    "nugget_text": "nugget",
    "question": "question",
    "nugget": "nugget",
}
"""Keys of the text of an entry in a bank with an entry on each line, with the kind of the entry."""


def with_items(value: dict[str, Any]) -> dict[str, Any]:
    """A line with its entries under ``items``, also if it is a single entry or has them as ``questions``."""
    if "items" in value:
        return value
    if "questions" in value:
        return {
            **{key: item for key, item in value.items() if key != "questions"},
            "items": value["questions"],
        }
    text_key = entry_text_key(value)
    return _line_of_entry(value, text_key) if text_key else value


def entry_text_key(value: Mapping[str, Any]) -> str | None:
    """The key of the text if a line is a single entry, and not a query with a list of entries."""
    if "query_id" not in value or not {"items", "questions"}.isdisjoint(value):
        return None
    return next((key for key in _ENTRY_TEXTS if isinstance(value.get(key), str)), None)


def _line_of_entry(value: dict[str, Any], text_key: str) -> dict[str, Any]:
    """A line of a bank with one entry; an entry without an id gets the id of a new entry."""
    kind, text = _ENTRY_TEXTS[text_key], value[text_key]
    of_query = {key: value[key] for key in BankLine.model_fields if key in value and key != "info"}
    entry = {key: item for key, item in value.items() if key not in of_query and key != text_key}
    where = {key: of_query[key] for key in ("query_id", "facet_id") if key in of_query}
    if f"{kind}_id" not in entry and isinstance(value["query_id"], str | int):
        entry[f"{kind}_id"] = entry_id(str(value["query_id"]), text, value.get("facet_id"))
    return {**of_query, "items": [{**where, **entry, f"{kind}_text": text}]}


def write_bank(lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write bank lines atomically; keys that were never set are not written."""
    write_records(lines, path, inputs=inputs)
