"""Retrieved segments in the JSON lines of rank_llm, UMBRELA and AutoNuggetizer: one line for each query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, FiniteFloat, model_validator

from exam_pp.data_model import Id, Record
from exam_pp.store.json_lines import read_records

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
    """Line number and line, in file order; raises :class:`~exam_pp.errors.DataError`."""
    return read_records(CandidateLine, path, "candidates")
