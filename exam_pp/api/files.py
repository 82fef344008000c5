"""Writing passages and test banks from Python."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from exam_pp.data_model import QueryPassages
from exam_pp.store.banks import bank_json
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.test_bank import BankLine, TestBank


def write_passages(queries: Iterable[QueryPassages], path: str | Path) -> int:
    """Write a passages file, one query at a time: an iterator of queries is never held in memory.

    The file appears when the last query is written. After an error the path is as it was before.

    Args:
        queries: The queries with their passages, such as those of :func:`exam_pp.read_passages`.
        path: The file; a name that ends in ``.gz`` is compressed, ``-`` is standard output.

    Returns:
        The number of queries.

    Raises:
        OutputError: The file cannot be written.
    """
    count = 0
    with passages_writer(path) as writer:
        for count, query in enumerate(queries, 1):  # noqa: B007 - the last is returned
            writer.write(query)
    return count


def write_bank(bank: TestBank | Iterable[BankLine], path: str | Path) -> None:
    """Write a test bank as JSON lines.

    Args:
        bank: A bank, or its lines: a query (or a facet of one) with its questions or nuggets each.
        path: The file; a name that ends in ``.gz`` is compressed, ``-`` is standard output.

    Raises:
        OutputError: The file cannot be written.
    """
    bank_json.write_bank(bank.lines if isinstance(bank, TestBank) else bank, path)
