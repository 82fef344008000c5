"""What people decided of the values behind scores, and on what a claim of "better than" may then rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from exam_pp.defaults import CONFIDENCE
from exam_pp.phases.evaluation.result import Checked, CheckedQuery, Evaluation
from exam_pp.results import Score
from exam_pp.text.wording import counted, in_one_line

if TYPE_CHECKING:  # numpy is slow to import
    from exam_pp.metrics.fair_sample import DecidedUnits


@dataclass(frozen=True)
class Basis:
    """On what claims rest.

    ``kind``: Corrected scores, if ``people`` decided all of them; a fair ``sample`` of their ratings; or the
    ``judge`` alone.

    ``ratings`` are those of people, ``evaluation`` has the scores of the claims. ``alpha`` is the error that
    claims may have. ``look`` is the number of entries of each query that people decided for all systems,
    ``left`` the number of entries of systems to decide for the next look. ``checked`` is by system.
    """

    kind: Literal["people", "sample", "judge"]
    ratings: str
    evaluation: Evaluation
    alpha: float
    look: int = 0
    left: int = 0
    checked: Mapping[str, Checked] = field(default_factory=dict)

    @property
    def shares(self) -> str:
        """What people checked of each system, for readers; the first systems if they are many."""
        rows = sorted(self.checked.items(), key=lambda row: -row[1].rated)
        chosen = rows if len(rows) <= _NAMED else [*rows[:2], rows[-1]]
        shown = [f"{of.rated} of {in_one_line(system)}'s {of.pairs}" for system, of in chosen]
        return f"{', '.join(shown)} graded pairs were checked"

    @property
    def more(self) -> str:
        """How much the next look needs, for readers; empty if that is unknown."""
        return f" (the next look needs {counted(self.left, 'more decision')})" if self.left else ""


_NAMED = 4
PARTLY = "[checked-in-part]"
"""The end of the name of a measure with corrections of some pairs, on which no claim may rest."""


def basis_of_claims(evaluation: Evaluation, alpha: float) -> Basis | None:
    """On what claims on the first measure rest; None if there are no ratings of people in the scores."""
    if evaluation.corrections is None:
        return None
    import numpy as np  # noqa: PLC0415 - slow to import

    from exam_pp.metrics.fair_sample import complete_look, level, looks  # noqa: PLC0415

    metric = evaluation.scores[0].metric
    alone = evaluation.corrections.judge_alone
    of_metric = evaluation.corrections.queries(metric)
    queries = [query for query in of_metric if query.units and any(query.weights)]
    if not queries:
        return Basis("judge", evaluation.corrections.ratings, alone().of_metric(metric), alpha)
    systems = list(queries[0].units)
    units = [_in_order(query, systems) for query in queries]
    checked = {
        system: Checked(*map(sum, zip(*(query.checked[system] for query in queries), strict=True)))
        for system in systems
    }
    numbers = looks(max(len(query.weights) for query in units))
    look = complete_look(units)
    following = next((number for number in numbers if number > look), look)
    left = sum(int(np.isnan(query.people[:, :following]).sum()) for query in units)
    alpha = level(units, look, alpha) if look else alpha
    kind: Literal["people", "sample", "judge"] = "people"
    claims = evaluation
    if not look:
        kind, claims = "judge", alone().of_metric(metric)
    elif look < numbers[-1]:
        kind, claims = "sample", Evaluation(_of_sample(units, look, systems, metric))
    return Basis(kind, evaluation.corrections.ratings, claims, alpha, look, left, checked)


def _of_sample(units: Sequence[DecidedUnits], look: int, systems: Sequence[str], metric: str) -> list[Score]:
    from exam_pp.metrics.fair_sample import sample_scores  # noqa: PLC0415 - numpy is slow to import

    scores = sample_scores(units, look)
    return [
        Score(system, query.query_id, metric, float(scores[row, column]))
        for column, query in enumerate(units)
        for row, system in enumerate(systems)
    ]


def marked(evaluation: Evaluation) -> Evaluation:
    """The scores for other programs: those that people checked in part have a name of their own.

    Beside them are the scores of the judge alone.
    """
    basis = basis_of_claims(evaluation, 1 - CONFIDENCE)
    provenance = evaluation.provenance
    partly = provenance is not None and bool(provenance.partly_reviewed)
    if not partly or (basis is not None and basis.kind == "people"):
        return evaluation
    alone = [] if evaluation.corrections is None else evaluation.corrections.judge_alone().scores
    scores = [score._replace(metric=f"{score.metric}{PARTLY}") for score in evaluation.scores]
    scores += [score._replace(metric=f"{score.metric}[judge]") for score in alone]
    return replace(evaluation, scores=scores)


def _in_order(query: CheckedQuery, systems: Sequence[str]) -> DecidedUnits:
    """The units in the order of the sample."""
    import numpy as np  # noqa: PLC0415 - slow to import

    from exam_pp.metrics.fair_sample import DecidedUnits, sample_order  # noqa: PLC0415

    drawn = {entry: number for number, entry in enumerate(sample_order(query.query_id, query.entries))}
    counted = [position for position, weight in enumerate(query.weights) if weight > 0]
    order = sorted(counted, key=lambda position: drawn[query.entries[position]])
    rows = [[query.units[system][position] for position in order] for system in systems]
    return DecidedUnits(
        query.query_id,
        np.array([query.weights[position] for position in order]),
        np.array([[unit.judged for unit in row] for row in rows]),
        np.array([[np.nan if unit.people is None else unit.people for unit in row] for row in rows]),
    )
