"""Generated question banks by facet, in the first published format of the workbench.

A JSON object ``{query: {facet: {"title", "facet", "questions"}}}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from exam_pp.banks import TARGET, BankLine, Question, published_id
from exam_pp.formats.base import Format, make_reader, register
from exam_pp.formats.dropped_fields import used
from exam_pp.formats.sample import Fit, Sample, fits
from exam_pp.models import Record
from exam_pp.store.files import read_text
from exam_pp.store.parsing import parse_json, valid

_NUMBER = re.compile(r"^\s*\d+[.)]\s*")


class _Facet(Record):
    title: str = ""
    facet: str = ""
    questions: list[str]


_FILE: TypeAdapter[dict[str, dict[str, _Facet]]] = TypeAdapter(dict[str, dict[str, _Facet]])


def read_genq(path: str | Path) -> Iterator[BankLine]:
    """Read a bank line for each facet; raises :class:`DataError`.

    The list number in front of a question is removed from the text; whitespace at its end is kept. The id is
    the published one: the digest of the question as it stands in the file.
    """
    value: Any = parse_json(read_text(path), path)
    queries = valid(_FILE.validate_python, value, path)
    for query_id, facets in queries.items():
        for facet_id, facet in facets.items():
            yield BankLine(
                query_id=query_id,
                **_facet(facet_id),
                **({"facet_text": facet.facet} if facet_id or facet.facet else {}),
                query_text=facet.title,
                info={TARGET: "questions"},
                items=[
                    Question(
                        query_id=query_id,
                        **_facet(facet_id),
                        question_id=published_id(query_id, text, facet_id or None),
                        question_text=_NUMBER.sub("", text),
                    )
                    for text in facet.questions
                    if text.strip()
                ],
            )


def _facet(facet_id: str) -> dict[str, str]:
    """The field ``facet_id``, or no field for the empty name, which means the query itself."""
    return {"facet_id": facet_id} if facet_id else {}


def _is_genq(sample: Sample) -> bool:
    facets = [facet for value in sample.values if isinstance(value, dict) for facet in value.values()]
    return bool(facets) and all(isinstance(facet, dict) and "questions" in facet for facet in facets)


register(
    Format(
        "genq", "bank", "question bank by facet, JSON", fits(_is_genq, Fit.LOOSE), read_genq, "facet",
        make_reader(read_genq, {"*": {"*": used("title facet questions")}}),
    ),
)  # fmt: skip
