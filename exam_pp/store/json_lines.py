"""Reading and writing JSON lines as records of a pydantic model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from exam_pp.errors import DataError
from exam_pp.records import TOO_DEEP
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.parsing import parse_record

M = TypeVar("M", bound=BaseModel)


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
