"""Python API for writing passages files and test banks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from exam_pp.banks import BankLine, TestBank
from exam_pp.data_model import QueryPassages
from exam_pp.store.banks import bank_json
from exam_pp.store.passages.graded_file import passages_writer


def write_passages(queries: Iterable[QueryPassages], path: str | Path) -> int:
    """Write a passages file, query by query with constant memory.

    The file is replaced only after the last query is written. An error leaves an existing file unchanged.

    Args:
        queries: Queries with their passages, such as those of :func:`exam_pp.read_passages`.
        path: The file to write. Names that end in ``.gz`` are compressed; ``-`` is standard output.

    Returns:
        The number of queries.

    Raises:
        OutputError: The file cannot be written.
    """
    count = 0
    with passages_writer(path) as writer:
        for count, query in enumerate(queries, 1):  # noqa: B007 - the last count is returned
            writer.write(query)
    return count


def write_bank(bank: TestBank | Iterable[BankLine], path: str | Path) -> None:
    """Write a test bank as JSON lines.

    Args:
        bank: A bank, or bank lines, each with the questions or nuggets of a query or facet.
        path: The file to write. Names that end in ``.gz`` are compressed; ``-`` is standard output.

    Raises:
        OutputError: The file cannot be written.
    """
    bank_json.write_bank(bank.lines if isinstance(bank, TestBank) else bank, path)
