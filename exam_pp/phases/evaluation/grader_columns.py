"""Evaluations by several graders as one, with a column for each measure and grader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.provenance import combined
from exam_pp.results import Score, Scores


def grader_columns(evaluations: Mapping[str, Evaluation]) -> Evaluation:
    """The scores of all graders, with the grader in the name of a measure: ``nDCG@10[GRADER]``.

    A single evaluation keeps its names. Notes that all evaluations have appear once; other notes name their
    grader.
    """
    if len(evaluations) == 1:
        return next(iter(evaluations.values()))
    together = Evaluation(Scores(), [], Scores(), Scores())
    for grader, evaluation in evaluations.items():
        together.scores.extend(_named(evaluation.scores, grader))
        # Bounds need all scores: without bounds of its own, a score is its own bound.
        together.worst_case.extend(_named(evaluation.worst_case or evaluation.scores, grader))
        together.best_case.extend(_named(evaluation.best_case or evaluation.scores, grader))
        together.entry_values |= {
            _name(metric, grader): values for metric, values in evaluation.entry_values.items()
        }
    if not any(evaluation.best_case for evaluation in evaluations.values()):
        together.worst_case, together.best_case = [], []
    shared = [
        note
        for note in next(iter(evaluations.values())).notes
        if all(note in evaluation.notes for evaluation in evaluations.values())
    ]
    together.notes = shared + [
        f"{grader}: {note}"
        for grader, evaluation in evaluations.items()
        for note in evaluation.notes
        if note not in shared
    ]
    together.provenance = combined(evaluation.provenance for evaluation in evaluations.values())
    return together


def _named(scores: Iterable[Score], grader: str) -> Iterable[Score]:
    return (score._replace(metric=_name(score.metric, grader)) for score in scores)


def _name(metric: str, grader: str) -> str:
    return f"{metric}[{grader}]"
