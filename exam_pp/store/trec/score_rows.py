"""Reading and writing scores as JSON lines: ``{"system", "query_id", "metric", "value"}``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from exam_pp.data_model import Id, Number
from exam_pp.records import Record
from exam_pp.results import Score
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.parsing import parse_record
from exam_pp.store.trec.scores import without_duplicates


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
    with atomic_output(path, inputs=inputs) as stream:
        for score in scores:
            stream.write(json.dumps(score._asdict(), ensure_ascii=False).encode() + b"\n")
