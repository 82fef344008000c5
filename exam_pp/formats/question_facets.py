"""Generated question banks by facet, in the first published format of the workbench.

A JSON object ``{query: {facet: {"title", "facet", "questions"}}}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from exam_pp.banks import BankLine, Entry, Question, original_text, published_id
from exam_pp.formats.bank import of_kind, with_texts
from exam_pp.formats.base import Format, Target, make_reader, register
from exam_pp.formats.dropped_fields import CHANGED_TEXTS, count_dropped_bank_fields, used
from exam_pp.formats.sample import Fit, Sample, fits
from exam_pp.models import Record
from exam_pp.store.files import read_text, write_text
from exam_pp.store.parsing import data_error, parse_json

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
                        question_id=published_id(query_id, text, facet_id or None),
                        question_text=_plain_text(text),
                    )
                    for text in facet.questions
                    if text.strip()
                ],
            )


def _plain_text(text: str) -> str:
    """A question without a list number in front."""
    return _NUMBER.sub("", text)


def _facet(facet_id: str) -> dict[str, str]:
    """The field ``facet_id``, or no field for the empty name, which means the query itself."""
    return {"facet_id": facet_id} if facet_id else {}


def write_genq(lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write questions by query and facet; lines without a facet get the empty facet name.

    A question gets back the list number that is part of its digest.
    """
    queries: dict[str, dict[str, dict[str, Any]]] = {}
    for line in lines:
        facet = queries.setdefault(line.query_id, {}).setdefault(
            line.facet_id or "", {"title": line.query_text, "facet": line.facet_text or "", "questions": []}
        )
        facet["questions"] += [_text_in_file(item) for item in line.items]
    write_text(path, json.dumps(queries, ensure_ascii=False, indent=1) + "\n", inputs=inputs)


def _text_in_file(item: Entry) -> str:
    """The text that the entry's id was made of, with list number and blanks; else the entry's text."""
    text = original_text(item.entry_id, item.text)
    return item.text if text is None or _plain_text(text).strip() != item.text.strip() else text


def _is_genq(sample: Sample) -> bool:
    facets = [facet for value in sample.values if isinstance(value, dict) for facet in value.values()]
    return bool(facets) and all(isinstance(facet, dict) and "questions" in facet for facet in facets)


def _write(lines: Iterable[BankLine], target: Target) -> None:
    lines = with_texts(of_kind(lines, "question", target.dropped), target.dropped)
    keeps = {"query texts", "facets", "facet texts", "queries without entries"}
    count_dropped_bank_fields(lines, keeps, target.dropped)
    for line in lines:
        for item in line.items:
            text = _text_in_file(item)
            if published_id(line.query_id, text, line.facet_id) != item.entry_id:
                target.dropped.add("entry ids")
            target.dropped.add(CHANGED_TEXTS, _plain_text(text) != item.text)
    write_genq(lines, target.path, inputs=target.inputs)


register(
    Format(
        "genq", "bank", "question bank by facet, JSON", fits(_is_genq, Fit.LOOSE), read_genq, "facet",
        make_reader(read_genq, {"*": {"*": used("title facet questions")}}), _write,
    ),
)  # fmt: skip
