"""Generated question banks in their first shape: ``{query: {facet: {"title", "facet", "questions"}}}``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from exam_pp.data_model import Record
from exam_pp.store.files import read_text
from exam_pp.store.validation import data_error, parse_json
from exam_pp.test_bank import BankLine, Question, entry_id

_NUMBER = re.compile(r"^\s*\d+[.)]\s*")


class _Facet(Record):
    title: str = ""
    facet: str = ""
    questions: list[str]


_FILE: TypeAdapter[dict[str, dict[str, _Facet]]] = TypeAdapter(dict[str, dict[str, _Facet]])


def read_genq(path: str | Path) -> Iterator[BankLine]:
    """A line for each facet. The number goes from a question's text, but its id is of the text with it.

    Raises :class:`DataError`.
    """
    value: Any = parse_json(read_text(path), path)
    try:
        queries = _FILE.validate_python(value)
    except ValidationError as error:
        raise data_error(error, path) from error
    for query_id, facets in queries.items():
        for facet_id, facet in facets.items():
            yield BankLine(
                query_id=query_id,
                facet_id=facet_id,
                facet_text=facet.facet,
                query_text=facet.title,
                info={"prompt_target": "questions"},
                items=[
                    Question(
                        query_id=query_id,
                        facet_id=facet_id,
                        question_id=entry_id(query_id, text, facet_id),
                        question_text=_NUMBER.sub("", text).strip(),
                    )
                    for text in facet.questions
                    if text.strip()
                ],
            )
