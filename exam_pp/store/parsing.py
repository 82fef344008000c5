"""Parsing JSON and JSON lines into pydantic models; errors name file, line and field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from exam_pp.errors import DataError, MissingExtraError, sentence
from exam_pp.records import TOO_DEEP
from exam_pp.store.files import atomic_output, read_lines, read_text

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


def valid(
    validate: Callable[[Any], T], value: Any, file: str | Path, number: int | None = None, within: str = ""
) -> T:
    """The result of a function of pydantic; its errors become a :class:`DataError` by :func:`data_error`."""
    try:
        return validate(value)
    except ValidationError as error:
        raise data_error(error, file, number, within) from error


def parse_record(model: type[M], line: bytes | str, file: str | Path, number: int) -> M:
    """Parse a line of JSON as ``model``; raises :class:`DataError` with file, line and field."""
    return valid(model.model_validate_json, line, file, number)


def data_error(
    error: ValidationError, file: str | Path | None, number: int | None = None, within: str = ""
) -> DataError:
    """Convert the first problem of a pydantic error to a DataError.

    ``within`` is the location of the validated value in the file, such as ``lesson 2``.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
    field = " ".join(part for part in (within, field) if part)
    name = None if file is None else str(file)
    return DataError(sentence(first), file=name, line=number, field=field or None)


def parse_json(
    text: bytes | str, file: str | Path, number: int | None = None, *, surrogates: bool = False
) -> Any:
    """Parse a JSON value; raises :class:`DataError`, also for lone surrogates if not ``surrogates``."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # below: what json reads nevertheless, such as NaN, lone surrogates and byte order marks
    try:
        value = json.loads(text)
        if not surrogates and (isinstance(text, bytes) or "\\u" in text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            "has characters that are not valid Unicode (lone surrogates).", file=str(file), line=number
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(_json_problem(text, error, number), file=str(file), line=number) from error
    return value


def read_objects(path: str | Path, noun: str) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield the objects of a file, with their lines: one object, a list of objects, or JSON lines.

    Raises :class:`DataError`, also for what is no object; ``noun`` says what one is.
    """
    text = read_text(path).removeprefix("\ufeff").strip()
    try:
        whole = parse_json(text, path)
    except DataError:
        lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        numbered: list[tuple[int | None, Any]] = [(n, parse_json(line, path, n)) for n, line in lines]
    else:
        numbered = [(None, value) for value in (whole if isinstance(whole, list) else [whole])]
    for number, value in numbered:
        if not isinstance(value, dict):
            raise DataError(f"is not {noun}, which is a JSON object.", file=str(path), line=number)
        yield number, value


def lists_of(value: Any) -> Iterator[list[dict[str, Any]]]:
    """All lists of objects in a document, from the outermost; a document that is an object is one of them."""
    waiting = [value]
    for each in waiting:
        objects = [item for item in (each if isinstance(each, list) else [each]) if isinstance(item, dict)]
        if objects and (isinstance(each, list) or each is value):
            yield objects
        inner = [v for item in objects[:8] for v in item.values() if isinstance(v, dict | list)]
        waiting += inner[: max(0, 500 - len(waiting))]


def parse_yaml(text: str, file: str | Path, feature: str) -> Any:
    """Parse YAML; ``feature`` needs the package for it. Raises :class:`~exam_pp.errors.ExamError`."""
    try:
        import yaml  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingExtraError(feature, "hf") from error
    try:
        # A few lines of aliases can stand for billions of values.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise DataError("has an alias (*). Write the value itself in its place.", file=str(file))
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise DataError(f"is not valid YAML: {' '.join(str(error).split())}.", file=str(file)) from error


def read_document(
    model: type[M], path: str | Path, form: str, noun: str, hint: str = "", text: str | None = None
) -> M:
    """Read a JSON object whose key ``format`` is ``form``; raises :class:`DataError`.

    ``text`` is that of the file, if it is read already.
    """
    value = parse_json(read_text(path) if text is None else text, path)
    if not isinstance(value, dict) or value.get("format") != form:
        raise DataError(f'is not {noun}: its key "format" must be {form!r}.{hint}', file=str(path))
    return valid(model.model_validate, value, path)


def _json_problem(text: bytes | str, error: Exception, number: int | None) -> str:
    """The message for a line of a file, or for a whole file if ``number`` is None."""
    start = text.strip()[:1]
    if number is None and not start:
        return "is empty."
    if number is None and start in ("{", "[", b"{", b"[") and str(error).startswith("Extra data"):
        return f"has several JSON values, perhaps one per line, but must be a single one ({error})."
    return f"is not valid JSON ({error})."


def read_records(model: type[M], path: str | Path, noun: str) -> Iterator[tuple[int, M]]:
    """Yield pairs of line number and record, in file order.

    Raises :class:`DataError` for an invalid line and for an empty file. ``noun`` is the plural for records.
    """
    number = 0
    for number, text in read_lines(path):
        yield number, parse_record(model, text, path, number)
    if not number:
        raise DataError(f"has no {noun}.", file=str(path))


def write_records(
    records: Iterable[BaseModel], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write one record per line, keys in the model's order, as aliases; unset keys are not written.

    Raises :class:`DataError` for a value that is nested too deeply to be written.
    """
    with atomic_output(path, inputs=inputs) as stream:
        for number, record in enumerate(records, start=1):
            try:
                line = record.model_dump_json(by_alias=True, exclude_unset=True)
            except PydanticSerializationError as error:
                if not any(sign in str(error) for sign in ("depth exceeded", "Circular reference")):
                    raise
                raise DataError(TOO_DEEP, file=str(path), line=number) from error
            stream.write(line.encode() + b"\n")


def write_json_lines(values: Iterable[Any], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write one value per line as JSON."""
    with atomic_output(path, inputs=inputs) as stream:
        for value in values:
            stream.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
