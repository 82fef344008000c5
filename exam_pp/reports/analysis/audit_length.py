"""Sections of the audit on the length of passages, and on the calibration of soft grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum

from exam_pp.data_model import DIRECT_ID
from exam_pp.metrics.calibration import BINS, Calibration, calibration
from exam_pp.metrics.grade_masks import ratings_of_pairs
from exam_pp.metrics.partial_correlation import Estimate, Group, correlation_of_means, correlation_within
from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.analysis.audit_inputs import (
    LEAST_QUERIES,
    AuditInput,
    Numbers,
    Verdict,
    as_matrix,
    excludes,
    too_few,
    undecided,
    with_interval,
)
from exam_pp.rendering.document import Block, Cell, Paragraph, Table
from exam_pp.rendering.pictures.points import ReliabilityBin, reliability_diagram

Section = tuple[Sequence[Block], Sequence[tuple[str, Verdict]]]
"""The blocks of a section of an audit, and its verdicts, each with what it is about."""

_Correlated = tuple[str, str, str]
"""What is correlated with length, the units whose length it is, and what is held constant."""


def ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """The ends of an interval as cells."""
    return interval or (None, None)


def length_section(data: AuditInput, decimals: int) -> Section:
    """Correlations of grades and scores with length, within queries, with and without people's labels."""
    found = _of_units(data) | _of_systems(data)
    table = Table(
        ["of", "with length of", "constant", "units", "queries", "Spearman", "low", "high", "Pearson",
         "low (Pearson)", "high (Pearson)"],
        [[*key, spearman.units, spearman.queries, spearman.value, *ends(spearman.interval),
          *((None, None, None) if pearson is None else (pearson.value, *ends(pearson.interval)))]
         for key, (spearman, pearson) in found.items()],
        title="Correlation with length in words",
        decimals=decimals,
    )  # fmt: skip
    counts = data.over_passages(lambda _query_id, _passage_id: 1)
    is_full = len({count for of_query in counts.values() for count in of_query.values()}) < 2
    notes = [
        "Systems have different numbers of passages within the cutoff, so lengths of responses and scores "
        "also depend on how many passages the file has."
    ] * (not is_full)
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
    of_grades = {held: spearman for (of, _, held), (spearman, _) in found.items() if of == "grade"}
    return [table, *map(Paragraph, notes)], [("", _length_verdict(data, of_grades))]


_Correlations = dict[_Correlated, tuple[Estimate, Estimate | None]]
"""Spearman's correlation, and Pearson's; means of systems have only the first."""


def _of_units(data: AuditInput) -> _Correlations:
    """Correlations over passages; for a reviewer, over pairs of passage and entry."""
    people, words = data.people, data.words
    # The query, the length, the grade, and the label of people.
    values: list[tuple[str, float, float, float | None]]
    if people is not None and people.pairs:
        units, noun = "pairs", people.noun
        values = [
            (key[0], words.get((key[0], key[1]), 0), grade, people.pairs.get(key))
            for key, grade in ratings_of_pairs(data.grader.file).items()
        ]
    else:
        units, noun = "passages", "judgment"
        judged = {} if people is None else people.passages
        values = [
            (key[0], words[key], passage.best_grade, judged.get(key))
            for query in data.grader.queries()
            for passage in query.passages
            for key in [(query.query_id, passage.passage_id)]
            if passage.best_grade is not None
        ]
    grouped = {("grade", units, "query"): _grouped((q, None, (x, y)) for q, x, y, _ in values)}
    labelled = [(q, x, y, z) for q, x, y, z in values if z is not None]
    if labelled:
        grouped |= {
            (noun, units, "query"): _grouped((q, None, (x, z)) for q, x, _, z in labelled),
            ("grade", units, f"query, {noun}"): _grouped((q, None, (x, y, z)) for q, x, y, z in labelled),
            ("grade", units, f"query, same {noun}"): _grouped((q, z, (x, y)) for q, x, y, z in labelled),
        }
    return {key: _within(groups, data) for key, groups in grouped.items()}


def _grouped(values: Iterable[tuple[str, float | None, Sequence[float]]]) -> list[list[Group]]:
    """The groups of each query: the rows with the same label."""
    groups: dict[str, dict[float | None, list[Sequence[float]]]] = {}
    for query_id, label, row in values:
        groups.setdefault(query_id, {}).setdefault(label, []).append(row)
    return [list(of_query.values()) for of_query in groups.values()]


def _of_systems(data: AuditInput) -> _Correlations:
    systems = data.systems
    if len(systems) < 2:
        return {}
    words = data.over_passages(lambda query_id, passage_id: data.words[query_id, passage_id])
    tables: dict[str, list[Numbers]] = {"": [words, data.scores]}
    if data.people_scores:
        tables["score by judgments"] = [words, data.scores, data.people_scores]
    found: _Correlations = {}
    for held, columns in tables.items():
        queries = [query_id for query_id in columns[-1] if query_id in data.scores]
        groups: list[list[Group]] = [
            [[[table[query_id][system] for table in columns] for system in systems]] for query_id in queries
        ]
        found["score", "responses", f"query, {held}" if held else "query"] = _within(groups, data)
        if len(systems) > len(columns):
            means = correlation_of_means(
                [as_matrix(table, queries, systems) for table in columns],
                confidence=data.options.confidence, samples=data.options.samples, seed=data.options.seed,
            )  # fmt: skip
            found["mean score", "systems", held] = means, None
    return found


def _within(queries: Sequence[Sequence[Group]], data: AuditInput) -> tuple[Estimate, Estimate]:
    """Spearman's and Pearson's correlation within groups."""
    options = data.options
    spearman, pearson = (
        correlation_within(
            queries, ranks=ranks, confidence=options.confidence, samples=options.samples, seed=options.seed
        )
        for ranks in (True, False)
    )
    return spearman, pearson


def _length_verdict(data: AuditInput, of_grades: Mapping[str, Estimate]) -> Verdict:
    """The verdict by the correlations of grades, by what is held constant."""
    level = data.options.confidence
    plain = of_grades["query"]
    if data.people is None:
        known = "undefined" if plain.value is None else with_interval(plain.value, plain.interval, level)
        return undecided(
            f"the correlation of grade and length within queries is {known}, but without labels of people it "
            "can be length or quality"
        )
    noun = data.people.noun
    found, within = (of_grades.get(f"query, {kind}{noun}") for kind in ("", "same "))
    if found is None:
        return undecided(f"no graded passage or pair has a {noun}")
    if found.value is None:
        return undecided(f"grade or length have only one value in every query with a {noun}")
    number = f"partial Spearman correlation {with_interval(found.value, found.interval, level)}"
    both = [found]
    if within is not None and within.value is not None:
        both.append(within)
        among = with_interval(within.value, within.interval, level)
        number += f", and {among} among units with the same {noun}"
    if found.queries < LEAST_QUERIES or any(each.interval is None for each in both):
        return too_few(found.queries, number)
    sides = set(map(_side, both))
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


def calibration_section(data: AuditInput, decimals: int) -> Section:
    """Compare the probability of reaching the threshold with the labels of people."""
    people, min_grade, options = data.people, data.grader.min_grade, data.options
    if people is None:
        return [], [("", undecided("the file has no labels of people"))]
    if people.passages and not data.grader.is_direct:
        reason = "grades of bank entries need ratings of the same entries by a person: use --reviewer "
        return [], [("", undecided(f"{reason}human:NAME"))]
    least = options.min_judgment if people.passages else min_grade
    queries: dict[str, list[tuple[float, bool]]] = {}
    soft = 0
    for query_id, probability, is_soft, label in _pairs(data):
        queries.setdefault(query_id, []).append((probability, label >= least))
        soft += is_soft
    found = calibration(
        list(queries.values()), confidence=options.confidence, samples=options.samples, seed=options.seed
    )
    if found is None:
        return [], [("", undecided("people labelled none of the graded pairs"))]
    title = f"Probability of a grade of at least {min_grade} against a {people.noun} of at least {least}"
    blocks = _calibration(found, title, soft, decimals)
    return list(blocks), [("", _calibration_verdict(found, soft, options.confidence))]


def _pairs(data: AuditInput) -> Iterator[tuple[str, float, bool, int]]:
    """Query, probability of reaching the threshold, whether it is soft, and label of people."""
    people, least = data.people, data.grader.min_grade
    assert people is not None
    for query in data.grader.queries():
        for passage in query.passages:
            key = query.query_id, passage.passage_id
            reached = passage.reaching(least)
            for entry_id, position in query.entries.items():
                if not passage.graded >> position & 1:
                    continue
                label = people.passages.get(key) if people.passages else people.pairs.get((*key, entry_id))
                if label is None or (people.passages and entry_id != DIRECT_ID):
                    continue
                values = passage.soft.get(position)
                # Stored probabilities are rounded, so their sum may exceed 1 slightly.
                probability = min(1.0, fsum(values[max(0, least) :])) if values else reached >> position & 1
                yield query.query_id, float(probability), bool(values), label


def _calibration(numbers: Calibration, title: str, soft: int, decimals: int) -> Iterator[Block]:
    rows: list[list[Cell]] = [
        ["pairs", numbers.pairs, None, None],
        ["mean probability", numbers.probability, None, None],
        ["share by people", numbers.share, None, None],
    ]
    for name, found in (
        ("mean probability minus share", numbers.bias),
        ("ECE, equal width", numbers.ece),
        ("ECE, equal counts", numbers.adaptive_ece),
        ("Brier score", numbers.brier),
    ):
        rows.append([name, found.value, *ends(found.interval)])
    rows.append(["ECE of a calibrated grader", numbers.expected_ece, None, numbers.highest_ece])
    yield Table(["measure", "value", "low", "high"], rows, title=title, decimals=decimals)
    for of_bins, bins in (
        (f"{BINS} bins of equal width", numbers.bins),
        (f"Up to {BINS} bins of equal counts", numbers.adaptive_bins),
    ):
        yield Table(
            ["from", "to", "pairs", "mean probability", "share by people"],
            [list(each) for each in bins],
            title=of_bins,
            decimals=decimals,
        )
    yield Paragraph(
        f"ECE: mean difference of probability and share by people over the bins, weighted by pairs. It is "
        f"above 0 even for a calibrated grader, the more so the fewer the pairs: {numbers.expected_ece:.3f} "
        f"on average here. Its interval has the same bias. {soft} of {numbers.pairs} pairs have soft "
        "grades; the others count with the probability 0 or 1."
    )
    yield reliability_diagram(
        [ReliabilityBin(*each) for each in numbers.bins],
        "Reliability of the probabilities",
        ece=numbers.ece.value,
    )


def _calibration_verdict(found: Calibration, soft: int, confidence: float) -> Verdict:
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
