"""Gate for continuous integration: whether the scores of a new version have dropped by more than a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.scores import read_query_scores
from exam_pp.metrics.drops import TOLERANCE, DropBounds, DropTest, drop_bounds, spread_of
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.metrics.significance import detectable_mean, holm, queries_to_detect
from exam_pp.phases.evaluation.result import MissingQueries, PathLike, counted_names
from exam_pp.provenance import Provenance, file_names
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score
from exam_pp.wording import counted, listed

Outcome = Literal["passed", "failed", "undecided"]
"""Whether the queries show that the drop is at most the limit (passed), or larger (failed), or neither."""
Undecided = Literal["estimate", "pass", "fail"]
"""An undecided gate: it passes if the measured drop is at most the limit, or it passes, or it fails."""

POWER = 0.8
"""Probability with which the detectable difference is detected."""

_LARGEST = 1e100
"""Larger scores would overflow in squares."""


class QueryDrop(NamedTuple):
    """The scores of a query whose score has dropped; ``new`` is None if the new version has no score."""

    query_id: str
    baseline: float
    new: float | None

    @property
    def drop(self) -> float:
        """The score of the baseline minus that of the new version; a missing score counts as 0."""
        return self.baseline - (self.new or 0.0)


@dataclass(frozen=True)
class MeasureGate:
    """The gate of one measure.

    Attributes:
        measure: The measure.
        queries: Number of queries that are compared.
        baseline: Mean of the baseline over these queries.
        new: Mean of the new version over the same queries.
        bounds: One-sided bounds of the drop, with the p-values of the tests.
        p_above: ``bounds.p_above``, adjusted by Holm's method over all measures.
        outcome: What the queries show.
        detectable: The difference that a t test on this many queries detects with probability 0.8; None for
            a single query.
        needed: The number of queries on which the limit itself would be detected; None if it is 0, if
            the drops of all queries are equal, or above a billion queries.
        missing: Queries without a score of the new version.
        unmatched: Queries without a score of the baseline, which are in no number.
        largest: The queries with the largest drops.
    """

    measure: str
    queries: int
    baseline: float
    new: float
    bounds: DropBounds
    p_above: float | None
    outcome: Outcome
    detectable: float | None
    needed: int | None
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

    Attributes:
        baseline: The system of the baseline.
        new: The system of the new version.
        measures: The measures.
        max_drop: The largest drop that is accepted.
        confidence: Level of each bound.
        test: The test.
        samples: Number of samples of the randomisation test.
        seed: Seed of the randomisation test.
        undecided: What an undecided gate does.
        missing_queries: What a query without a score of the new version counts.
        notes: Sentences on missing queries and on tests that are not possible.
        provenance: The names of the files, and the number of queries.
    """

    baseline: str
    new: str
    measures: Sequence[MeasureGate]
    max_drop: float
    confidence: float = 0.95
    test: DropTest = "t"
    samples: int = 10_000
    seed: int = 0
    undecided: Undecided = "estimate"
    missing_queries: MissingQueries = "zero"
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
    measures: Sequence[str] = (),
    system: str | None = None,
    system_after: str | None = None,
    missing_queries: MissingQueries = "zero",
    undecided: Undecided = "estimate",
    test: DropTest = "t",
    confidence: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
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
        measures: Measures to compare; higher scores are better. Default: the only measure of both.
        system: The system, if several have scores.
        system_after: The system of the new version. Default: ``system``, or the only one.
        missing_queries: ``zero``: a query that only the baseline has a score for counts as 0 for the new
            version. ``skip``: it is left out.
        undecided: What an undecided gate does.
        test: The test; see :func:`exam_pp.metrics.drops.drop_bounds`.
        confidence: Level of each bound.
        samples: Number of samples of the randomisation test.
        seed: Seed of the randomisation test.
        limit: Largest number of queries with large drops to list for each measure.

    Returns:
        The means, bounds and outcomes.

    Raises:
        DataError: A file has no scores, or a score is infinite or NaN.
        SelectionError: ``max_drop`` is negative, infinite or NaN; there are no scores of single queries, of
            the system or of the measure; several systems or measures have scores and none is chosen; or no
            query is common.
    """
    if not 0 <= max_drop <= _LARGEST:  # also NaN
        raise SelectionError(f"--max-drop is {max_drop!r}; expected a number from 0 to 1e100.")
    if isinstance(baseline, PathLike) and isinstance(new, PathLike):
        is_same = Path(baseline) == Path(new)
        if is_same and (system_after or system) == system:
            raise SelectionError(
                f"{baseline} is the baseline and the new version; choose two of its systems with --system "
                "and --system-after."
            )
    old_name, old = _scores_of(baseline, "the baseline", system, "--system")
    new_name, after = _scores_of(new, "the new version", system_after or system, "--system-after")
    pairs = [
        _Pairs.of(measure, old[measure], after[measure], missing_queries)
        for measure in _chosen(measures, old, after)
    ]
    rows = [
        values.gate(
            drop_bounds(values.drops, max_drop, test=test, confidence=confidence, samples=samples, seed=seed),
            max_drop,
            1 - confidence,
            limit,
        )
        for values in pairs
    ]
    compared = {query.query_id for values in pairs for query in values.queries}
    provenance = Provenance(leaderboards=file_names(baseline, new), queries=len(compared))
    return Gate(
        old_name, new_name, _decided(rows, 1 - confidence), max_drop, confidence, test, samples, seed,
        undecided, missing_queries, list(_notes(rows, missing_queries, test)), provenance,
    )  # fmt: skip


_Values = Mapping[str, float]
"""Query to score."""


@dataclass(frozen=True)
class _Pairs:
    """The queries of a measure: those that are compared, and the others."""

    measure: str
    queries: Sequence[QueryDrop]
    missing: Sequence[str]
    unmatched: Sequence[str]

    @classmethod
    def of(cls, measure: str, old: _Values, new: _Values, missing_queries: MissingQueries) -> _Pairs:
        if not old.keys() & new.keys():
            raise SelectionError(f"The baseline and the new version have no query of {measure} in common.")
        missing = [query_id for query_id in old if query_id not in new]
        left_out = set(missing if missing_queries == "skip" else ())
        queries = [
            QueryDrop(query_id, value, new.get(query_id))
            for query_id, value in old.items()
            if query_id not in left_out
        ]
        return cls(measure, queries, missing, [query_id for query_id in new if query_id not in old])

    @property
    def drops(self) -> list[float]:
        return [query.drop for query in self.queries]

    def gate(self, bounds: DropBounds, max_drop: float, alpha: float, limit: int) -> MeasureGate:
        """The gate of the measure, as if it were the only one."""
        spread = spread_of(self.drops)
        largest = sorted((query for query in self.queries if query.drop > 0), key=lambda query: -query.drop)
        return MeasureGate(
            self.measure,
            len(self.queries),
            exact_mean([query.baseline for query in self.queries]),
            exact_mean([query.new or 0.0 for query in self.queries]),
            bounds,
            bounds.p_above,
            "undecided",
            None if spread is None else detectable_mean(spread, len(self.queries), tail=alpha, power=POWER),
            queries_to_detect(max_drop, spread, tail=alpha, power=POWER) if spread and max_drop else None,
            self.missing,
            self.unmatched,
            largest[:limit],
        )


def _decided(rows: Sequence[MeasureGate], alpha: float) -> list[MeasureGate]:
    """The rows with their outcomes; a measure without a test is undecided and does not count as a test."""
    adjusted = iter(holm([row.p_above for row in rows if row.p_above is not None]))
    decided = []
    for row in rows:
        p_above = None if row.p_above is None else next(adjusted)
        outcome: Outcome = "undecided"
        if p_above is not None and p_above <= alpha + TOLERANCE:
            outcome = "failed"
        elif row.bounds.p_within is not None and row.bounds.p_within <= alpha + TOLERANCE:
            outcome = "passed"
        decided.append(replace(row, p_above=p_above, outcome=outcome))
    return decided


def _scores_of(
    source: PathLike | Iterable[Score], role: str, system: str | None, option: str
) -> tuple[str, dict[str, dict[str, float]]]:
    """The chosen system, and measure to query to its scores."""
    name = str(source) if isinstance(source, PathLike) else role
    found = read_query_scores(source) if isinstance(source, PathLike) else source
    scores = [score for score in found if score.query_id != ALL_QUERIES and score.system != OVERALL_SYSTEM]
    systems = list(dict.fromkeys(score.system for score in scores))
    if not systems:
        raise SelectionError(
            f"{name} has no scores of single queries; write them with `exam-pp evaluate ... --per-query`."
        )
    if system is None and len(systems) > 1:
        raise SelectionError(
            f"{name} has scores of {counted(len(systems), 'system')} ({listed(systems)}); choose one with "
            f"{option}."
        )
    chosen = systems[0] if system is None else system
    if chosen not in systems:
        raise SelectionError(
            f"{name} has no scores of the system {chosen!r} (systems: {listed(systems)}); choose one with "
            f"{option}."
        )
    table: dict[str, dict[str, float]] = {}
    for score in scores:
        if score.system == chosen:
            if not abs(score.value) <= _LARGEST:  # also NaN
                problem = f"{score.value!r}, the {score.metric} of the query {score.query_id}, is not a score"
                raise DataError(f"{problem}: expected a number from -1e100 to 1e100.", file=name)
            table.setdefault(score.metric, {})[score.query_id] = score.value
    return chosen, table


def _chosen(measures: Sequence[str], old: Mapping[str, _Values], new: Mapping[str, _Values]) -> list[str]:
    """The measures to compare, without duplicates."""
    common = [measure for measure in old if measure in new]
    if not measures and len(common) == 1:
        return common
    if not common:
        raise SelectionError(
            f"The baseline and the new version have no measure in common ({listed(list(old))}; "
            f"{listed(list(new))})."
        )
    if not measures:
        raise SelectionError(
            f"The baseline and the new version have {len(common)} measures; choose with -m: {listed(common)}."
        )
    for measure in measures:
        if measure not in common:
            raise SelectionError(
                f"The baseline and the new version do not both have the measure {measure!r} (measures of "
                f"both: {listed(common)})."
            )
    return list(dict.fromkeys(measures))


def _notes(rows: Sequence[MeasureGate], missing_queries: MissingQueries, test: DropTest) -> Iterator[str]:
    effect = "each counts as 0" if missing_queries == "zero" else "left out"
    yield from _grouped(rows, "missing", f"without a score of the new version: {effect}.")
    yield from _grouped(rows, "unmatched", "without a score of the baseline: left out.")
    for row in rows:
        if row.queries == 1:
            yield f"{row.measure}: a single query cannot show how far its drop is due to chance."
        elif test == "t" and row.detectable == 0:
            yield (
                f"{row.measure}: the scores of all {row.queries} queries drop by the same amount, so that "
                "both bounds are this drop."
            )
        elif row.bounds.low is None:
            yield (
                f"{row.measure}: {row.queries} queries are too few for a randomisation test at this "
                "confidence level; use --test t."
            )


def _grouped(rows: Sequence[MeasureGate], attribute: str, text: str) -> Iterator[str]:
    """A note for each list of queries, with its measures if they do not all have this list."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, attribute)), []).append(row.measure)
    for query_ids, of_measures in groups.items():
        if query_ids:
            prefix = "" if len(of_measures) == len(rows) else f"{listed(of_measures)}: "
            yield f"{prefix}{counted_names(query_ids, 'query', 'queries')} {text}"
