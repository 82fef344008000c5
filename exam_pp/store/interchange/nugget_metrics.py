"""Nugget scores in the JSON lines of AutoNuggetizer: one line a topic, then one for all.

The lines do not name the run: a file holds the scores of one, unless they carry a ``run_id``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field

from exam_pp.data_model import Id, Record
from exam_pp.errors import DataError
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import parse_record

# In the order of the tool's files; our names are those of the paper.
NAMES = {
    "V_strict": "strict_vital_score",
    "V": "vital_score",
    "W_strict": "strict_weighted_score",
    "W": "weighted_score",
    "A_strict": "strict_all_score",
    "A": "all_score",
}
_SUFFIXES = (".gz", ".jsonl", ".json")


class _Line(Record):
    qid: Id
    run_id: Id | None = None
    V_strict: float | None = Field(default=None, alias="strict_vital_score")
    V: float | None = Field(default=None, alias="vital_score")
    W_strict: float | None = Field(default=None, alias="strict_weighted_score")
    W: float | None = Field(default=None, alias="weighted_score")
    A_strict: float | None = Field(default=None, alias="strict_all_score")
    A: float | None = Field(default=None, alias="all_score")


def read_nugget_metrics(path: str | Path, system: str | None = None) -> list[Score]:
    """The scores of every topic; the line for all of them is left out, since it is their mean.

    Lines that name no run are those of ``system``, by default the file's name. Raises :class:`DataError`,
    also for a topic that occurs twice.
    """
    name = Path(path).name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    scores: list[Score] = []
    seen: set[tuple[str, str]] = set()
    for number, text in read_lines(path):
        line = parse_record(_Line, text, path, number)
        if line.qid == ALL_QUERIES:
            continue
        run = line.run_id or system or name
        if (run, line.qid) in seen:
            raise DataError(f"the topic {line.qid!r} occurs twice.", file=str(path), line=number)
        seen.add((run, line.qid))
        values = {metric: getattr(line, metric) for metric in NAMES}
        scores += [
            Score(run, line.qid, metric, value) for metric, value in values.items() if value is not None
        ]
    if not scores:
        raise DataError("holds no nugget scores.", file=str(path))
    return scores


def nugget_metrics(topics: Iterable[str], scores: Iterable[Score], means: Mapping[str, float]) -> str:
    """The lines for the scores of one run; ``means`` are those for all, by our names of the metrics.

    A score that is undefined has no key.
    """
    by_topic: dict[str, dict[str, float]] = {topic: {} for topic in topics}
    for score in scores:
        if score.metric in NAMES:
            by_topic.setdefault(score.query_id, {})[score.metric] = score.value
    lines = [*by_topic.items(), (ALL_QUERIES, means)]
    return "".join(
        json.dumps({"qid": topic} | {NAMES[m]: values[m] for m in NAMES if m in values}) + "\n"
        for topic, values in lines
    )
