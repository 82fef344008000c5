"""Generated question banks in their first shape: ``{query: {facet: {"title", "facet", "questions"}}}``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from exam_pp.data_model import Record
from exam_pp.store.files import read_text, write_text
from exam_pp.store.parsing import data_error, parse_json
from exam_pp.test_bank import BankLine, Entry, Question, entry_id

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
                **_facet(facet_id),
                **({"facet_text": facet.facet} if facet_id or facet.facet else {}),
                query_text=facet.title,
                info={"prompt_target": "questions"},
                items=[
                    Question(
                        query_id=query_id,
                        **_facet(facet_id),
                        question_id=entry_id(query_id, text, facet_id or None),
                        question_text=genq_words(text),
                    )
                    for text in facet.questions
                    if text.strip()
                ],
            )


def genq_words(text: str) -> str:
    """A question without the number of a list in front."""
    return _NUMBER.sub("", text).strip()


def _facet(facet_id: str) -> dict[str, str]:
    """A facet without a name is the query itself."""
    return {"facet_id": facet_id} if facet_id else {}


def write_genq(lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write questions by query and facet; lines without a facet have the empty one.

    A text gets back the number in front with which its id was made.
    """
    queries: dict[str, dict[str, dict[str, Any]]] = {}
    for line in lines:
        facet = queries.setdefault(line.query_id, {}).setdefault(
            line.facet_id or "", {"title": line.query_text, "facet": line.facet_text or "", "questions": []}
        )
        facet["questions"] += [
            genq_text(item, position) for position, item in enumerate(line.items, len(facet["questions"]) + 1)
        ]
    write_text(path, json.dumps(queries, ensure_ascii=False, indent=1) + "\n", inputs=inputs)


def genq_text(item: Entry, position: int) -> str:
    """The text that has the entry's id: as it is, or with its position as the number of a list."""
    numbered = (f"{position}{mark} {item.text}" for mark in ".)")
    same = (t for t in numbered if entry_id(item.query_id, t, item.facet_id) == item.entry_id)
    return next(same, item.text)
