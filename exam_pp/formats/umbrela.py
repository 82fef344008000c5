"""Relevance labels of UMBRELA as JSON lines, one for each pair of query text and passage text.

The lines have no ids; `exam-pp import --from umbrela` joins them to passages by the texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exam_pp.data_model import Integer
from exam_pp.formats.base import Format, make_writer, register
from exam_pp.formats.sample import with_keys
from exam_pp.models import Record
from exam_pp.store.parsing import read_records, write_records

PROMPT_CLASS = "UMBRELA"
"""The prompt class of labels that another tool made with the prompt of UMBRELA."""
HIGHEST_LABEL = 3


class JudgeRow(Record):
    """A line of UMBRELA: the label of a passage with prompt and reply.

    ``prediction`` is the reply and ``judgment`` the label read from it. ``result_status`` is 0 if no label
    could be read; ``judgment`` is then a default.
    """

    model: str | None = None
    query: str
    passage: str
    prompt: str | None = None
    prediction: str | None = None
    reasoning: str | None = None
    judgment: Integer | None = None
    result_status: Integer | None = None

    @property
    def failed(self) -> bool:
        """Whether no label could be read."""
        return self.judgment is None or self.result_status == 0


def read_judge_rows(path: str | Path) -> Iterator[tuple[int, JudgeRow]]:
    """Read the rows with their line numbers, in file order; raises :class:`~exam_pp.errors.DataError`."""
    return read_records(JudgeRow, path, "judgments")


register(
    Format(
        "umbrela", "passages", "labels of UMBRELA, JSON lines", with_keys("query", "passage", "judgment"),
        read_judge_rows, "judgment", write=make_writer(write_records),
        read_by="exam-pp import --from umbrela",
    ),
)  # fmt: skip
