"""Reading and writing passages files, one query at a time."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from exam_pp.data_model import PassageView, QueryPassages, parse_line, parse_object
from exam_pp.errors import DataError, sentence
from exam_pp.splicing import without_lone_surrogates
from exam_pp.store.files import NO_UTF8, atomic_output, read_lines


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable the collector in this block.

    Decoded files are many live objects without cycles, so scanning them only costs time (a quarter of the
    time of a leaderboard, or of writing full objects).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


log = logging.getLogger(__name__)

_NOT_A_QUERY = (
    "is not a line of a passages file, [query id, [passages]]. exam-pp validate detects the format of a file."
)


def read_passages(path: str | Path) -> Iterator[QueryPassages]:
    """Read a passages file as full objects, one query at a time.

    Args:
        path: The file, gzipped (detected by its content) or not; ``-`` is standard input.

    Returns:
        An iterator of queries in file order, with one query in memory at a time.

    Raises:
        DataError: A line is not in the format; the message names file, line and field.
    """
    for number, line in read_lines(path):
        yield parse_query(line, str(path), number)


@contextmanager
def passages_writer(path: str | Path, *, inputs: Iterable[str | Path] = ()) -> Iterator[PassagesWriter]:
    """Open a writer; the file is created or replaced when the block ends without an error."""
    with atomic_output(path, inputs=inputs) as stream:
        yield PassagesWriter(stream)


def write_passages(
    queries: Iterable[WritableQuery], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write queries, one per line, atomically."""
    with passages_writer(path, inputs=inputs) as writer:
        for query in queries:
            writer.write(query)


class WritableQuery(Protocol):
    """A query that can be written, such as `QueryPassages` and `RawQuery`."""

    def dump(self) -> bytes:
        """Return the line without its end."""


class PassagesWriter:
    """Writes one query per line."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, query: WritableQuery) -> None:
        """Append a query."""
        with without_garbage_collection():
            line = query.dump()
        self._stream.write(line)
        self._stream.write(b"\n")


def check_ids(passages: Sequence[PassageView], file: str, number: int) -> None:
    """Raise :class:`DataError` if two passages of a query have the same id, but different texts."""
    texts = {passage.passage_id: passage.text for passage in passages}
    if len(texts) == len(passages):
        return
    texts.clear()
    for position, passage in enumerate(passages, 1):
        if texts.setdefault(passage.passage_id, passage.text) != passage.text:
            raise DataError(
                f"the id {passage.passage_id!r} has two different texts.",
                file=file, line=number, field=f"passage {position} paragraph_id",
            )  # fmt: skip


def parse_query(line: bytes, file: str, number: int, *, every_field: bool = False) -> QueryPassages:
    """Parse a line of a passages file as :func:`read_passages` does; raises :class:`DataError`.

    ``every_field`` also checks fields that are otherwise decoded when they are read, such as replies.
    """
    check = partial(parse_query, line, file, number, every_field=True)
    with without_garbage_collection():
        try:
            query = parse_line(line, every_field=every_field, check=check)
        except ValueError as error:  # pydantic.ValidationError, whose import is slow
            query = _parse_lenient(error, line, file, number)
    check_ids(query.passages, file, number)
    return query


def _parse_lenient(problem: Any, line: bytes, file: str, number: int) -> QueryPassages:
    """Parse a line that Python's json module accepts and pydantic rejects, mostly for lone surrogates."""
    first = problem.errors(include_url=False, include_input=False)[0]
    if first["type"] != "json_invalid":
        raise _shape_error(first, file, number) from problem
    repaired = without_lone_surrogates(line)
    try:
        value = json.loads(repaired.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(NO_UTF8, file=file, line=number) from error
    except (ValueError, RecursionError) as error:
        if not line.lstrip().startswith(b"["):
            raise DataError(_NOT_A_QUERY, file=file, line=number) from error
        raise DataError(f"is not valid JSON ({error}).", file=file, line=number) from error
    if repaired != line:
        log.warning(
            "%s, line %d: replaced characters that are not valid Unicode (lone surrogates)", file, number
        )
    try:
        return parse_object(value, repaired)
    except ValueError as error:  # as above
        first = error.errors(include_url=False, include_input=False)[0]  # type: ignore[attr-defined]
        raise _shape_error(first, file, number) from error


def _shape_error(error: Any, file: str, number: int) -> DataError:
    if not error["loc"]:  # the file has another format, such as a bank or a run
        return DataError(_NOT_A_QUERY, file=file, line=number)
    return DataError(sentence(error), file=file, line=number, field=passage_field(error["loc"]))


def passage_field(loc: Sequence[int | str]) -> str:
    """Return the location of a pydantic error as a field name: ``(1, 0, 'text')`` is ``passage 1 text``.

    The first element is the index in the pair of query id and passages.
    """
    names = [part for part in loc if not (isinstance(part, str) and part.startswith("function-"))]
    if not names:
        return ""
    if names[0] == 0:
        return "query id"
    if len(names) > 1 and isinstance(names[1], int):
        path = ".".join(str(part + 1 if isinstance(part, int) else part) for part in names[2:])
        return f"passage {names[1] + 1}{' ' + path if path else ''}"
    return "passages"
