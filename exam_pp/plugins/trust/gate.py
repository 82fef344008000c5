"""Gate for continuous integration: whether the scores of a new version have dropped by more than a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Literal, NamedTuple

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.scores import read_query_scores
from exam_pp.grade_filter import check_one
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.metrics.measures import MeasureName
from exam_pp.metrics.noninferiority import (
    TOLERANCE,
    DropBounds,
    drop_bounds,
    fewest_queries,
    queries_for_drop,
    unseen_share,
)
from exam_pp.metrics.planning import labels_needed, plan_queries
from exam_pp.metrics.significance import QueriesNeeded, holm
from exam_pp.metrics.uncertainty import GAFFKE, is_outside, score_matrices
from exam_pp.phases.evaluation.result import MissingQueries, PathLike, counted_names
from exam_pp.provenance import Provenance, file_names
from exam_pp.rendering.document import Block, Paragraph, Report, Table
from exam_pp.reports.evaluation.leaderboards import PARTLY
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score
from exam_pp.text.wording import counted, listed

Outcome = Literal["passed", "failed", "undecided"]
"""Whether the queries show that the drop is at most the limit (passed), or larger (failed), or neither."""
Undecided = Literal["estimate", "pass", "fail"]
"""An undecided gate: it passes if the measured drop is at most the limit, or it passes, or it fails."""


class QueryDrop(NamedTuple):
    """The scores of a query whose score has dropped.

    ``new``: Its score of the new version; None if missing.
    """

    query_id: str
    baseline: float
    new: float | None
    counted: float

    @property
    def drop(self) -> float:
        """The score of the baseline minus that of the new version."""
        return self.baseline - self.counted


@dataclass(frozen=True)
class MeasureGate:
    """The gate of one measure.

    ``needed``: The number of queries that would show an unchanged mean with probability 0.8; None above a
    billion queries, as for a limit of 0. ``missing``: Queries without a score of the new version.
    ``unmatched``: Queries without a score of the baseline, which are in no number.
    """

    measure: str
    queries: int
    baseline: float
    new: float
    bounds: DropBounds
    p_above: float
    outcome: Outcome
    needed: QueriesNeeded | None
    is_unchanged: bool
    missing: Sequence[str] = ()
    unmatched: Sequence[str] = ()
    largest: Sequence[QueryDrop] = ()

    @property
    def drop(self) -> float:
        """Mean of the baseline minus mean of the new version; negative if the scores rise."""
        return self.baseline - self.new


@dataclass(frozen=True)
class Gate:
    """The comparison of a new version with a baseline.

    ``worst_drop``: The largest change of the score of one query that the bounds assume.
    """

    baseline: str
    new: str
    measures: Sequence[MeasureGate]
    max_drop: float
    undecided: Undecided
    confidence: float = CONFIDENCE
    worst_drop: float = 1.0
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def outcome(self) -> Outcome:
        """Failed if a measure has failed, passed if all measures have passed, else undecided."""
        outcomes = {measure.outcome for measure in self.measures}
        if "failed" in outcomes:
            return "failed"
        return "passed" if outcomes == {"passed"} else "undecided"

    @property
    def passes(self) -> bool:
        """Whether the new version is accepted."""
        if self.outcome == "undecided" and self.undecided == "estimate":
            return all(measure.drop <= self.max_drop + TOLERANCE for measure in self.measures)
        return self.outcome == "passed" or (self.outcome == "undecided" and self.undecided == "pass")


def gate(
    baseline: PathLike | Iterable[Score],
    new: PathLike | Iterable[Score],
    *,
    max_drop: float,
    undecided: Undecided,
    measures: Sequence[str] = (),
    system: str | None = None,
    system_after: str | None = None,
    missing_queries: MissingQueries = "zero",
    worst_drop: float | None = None,
    confidence: float = CONFIDENCE,
    limit: int = 5,
) -> Gate:
    """Test whether the mean score of a new version has dropped by more than a limit.

    A measure has passed if the upper bound of its drop is at most the limit, and failed if the lower bound is
    above it. The gate passes if all measures pass; this needs no correction for several measures (Berger,
    "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24 (1982)). It fails if any
    measure fails, so the p-values of the failure are adjusted by Holm's method.

    Args:
        baseline: Scores of single queries of the version in use: a file in any format of scores, or scores.
        new: Scores of the new version.
        max_drop: The largest drop of the mean that is accepted, 0 or more.
        undecided: What an undecided gate does.
        measures: Measures to compare; higher scores are better. Default: the only measure of both.
        system: The system, if several have scores.
        system_after: The system of the new version. Default: ``system``, or the only one.
        missing_queries: ``zero``: a query that only the baseline has a score for counts as 0 for the new
            version, or as a drop by ``worst_drop`` if the measure has scores below 0. ``skip``: it is left
            out.
        worst_drop: The largest possible change of the score of one query. Default: 1, for scores from 0 to 1.
        confidence: Level of each bound; see :func:`exam_pp.metrics.noninferiority.drop_bounds`.
        limit: Largest number of queries with large drops to list for each measure.

    Returns:
        The means, bounds and outcomes.

    Raises:
        DataError: A file has no scores, or a score is infinite or NaN.
        SelectionError: ``max_drop`` is negative, infinite or NaN; ``worst_drop`` is 0, too, or less than the
            change of a query, or missing for a measure with another range than 0 to 1; there are no scores of
            single queries, of the system or of the measure; several systems or measures have scores and none
            is chosen; or no query is common.
    """
    if not 0 <= max_drop < inf:  # also NaN
        raise SelectionError(f"--max-drop is {max_drop!r}; expected a number of at least 0.")
    if worst_drop is not None and not 0 < worst_drop < inf:
        raise SelectionError(f"--worst-drop is {worst_drop!r}; expected a number above 0.")
    if isinstance(baseline, PathLike) and isinstance(new, PathLike):
        is_same = Path(baseline) == Path(new)
        if is_same and (system_after or system) == system:
            raise SelectionError(
                f"{baseline} is the baseline and the new version; name two of its systems with --system."
            )
    old_name, old = _scores_of(baseline, "the baseline", system)
    new_name, after = _scores_of(new, "the new version", system_after or system)
    worst = 1.0 if worst_drop is None else worst_drop
    compared = {
        measure: _pairs(measure, old[measure], after[measure], missing_queries, worst_drop)
        for measure in _chosen(measures, old, after)
    }
    drops = {name: [max(-worst, min(worst, q.drop)) for q in of] for name, of in compared.items()}
    bounds = [drop_bounds(of, max_drop, worst, confidence) for of in drops.values()]
    # Only failing needs a correction for several measures.
    adjusted = holm([of.p_above for of in bounds])
    rows = [
        MeasureGate(
            measure,
            len(queries),
            exact_mean([query.baseline for query in queries]),
            exact_mean([query.counted for query in queries]),
            found,
            p_above,
            "failed" if p_above < 1 - confidence
            else "passed" if found.p_within <= 1 - confidence
            else "undecided",
            queries_for_drop(drops[measure], max_drop, worst, confidence),
            all(abs(drop) <= TOLERANCE for drop in drops[measure]),
            [query_id for query_id in old[measure] if query_id not in after[measure]],
            [query_id for query_id in after[measure] if query_id not in old[measure]],
            sorted((query for query in queries if query.drop > 0), key=lambda query: -query.drop)[:limit],
        )
        for (measure, queries), found, p_above in zip(compared.items(), bounds, adjusted, strict=True)
    ]  # fmt: skip
    query_ids = {query.query_id for queries in compared.values() for query in queries}
    provenance = Provenance(leaderboards=file_names(baseline, new), queries=len(query_ids))
    return Gate(
        old_name, new_name, rows, max_drop, undecided, confidence, worst,
        list(_notes(rows, missing_queries, worst_drop)), provenance,
    )  # fmt: skip


_Values = Mapping[str, float]
"""Query to score."""


def _pairs(
    measure: str, old: _Values, new: _Values, missing_queries: MissingQueries, worst_drop: float | None
) -> list[QueryDrop]:
    """The queries that are compared, all of whose scores fit the worst drop."""
    if not old.keys() & new.keys():
        raise SelectionError(f"The baseline and the new version have no query of {measure} in common.")
    values = [*old.values(), *new.values()]
    lowest, highest = min(values), max(values)
    is_other = MeasureName(measure).has_other_range or any(
        is_outside(value, (0, 1)) for value in (lowest, highest)
    )
    if worst_drop is None and is_other:
        raise SelectionError(
            f"{measure} has scores from {lowest:g} to {highest:g}, and its range is not 0 to 1; name the "
            "largest possible drop of one query, such as the highest minus the lowest possible score, with "
            "--worst-drop."
        )
    # 0 would be a reward where scores are below it.
    below = worst_drop if worst_drop is not None and lowest < 0 else None
    queries = [
        QueryDrop(query_id, value, None, 0.0 if below is None else value - below)
        if query_id not in new
        else QueryDrop(query_id, value, new[query_id], new[query_id])
        for query_id, value in old.items()
        if query_id in new or missing_queries == "zero"
    ]
    largest = max(queries, key=lambda query: abs(query.drop))
    if worst_drop is not None and is_outside(largest.drop, (-worst_drop, worst_drop)):
        verb = "drops" if largest.drop > 0 else "rises"
        without = ", which has no score of the new version," if largest.new is None else ""
        raise SelectionError(
            f"{measure} of the query {largest.query_id}{without} {verb} by {abs(largest.drop):g}, more than "
            f"the {worst_drop:g} of --worst-drop, which bounds the change of every query; raise it."
        )
    return queries


def _scores_of(
    source: PathLike | Iterable[Score], role: str, system: str | None
) -> tuple[str, dict[str, dict[str, float]]]:
    """The chosen system, and measure to query to its scores."""
    name = str(source) if isinstance(source, PathLike) else role
    tables: dict[str, dict[str, dict[str, float]]] = {}
    for score in read_query_scores(source) if isinstance(source, PathLike) else source:
        if score.query_id != ALL_QUERIES and score.system != OVERALL_SYSTEM:
            if not isfinite(score.value):
                where = f"the {score.metric} of the query {score.query_id}"
                raise DataError(f"{score.value!r}, {where}, is not a score.", file=name)
            of_system = tables.setdefault(score.system, {})
            of_system.setdefault(score.metric, {})[score.query_id] = score.value
    systems = list(tables)
    if not systems:
        raise SelectionError(
            f"{name} has no scores of single queries; write them with `exam-pp evaluate ... --per-query`."
        )
    if system is None:
        check_one(systems, f"{name} has scores of {counted(len(systems), 'system')}", "--system")
    chosen = systems[0] if system is None else system
    if chosen not in systems:
        raise SelectionError(
            f"{name} has no scores of the system {chosen!r} (systems: {listed(systems)}); choose one with "
            "--system."
        )
    return chosen, tables[chosen]


def _chosen(measures: Sequence[str], old: Mapping[str, _Values], new: Mapping[str, _Values]) -> list[str]:
    """The measures to compare, without duplicates."""
    common = [measure for measure in old if measure in new]
    if not common:
        raise SelectionError(
            f"The baseline and the new version have no measure in common ({listed(list(old))}; "
            f"{listed(list(new))})."
        )
    if not measures:
        check_one(common, f"The baseline and the new version have {len(common)} measures", "-m")
    for measure in measures:
        if measure.endswith(PARTLY):
            name = measure.removesuffix(PARTLY)
            raise SelectionError(
                f"People checked only some of the grades behind {name}, which decides nothing: let them "
                f"check all pairs, or compare scores of the judge alone, of `evaluate` with --grader; those "
                f"of Cover and nuggets are beside it, -m '{name}[judge]'."
            )
        if measure not in common:
            raise SelectionError(
                f"The baseline and the new version do not both have the measure {measure!r} (measures of "
                f"both: {listed(common)})."
            )
    return list(dict.fromkeys(measures or common))


def _notes(
    rows: Sequence[MeasureGate], missing_queries: MissingQueries, worst_drop: float | None
) -> Iterator[str]:
    """A note for each list of queries, with its measures if they do not all have this list."""
    effect = "each counts as 0" if missing_queries == "zero" else "left out"
    if missing_queries == "zero" and worst_drop is not None:
        effect += f", or as a drop by {worst_drop:g} for a measure with scores below 0"
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        groups.setdefault((f"new version: {effect}.", *row.missing), []).append(row.measure)
    for row in rows:
        groups.setdefault(("baseline: left out.", *row.unmatched), []).append(row.measure)
    for (version, *query_ids), measures in groups.items():
        if query_ids:
            prefix = "" if len(measures) == len(rows) else f"{listed(measures)}: "
            yield f"{prefix}{counted_names(query_ids, 'query', 'queries')} without a score of the {version}"


def query_plan_report(
    pilot: Path | None,
    measures: Sequence[str],
    systems: int | None,
    difference: float,
    confidence: float,
) -> Report:
    """The number of queries and of labels for a difference."""
    scores = [] if pilot is None else read_query_scores(pilot)
    matrices = score_matrices(score for score in scores if score.system != OVERALL_SYSTEM)
    chosen = [matrices[measure].values for measure in measures or matrices if measure in matrices]
    if pilot is not None and len(chosen) != 1:
        raise SelectionError(
            f"{pilot} has scores of single queries of {listed(list(matrices)) or 'no measure'}; choose one "
            "measure with -m."
        )
    values = chosen[0] if chosen else None
    number = systems or max(2, 0 if values is None else len(values))
    plan = plan_queries(number, values, difference=difference, confidence=confidence)
    few, many = (labels_needed(difference, correlation=r) for r in (0.7, 0.0))
    labels = (
        f"An interval of ±{difference:g} for a corrected share takes at most {many} labels of people, and "
        f"{few} if the judge's ratings correlate with them by 0.7."
    )
    return Report("Plan", [Paragraph(plan.sentence), Paragraph(labels)])


def gate_report(result: Gate, *, decimals: int = 4) -> Report:
    """The outcome as a sentence, a row for each measure, and the queries with the largest drops."""
    measures = Table(
        [
            "measure", "queries", "baseline", "new", "drop", "low", "high", "p (above)", "p (within)",
            "outcome", "queries needed",
        ],
        [[row.measure, row.queries, row.baseline, row.new, row.drop, row.bounds.low, row.bounds.high,
          row.p_above, row.bounds.p_within, row.outcome,
          of and (f"at least {of.low}" if of.high is None else str(of.queries))]
         for row in result.measures for of in [row.needed]],
        title="Measures",
        decimals=decimals,
        bold={(number, 9) for number in range(len(result.measures))},
        significant=[7, 8],
    )  # fmt: skip
    drops = Table(
        ["measure", "query", "baseline", "new", "drop"],
        [
            [row.measure, query.query_id, query.baseline, query.new, query.drop]
            for row in result.measures
            for query in row.largest
        ],
        title="Largest drops",
        decimals=decimals,
    )
    blocks: list[Block] = [Paragraph(gate_sentence(result)), measures]
    blocks += [drops] if drops.rows else []
    alpha = f"{1 - result.confidence:.2g}"
    explanation = (
        "Drop: mean of the baseline minus mean of the new version over the same queries. Low and high: "
        f"one-sided bounds of the drop for α = {alpha}, by {GAFFKE}. Failed: p (above) is below {alpha}, "
        f"which shows a drop by more than {result.max_drop:g}. Passed: p (within) is at most {alpha}, which "
        "shows that the drop is not larger."
    )
    assumption = (
        f"The bounds assume that no query changes by more than {result.worst_drop:g} (--worst-drop), which "
        "is 1 for scores from 0 to 1."
    )
    blocks += map(Paragraph, [*result.notes, explanation, assumption])
    accepted = "passed" if result.passes else "failed"
    title = f"{accepted}, but undecided" if result.outcome == "undecided" else accepted
    return Report(f"Gate: {title}", blocks, result.provenance, result.notes)


def gate_sentence(result: Gate) -> str:
    """The outcome and its reason; only a gate that is decided names its confidence."""
    systems = result.new if result.new == result.baseline else f"{result.new} against {result.baseline}"
    level, limit = f"{100 * result.confidence:.4g} %", f"the accepted {result.max_drop:g}"
    assumed = f", if no query changes by more than {result.worst_drop:g}" if result.worst_drop != 1 else ""
    rows = [row for row in result.measures if result.outcome in ("passed", row.outcome)]
    changes = f"{systems}, {listed([_change(row) for row in rows])}"
    if result.outcome == "failed":
        return f"Failed: {changes}, with {level} confidence by more than {limit}{assumed}."
    if result.outcome == "passed":
        return f"Passed: {changes}; with {level} confidence there is no drop by more than {limit}{assumed}."
    queries = counted(max(row.queries for row in rows), "query is", "queries are")
    outcome = f"{'Passed' if result.passes else 'Failed'} {_reason(result)}"
    needed = f"{outcome}, but {queries} too few to be sure{_too_few(result, rows)}."
    return " ".join([needed, f"{changes}; accepted is {result.max_drop:g}{assumed}.", *_unseen(result, rows)])


def _unseen(result: Gate, rows: Sequence[MeasureGate]) -> Iterator[str]:
    for row in rows:
        if row.is_unchanged:
            share = 100 * unseen_share(row.queries, result.confidence)
            queries = "this query" if row.queries == 1 else f"these {row.queries} queries"
            yield f"{row.measure}: unchanged on {queries}; up to {share:.3g} % could break unseen."


def _too_few(result: Gate, rows: Sequence[MeasureGate]) -> str:
    """How many queries are needed unless scores rise."""
    fewest = fewest_queries(result.max_drop, result.worst_drop, result.confidence)
    if fewest is None:
        return f": a drop of at most {result.max_drop:g} cannot be shown unless scores rise"
    return f": at least {fewest} are needed" if min(row.queries for row in rows) < fewest else ""


def _reason(result: Gate) -> str:
    """Why an undecided gate passes or fails."""
    if result.undecided != "estimate":
        return f"because of --undecided {result.undecided}"
    drops = [f"{row.drop + 0.0:.4g}" for row in result.measures]
    return f"on the measured drop{'s' if len(drops) > 1 else ''} ({listed(drops)})"


def _change(row: MeasureGate) -> str:
    """The measure with its means, such as ``nDCG@10 drops by 0.0100 (0.5200 to 0.5100)``."""
    if not round(row.drop, 4):
        return f"{row.measure} stays at {row.new:.4f}"
    verb = "drops" if row.drop > 0 else "rises"
    return f"{row.measure} {verb} by {abs(row.drop):.4f} ({row.baseline:.4f} to {row.new:.4f})"
