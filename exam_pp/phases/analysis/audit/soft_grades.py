"""Calibration of soft grades against the labels of people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from exam_pp.data_model import DIRECT_ID
from exam_pp.metrics.calibration import Calibration, calibration
from exam_pp.phases.analysis.audit.inputs import AuditInput
from exam_pp.phases.analysis.audit.verdicts import LEAST_QUERIES, Verdict, too_few, undecided, with_interval


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
    return CalibrationAudit(found, event, by_people, soft, _verdict(found, soft, data.options.confidence))


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


def _verdict(found: Calibration | None, soft: int, confidence: float) -> Verdict:
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
