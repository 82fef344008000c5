"""Scores as JSON lines: ``{"system", "query_id", "metric", "value"}``, a line a score."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import FiniteFloat

from exam_pp.data_model import Id, Record
from exam_pp.results import Score
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.parsing import parse_record
from exam_pp.store.trec.scores import once


class ScoreRow(Record):
    """One number: what a metric says of a system's response to a query (``all``: the mean)."""

    system: Id
    query_id: Id
    metric: str
    value: FiniteFloat


def read_score_rows(path: str | Path) -> Iterator[Score]:
    """The scores, in file order; raises :class:`~exam_pp.errors.DataError`, also for contradictions."""
    rows = ((number, parse_record(ScoreRow, line, path, number)) for number, line in read_lines(path))
    yield from once(((n, Score(row.system, row.query_id, row.metric, row.value)) for n, row in rows), path)


def write_score_rows(scores: Iterable[Score], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write scores with all their digits."""
    with atomic_output(path, inputs=inputs) as stream:
        for score in scores:
            stream.write(json.dumps(score._asdict(), ensure_ascii=False).encode() + b"\n")
