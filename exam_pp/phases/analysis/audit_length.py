"""Sections of the audit on the length of passages, and on the calibration of soft grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum

from exam_pp.data_model import DIRECT_ID
from exam_pp.metrics.calibration import Calibration, calibration
from exam_pp.metrics.partial_correlation import Estimate, Group, correlation_of_means, correlation_within
from exam_pp.phases.analysis.audit_inputs import (
    LEAST_QUERIES,
    AuditInput,
    Table,
    Verdict,
    as_matrix,
    excludes,
    too_few,
    undecided,
    with_interval,
)
from exam_pp.phases.analysis.graders import ratings_of_pairs


@dataclass(frozen=True)
class LengthRow:
    """The correlation of a number with length in words.

    ``pearson``: Correlation of the numbers; None for means of systems.
    """

    units: str
    of: str
    constant: str
    spearman: Estimate
    pearson: Estimate | None = None


@dataclass(frozen=True)
class LengthAudit:
    """The length section of an audit."""

    rows: Sequence[LengthRow]
    verdict: Verdict
    notes: Sequence[str] = field(default_factory=tuple)


def audit_length(data: AuditInput) -> LengthAudit:
    """Correlations of grades and scores with length, within queries, with and without people's labels."""
    rows = [*_unit_rows(data), *_system_rows(data)]
    counts = data.over_passages(lambda _query_id, _passage_id: 1)
    is_full = len({count for of_query in counts.values() for count in of_query.values()}) < 2
    notes = [] if is_full else [_HOLES]
    if data.people is None:
        notes.append(
            "Without labels of people, this cannot separate length from quality: longer passages can be "
            "better."
        )
    else:
        notes.append(
            f"Partial correlations hold the {data.people.noun} constant as a rank; rows with 'same' compare "
            f"only units with the same {data.people.noun}. Labels of people are coarse, so a longer passage "
            "can still be better than another with the same label, and it can cover more entries."
        )
    return LengthAudit(rows, _verdict(data, rows), notes)


_HOLES = (
    "Systems have different numbers of passages within the cutoff, so lengths of responses and scores also "
    "depend on how many passages the file has."
)


def _unit_rows(data: AuditInput) -> list[LengthRow]:
    """Rows on passages; for a reviewer, on pairs of passage and entry."""
    people = data.people
    if people is not None and people.pairs:
        graded = ratings_of_pairs(data.grader.file)
        pairs = [
            (key[0], data.words.get((key[0], key[1]), 0), grade, people.pairs.get(key))
            for key, grade in graded.items()
        ]
        return _rows("pairs", people.noun, pairs, data)
    judged = {} if people is None else people.passages
    passages = [
        (
            query.query_id,
            data.words[query.query_id, passage.passage_id],
            passage.best_grade,
            judged.get((query.query_id, passage.passage_id)),
        )
        for query in data.grader.queries()
        for passage in query.passages
        if passage.best_grade is not None
    ]
    return _rows("passages", "judgment", passages, data)


_Unit = tuple[str, float, float, float | None]
"""Query, length, grade, and the label of people."""


def _rows(units: str, noun: str, values: Iterable[_Unit], data: AuditInput) -> list[LengthRow]:
    values = list(values)
    plain = _grouped((query, (x, y)) for query, x, y, _ in values)
    rows = [_row(units, "grade", "query", plain, data)]
    labelled = [(query, x, y, z) for query, x, y, z in values if z is not None]
    if labelled:
        rows.append(_row(units, noun, "query", _grouped((q, (x, z)) for q, x, _, z in labelled), data))
        by_query = _grouped((query, (x, y, z)) for query, x, y, z in labelled)
        rows.append(_row(units, "grade", f"query, {noun}", by_query, data))
        strata: dict[str, dict[float, list[Sequence[float]]]] = {}
        for query, x, y, z in labelled:
            strata.setdefault(query, {}).setdefault(z, []).append((x, y))
        same = [list(of_query.values()) for of_query in strata.values()]
        rows.append(_row(units, "grade", f"query, same {noun}", same, data))
    return rows


def _system_rows(data: AuditInput) -> list[LengthRow]:
    systems = data.systems
    if len(systems) < 2:
        return []
    rows = []
    tables: dict[str, list[Table]] = {"query": [data.response_words, data.scores]}
    if data.people_scores:
        tables["query, score by judgments"] = [*tables["query"], data.people_scores]
    for constant, columns in tables.items():
        queries = [query_id for query_id in columns[-1] if query_id in data.scores]
        groups: list[list[Group]] = [
            [[[table[query_id][system] for table in columns] for system in systems]] for query_id in queries
        ]
        rows.append(_row("responses", "score", constant, groups, data))
        if len(systems) > len(columns):
            means = correlation_of_means(
                [as_matrix(table, queries, systems) for table in columns],
                confidence=data.options.confidence, samples=data.options.samples, seed=data.options.seed,
            )  # fmt: skip
            held = constant.removeprefix("query").removeprefix(", ")
            rows.append(LengthRow("systems", "mean score", held, means))
    return rows


def _grouped(values: Iterable[tuple[str, Sequence[float]]]) -> list[list[Group]]:
    groups: dict[str, list[Sequence[float]]] = {}
    for query_id, row in values:
        groups.setdefault(query_id, []).append(row)
    return [[group] for group in groups.values()]


def _row(
    units: str, of: str, constant: str, queries: Sequence[Sequence[Group]], data: AuditInput
) -> LengthRow:
    options = data.options
    spearman, pearson = (
        correlation_within(
            queries, ranks=ranks, confidence=options.confidence, samples=options.samples, seed=options.seed
        )
        for ranks in (True, False)
    )
    return LengthRow(units, of, constant, spearman, pearson)


def _verdict(data: AuditInput, rows: Sequence[LengthRow]) -> Verdict:
    level = data.options.confidence
    by_constant = {
        row.constant: row for row in rows if row.units in ("passages", "pairs") and row.of == "grade"
    }
    plain = by_constant["query"].spearman
    if data.people is None:
        known = "undefined" if plain.value is None else with_interval(plain.value, plain.interval, level)
        return undecided(
            f"the correlation of grade and length within queries is {known}, but without labels of people it "
            "can be length or quality"
        )
    noun = data.people.noun
    held, same = (by_constant.get(f"query, {kind}{noun}") for kind in ("", "same "))
    found = None if held is None else held.spearman
    if found is None:
        return undecided(f"no graded passage or pair has a {noun}")
    if found.value is None:
        return undecided(f"grade or length have only one value in every query with a {noun}")
    number = f"partial Spearman correlation {with_interval(found.value, found.interval, level)}"
    within = None if same is None else same.spearman
    if within is not None and within.value is not None:
        number += (
            f", and {with_interval(within.value, within.interval, level)} among units with the same {noun}"
        )
    both = [each for each in (found, within) if each is not None and each.value is not None]
    if found.queries < LEAST_QUERIES or any(each.interval is None for each in both):
        return too_few(found.queries, number)
    sides = {_side(found), _side(found if within is None or within.value is None else within)}
    if len(sides) > 1:
        return undecided(f"the two ways to hold the {noun} constant disagree: {number}")
    (side,) = sides
    if not side:
        return Verdict(
            "no evidence", f"at the same {noun}, grade and length are not clearly related: {number}"
        )
    direction = "longer" if side > 0 else "shorter"
    return Verdict(
        "evidence", f"at the same {noun}, {direction} passages of a query get higher grades: {number}"
    )


def _side(found: Estimate) -> int:
    """The sign of a correlation whose interval excludes 0, else 0."""
    if found.value is None or found.interval is None or not excludes(found.interval):
        return 0
    return 1 if found.value > 0 else -1


@dataclass(frozen=True)
class CalibrationAudit:
    """The calibration section of an audit.

    ``found``: The numbers; None without pairs that both sides labelled. ``event``: What has the probability,
    such as ``grade of at least 4``. ``soft``: Number of pairs with a soft grade; the other pairs have the
    probability 0 or 1 by their grade. ``verdict``: Whether the probabilities are miscalibrated.
    """

    found: Calibration | None
    event: str
    by_people: str
    soft: int
    verdict: Verdict


def audit_calibration(data: AuditInput) -> CalibrationAudit:
    """Compare the probability of reaching the threshold with the labels of people."""
    people, min_grade = data.people, data.grader.min_grade
    event = f"grade of at least {min_grade}"
    if people is None:
        return CalibrationAudit(None, event, "", 0, undecided("the file has no labels of people"))
    if people.passages and not data.grader.is_direct:
        return CalibrationAudit(
            None, event, "", 0,
            undecided(
                "grades of bank entries need ratings of the same entries by a person: use --reviewer "
                "human:NAME"
            ),
        )  # fmt: skip
    least = data.options.min_judgment if people.passages else min_grade
    by_people = f"{people.noun} of at least {least}"
    queries: dict[str, list[tuple[float, bool]]] = {}
    soft = 0
    for query_id, probability, is_soft, label in _pairs(data):
        queries.setdefault(query_id, []).append((probability, label >= least))
        soft += is_soft
    options = data.options
    found = calibration(
        list(queries.values()), confidence=options.confidence, samples=options.samples, seed=options.seed
    )
    return CalibrationAudit(
        found, event, by_people, soft, _calibration_verdict(found, soft, data.options.confidence)
    )


def _pairs(data: AuditInput) -> Iterator[tuple[str, float, bool, int]]:
    """Query, probability of reaching the threshold, whether it is soft, and label of people."""
    people, least = data.people, data.grader.min_grade
    assert people is not None
    for query in data.grader.queries():
        for passage in query.passages:
            reached = passage.reaching(least)
            for entry_id, position in query.entries.items():
                if not passage.graded >> position & 1:
                    continue
                key = query.query_id, passage.passage_id
                label = people.passages.get(key) if people.passages else people.pairs.get((*key, entry_id))
                if label is None or (people.passages and entry_id != DIRECT_ID):
                    continue
                values = passage.soft.get(position)
                yield (
                    query.query_id,
                    _probability(values, reached >> position & 1, least),
                    bool(values),
                    label,
                )


def _probability(values: Sequence[float] | None, reached: int, least: int) -> float:
    # Stored probabilities are rounded, so their sum may exceed 1 slightly.
    return float(reached) if not values else min(1.0, fsum(values[max(0, least) :]))


def _calibration_verdict(found: Calibration | None, soft: int, confidence: float) -> Verdict:
    if found is None:
        return undecided("people labelled none of the graded pairs")
    brier = with_interval(*found.brier, confidence)
    if not soft:
        return undecided(
            "the grades have no probabilities (exam-pp grade --soft makes them); as certain statements they "
            f"are wrong in a share of {brier} of {found.pairs} pairs"
        )
    ece = with_interval(*found.ece, confidence)
    chance = (
        f"a calibrated grader would have {found.expected_ece:.3f} on average and at most "
        f"{found.highest_ece:.3f} with {100 * confidence:.4g} % probability"
    )
    if found.queries < LEAST_QUERIES:
        return too_few(found.queries, f"the ECE on {found.pairs} pairs is {ece}")
    if found.ece.value <= found.highest_ece:
        return Verdict("no evidence", f"the ECE on {found.pairs} pairs is {ece}; {chance}")
    side = "high" if found.bias.value > 0 else "low"
    return Verdict(
        "evidence",
        f"the ECE on {found.pairs} pairs is {ece}; {chance}. Probabilities are on average "
        f"{abs(found.bias.value):.3f} too {side}",
    )
