"""Retrieved segments in the JSON lines of rank_llm, UMBRELA and AutoNuggetizer: one line for each query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, FiniteFloat, model_validator

from exam_pp.data_model import Id, Record
from exam_pp.errors import DataError
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.validation import parse_record

_TEXT_KEYS = ("segment", "contents", "text", "passage")


class CandidateQuery(Record):
    """The query of a line."""

    qid: Id
    text: str = ""


class Candidate(Record):
    """A segment, in the order of the ranking. ``doc`` holds the text as ``segment`` or ``contents``."""

    docid: Id
    score: FiniteFloat | None = None
    judgment: int | None = None
    doc: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_a_text(self) -> Candidate:
        if self.text is None:
            raise ValueError(f"doc has none of the keys {', '.join(_TEXT_KEYS)}")
        return self

    @property
    def text(self) -> str | None:
        """The words of the segment."""
        return next((str(self.doc[key]) for key in _TEXT_KEYS if isinstance(self.doc.get(key), str)), None)


class CandidateLine(Record):
    """A query and its segments, best first."""

    query: CandidateQuery
    candidates: list[Candidate]


def read_candidates(path: str | Path) -> Iterator[tuple[int, CandidateLine]]:
    """Line number and line, in file order; raises :class:`DataError`, also for a file without lines."""
    number = 0
    for number, text in read_lines(path):
        yield number, parse_record(CandidateLine, text, path, number)
    if not number:
        raise DataError("holds no candidates.", file=str(path))


def write_candidates(
    lines: Iterable[CandidateLine], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write queries with their segments, in the tools' order of keys."""
    with atomic_output(path, inputs=inputs) as stream:
        for line in lines:
            stream.write(line.model_dump_json(exclude_unset=True).encode() + b"\n")
