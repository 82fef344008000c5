"""Reading run types: the task of each run, such as AG or RAG, which TREC RAG answers do not record."""

from __future__ import annotations

from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.store.delimited import cells_of
from exam_pp.store.files import read_text_lines

_HEADERS = ("run_id", "run id", "run", "system", "runtag")


def read_run_types(path: str | Path) -> dict[str, str]:
    """Read types by run id from lines ``run<TAB>type`` (or comma-separated), with or without a header.

    Further columns are ignored. Raises :class:`DataError` for invalid lines and a run with two types.
    """
    types: dict[str, str] = {}
    for index, (number, line) in enumerate(read_text_lines(path)):
        run, *rest = cells_of(line)
        if index == 0 and run.lower() in _HEADERS:
            continue
        if not run or not rest or not rest[0]:
            raise DataError("is not a run id and a type, separated by a tab.", file=str(path), line=number)
        if types.setdefault(run, rest[0]) != rest[0]:
            raise DataError(f"the run {run!r} has two types.", file=str(path), line=number)
    if not types:
        raise DataError("has no run types.", file=str(path))
    return types
