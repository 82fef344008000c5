"""Nugget assignments in the JSON lines of AutoNuggetizer: one line for each answer, nuggets without ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from exam_pp.data_model import Id, Record
from exam_pp.errors import DataError
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.nuggetizer import NuggetText
from exam_pp.store.validation import parse_record


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
    """Line number and line, in file order; raises :class:`DataError`, also for a file without lines."""
    number = 0
    for number, text in read_lines(path):
        yield number, parse_record(AssignmentLine, text, path, number)
    if not number:
        raise DataError("holds no assignments.", file=str(path))


def write_assignments(
    lines: Iterable[AssignmentLine], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write answers with their assignments, in the tool's order of keys."""
    with atomic_output(path, inputs=inputs) as stream:
        for line in lines:
            stream.write(line.model_dump_json(exclude_unset=True).encode() + b"\n")
