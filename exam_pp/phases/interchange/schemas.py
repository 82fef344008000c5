"""JSON Schemas of the file formats, generated from the models that read the files."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from exam_pp.formats.base import Schema, all_formats
from exam_pp.registry import Registry

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> Registry[Schema]:
    """The schemas of all formats; several formats may share one."""
    registry: Registry[Schema] = Registry("schema", "schemas")
    for schema in {form.schema.name: form.schema for form in all_formats() if form.schema}.values():
        registry.add(schema.name, schema)
    return registry


class _AsRead(GenerateJsonSchema):
    """Allows numbers as ids, because the readers accept them."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        generated = super().str_schema(schema)
        is_id = schema.get("coerce_numbers_to_str")
        return {**generated, "type": ["string", "number"]} if is_id else generated

    def field_title_should_be_set(self, schema: Any) -> bool:
        """A record has a title of its own, as a model has."""
        record = schema.get("json_schema") if schema.get("type") == "json-or-python" else None
        return super().field_title_should_be_set(record or schema)


def json_schema(name: str) -> dict[str, Any]:
    """The schema of a format as it is read; unknown keys are allowed everywhere.

    Raises :class:`~exam_pp.errors.UnknownNameError`.
    """
    form = schemas().get(name)
    adapter: TypeAdapter[Any] = TypeAdapter(form.type)
    schema = adapter.json_schema(by_alias=True, mode="validation", schema_generator=_AsRead)
    about = {"title": f"exam_pp {name}", "description": f"JSON Schema of {form.about}."}
    return {"$schema": DIALECT} | schema | about


def schema_text(name: str) -> str:
    """The schema as a JSON document."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"
