"""Evaluations by several graders or thresholds as one, with a column for each measure of each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.provenance import combined
from exam_pp.results import Score, Scores


def grader_columns(evaluations: Mapping[str, Evaluation]) -> Evaluation:
    """The scores of all graders, with the grader in the name of a measure: ``nDCG@10[GRADER]``.

    A single evaluation keeps its names. Notes that all evaluations have appear once; other notes name their
    grader.
    """
    return _together(evaluations, lambda metric, grader: f"{metric}[{grader}]")


def threshold_columns(evaluations: Mapping[int, Evaluation]) -> Evaluation:
    """The scores at all thresholds, with the threshold in the name of a measure: ``RR(min_grade=4)``.

    Measures that several evaluations do not share keep their names, such as ``RR(rel=4)``. Notes are joined
    as by :func:`grader_columns`.
    """
    metrics = Counter(
        metric
        for evaluation in evaluations.values()
        for metric in dict.fromkeys(score.metric for score in evaluation.scores)
    )

    def name(metric: str, threshold: str) -> str:
        return _with_threshold(metric, threshold) if metrics[metric] > 1 else metric

    return _together({f"min_grade={grade}": of for grade, of in evaluations.items()}, name)


def _with_threshold(metric: str, threshold: str) -> str:
    """``nDCG@10`` as ``nDCG(min_grade=4)@10``."""
    measure, at, cutoff = metric.partition("@")
    head, tail = (measure[:-1], ",") if measure.endswith(")") else (measure, "(")
    return f"{head}{tail}{threshold}){at}{cutoff}"


def _together(evaluations: Mapping[str, Evaluation], name: Callable[[str, str], str]) -> Evaluation:
    if len(evaluations) == 1:
        return next(iter(evaluations.values()))
    together = Evaluation(Scores(), [], Scores(), Scores())

    def named(scores: Iterable[Score], condition: str) -> Iterable[Score]:
        return (score._replace(metric=name(score.metric, condition)) for score in scores)

    for condition, evaluation in evaluations.items():
        together.scores.extend(named(evaluation.scores, condition))
        # Bounds need all scores: without bounds of its own, a score is its own bound.
        together.worst_case.extend(named(evaluation.worst_case or evaluation.scores, condition))
        together.best_case.extend(named(evaluation.best_case or evaluation.scores, condition))
        together.entry_values |= {
            name(metric, condition): values for metric, values in evaluation.entry_values.items()
        }
        together.ranges |= {name(metric, condition): of for metric, of in evaluation.ranges.items()}
    if not any(evaluation.best_case for evaluation in evaluations.values()):
        together.worst_case, together.best_case = [], []
    shared = [
        note
        for note in next(iter(evaluations.values())).notes
        if all(note in evaluation.notes for evaluation in evaluations.values())
    ]
    together.notes = shared + [
        f"{condition}: {note}"
        for condition, evaluation in evaluations.items()
        for note in evaluation.notes
        if note not in shared
    ]
    together.provenance = combined(evaluation.provenance for evaluation in evaluations.values())
    return together
