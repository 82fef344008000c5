"""Scores of every kind of leaderboard file."""

from __future__ import annotations

from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.results import Score
from exam_pp.store.interchange.autojudge_eval import read_evaluation
from exam_pp.store.interchange.kinds import known_kind
from exam_pp.store.interchange.nugget_metrics import read_nugget_metrics
from exam_pp.store.trec.score_rows import read_score_rows
from exam_pp.store.trec.scores import read_query_scores, read_scores


def read_all_scores(path: str | Path) -> list[Score]:
    """Means (query ``all``) and scores of single queries; the format is told by the content.

    Takes what :func:`~exam_pp.store.trec.scores.read_scores` does, scores as JSON lines, and evaluation
    results of AutoJudge. Raises :class:`~exam_pp.errors.DataError`.
    """
    match known_kind(path):
        case "scores-jsonl":
            return list(read_score_rows(path))
        case "nuggetizer-metrics":
            return read_nugget_metrics(path)
        case "autojudge-eval":
            return list(read_evaluation(path))
        case "autojudge-tot":
            return list(read_evaluation(path, "tot"))
        case _:
            single = read_query_scores(path)
            try:
                return [*single, *read_scores(path)]
            except DataError:
                if not single:
                    raise
                return single  # single queries without their means
