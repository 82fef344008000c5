"""The first screen of an evaluation report: the verdict, one leaderboard, and whether to believe it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from exam_pp.grade_filter import GradeKey
from exam_pp.judges import baselines_among
from exam_pp.metrics.measures import MeasureName
from exam_pp.phases.evaluation.contents import GradedContents, MissingGrades
from exam_pp.phases.evaluation.leaderboards import Standings, SystemUncertainty
from exam_pp.phases.evaluation.verdict import preferences, shown_score, verdict
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import (
    Bar,
    Bars,
    Block,
    Check,
    CheckMark,
    Checks,
    Statement,
)
from exam_pp.reports.analysis.report_summary import Leaderboard, rank_agreement
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted, in_one_line

_AGREES = 0.7
"""Least area under the ROC curve, and least Kendall's τ, that a reader need not doubt."""


class JudgedBy(NamedTuple):
    """The agreement of a grader with manual judgments on a number of passages.

    ``area``: Area under the ROC curve (:func:`~exam_pp.phases.analysis.agreement.separation`).
    """

    grader: GradeKey
    passages: int
    area: float | None


def first_screen(
    contents: GradedContents,
    leaderboards: Sequence[Leaderboard],
    judged: Sequence[JudgedBy] = (),
    *,
    missing: MissingGrades | None = None,
    canaries: Mapping[str, float] | None = None,
    official: float | None = None,
) -> list[Block]:
    """The verdict, the leaderboard and the checks of the first leaderboard; without systems, a sentence.

    ``canaries`` are those that deserve no score, with their scores by the first measure. ``official`` is
    Kendall's τ of the first leaderboard and the official ranks.
    """
    if not leaderboards or (said := verdict(leaderboards[0].standings)) is None:
        headline = "There are no systems to compare"
        return [Statement(f"{headline}: name runs with --runs, or grade passages with rankings.", headline)]
    standings = leaderboards[0].standings
    checks = [
        *_of_queries(standings.claims),
        *_of_judge(leaderboards[0], contents),
        *_of_agreement(leaderboards[0].grader, judged),
        *_of_corrections(standings, contents),
        *_of_missing(standings, missing),
        *_of_canaries(standings, canaries or {}),
        *_of_measures(leaderboards, official),
    ]
    return [
        Statement(said.sentence, said.headline),
        _bars(leaderboards[0], said.leaders),
        *([Checks("Can I believe it?", checks)] if checks else []),
    ]


def _bars(leaderboard: Leaderboard, leaders: Sequence[str]) -> Bars:
    """The first metric of a leaderboard; the upper bound is a note."""
    standings, systems = leaderboard.standings, leaderboard.systems
    metric = standings.metrics[0]
    of = {s: standings.uncertainty.systems.get((s, metric), SystemUncertainty()) for s in systems}
    # Places come from a transitive relation. So no system above is in a place below the line only if every
    # system above is shown to be better than every system below.
    lowest = 0
    rows = []
    for number, system in enumerate(systems, 1):
        mean, row = standings.rows[system, metric].mean, of[system]
        lowest = max(lowest, row.last or len(systems))
        rows.append(
            Bar(
                in_one_line(system),
                shown_score(metric, mean),
                _range(metric, row),
                "" if row.first is None else "–".join(dict.fromkeys([str(row.first), str(row.last)])),
                mean,
                row.low,
                row.high,
                leads=system in leaders and len(leaders) < len(systems),
                line=lowest == number < len(systems),
            )
        )
    notes = []
    if any(row.line for row in rows):
        notes.append("A line separates systems that are all shown to be better than all systems below.")
    if (best := standings.rows.get((OVERALL_SYSTEM, metric))) is not None:
        units = "answers" if standings.evaluation.of_answers else "graded passages"
        notes.append(f"Upper bound: all {units} together score {shown_score(metric, best.mean)}.")
    interval = f"{100 * standings.statistics.confidence:g} % interval"
    about = f"{leaderboard.about or leaderboard.title}: {leaderboard.measure}."
    return Bars("Leaderboard", ("system", "score", interval, "place"), rows, about, notes)


def _range(metric: MeasureName, row: SystemUncertainty) -> str:
    if row.low is None or row.high is None:
        return ""
    if metric.range == (0.0, 1.0):
        return f"{100 * row.low:.0f}–{100 * row.high:.0f} %"
    return f"{row.low:.3g} to {row.high:.3g}"


def _of_queries(standings: Standings) -> Iterator[Check]:
    metric = standings.metrics[0]
    systems = [system for system in standings.systems if system != OVERALL_SYSTEM]
    queries = counted(max(standings.queries.values(), default=0), "query")
    if len(systems) < 2:
        yield Check("fact", queries, ", and a single system.")
    elif standings.uncertainty.untested.get(metric) == "other queries":
        yield Check("doubt", "Different queries", " of the systems: their scores cannot be compared.")
    else:
        places = [standings.uncertainty.systems[system, metric] for system in systems]
        # A system is better than all systems below its last place.
        shown = sum(len(systems) - (place.last or len(systems)) for place in places)
        pairs = len(systems) * (len(systems) - 1) // 2
        of_pairs = counted(pairs, "pair")
        verb = "shows" if queries == "1 query" else "show"
        mark: CheckMark = "good" if 2 * shown >= pairs else "doubt"
        yield Check(mark, queries, f" {verb} which system is better for {shown} of {of_pairs} of systems.")


def _of_judge(leaderboard: Leaderboard, contents: GradedContents) -> Iterator[Check]:
    grader, basis = leaderboard.grader, leaderboard.standings.uncertainty.basis
    if grader is None or (basis is not None and basis.kind != "judge"):
        return  # or the judge has no part in the claims
    grades = counted(contents.graders[grader].grades, "grade")
    own = "".join(f" {sentence}" for sentence in preferences(leaderboard.standings))
    lead = f"The judge is {in_one_line(grader.model)}"
    if baselines_among([grader.model]):
        yield Check("doubt", lead, f", a baseline to compare other judges with ({grades}).{own}")
    else:
        yield Check("doubt" if own else "fact", lead, f", with {grades}.{own}")


def _of_agreement(grader: GradeKey | None, by_grader: Sequence[JudgedBy]) -> Iterator[Check]:
    judged = next((judged for judged in by_grader if judged.grader == grader), None)
    if grader is None or judged is None or judged.area is None:
        return
    baselines = {
        key.model: area
        for key, _, area in by_grader
        if area is not None and baselines_among([key.model]) and key.prompt_class == grader.prompt_class
    }
    baselines.pop(grader.model, None)
    compared = "".join(f", {model} {100 * area:.0f} %" for model, area in baselines.items())
    unbeaten = [model for model, area in baselines.items() if area >= judged.area]
    lead = "Agrees with manual judgments"
    if judged.area < _AGREES:
        lead = "Hardly agrees with manual judgments"
    elif unbeaten:
        lead += f" no better than {unbeaten[0]}"
    yield Check(
        "doubt" if judged.area < _AGREES or unbeaten else "good",
        lead,
        f": a relevant passage is rated above another one in {100 * judged.area:.0f} % of pairs (chance "
        f"50 %{compared}; {counted(judged.passages, 'passage')}).",
    )


def _of_corrections(standings: Standings, contents: GradedContents) -> Iterator[Check]:
    provenance, basis = standings.provenance or Provenance(), standings.uncertainty.basis
    for changes in provenance.reviewed:
        if changes not in provenance.partly_reviewed or (basis and basis.kind == "people"):
            yield Check("good", changes, ".")
        elif basis and basis.kind == "sample":
            entries = f"{basis.look} of {counted(basis.entries, 'entry', 'entries')}"
            yield Check("good", changes, f", among them a fair sample: {entries} of each query.")
        else:
            shares = f"{basis.shares}: " if basis and basis.checked else ""
            yield Check(
                "doubt",
                changes,
                f". {shares}rate the fair sample, with which the review page begins.",
            )
    reviewers = [grader for key, grader in contents.graders.items() if key.is_reviewer]
    number = sum(grader.grades for grader in reviewers)
    if number and not provenance.reviewed:
        by = counted(len(reviewers), "reviewer")
        yield Check("fact", f"{counted(number, 'rating')} by {by}", ": the scores are of the judge alone.")


def _of_missing(standings: Standings, missing: MissingGrades | None) -> Iterator[Check]:
    if missing is None or not missing.pairs:
        return
    if not missing.ungraded:
        text = "a part of an answer" if standings.evaluation.of_answers else "a ranked passage"
        yield Check(
            "good",
            "No grade is missing",
            f" for the {counted(missing.pairs, 'pair')} of {text} and an entry.",
        )
        return
    rows = standings.uncertainty.systems.items()
    is_open = any(row.order_open for (_, metric), row in rows if metric == standings.metrics[0])
    yield Check(
        "doubt" if is_open else "fact",
        f"{missing.ungraded} of {counted(missing.pairs, 'grade')} missing",
        ": they could change the order." if is_open else ": they cannot change the order.",
    )


def _of_canaries(standings: Standings, canaries: Mapping[str, float]) -> Iterator[Check]:
    if not canaries:
        return
    metric = standings.metrics[0]
    worst = min(row.mean for (s, of), row in standings.rows.items() if of == metric and s != OVERALL_SYSTEM)
    fooled = [name for name, score in canaries.items() if score >= worst]
    highest = max(canaries, key=lambda name: canaries[name])
    yield Check(
        "doubt" if fooled else "good",
        f"{len(fooled)} of {counted(len(canaries), 'canary', 'canaries')} above a system",
        f": {highest} has {shown_score(metric, canaries[highest])}, and deserves no score.",
    )


def _of_measures(leaderboards: Sequence[Leaderboard], official: float | None) -> Iterator[Check]:
    """Kendall's τ of the first leaderboard and others: by the same grades, other grades and judgments."""
    first, *others = leaderboards
    of_first = first.means[first.standings.metrics[0]]
    taus: dict[str, list[float]] = {}
    other: list[float] = []
    for board in others:
        metric = board.standings.metrics[0]
        tau = rank_agreement(of_first, board.means.get(metric, {}))
        if tau is None:
            continue
        if board.grader is None:
            taus.setdefault(f"{metric} by the judgments", []).append(tau)
        elif board.grader == first.grader:
            taus.setdefault(f"{metric} by the same grades", []).append(tau)
        else:
            other.append(tau)
    if other:
        taus["other judges"] = other
    if official is not None:
        taus["the official ranks"] = [official]
    if not taus:
        return
    differ = {name: of for name, of in taus.items() if min(of) < _AGREES}
    shown = ", ".join(
        f"{name} {min(of):.2f}" + (f" to {max(of):.2f}" if len(of) > 1 else "")
        for name, of in (differ or taus).items()
    )
    lead = "These order the systems differently" if differ else "Other measures agree"
    yield Check("doubt" if differ else "good", lead, f" (Kendall's τ): {shown}.")
