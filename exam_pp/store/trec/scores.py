"""Reading and writing leaderboards with scores: exam_pp's TSV and JSON, published ones, trec_eval and CSV."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exam_pp.errors import DataError
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.delimited import cells_of, check_name
from exam_pp.store.files import read_text, read_text_lines, write_text
from exam_pp.store.parsing import parse_json
from exam_pp.store.trec.trec_eval import is_trec_eval, trec_eval_lines

_LONG = ("system", "query", "measure", "value")
"""Columns of the long format, which has one score per row. Tables in wide format have one system per row."""
# Trailing rows of the published nine-column leaderboard.
_NOT_SYSTEMS = ("spearman", "kendall")
_IGNORED_SUFFIXES = (
    "stderr", "std-err", "std", "+/-", "±",
    " low", " high", " letters", " worst case", " best case", " order open",
)  # fmt: skip

_RANK = re.compile(r"(?<![a-z])rank(?![a-z])")
"""Matches the word in "official rank" and "orig_TREC_leaderboard_rank", but not RankDCG."""


def read_leaderboard_means(path: str | Path) -> list[Score]:
    """Read the means of a leaderboard, as scores of the query :data:`~exam_pp.results.ALL_QUERIES`.

    Reads TSV and JSON of ``exam-pp evaluate`` (of ``--per-query`` the rows ``all``), published Cover
    leaderboards, output of trec_eval, and any table with a header and the system in the first column.
    Columns of standard errors, intervals, ranks and text are ignored. In trec_eval output without a line
    ``runid`` the system is the file name. Raises :class:`DataError`.
    """
    table = _table(path)
    if table is None:
        raise DataError(
            "names no measures, so it is not a leaderboard. Name a file that exam-pp evaluate wrote; "
            "official ranks are not scores.",
            file=str(path),
        )
    columns, rows = table
    if set(_LONG) <= set(columns):
        scores = _long_scores(rows, path, means=True)
    else:
        scores = _wide_scores(columns, rows, path)
    if not scores:
        raise DataError(
            "has no scores of systems. Expected a header line, then lines with a system and its scores.",
            file=str(path),
        )
    return scores


def without_duplicates(scores: Iterable[tuple[int | None, Score]], path: str | Path) -> Iterator[Score]:
    """Yield scores without duplicates; raises :class:`DataError` for two different values of a score."""
    values: dict[tuple[str, str, str], float] = {}
    for line, score in scores:
        if score[:3] not in values:
            values[score[:3]] = score.value
            yield score
        elif values[score[:3]] != score.value:
            problem = f"{score.system!r} has two values of {score.metric!r} for the query {score.query_id!r}."
            raise DataError(problem, file=str(path), line=line)


def read_leaderboard_queries(path: str | Path) -> list[Score]:
    """Read the scores of single queries (``--per-query``, ``trec_eval -q``); empty for other leaderboards."""
    table = _table(path)
    if table is None or not set(_LONG) <= set(table[0]):
        return []
    return _long_scores(table[1], path, means=False)


def count_ignored_values(path: str | Path) -> Counter[str]:
    """Count the values of a leaderboard that are neither systems nor scores, by column, row or JSON key.

    These are columns of errors, intervals, ranks and text, rows of correlations, and in JSON the title, the
    notes, and tables after the first.
    """
    values: Counter[str] = Counter()
    table = _table(path)
    if table is None:
        return values
    columns, rows = table
    used = _LONG if set(_LONG) <= set(columns) else (columns[0], *_score_columns(columns, rows))
    for _, row in rows:
        values.update(column for column in row.keys() - set(used) if row[column] not in (None, "", "+/-"))
        name = str(row.get(columns[0], "")).lower()
        values[name] += columns[0] != _LONG[0] and name in _NOT_SYSTEMS
    if (text := read_text(path).lstrip()).startswith("{"):
        document: dict[str, Any] = json.loads(text)
        values.update(key for key, value in document.items() if value and key != "tables")
        values["tables"] = len(document["tables"]) - 1
    return +values


def write_scores(
    scores: Iterable[Score], path: str | Path, *, as_json: bool = False, inputs: Iterable[str | Path] = ()
) -> None:
    """Write scores in the long format of ``exam-pp evaluate --per-query``, but with all digits.

    One row per score: system, query (``all`` for a mean), measure, value. Raises :class:`DataError` for a
    name that a TSV file cannot represent.
    """
    if as_json:
        rows = [dict(zip(_LONG, score, strict=True)) for score in scores]
        document = {"title": "", "notes": [], "tables": [{"title": "", "rows": rows}]}
        write_text(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n", inputs=inputs)
        return
    lines = ["\t".join(_LONG)]
    for score in scores:
        for name in score[:3]:
            check_name(name)
        lines.append("\t".join((*score[:3], repr(score.value))))
    write_text(path, "\n".join(lines) + "\n", inputs=inputs)


def is_leaderboard(path: str | Path) -> bool:
    """Whether a file has columns of scores, and not only official ranks; raises :class:`DataError`."""
    table = _table(path)
    return table is not None and bool(_score_columns(*table))


Row = tuple[int | None, Mapping[str, Any]]
"""Line number (None for JSON) and cells by column."""


def _table(path: str | Path) -> tuple[Sequence[str], list[Row]] | None:
    """Return columns and rows of a leaderboard; None for official ranks and JSON without tables."""
    lines = list(read_text_lines(path))
    if not lines:
        raise DataError("is empty.", file=str(path))
    if lines[0][1].startswith('["'):
        raise DataError(
            "has passages, not scores. exam-pp evaluate makes a leaderboard from passages.", file=str(path)
        )
    if lines[0][1].startswith(("{", "[")):
        return _json_table(parse_json("\n".join(text for _, text in lines), path))
    if is_trec_eval([text for _, text in lines[:2]]):
        return _LONG, _trec_eval_rows(lines, path)
    separator = "\t" if "\t" in lines[0][1] else ","
    columns, *body = (cells_of(text, separator) for _, text in lines)
    if len(columns) < 2 or _is_number(columns[1]):
        return None
    rows: list[Row] = []
    for (number, _), cells in zip(lines[1:], body, strict=True):
        if len(cells) > len(columns):
            raise DataError(
                f"has {len(cells)} columns, but the header has {len(columns)}.", file=str(path), line=number
            )
        cells.extend([""] * (len(columns) - len(cells)))  # read_text_lines strips empty cells at the end
        # A duplicate column ("+/-") is never a score, so the first one is kept.
        rows.append((number, dict(zip(reversed(columns), reversed(cells), strict=True))))
    return columns, rows


def _trec_eval_rows(lines: list[tuple[int, str]], path: str | Path) -> list[Row]:
    for number, text in lines:
        if text.count("\t") != 2:
            raise DataError(
                "is not a line of trec_eval output (measure, query, value).", file=str(path), line=number
            )
    name = Path(path).name.removesuffix(".gz").partition(".")[0]
    return [
        (line.number, dict(zip(_LONG, (line.system, line.query_id, line.measure, line.value), strict=True)))
        for line in trec_eval_lines(lines, name)
    ]


def _json_table(value: Any) -> tuple[Sequence[str], list[Row]] | None:
    tables = value.get("tables") if isinstance(value, dict) else None
    if not isinstance(tables, list) or not tables or not isinstance(tables[0], dict):
        return None
    rows = [row for row in tables[0].get("rows") or () if isinstance(row, dict)]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return columns, [(None, row) for row in rows]


def _score_columns(columns: Sequence[str], rows: list[Row]) -> list[str]:
    if set(_LONG) <= set(columns):
        return ["value"]
    return [
        column
        for column in dict.fromkeys(columns[1:])
        if not _is_ignored_column(column) and any(_is_number(row.get(column)) for _, row in rows)
    ]


def _is_ignored_column(column: str) -> bool:
    name = column.lower()
    return _RANK.search(name) is not None or name == "queries" or name.endswith(_IGNORED_SUFFIXES)


def _long_scores(rows: list[Row], path: str | Path, *, means: bool) -> list[Score]:
    """Return the means, or the scores of single queries."""
    scores = (
        (
            line,
            Score(
                str(row["system"]),
                str(row["query"]),
                str(row["measure"]),
                _number(row["value"], "value", path, line),
            ),
        )
        for line, row in rows
        if (row["query"] == ALL_QUERIES) == means
    )
    return list(without_duplicates(scores, path))


def _wide_scores(columns: Sequence[str], rows: list[Row], path: str | Path) -> list[Score]:
    scores: list[Score] = []
    seen: set[str] = set()
    measures = _score_columns(columns, rows)
    if duplicates := [measure for measure in measures if columns.count(measure) > 1]:
        raise DataError(f"has the column {duplicates[0]!r} twice.", file=str(path), line=1)
    for line, row in rows:
        system = str(row.get(columns[0], ""))
        if system.lower() in _NOT_SYSTEMS:
            continue
        if system in seen:
            raise DataError(f"the system {system!r} occurs twice.", file=str(path), line=line)
        seen.add(system)
        for column in measures:
            if row.get(column) not in (None, ""):
                scores.append(Score(system, ALL_QUERIES, column, _number(row[column], column, path, line)))
    return scores


def _is_number(cell: Any) -> bool:
    try:
        return math.isfinite(float(cell))
    except (TypeError, ValueError, OverflowError):
        return False


def _number(cell: Any, column: str, path: str | Path, line: int | None) -> float:
    if isinstance(cell, bool) or not _is_number(cell):
        raise DataError(f"{cell!r} is not a number.", file=str(path), line=line, field=column)
    return float(cell)
