"""Reading and writing edits files, and the digests that tie them to the reviewed files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from exam_pp.edits import FORMAT, Edits, canonical_sha256
from exam_pp.errors import DataError
from exam_pp.store.files import read_lines, read_text, write_text
from exam_pp.store.parsing import data_error, parse_json


def read_edits(path: str | Path) -> Edits:
    """What a reviewer changed; raises :class:`DataError` with the field."""
    value = parse_json(read_text(path), path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise DataError(f'is not an edits file: its "format" is not {FORMAT!r}.', file=str(path))
    try:
        return Edits.model_validate(value)
    except ValidationError as error:
        raise data_error(error, path) from error


def write_edits(edits: Edits, path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write an edits file, atomically; keys that were never set are left out."""
    text = edits.model_dump_json(by_alias=True, exclude_unset=True, indent=1)
    write_text(path, text + "\n", inputs=inputs)


def file_sha256(path: str | Path) -> str:
    """The digest of a file of JSON lines (bank or graded passages); raises :class:`DataError`."""
    # Web text holds lone surrogates; what reads passages replaces them, so a digest must bear them.
    return canonical_sha256(
        parse_json(line, path, number, surrogates=True) for number, line in read_lines(path)
    )


def check_reviewed(
    known: str | None, reviewed: str | Path, edits: str | Path, field: str, noun: str, parts: str
) -> None:
    """Raise :class:`DataError` unless ``known`` is the digest of the reviewed file.

    ``field`` is the key of the edits file that holds ``known``; ``noun`` and ``parts`` are what the file
    is called and consists of.
    """
    if known == file_sha256(reviewed):
        return
    why = f"do not say which {noun} they are for" if known is None else f"are for another {noun}"
    raise DataError(
        f"the edits {why}, or {reviewed} has changed since the review; use --force if its {parts} are the "
        "same.",
        file=str(edits), field=field,
    )  # fmt: skip
