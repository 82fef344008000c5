"""Reading and writing leaderboards with scores: exam_pp's TSV and JSON, published ones, trec_eval and CSV."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from exam_pp.data_model import Id, Number
from exam_pp.errors import DataError
from exam_pp.models import Record
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.csv_cells import (
    NUMBERING,
    check_name,
    numbered_rows,
    plain_name,
    plain_numbers,
    split_cells,
    system_first,
)
from exam_pp.store.files import read_lines, read_text, read_text_lines, write_text
from exam_pp.store.numbers import is_integer, is_number, number_of
from exam_pp.store.parsing import parse_json, parse_record, write_json_lines
from exam_pp.store.trec.published_boards import UNDEFINED, is_board_header, is_footer, long_rows, read_boards

_RUN = "runid"
_QUOTE = "'"
"""Encloses text values, such as those of the measure relstring."""


class ScoreLine(NamedTuple):
    """A line of trec_eval output with its system; the value is text."""

    number: int
    system: str
    query_id: str
    measure: str
    value: str


def is_trec_eval(lines: Sequence[str]) -> bool:
    """Whether all lines are output of trec_eval: measure, query, and a number or the run's name, with tabs.

    A number in the first column means another format, such as query, passage and rank (MS MARCO). So do whole
    numbers alone, which are ranks or grades, unless they are counts (num_ret).
    """
    rows = [[cell.strip() for cell in line.split("\t")] for line in lines]
    are_whole = all(is_integer(row[-1]) and not row[0].startswith("num_") for row in rows)
    return (
        bool(rows)
        and not are_whole
        and all(
            len(row) == 3
            and len(row[0].split()) == 1
            and not is_number(row[0])
            and (row[0] == _RUN or is_number(row[2].strip(_QUOTE)))
            for row in rows
        )
    )


def trec_eval_lines(lines: Iterable[tuple[int, str]], default_system: str) -> list[ScoreLine]:
    """Parse the concatenated output for one or several runs.

    A line ``runid`` names the system of the queries before it and of the means (query ``all``) after it;
    without such a line the system is ``default_system``. Text values (of relstring) are ignored.
    """
    result: list[ScoreLine] = []
    unnamed: list[ScoreLine] = []
    system = default_system
    for number, text in lines:
        measure, query_id, value = (cell.strip() for cell in text.split("\t"))
        if measure == _RUN:
            system = value
            result += [line._replace(system=system) for line in unnamed]
            unnamed = []
        elif value.startswith(_QUOTE):
            continue
        elif query_id == ALL_QUERIES:
            result.append(ScoreLine(number, system, query_id, measure, value))
        else:
            unnamed.append(ScoreLine(number, default_system, query_id, measure, value))
    return result + unnamed


_SYSTEM, _QUERY = "system", "query"
_LONG = (_SYSTEM, _QUERY, "measure", "value")
"""Columns of the long format, which has one score per row. Tables in wide format have one system per row."""
_ALIASES = {
    "system": ("system", "run", "run_id", "runid", "method", "model", "agent", "team"),
    "query": ("query", "query_id", "qid", "topic", "topic_id"),
    "measure": ("measure", "metric"),
    "value": ("value", "score"),
}
"""Other names of the columns of the long format, in order of preference."""
QUERY_COLUMNS = frozenset(_ALIASES[_QUERY])
"""Names of a column of queries."""
NAMED_COLUMNS = frozenset(name for column in _LONG[:3] for name in _ALIASES[column])
"""Names of columns of systems, queries and names of measures, which are not scores."""
_IGNORED_SUFFIXES = (
    "stderr", "std-err", "std", "+/-", "±",
    " low", " high", " letters", " worst case", " best case", " low case", " high case",
    " order open",
)  # fmt: skip

_RANK = re.compile(r"(?<![a-z])rank(?![a-z])")
"""Matches the word in "official rank" and "orig_TREC_leaderboard_rank", but not RankDCG."""


def read_leaderboard_means(path: str | Path) -> list[Score]:
    """Read the means of a leaderboard, as scores of the query :data:`~exam_pp.results.ALL_QUERIES`.

    Reads TSV and JSON of ``exam-pp evaluate`` (of ``--per-query`` the rows ``all``), published leaderboards
    with the lines around them (:mod:`~exam_pp.store.trec.published_boards`), output of trec_eval, and any
    table with a header and the system in the first column. Columns of standard errors, intervals, ranks and
    text are ignored. A table with a column of queries has scores of queries, and no means. In trec_eval
    output without a line ``runid``, and in tables of queries without a column of systems, the system is the
    file name. Raises :class:`DataError`.
    """
    table = _table(path)
    if table is None:
        raise DataError(
            "names no measures, so it is not a leaderboard. Name a file that exam-pp evaluate wrote; "
            "official ranks are not scores.",
            file=str(path),
        )
    if set(_LONG) <= set(table.columns):
        scores = _long_scores(table.rows, path, means=True)
    else:
        scores = _wide_scores(table.columns, table.rows, path)
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
    if table is None or not set(_LONG) <= set(table.columns):
        return []
    return _long_scores(table.rows, path, means=False)


def count_ignored_values(path: str | Path) -> Counter[str]:
    """Count the values of a leaderboard that are neither systems nor scores, by column, row or JSON key.

    These are columns of errors, intervals, ranks and text, rows of correlations, and in JSON the title, the
    notes, and tables after the first.
    """
    values: Counter[str] = Counter()
    table = _table(path)
    if table is None:
        return values
    columns, rows, notes = table
    values.update(notes)
    used = _LONG if set(_LONG) <= set(columns) else (columns[0], *_score_columns(columns, rows))
    for _, row in rows:
        values.update(column for column in row.keys() - set(used) if row[column] not in (None, "", "+/-"))
        name = str(row.get(columns[0], "")).lower()
        values[name] += _is_footer(columns, row)
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
    return table is not None and bool(_score_columns(table.columns, table.rows))


Row = tuple[int | None, Mapping[str, Any]]
"""Line number (None for JSON) and cells by column."""


class _Table(NamedTuple):
    """Columns and rows of a leaderboard, and the counts of the lines around it."""

    columns: Sequence[str]
    rows: list[Row]
    notes: Mapping[str, int] = MappingProxyType({})


def _table(path: str | Path) -> _Table | None:
    """Return the table of a leaderboard; None for official ranks and JSON without tables."""
    lines = list(read_text_lines(path))
    if not lines:
        raise DataError("is empty.", file=str(path))
    if lines[0][1].startswith('["'):
        raise DataError(
            "has passages, not scores. exam-pp evaluate makes a leaderboard from passages.", file=str(path)
        )
    if lines[0][1].startswith(("{", "[")):
        return _json_table(parse_json("\n".join(text for _, text in lines), path))
    results = [(number, text) for number, text in lines if not is_footer(text.partition("\t")[0])]
    if is_trec_eval([text for _, text in results[:2]]):
        return _Table(_LONG, _trec_eval_rows(results, path), {"note": len(lines) - len(results)})
    if any(is_board_header(text) for _, text in lines):
        return _published_table(lines, path)
    numbers, cells_of_rows = zip(*numbered_rows(lines, path), strict=True)
    header, *body = system_first([*cells_of_rows])
    columns = _long_names(header)
    if len(columns) < 2 or is_number(columns[1]):
        return None
    rows: list[Row] = []
    for number, cells in zip(numbers[1:], body, strict=True):
        if len(cells) > len(columns):
            raise DataError(
                f"has {len(cells)} columns, but the header has {len(columns)}.", file=str(path), line=number
            )
        cells.extend([""] * (len(columns) - len(cells)))  # read_text_lines strips empty cells at the end
        # A duplicate column ("+/-") is never a score, so the first one is kept.
        rows.append((number, dict(zip(reversed(columns), reversed(cells), strict=True))))
    rows = _with_plain_numbers(columns, rows, path)
    if _QUERY in columns and not set(_LONG) <= set(columns):
        return _Table(_LONG, _rows_of_queries(columns, rows, _name_of(path)))
    return _Table(columns, rows)


def _published_table(lines: list[tuple[int, str]], path: str | Path) -> _Table:
    """One published table as it is; several, and correlations, in the long format."""
    boards, notes = read_boards(lines)
    if len(boards) == 1 and not boards[0].is_of_correlations:
        (board,) = boards
        for number, text in lines:
            if len(cells := split_cells(text)) > len(board.columns) and not is_footer(cells[0]):
                problem = f"has {len(cells)} columns, but the header has {len(board.columns)}."
                raise DataError(problem, file=str(path), line=number)
        rows: list[Row] = [
            (number, {column: cells.get(column, "") for column in board.columns})
            for number, cells in board.rows
        ]
        rows = _with_plain_numbers(board.columns, rows, path)
        return _Table(board.columns, rows, notes)
    measures = [_score_columns(board.columns, board.rows) for board in boards]
    scores = long_rows(boards, measures)
    cells_of_rows = (cell for board in boards for _, cells in board.rows for cell in cells.values())
    notes["undefined correlations"] += sum(cell.lower() == UNDEFINED for cell in cells_of_rows)
    return _Table(_LONG, [(number, dict(zip(_LONG, row, strict=True))) for number, row in scores], notes)


def _with_plain_numbers(columns: Sequence[str], rows: list[Row], path: str | Path) -> list[Row]:
    """The rows with numbers as decimals with a point, which each column of scores decides."""
    plain = {
        column: plain_numbers([cells[column] for _, cells in rows], path, column)
        for column in columns[1:]
        if not _is_ignored_column(column)
    }
    return [
        (number, {**cells, **{column: of[place] for column, of in plain.items()}})
        for place, (number, cells) in enumerate(rows)
    ]


def _name_of(path: str | Path) -> str:
    """The name of the only system of a file that does not name it."""
    return Path(path).name.removesuffix(".gz").partition(".")[0]


def _long_names(columns: Sequence[str]) -> Sequence[str]:
    """The columns with the names of the long format, if they have queries and systems, or queries first."""
    names = [column.lower() for column in columns]
    found: dict[int, str] = {}
    for name, aliases in _ALIASES.items():
        place = next((names.index(alias) for alias in aliases if alias in names), None)
        if place is not None:
            found[place] = name
    if _QUERY not in found.values() or not (_SYSTEM in found.values() or found.get(0) == _QUERY):
        return columns
    if not {"measure", "value"} <= set(found.values()):  # then measures are columns, such as "score"
        found = {place: name for place, name in found.items() if name in (_SYSTEM, _QUERY)}
    return [found.get(place, column) for place, column in enumerate(columns)]


def _rows_of_queries(columns: Sequence[str], rows: list[Row], only_system: str) -> list[Row]:
    """Rows with a query and one column per measure in the long format."""
    measures = [name for name in _score_columns([_QUERY, *columns], rows) if name not in (_SYSTEM, _QUERY)]
    scores = (
        (number, (cells.get(_SYSTEM, only_system), cells[_QUERY], name, cells[name]))
        for number, cells in rows
        for name in measures
        if cells[name] not in (None, "") and not _is_footer(columns, cells)
    )
    return [(number, dict(zip(_LONG, score, strict=True))) for number, score in scores]


def _trec_eval_rows(lines: list[tuple[int, str]], path: str | Path) -> list[Row]:
    for number, text in lines:
        if text.count("\t") != 2:
            raise DataError(
                "is not a line of trec_eval output (measure, query, value).", file=str(path), line=number
            )
    name = _name_of(path)
    return [
        (line.number, dict(zip(_LONG, (line.system, line.query_id, line.measure, line.value), strict=True)))
        for line in trec_eval_lines(lines, name)
    ]


def _json_table(value: Any) -> _Table | None:
    tables = value.get("tables") if isinstance(value, dict) else None
    if not isinstance(tables, list) or not tables or not isinstance(tables[0], dict):
        return None
    rows = [row for row in tables[0].get("rows") or () if isinstance(row, dict)]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return _Table(columns, [(None, row) for row in rows])


def _score_columns(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    if set(_LONG) <= set(columns):
        return ["value"]
    return [
        column
        for column in dict.fromkeys(columns[1:])
        if not _is_ignored_column(column) and any(_is_number(row.get(column), line) for line, row in rows)
    ]


def _is_ignored_column(column: str) -> bool:
    name = column.lower()
    is_numbering = plain_name(name) in (*NUMBERING, "queries") or _RANK.search(name) is not None
    return is_numbering or name.endswith(_IGNORED_SUFFIXES)


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
        if (row["query"] == ALL_QUERIES) == means and not _is_footer(_LONG, row)
    )
    return list(without_duplicates(scores, path))


def _wide_scores(columns: Sequence[str], rows: list[Row], path: str | Path) -> list[Score]:
    scores: list[Score] = []
    seen: set[str] = set()
    measures = _score_columns(columns, rows)
    if duplicates := [measure for measure in measures if columns.count(measure) > 1]:
        raise DataError(f"has the column {duplicates[0]!r} twice.", file=str(path), line=1)
    for line, row in rows:
        if _is_footer(columns, row):
            continue
        system = str(row.get(columns[0], ""))
        if system in seen:
            raise DataError(f"the system {system!r} occurs twice.", file=str(path), line=line)
        seen.add(system)
        for column in measures:
            if row.get(column) not in (None, ""):
                scores.append(Score(system, ALL_QUERIES, column, _number(row[column], column, path, line)))
    return scores


def _is_footer(columns: Sequence[str], row: Mapping[str, Any]) -> bool:
    """Whether a row is the line of a correlation or setting; in the long format it has no value."""
    is_long = set(_LONG) <= set(columns)
    name = str(row.get(_SYSTEM if is_long else columns[0], ""))
    return is_footer(name) and not (is_long and row.get("value"))


def _is_number(cell: Any, line: int | None) -> bool:
    """Whether a cell is a number; in JSON, whose cells have no line, a text is not."""
    return number_of(cell) is not None if line is None else isinstance(cell, str) and is_number(cell)


def _number(cell: Any, column: str, path: str | Path, line: int | None) -> float:
    if not _is_number(cell, line):
        raise DataError(f"{cell!r} is not a number.", file=str(path), line=line, field=column)
    return float(cell)


class ScoreRow(Record):
    """The value of a measure for a system and a query (``all`` for the mean)."""

    system: Id
    query_id: Id
    metric: str
    value: Number


def read_score_rows(path: str | Path) -> Iterator[Score]:
    """Yield the scores in file order, without duplicates.

    Raises :class:`~exam_pp.errors.DataError`, also for two values of the same system, query and metric.
    """
    rows = ((number, parse_record(ScoreRow, line, path, number)) for number, line in read_lines(path))
    scores = ((number, Score(row.system, row.query_id, row.metric, row.value)) for number, row in rows)
    yield from without_duplicates(scores, path)


def write_score_rows(scores: Iterable[Score], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write one score per line, with all digits."""
    write_json_lines((score._asdict() for score in scores), path, inputs=inputs)
