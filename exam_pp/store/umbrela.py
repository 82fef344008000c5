"""Relevance labels in the JSON lines of UMBRELA: one line for each pair of texts, query and passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from exam_pp.data_model import Record
from exam_pp.errors import DataError
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.validation import parse_record


class JudgeRow(Record):
    """What the judge said of a passage.

    ``prediction`` is the reply, ``judgment`` the label that was read from it; ``result_status`` is 0 where
    none could be read, and the label is then a mere default.
    """

    model: str | None = None
    query: str
    passage: str
    prompt: str | None = None
    prediction: str | None = None
    reasoning: str | None = None
    judgment: int | None = None
    result_status: int | None = None

    @property
    def failed(self) -> bool:
        """Whether no label was read."""
        return self.judgment is None or self.result_status == 0


def read_judge_rows(path: str | Path) -> Iterator[tuple[int, JudgeRow]]:
    """Line number and row, in file order; raises :class:`DataError`, also for a file without rows."""
    number = 0
    for number, text in read_lines(path):
        yield number, parse_record(JudgeRow, text, path, number)
    if not number:
        raise DataError("holds no judgments.", file=str(path))


def write_judge_rows(
    rows: Iterable[JudgeRow], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write rows, in the tool's order of keys."""
    with atomic_output(path, inputs=inputs) as stream:
        for row in rows:
            stream.write(row.model_dump_json(exclude_unset=True).encode() + b"\n")
