"""Reader and writer of Open RAG Eval's result CSV: numbers and JSON cells of each query and run.

Columns are ``query_id``, ``query``, and those of the measures, such as ``retrieval_score_umbrela_scores``.
With several runs, the columns of measures have the prefixes ``run_1_``, ``run_2_`` and so on.

Source: Open RAG Eval, metrics documentation, section "Output Format".
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.errors import DataError
from exam_pp.results import ANSWERED, Score
from exam_pp.roles import System
from exam_pp.store.csv_cells import write_cells
from exam_pp.store.numbers import is_number, number_of
from exam_pp.store.tables import Layout, read_rows

QUERY_COLUMNS = ("query_id", "query")
RUN_COLUMN = re.compile(r"run_([1-9]\d{0,8})_(.+)")
"""A column of one of several runs."""
MEASURE = re.compile(r"(run_\d+_)?((retrieval|generation)_score|consistency)_")
"""The beginning of the name of a column of measures."""

_PASSAGE_LABELS = "umbrela_scores"
"""End of the column of labels, whose keys are passages and not measures."""
_NO_ANSWER = "no_answer_score"
"""End of the column with the verdict "yes" or "no"."""
_VERDICTS = {"yes": 1.0, "no": 0.0}


@dataclass(frozen=True)
class ResultRow:
    """The results of one run of a query.

    ``query_text``: Its text; empty if the file has none. ``repeat``: The number of the run; None in files
    without prefixes. ``cells``: Column without prefix to a number, a JSON value, or a text. Empty cells have
    no key.
    """

    query_id: str
    query_text: str
    repeat: int | None
    cells: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = field(default=None, compare=False)


def read_result_rows(path: str | Path) -> Iterator[ResultRow]:
    """Yield the results of all queries and runs, in file order, runs by number.

    A run without cells for a query has no row. A query without any cells has one row.
    """
    seen: set[str] = set()
    for row in read_rows(path, Layout(())):
        line, cells = row.line, {name: cell.strip() for name, cell in row.cells.items()}
        query_id = cells.get("query_id")
        if not query_id:
            if query_id is None:
                raise DataError("has no column 'query_id'.", file=str(path), line=line)
            raise DataError("is empty.", file=str(path), line=line, field="query_id")
        if query_id in seen:
            raise DataError(f"the query {query_id!r} occurs twice.", file=str(path), line=line)
        seen.add(query_id)
        runs: dict[int | None, dict[str, Any]] = {}
        for column, cell in cells.items():
            if column in QUERY_COLUMNS or not cell:
                continue
            run = RUN_COLUMN.fullmatch(column)
            repeat, name = (int(run[1]), run[2]) if run else (None, column)
            runs.setdefault(repeat, {})[name] = _value(cell, path, line, column)
        for repeat in sorted(runs, key=lambda number: number or 0) or [None]:
            yield ResultRow(query_id, cells.get("query", ""), repeat, runs.get(repeat, {}), line)


def read_results(path: str | Path, system: str) -> tuple[list[Score], Mapping[str, int]]:
    """Read the scores of the queries, and count the cells without scores, by column.

    Numbers in the objects of JSON cells are scores of the measure ``COLUMN.KEY``. The verdict of the column
    ``generation_score_no_answer_score`` is the measure ``Answered``: 1 for yes, 0 for no. Labels of passages,
    lists and texts are not scores. If the file has several runs, their systems are ``SYSTEM-run-1`` and so
    on. Open RAG Eval also gives a single run the prefix ``run_1_``; it is the system itself.
    """
    scores: list[Score] = []
    others: Counter[str] = Counter()
    rows = list(read_result_rows(path))
    is_single = {row.repeat for row in rows if row.cells} <= {1}
    for row in rows:
        prefix = "" if row.repeat is None else f"run_{row.repeat}_"
        for column, value in row.cells.items():
            found = dict(_scores(column, value))
            others[prefix + column] += not found
            name = system if is_single else str(System(system, row.repeat))
            scores += [Score(name, row.query_id, metric, number) for metric, number in found.items()]
    if not scores:
        raise DataError("has no scores.", file=str(path))
    return scores, +others


def write_result_rows(
    rows: Iterable[ResultRow], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write results, a row for each query; objects and lists become JSON cells.

    ``rows``: The results. The columns of a run are in the order of their first occurrence. ``inputs``: Files
    that may not be overwritten.
    """
    texts: dict[str, str] = {}
    cells: dict[str, dict[tuple[int | None, str], str]] = {}
    columns: dict[int | None, dict[str, None]] = {}
    for row in rows:
        texts[row.query_id] = row.query_text or texts.get(row.query_id, "")
        of_query = cells.setdefault(row.query_id, {})
        for name, value in row.cells.items():
            columns.setdefault(row.repeat, {})[name] = None
            of_query[row.repeat, name] = _cell(value)
    order = [(number, name) for number, names in columns.items() for name in names]
    header = [name if number is None else f"run_{number}_{name}" for number, name in order]
    lines = [
        (query_id, texts[query_id], *(of_query.get(column, "") for column in order))
        for query_id, of_query in cells.items()
    ]
    write_cells((*QUERY_COLUMNS, *header), lines, path, ids=("query_id",), inputs=inputs)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _value(cell: str, path: str | Path, line: int | None, column: str) -> Any:
    """The number, JSON value or text of a cell."""
    if is_number(cell):
        return float(cell)
    if not MEASURE.match(column):
        return cell
    if cell[0] in "{[":
        return _json(cell, path, line, column)
    try:
        float(cell)  # reads also "nan" and "1_0"
    except ValueError:
        return cell
    raise DataError(
        f"{cell!r} is not a finite number; leave the cell of a missing score empty.",
        file=str(path), line=line, field=column,
    )  # fmt: skip


def _json(cell: str, path: str | Path, line: int | None, column: str) -> Any:
    try:
        value = json.loads(cell, parse_constant=_refuse)
        if "\\u" in cell:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for lone surrogates
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise DataError(
            f"the cell is not valid JSON ({reason}).", file=str(path), line=line, field=column
        ) from error
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a finite number")


def _scores(column: str, value: Any) -> Iterator[tuple[str, float]]:
    """The measures and scores of a cell."""
    if column.endswith(_PASSAGE_LABELS):
        return
    if column.endswith(_NO_ANSWER):
        verdicts = value.values() if isinstance(value, dict) else [value]
        known = [_VERDICTS[v.lower()] for v in verdicts if isinstance(v, str) and v.lower() in _VERDICTS]
        if len(known) == 1:
            yield ANSWERED, known[0]
            return
    yield from _numbers(column, value)


def _numbers(column: str, cell: Any) -> Iterator[tuple[str, float]]:
    """The numbers of an object and the objects in it, each with the path to it."""
    waiting = [(column, cell)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{name}.{key}", item) for key, item in reversed(value.items())]
        elif (number := number_of(value)) is not None:
            yield name, number
