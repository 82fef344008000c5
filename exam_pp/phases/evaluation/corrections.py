"""What people decided of the values behind scores, and on what a claim of "better than" may then rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.measures import LENGTH
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.text.wording import in_one_line

_NAMED = 4
"""Maximum number of systems whose checked pairs are all named."""


@dataclass(frozen=True)
class Basis:
    """On what claims rest.

    ``kind``: Corrected scores, if ``people`` decided all of them; a fair ``sample`` of their ratings; or the
    ``judge`` alone.

    ``by`` says who rated, ``evaluation`` has the scores of the claims. ``alpha`` is the error that claims may
    have. ``look`` is the number of entries of each query that people decided for all systems, of ``entries``.
    ``checked`` has, by system, how many of the pairs behind its scores people rated, and their number.
    """

    kind: Literal["people", "sample", "judge"]
    by: str
    evaluation: Evaluation
    alpha: float
    look: int
    entries: int
    checked: Mapping[str, tuple[int, int]]

    @property
    def shares(self) -> str:
        """What people checked of each system, for readers; the first systems if they are many."""
        if not self.checked:
            return "people checked only some of the grades"
        rows = sorted(self.checked.items(), key=lambda row: -row[1][0])
        chosen = rows if len(rows) <= _NAMED else [*rows[:2], rows[-1]]
        shown = [f"{rated} of {in_one_line(system)}'s {pairs}" for system, (rated, pairs) in chosen]
        return f"{', '.join(shown)} graded pairs were checked"


PARTLY = "[checked-in-part]"
"""The end of the name of a measure with corrections of some pairs, on which no claim may rest."""


def basis_of_claims(evaluation: Evaluation, alpha: float, metric: str = "") -> Basis | None:
    """On what claims on a measure rest; None without ratings of people in the scores, or systems.

    ``metric``: The measure; default: the first one.
    """
    if evaluation.corrections is None or not evaluation.corrections.systems:
        return None
    import numpy as np  # noqa: PLC0415 - slow to import

    from exam_pp.metrics.fair_sample import complete_look, level, looks, sample_scores  # noqa: PLC0415

    metric = metric or evaluation.scores[0].metric
    systems, by = evaluation.corrections.systems, evaluation.corrections.by
    queries = [query for query in evaluation.corrections.queries(metric) if query.judged.size]
    numbers = looks(max((len(query.weights) for query in queries), default=1))
    look = complete_look(queries) if queries else 0
    counts = np.sum([query.checked for query in queries], axis=0).tolist() if queries else []
    checked = {system: (rated, pairs) for system, (rated, pairs) in zip(systems, counts, strict=False)}
    if not queries and not (evaluation.provenance and evaluation.provenance.partly_reviewed):
        return Basis("people", by, evaluation, alpha, look, numbers[-1], checked)
    if not look:
        alone = evaluation.corrections.judge_alone().of_metrics(metric)
        return Basis("judge", by, alone, alpha, look, numbers[-1], checked)
    alpha = level(queries, look, alpha)
    if look == numbers[-1]:
        return Basis("people", by, evaluation, alpha, look, numbers[-1], checked)
    scores = sample_scores(queries, look)
    estimates = {
        (system, query.query_id): float(scores[row, column])
        for column, query in enumerate(queries)
        for row, system in enumerate(systems)
    }
    of_sample = [
        score._replace(value=estimates[score[:2]])
        for score in evaluation.scores
        if score.metric == metric and score[:2] in estimates
    ]
    return Basis("sample", by, Evaluation(of_sample), alpha, look, numbers[-1], checked)


def level_of(evaluation: Evaluation, metric: str, alpha: float) -> float | None:
    """The error that tests of a metric may have; None if people checked only some of its grades."""
    basis = None if metric == LENGTH else basis_of_claims(evaluation, alpha, metric)
    if basis is not None:
        return basis.alpha if basis.kind == "people" else None
    partly = evaluation.provenance is not None and bool(evaluation.provenance.partly_reviewed)
    return None if partly and metric != LENGTH else alpha


def marked(evaluation: Evaluation) -> Evaluation:
    """The scores for other programs: those that people checked in part have a name of their own.

    Beside them are the scores of the judge alone.
    """
    metrics = dict.fromkeys(score.metric for score in evaluation.scores)
    partly = {metric for metric in metrics if level_of(evaluation, metric, 1 - CONFIDENCE) is None}
    if not partly:
        return evaluation
    alone = [] if evaluation.corrections is None else evaluation.corrections.judge_alone().scores
    scores = [
        score._replace(metric=f"{score.metric}{PARTLY}") if score.metric in partly else score
        for score in evaluation.scores
    ]
    scores += [score._replace(metric=f"{score.metric}[judge]") for score in alone if score.metric in partly]
    return replace(evaluation, scores=scores)
