"""Relevance labels in the JSON lines of UMBRELA: one line for each pair of texts, query and passage.

The lines have no ids; `exam-pp import --umbrela` joins them to passages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exam_pp.data_model import Record
from exam_pp.formats.base import Format, register
from exam_pp.formats.sample import with_keys
from exam_pp.store.json_lines import read_records


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
    """Line number and row, in file order; raises :class:`~exam_pp.errors.DataError`."""
    return read_records(JudgeRow, path, "judgments")


register(
    Format(
        "umbrela", "passages", "judge rows of UMBRELA", with_keys("query", "passage", "judgment"),
        read_judge_rows, "judgment", read_by="exam-pp import --umbrela", written_by="exam-pp export umbrela",
    ),
)  # fmt: skip
