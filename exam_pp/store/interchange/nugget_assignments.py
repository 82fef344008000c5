"""Nugget assignments in the JSON lines of AutoNuggetizer: one line for each answer, nuggets without ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exam_pp.data_model import Id, Record
from exam_pp.store.interchange.nuggetizer import NuggetText
from exam_pp.store.json_lines import read_records


class AssignedNugget(NuggetText):
    """A nugget with its label for the answer; labels outside the vocabulary occur, and stay."""

    assignment: str | None = None


class AssignmentLine(Record):
    """An answer with the labels of its query's nuggets."""

    query: str = ""
    qid: Id
    answer_text: str
    response_length: int | None = None
    run_id: Id
    nuggets: list[AssignedNugget]


def read_assignments(path: str | Path) -> Iterator[tuple[int, AssignmentLine]]:
    """Line number and line, in file order; raises :class:`~exam_pp.errors.DataError`."""
    return read_records(AssignmentLine, path, "assignments")
