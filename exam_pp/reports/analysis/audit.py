"""Report of the audit of a grader: a section for each bias, which ends with its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exam_pp.metrics.calibration import BINS, Calibration, Measured
from exam_pp.metrics.partial_correlation import Estimate
from exam_pp.metrics.uncertainty import Interval, few_units_note
from exam_pp.phases.analysis.audit.audit import Audit
from exam_pp.phases.analysis.audit.circularity import CircularityAudit, FamilyAdvantage
from exam_pp.phases.analysis.audit.games import GamesAudit
from exam_pp.phases.analysis.audit.length import LengthAudit
from exam_pp.phases.analysis.audit.soft_grades import CalibrationAudit
from exam_pp.phases.analysis.audit.verdicts import Verdict
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.rendering.pictures.points import ReliabilityBin, reliability_diagram
from exam_pp.reports.tournaments.biases import biases_report

LENGTH, GAMES, CIRCULARITY, CALIBRATION = (
    "Length",
    "Position, length and self-preference in games",
    "Circularity",
    "Calibration",
)
"""Titles of the sections."""


def audit_report(result: Audit, *, decimals: int = 3) -> Report:
    """The sections with their verdicts, after a table of all verdicts."""
    sections = {
        LENGTH: (_length(result.length, decimals), result.length.verdict),
        GAMES: (_games(result.games, decimals), _of_games(result.games)),
        CIRCULARITY: (_circularity(result.circularity, decimals), result.circularity.verdict),
        CALIBRATION: (_calibration(result.calibration, decimals), result.calibration.verdict),
    }
    summary = Table(
        ["section", "verdict"],
        [
            [title, found.outcome if isinstance(found, Verdict) else _worst(found)]
            for title, (_, found) in sections.items()
        ],
        title="Verdicts",
    )
    blocks: list[Block] = [summary, *map(Paragraph, [*_notes(result), *result.notes])]
    for title, (content, found) in sections.items():
        blocks += [Heading(title), *content]
        if isinstance(found, Verdict):
            blocks.append(Paragraph(found.sentence))
        else:
            blocks += [Paragraph(f"{judge}, {bias}: {each.sentence}") for judge, bias, each in found]
    return Report(f"Audit of {result.grader}", blocks, result.provenance)


_GameVerdicts = Sequence[tuple[str, str, Verdict]]


def _of_games(games: GamesAudit | Verdict) -> Verdict | _GameVerdicts:
    return games if isinstance(games, Verdict) else games.verdicts


def _worst(verdicts: _GameVerdicts) -> str:
    outcomes = [verdict.outcome for _, _, verdict in verdicts]
    return next(outcome for outcome in ("evidence", "no evidence", "undecided") if outcome in outcomes)


def _notes(result: Audit) -> Iterator[str]:
    options = result.options
    people = "no labels of people" if result.people is None else f"labels of people: {result.people}"
    yield (
        f"Grader: {result.grader} ({result.prompt_class}); {people}. Score of systems: {result.measure}. low "
        f"and high: {100 * options.confidence:.4g} % intervals by the bootstrap over queries "
        f"({options.samples:,} samples, seed {options.seed}), of shares by Gaffke's bound. "
        f"{few_units_note()} Evidence is an interval without the value of no effect; without a bias, about "
        f"{100 - 100 * options.confidence:.4g} % of such verdicts are evidence by chance, and more with few "
        "queries. For calibration, evidence is an ECE that a calibrated grader rarely has."
    )


def _length(found: LengthAudit, decimals: int) -> Iterator[Block]:
    yield Table(
        ["of", "with length of", "constant", "units", "queries", "Spearman", "low", "high", "Pearson",
         "low (Pearson)", "high (Pearson)"],
        [
            [row.of, row.units, row.constant, row.spearman.units, row.spearman.queries,
             row.spearman.value, *_ends(row.spearman.interval), *_pearson(row.pearson)]
            for row in found.rows
        ],
        title="Correlation with length in words",
        decimals=decimals,
    )  # fmt: skip
    yield from map(Paragraph, found.notes)


def _pearson(estimate: Estimate | None) -> list[Cell]:
    return [None, None, None] if estimate is None else [estimate.value, *_ends(estimate.interval)]


def _games(found: GamesAudit | Verdict, decimals: int) -> Iterator[Block]:
    if isinstance(found, GamesAudit):
        yield from biases_report(found.biases, decimals=decimals).blocks


def _circularity(found: CircularityAudit, decimals: int) -> Iterator[Block]:
    yield Table(
        ["role", "name", "family"],
        [[part.role, part.name, part.family or ""] for part in found.parts],
        title="Families",
    )
    yield from (Paragraph(f"Warning: {warning}") for warning in found.warnings)
    if not found.advantages:
        return
    yield Table(
        ["score by", "queries", "own family", "others", "mean rank of own", "advantage (sd)", "low", "high",
         "grader's minus this", "low (difference)", "high (difference)"],
        [*map(_advantage, found.advantages), *_official(found)],
        title=f"Advantage of the systems of the family {found.family}",
        decimals=decimals,
    )  # fmt: skip
    yield Paragraph(
        "Advantage: mean score of the family's systems minus that of the others, in standard deviations of "
        "the means of all systems, because scores have different scales. Score by judgments: sum of the "
        "judgments of the first passages, divided by the cutoff; unjudged passages count 0."
    )


def _advantage(row: FamilyAdvantage) -> list[Cell]:
    found, compared = row.advantage, row.compared
    cells: list[Cell] = [row.source, row.queries, found.own, found.others, found.own_rank]
    cells += [found.standardised, *_ends(found.interval)]
    cells += [None, None, None] if compared is None else [compared.difference, *_ends(compared.interval)]
    return cells


def _official(found: CircularityAudit) -> Iterator[list[Cell]]:
    if found.official_rank is not None:
        yield ["official ranks", None, None, None, found.official_rank, *[None] * 6]


def _calibration(found: CalibrationAudit, decimals: int) -> Iterator[Block]:
    numbers = found.found
    if numbers is None:
        return
    yield Table(
        ["measure", "value", "low", "high"],
        [["pairs", numbers.pairs, None, None], ["mean probability", numbers.probability, None, None],
         ["share by people", numbers.share, None, None], *_measures(numbers)],
        title=f"Probability of a {found.event} against a {found.by_people}",
        decimals=decimals,
    )  # fmt: skip
    for title, bins in (
        (f"{BINS} bins of equal width", numbers.bins),
        (f"Up to {BINS} bins of equal counts", numbers.adaptive_bins),
    ):
        yield Table(
            ["from", "to", "pairs", "mean probability", "share by people"],
            [list(each) for each in bins],
            title=title,
            decimals=decimals,
        )
    yield Paragraph(
        f"ECE: mean difference of probability and share by people over the bins, weighted by pairs. It is "
        f"above 0 even for a calibrated grader, the more so the fewer the pairs: {numbers.expected_ece:.3f} "
        f"on average here. Its interval has the same bias. {found.soft} of {numbers.pairs} pairs have soft "
        "grades; the others count with the probability 0 or 1."
    )
    yield reliability_diagram(
        [ReliabilityBin(*each) for each in numbers.bins],
        "Reliability of the probabilities",
        ece=numbers.ece.value,
    )


def _measures(numbers: Calibration) -> Iterator[list[Cell]]:
    rows: list[tuple[str, Measured]] = [
        ("mean probability minus share", numbers.bias),
        ("ECE, equal width", numbers.ece),
        ("ECE, equal counts", numbers.adaptive_ece),
        ("Brier score", numbers.brier),
    ]
    for name, found in rows:
        yield [name, found.value, *_ends(found.interval)]
    yield ["ECE of a calibrated grader", numbers.expected_ece, None, numbers.highest_ece]


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return interval or (None, None)
