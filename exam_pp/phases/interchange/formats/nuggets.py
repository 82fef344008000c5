"""Conversion: files of AutoNuggetizer and UMBRELA that are no banks.

Judge rows of UMBRELA have no ids; they are joined to passages by `exam-pp import --umbrela`.
"""

from __future__ import annotations

from collections.abc import Iterable

from exam_pp.data_model import QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import standings
from exam_pp.metrics.nuggets import NUGGET_METRICS
from exam_pp.phases.interchange.candidate_segments import pool_candidates
from exam_pp.phases.interchange.dropped_fields import used
from exam_pp.phases.interchange.formats.base import Source, Target, add_format, reading
from exam_pp.phases.interchange.import_assignments import DEFAULT_GRADER, AssignmentSummary, add_assignments
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.files import write_text
from exam_pp.store.interchange.nugget_metrics import NAMES, nugget_metrics, read_nugget_metrics


def _read_assignments(source: Source) -> list[QueryPassages]:
    """Answers with their grades; the nuggets themselves belong into a bank."""
    summary = AssignmentSummary(losses=source.losses)
    queries: dict[str, QueryPassages] = {}
    bank = add_assignments(queries, [source.path], DEFAULT_GRADER, summary)
    source.losses.add("texts of queries", sum(bool(line.query_text) for line in bank.values()))
    source.losses.add("nuggets, which belong into a bank", sum(len(line.items) for line in bank.values()))
    return list(queries.values())


def _read_candidates(source: Source) -> list[QueryPassages]:
    queries, texts = pool_candidates([source.path], source.losses)
    source.losses.add("texts of queries", sum(map(bool, texts.values())))
    return queries


def _write_metrics(scores: Iterable[Score], target: Target) -> None:
    """The file names no run, so it holds one; means are made of the topics where there are any."""
    scores = list(scores)
    systems = list(dict.fromkeys(score.system for score in scores))
    if len(systems) != 1:
        raise SelectionError(
            f"A metrics file of AutoNuggetizer holds one run, not {len(systems)}: {', '.join(systems[:5])}."
        )
    target.losses.add("names of systems")
    target.losses.add("scores of other measures", sum(score.metric not in NUGGET_METRICS for score in scores))
    kept = [score for score in scores if score.metric in NUGGET_METRICS]
    if not kept:
        raise SelectionError(
            f"The scores are none of AutoNuggetizer's measures: {', '.join(NUGGET_METRICS)}."
        )
    by_topic = [score for score in kept if score.query_id != ALL_QUERIES]
    means = {row.metric: row.mean for row in standings(by_topic or kept)}
    topics = dict.fromkeys(score.query_id for score in by_topic)
    write_text(target.path, nugget_metrics(topics, by_topic, means), inputs=target.inputs)


add_format(
    "nuggetizer-assignments", "passages", "answers with nugget assignments of AutoNuggetizer",
    _read_assignments, None, written_by="exam-pp export assignments",
)  # fmt: skip
add_format(
    "candidates", "passages", "retrieved segments of rank_llm, UMBRELA and AutoNuggetizer",
    _read_candidates, None, written_by="exam-pp export candidates",
)  # fmt: skip
add_format(
    "umbrela", "passages", "judge rows of UMBRELA", None, None,
    read_by="exam-pp import --umbrela", written_by="exam-pp export umbrela",
)  # fmt: skip
add_format(
    "nuggetizer-metrics", "scores", "nugget scores of AutoNuggetizer, of one run",
    reading(read_nugget_metrics, used(f"qid run_id {' '.join(NAMES.values())}")), _write_metrics,
)  # fmt: skip
