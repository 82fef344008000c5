"""Nuggets and nugget scores of AutoNuggetizer (Pradeep et al., 2024).

Nuggets: one line per query. Scores: one line per topic, and a line for the mean over topics. Lines of scores
without a ``run_id`` are of a single run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field, TypeAdapter

from exam_pp.banks import BankLine, Nugget, entry_id
from exam_pp.data_model import Id, Number
from exam_pp.errors import SelectionError
from exam_pp.formats.bank import of_kind, with_texts
from exam_pp.formats.base import Format, Schema, Target, make_reader, register
from exam_pp.formats.dropped_fields import count_dropped_bank_fields, used
from exam_pp.formats.sample import Fit, Sample, fits, with_keys
from exam_pp.metrics.leaderboard import standings
from exam_pp.models import Record
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.parsing import read_records, valid, write_records
from exam_pp.store.tables import stem_of
from exam_pp.store.trec.scores import without_duplicates


class NuggetText(Record):
    """A nugget; unknown keys are kept."""

    text: str = Field(min_length=1)
    importance: str | None = None


class NuggetLine(Record):
    """The nuggets of a query."""

    query: str = ""
    qid: Id
    nuggets: list[NuggetText]


def read_nuggetizer(path: str | Path) -> Iterator[BankLine]:
    """Read the lines as a bank. Ids are digests of query and text, as for generated nuggets.

    Importance labels other than vital and okay occur and are kept. Raises :class:`DataError`.
    """
    for _, line in read_records(NuggetLine, path, "nuggets"):
        yield bank_line(line.qid, line.query, line.nuggets)


def bank_line(query_id: str, query_text: str, nuggets: Iterable[NuggetText]) -> BankLine:
    """The nuggets of a query as a bank line."""
    return BankLine(
        query_id=query_id,
        query_text=query_text,
        info={"prompt_target": "nuggets"},
        items=[_nugget(query_id, nugget) for nugget in nuggets],
    )


def _nugget(query_id: str, nugget: NuggetText) -> Nugget:
    """The nugget; keys with the name of a field of exam_pp, but another meaning, go to ``info``."""
    others = dict(nugget.model_extra or {})
    clashing = {key: others.pop(key) for key in others.keys() & Nugget.model_fields.keys()}
    importance = {} if nugget.importance is None else {"importance": nugget.importance}
    key = entry_id(query_id, nugget.text)
    kept = {"info": {"nuggetizer": clashing}} if clashing else {}
    return Nugget(query_id=query_id, nugget_id=key, nugget_text=nugget.text, **importance, **kept, **others)


def write_nuggetizer(
    lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write nuggets, one line per query; facets of a query are merged."""
    merged: dict[str, NuggetLine] = {}
    for line in lines:
        query = merged.setdefault(
            line.query_id, NuggetLine(query=line.query_text, qid=line.query_id, nuggets=[])
        )
        query.query = query.query or line.query_text
        query.nuggets.extend(_text(item) for item in line.items if isinstance(item, Nugget))
    write_records(merged.values(), path, inputs=inputs)


def _text(nugget: Nugget) -> NuggetText:
    importance = {} if nugget.importance is None else {"importance": nugget.importance}
    return NuggetText(**{**(nugget.model_extra or {}), "text": nugget.nugget_text, **importance})


# In the order of AutoNuggetizer's files. The names on the left are those of the paper.
_NAMES = {
    "V_strict": "strict_vital_score",
    "V": "vital_score",
    "W_strict": "strict_weighted_score",
    "W": "weighted_score",
    "A_strict": "strict_all_score",
    "A": "all_score",
}
_SCORES = TypeAdapter(dict[str, Number])


class _Topic(Record):
    qid: Id
    run_id: Id | None = None


def read_nugget_metrics(path: str | Path) -> list[Score]:
    """Read the scores of every topic, without the line for the mean over topics.

    Lines without a ``run_id`` are of the system that the file is named after. Raises :class:`DataError`, also
    for a topic with two values of a score.
    """
    scores: list[tuple[int, Score]] = []
    for number, line in read_records(_Topic, path, "nugget scores"):
        given = {key: value for key, value in (line.model_extra or {}).items() if value is not None}
        known = {key: given[key] for key in _NAMES.values() if key in given and line.qid != ALL_QUERIES}
        values = valid(_SCORES.validate_python, known, path, number)
        scores += [
            (number, Score(line.run_id or stem_of(path), line.qid, metric, values[key]))
            for metric, key in _NAMES.items()
            if key in values
        ]
    return list(without_duplicates(scores, path))


def scores_text(evaluation: Evaluation) -> str:
    """The scores of one run as JSON lines, each topic with all six, and those of the mean over topics.

    Raises :class:`SelectionError` for a topic without one of the six scores, because every line has them all.
    """
    by_topic: dict[str, dict[str, float]] = {}
    for score in evaluation.scores:
        if score.query_id != ALL_QUERIES:
            by_topic.setdefault(score.query_id, {})[score.metric] = score.value
    means = {row.metric: row.mean for row in standings(evaluation.scores)}
    lines = [*by_topic.items(), (ALL_QUERIES, means)]
    for topic, values in lines:
        if missing := [metric for metric in _NAMES if metric not in values]:
            raise SelectionError(
                f"There is no {' and no '.join(missing)} of the topic {topic!r}, but AutoNuggetizer's scores "
                "need all six; compute them with `exam-pp evaluate nuggets`."
            )
    return "".join(
        json.dumps({"qid": topic} | {_NAMES[metric]: values[metric] for metric in _NAMES}) + "\n"
        for topic, values in lines
    )


TEXTS = {"nuggetizer": lambda evaluation, _form: (scores_text(evaluation), ())}
"""Form of a leaderboard to its text."""


def _are_metrics(sample: Sample) -> bool:
    keys = sample.object.keys()
    return "qid" in keys and any(key.endswith("_score") for key in keys)


def _write_bank(lines: Iterable[BankLine], target: Target) -> None:
    lines = with_texts(of_kind(lines, "nugget", target.dropped), target.dropped)
    for line in lines:
        target.dropped.keys(line.model_extra)
    keeps = {"query texts", "importance labels", "extra keys", "queries without entries"}
    count_dropped_bank_fields(
        lines, keeps, target.dropped, entry_id=lambda item: entry_id(item.query_id, item.text)
    )
    write_nuggetizer(lines, target.path, inputs=target.inputs)


register(
    Format(
        "nuggetizer", "bank", "nuggets of AutoNuggetizer", with_keys("qid", "nuggets", fit=Fit.GOOD),
        read_nuggetizer, "query", make_reader(read_nuggetizer, used("qid query nuggets")), _write_bank,
        schema=Schema("nuggets", "a line of nuggets of AutoNuggetizer", NuggetLine),
    ),
    Format(
        "nuggetizer-metrics", "scores", "nugget scores of AutoNuggetizer, one run", fits(_are_metrics),
        read_nugget_metrics, "score",
        make_reader(read_nugget_metrics, used(f"qid run_id {' '.join(_NAMES.values())}")),
        written_by="exam-pp evaluate nuggets --format nuggetizer",
    ),
)  # fmt: skip
