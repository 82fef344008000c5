"""The file formats as JSON Schema, made from the models that read the files."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from pydantic import FiniteFloat, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from exam_pp.data_model import Id, Passage
from exam_pp.edits import Edits
from exam_pp.registry import Registry
from exam_pp.store.interchange.autojudge import NuggetBankLine
from exam_pp.store.interchange.nuggetizer import NuggetLine
from exam_pp.store.interchange.ragelo_games import Game
from exam_pp.store.trec.answers import PlainAnswer, Rag24Answer, ReportAnswer
from exam_pp.store.trec.queries import Query
from exam_pp.store.trec.score_rows import ScoreRow
from exam_pp.test_bank import BankLine

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Format(NamedTuple):
    """A format of JSON values: what a schema describes (a line, or the file as a whole)."""

    words: str
    adapter: TypeAdapter[Any]


SCHEMAS: Registry[Format] = Registry("schema", "schemas")
SCHEMAS.add(
    "graded",
    Format("a line of graded passages: [query_id, [passage, ...]]", TypeAdapter(tuple[Id, list[Passage]])),
)
SCHEMAS.add("bank", Format("a line of a test bank", TypeAdapter(BankLine)))
SCHEMAS.add("edits", Format("an edits file", TypeAdapter(Edits)))
SCHEMAS.add("queries", Format("a line of queries", TypeAdapter(Query)))
SCHEMAS.add(
    "leaderboard", Format("an official leaderboard: {system: rank}", TypeAdapter(dict[str, FiniteFloat]))
)
SCHEMAS.add("scores", Format("a line of scores", TypeAdapter(ScoreRow)))
SCHEMAS.add(
    "answers",
    Format("a line of answers of RAG systems", TypeAdapter(Rag24Answer | ReportAnswer | PlainAnswer)),
)
SCHEMAS.add("nuggets", Format("a line of nuggets of AutoNuggetizer", TypeAdapter(NuggetLine)))
SCHEMAS.add("games", Format("a line of games between answers of RAGElo", TypeAdapter(Game)))
SCHEMAS.add("autojudge-bank", Format("a nugget bank of AutoJudge", TypeAdapter(NuggetBankLine)))


class _AsRead(GenerateJsonSchema):
    """Ids may be numbers, as our readers take them."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        found = super().str_schema(schema)
        return {**found, "type": ["string", "number"]} if schema.get("coerce_numbers_to_str") else found


def json_schema(name: str) -> dict[str, Any]:
    """The schema of a format, of what is read: keys that it does not name are allowed everywhere.

    Raises :class:`~exam_pp.errors.UnknownNameError`.
    """
    found = SCHEMAS.get(name)
    schema = found.adapter.json_schema(by_alias=True, mode="validation", schema_generator=_AsRead)
    about = {"title": f"exam_pp {name}", "description": f"JSON Schema of {found.words}."}
    return {"$schema": DIALECT} | schema | about


def schema_text(name: str) -> str:
    """The schema as a JSON document."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"
