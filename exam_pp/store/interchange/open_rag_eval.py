"""The CSV files of Open RAG Eval: what a RAG system retrieved and answered, and the scores that it got.

Input: ``query_id, query, query_run, passage_id ("[1]"), passage, generated_answer``, a row a passage; the
answer stands in the first row of its run of a query, and cites passages inline: ``[1]``, ``[2][3]``,
``[1, 2]``. Output: ``query_id, query`` and a column a measure, for several runs with ``run_1_`` before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.csv_cells import Cells, Layout, read_rows, write_cells

COLUMNS = ("query_id", "query", "query_run", "passage_id", "passage", "generated_answer")
GENERATIONS = Layout(
    ("query_id", "query", "passage_id", "passage", "generated_answer"), ("query_run",), ("query_id",)
)
_ONLY_RUN = "1"
_RUN = re.compile(r"run_(\d+)_(.+)")
_BESIDE = ("query_id", "query")


@dataclass
class Generation:
    """What the system did in one run of a query. ``passages`` are texts by their numbers, in file order."""

    query_id: str
    query_text: str
    run: str
    passages: dict[str, str] = field(default_factory=dict)
    answer: str = ""


def generations_of(cells: Cells, path: str | Path) -> list[Generation]:
    """The runs of the queries, in the order of their first rows.

    Raises :class:`DataError` for a passage number that occurs twice, and a run with two answers or two
    texts of the query.
    """
    found: dict[tuple[str, str], Generation] = {}
    for line, row in cells.rows:
        run = row.get("query_run") or _ONLY_RUN
        new = Generation(row["query_id"], row["query"], run)
        generation = found.setdefault((new.query_id, run), new)
        number = row["passage_id"].strip("[] ")
        where = f"run {run} of the query {new.query_id!r}"
        if number in generation.passages:
            raise DataError(f"{where} has the passage [{number}] before.", file=str(path), line=line)
        if row["query"] not in ("", generation.query_text):
            raise DataError(f"{where} has another text of the query before.", file=str(path), line=line)
        if row["generated_answer"] and generation.answer not in ("", row["generated_answer"]):
            raise DataError(f"{where} has another answer before.", file=str(path), line=line)
        if number:
            generation.passages[number] = row["passage"]
        elif row["passage"]:
            raise DataError("is empty.", file=str(path), line=line, field="passage_id")
        generation.answer = generation.answer or row["generated_answer"]
    return list(found.values())


def write_generations(
    generations: Iterable[Generation], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write a row a passage, and one for an answer without passages; raises :class:`DataError`."""
    rows = [
        (
            generation.query_id,
            generation.query_text,
            generation.run,
            f"[{number}]" if number else "",
            text,
            generation.answer if position == 0 else "",
        )
        for generation in generations
        for position, (number, text) in enumerate((generation.passages or {"": ""}).items())
    ]
    write_cells(COLUMNS, rows, path, ids=("query_id",), inputs=inputs)


def read_results(path: str | Path, system: str) -> tuple[list[Score], Mapping[str, int]]:
    """The scores of the queries, and how many values of which columns are no numbers.

    The system of a file with several runs is ``SYSTEM-run-1`` and so on. Raises :class:`DataError` for a
    query that occurs twice, and for a file without scores.
    """
    scores: list[Score] = []
    others: dict[str, int] = {}
    seen: set[str] = set()
    for line, row in read_rows(path):
        query_id = row.get("query_id")
        if not query_id:
            words = "has no column 'query_id'." if query_id is None else "the query_id is empty."
            raise DataError(words, file=str(path), line=line)
        if query_id in seen:
            raise DataError(f"the query {query_id!r} occurs twice.", file=str(path), line=line)
        seen.add(query_id)
        for column, cell in row.items():
            if column in _BESIDE or not cell:
                continue
            value = _number(cell)
            if value is None:
                others[column] = others.get(column, 0) + 1
                continue
            run = _RUN.fullmatch(column)
            name, metric = (f"{system}-run-{run[1]}", run[2]) if run else (system, column)
            scores.append(Score(name, query_id, metric, value))
    if not scores:
        raise DataError("holds no scores.", file=str(path))
    return scores, others


def write_results(scores: Sequence[Score], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write the scores of single queries: a row a query, for several systems ``run_i_`` before the measures.

    Raises :class:`DataError` for a measure whose name says something else there.
    """
    kept = [score for score in scores if score.query_id != ALL_QUERIES]
    systems = list(dict.fromkeys(score.system for score in kept))
    metrics = dict.fromkeys(score.metric for score in kept)
    for metric in metrics:
        if metric in _BESIDE or _RUN.fullmatch(metric) or " ".join(metric.split()) != metric or not metric:
            raise DataError(f"the measure {metric!r} cannot stand in a table of Open RAG Eval.")
    prefixes = {name: f"run_{i}_" if len(systems) > 1 else "" for i, name in enumerate(systems, 1)}
    values = {(score.query_id, prefixes[score.system] + score.metric): score.value for score in kept}
    used = {column for _, column in values}
    named = (prefix + metric for prefix in prefixes.values() for metric in metrics)
    columns = [column for column in named if column in used]
    rows = [
        (query_id, "", *(_cell(values.get((query_id, column))) for column in columns))
        for query_id in dict.fromkeys(score.query_id for score in kept)
    ]
    write_cells((*_BESIDE, *columns), rows, path, ids=("query_id",), inputs=inputs)


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
