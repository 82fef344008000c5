"""Reading and writing edits files, and checking the SHA-256 digests of the reviewed files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from exam_pp.edits import FORMAT, Edits, canonical_sha256
from exam_pp.errors import DataError
from exam_pp.store.files import read_lines, read_text, write_text
from exam_pp.store.parsing import data_error, parse_json


def read_edits(path: str | Path) -> Edits:
    """Read an edits file; raises :class:`DataError` with the field."""
    value = parse_json(read_text(path), path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise DataError(f'is not an edits file: its key "format" must be {FORMAT!r}.', file=str(path))
    try:
        return Edits.model_validate(value)
    except ValidationError as error:
        raise data_error(error, path) from error


def write_edits(edits: Edits, path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write an edits file atomically; keys that were never set are not written."""
    text = edits.model_dump_json(by_alias=True, exclude_unset=True, indent=1)
    write_text(path, text + "\n", inputs=inputs)


def file_sha256(path: str | Path) -> str:
    """Return the digest of a JSON lines file (bank or graded passages); raises :class:`DataError`."""
    # Web text can have lone surrogates. The readers of passages accept them, so the digest does, too.
    return canonical_sha256(
        parse_json(line, path, number, surrogates=True) for number, line in read_lines(path)
    )


def check_reviewed(
    known: str | None, reviewed: str | Path, edits: str | Path, field: str, noun: str, parts: str
) -> None:
    """Raise :class:`DataError` unless ``known`` is the digest of the reviewed file.

    For the message: ``field`` is the key of ``known`` in the edits file, ``noun`` names the reviewed file,
    and ``parts`` names its records.
    """
    if known == file_sha256(reviewed):
        return
    problem = (
        f"the edits file does not record for which {noun} it was made"
        if known is None
        else f"the edits are for another {noun} than {reviewed}, or it has changed since the review"
    )
    raise DataError(
        f"{problem}. Use --force if the {parts} of {reviewed} are those that were reviewed.",
        file=str(edits), field=field,
    )  # fmt: skip
