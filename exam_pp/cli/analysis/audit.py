"""``exam-pp analyze audit``: signs that grades or games depend on something else than quality."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import OFFICIAL, SAMPLES, SEED, confidence_option
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    MIN_GRADE,
    MIN_RELEVANT,
    ROLE,
    bank_option,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
)
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table

if TYPE_CHECKING:
    from exam_pp.metrics.agreement import Estimate as Measured
    from exam_pp.metrics.calibration import Calibration
    from exam_pp.metrics.game_biases import Share
    from exam_pp.metrics.partial_correlation import Estimate
    from exam_pp.metrics.uncertainty import Interval
    from exam_pp.phases.analysis.audit import Audit, CircularityAudit, FamilyAdvantage
    from exam_pp.phases.analysis.audit_inputs import Verdict
    from exam_pp.phases.analysis.audit_length import CalibrationAudit, LengthAudit
    from exam_pp.phases.tournaments.biases import GameBiases, JudgeBiases


@click.command("audit", cls=Command)
@click.argument("files", metavar="[GRADED] [GAMES]...", nargs=-1, required=True, type=FILE)
@bank_option("Test bank, with the models that it was made by.", default="all graded entries")
@click.option(
    "--reviewer",
    metavar="NAME",
    help="Labels of people: the ratings of this reviewer (human:NAME), or the judgments (judgments).  "
    "[default: the judgments, if there are some]",
)
@click.option("--qrels", type=FILE, help="Judgments in place of those in GRADED (a qrels file).")
@click.option("--families", type=FILE, help="Families of models and systems (TOML or JSON).")
@click.option(
    "--bank-writer", metavar="NAME", help="Model that wrote the bank.  [default: as the bank records it]"
)
@click.option("--official", type=FILE, help=OFFICIAL)
@filter_options
@MIN_GRADE
@MIN_RELEVANT
@CUTOFF
@ROLE
@confidence_option()
@SAMPLES
@SEED
@format_option()
@output_option()
def command(
    *,
    files: tuple[Path, ...],
    bank: Path | None,
    reviewer: str | None,
    qrels: Path | None,
    families: Path | None,
    bank_writer: str | None,
    official: Path | None,
    min_grade: int | None,
    min_relevant: int,
    cutoff: int | None,
    role: Any,
    confidence: float,
    samples: int,
    seed: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Audit a grader, or judges of games: length, families, calibration, places.

    Every section ends with a verdict: evidence, no evidence, or undecided. Sections are: correlation of
    grades with length at the same label of people; biases of the judges of games; grader, bank writer and
    systems of one family; calibration of soft grades.
    A section without its input names what is missing.

    GAMES are games files, as exam-pp or RAGElo writes them. Without GRADED, the command writes for each judge
    and prompt the share of wins of place A, of the longer answer and of the judge's own family, with
    intervals and tests over queries. If pairs of answers were compared in both orders, the flip rate is the
    share of pairs whose verdicts differ.

    A families file has a table for each family, such as `[gpt]`, with patterns: `models = ["gpt-*"]` for
    graders, judges and bank writers and `systems = ["*-gpt4"]` for systems.

    Examples:

    \b
      exam-pp analyze audit graded.jsonl.gz --bank questions.jsonl --families families.toml
      exam-pp analyze audit graded.jsonl.gz games.jsonl.gz --format html -o audit.html
      exam-pp analyze audit games.jsonl.gz --families families.toml
    """
    from exam_pp.formats.exam_pp_files import contains_games
    from exam_pp.phases.analysis.audit import audit
    from exam_pp.phases.analysis.audit_inputs import AuditOptions
    from exam_pp.phases.tournaments.biases import game_biases

    decimals = 6 if form == "tsv" else 3
    games = [file for file in files if contains_games(file)]
    graded = [file for file in files if file not in games]
    if len(graded) > 1:
        raise click.UsageError("Name at most one graded file, and games files.")
    if not graded:
        refuse_without(
            "a graded file", "bank", "reviewer", "qrels", "bank_writer", "official", "min_grade",
            "min_relevant", "cutoff", "role", "samples", "seed", *criteria,
        )  # fmt: skip
        biases = game_biases(games, families=families, confidence=confidence)
        emit_report(biases_report(biases, decimals=decimals), form, output, [*games, families])
        return
    if reviewer is not None and reviewer != "judgments" and qrels is not None:
        raise click.UsageError("--qrels are judgments; use --reviewer judgments with them, or leave it out.")
    if families is None:
        refuse_without("--families", "official")
    result = audit(
        *graded,
        bank=bank,
        grade_filter=grade_filter(**criteria),
        reviewer=reviewer,
        qrels=qrels,
        families=families,
        bank_writer=bank_writer,
        games=games,
        official=official,
        role=role,
        options=AuditOptions(min_grade, min_relevant, cutoff, confidence, samples, seed),
    )
    inputs = [*files, bank, qrels, families, official]
    emit_report(audit_report(result, decimals=decimals), form, output, inputs, result.notes)


_JUDGE = ("judge", "prompt class")


def biases_report(result: GameBiases, *, decimals: int = 3) -> Report:
    """Tables of the games, the biases, the longer answer by difference in length, and both orders."""
    games = Table(
        [*_JUDGE, "family", "queries", "games", "ungraded", "by rule", "ties"],
        [
            [
                *row.judge,
                row.family or "",
                row.queries,
                row.biases.games,
                row.biases.ungraded,
                row.biases.by_rule,
                row.biases.ties,
            ]
            for row in result.judges
        ],
        title="Games",
    )
    shares = _share_table("Biases", "bias", _biases(result), decimals)
    lengths = _share_table(
        "Wins of the longer answer, by the difference in words", "difference", _lengths(result), decimals
    )
    orders = Table(
        [*_JUDGE, "pairs", "same", "A twice", "B twice", "one tie", "flip rate", "low", "high", "reversed"],
        [
            [
                *row.judge, row.biases.flipped.total, *row.biases.orders, row.biases.flipped.share,
                *_ends(row.biases.flipped.interval), row.biases.reversed.share,
            ]
            for row in result.judges
            if row.biases.flipped.total
        ],
        title="Pairs in both orders",
        decimals=decimals,
    )  # fmt: skip
    blocks: list[Block] = [games, *(table for table in (shares, lengths, orders) if table.rows)]
    blocks += [Paragraph(note) for note in [*_notes(result), *result.notes]]
    return Report("Biases of judges", blocks, result.provenance)


def _biases(result: GameBiases) -> Iterator[tuple[JudgeBiases, str, Share]]:
    """The shares of each judge, with the name of what wins."""
    for row in result.judges:
        yield row, "place A", row.biases.place_a
        yield row, "longer answer", row.biases.longer
        yield row, "own family", row.biases.own_family


def _lengths(result: GameBiases) -> Iterator[tuple[JudgeBiases, str, Share]]:
    for row in result.judges:
        for step, share in zip(_steps(), row.biases.longer_by_difference, strict=True):
            yield row, step, share


def _share_table(
    title: str, column: str, shares: Iterable[tuple[JudgeBiases, str, Share]], decimals: int
) -> Table:
    """A row for each share with games."""
    rows: list[list[Cell]] = [
        [
            *row.judge,
            name,
            share.count,
            share.total,
            share.share,
            *_ends(share.interval),
            share.p_value,
        ]
        for row, name, share in shares
        if share.total
    ]
    columns = [*_JUDGE, column, "wins", "games", "share", "low", "high", "p"]
    return Table(columns, rows, title=title, decimals=decimals)


def _steps() -> list[str]:
    """Names of the ranges of differences in length."""
    from exam_pp.metrics.game_biases import LENGTH_STEPS

    percent = [round(100 * limit) for limit in LENGTH_STEPS]
    return [
        f"up to {high} %" if low == 0 else f"{low} to {high} %"
        for low, high in zip([0, *percent], percent, strict=False)
    ]


def _notes(result: GameBiases) -> Iterator[str]:
    yield (
        f"low and high: {100 * result.confidence:.4g} % intervals by Gaffke's bound, with queries as the "
        "units; other queries are assumed to have no more games than the largest here. p: exact "
        "randomisation test over queries, for a share of one half."
    )
    if any(row.biases.longer.total for row in result.judges):
        yield (
            "A longer answer can also be better. A share that grows with the difference in length suggests a "
            "judge that rewards length."
        )
    if any(row.biases.own_family.total for row in result.judges):
        yield "Systems of the judge's family can also be better: compare with judges of other families."
    if any(row.biases.flipped.total for row in result.judges):
        yield (
            "Pairs in both orders: flip rate is the share of pairs whose verdicts differ; reversed is the "
            "share in which the other answer wins if the places are swapped (A twice, B twice)."
        )


LENGTH, GAMES, CIRCULARITY, CALIBRATION = (
    "Length",
    "Position, length and self-preference in games",
    "Circularity",
    "Calibration",
)
"""Titles of the sections."""


def audit_report(result: Audit, *, decimals: int = 3) -> Report:
    """The sections with their verdicts, after a table of all verdicts."""
    games = [] if result.games is None else biases_report(result.games, decimals=decimals).blocks
    sections: dict[str, tuple[Iterable[Block], Sequence[tuple[str, Verdict]]]] = {
        LENGTH: (_length(result.length, decimals), [("", result.length.verdict)]),
        GAMES: (games, result.game_verdicts),
        CIRCULARITY: (_circularity(result.circularity, decimals), [("", result.circularity.verdict)]),
        CALIBRATION: (_calibration(result.calibration, decimals), [("", result.calibration.verdict)]),
    }
    summary = Table(
        ["section", "verdict"],
        [[title, _worst(verdicts)] for title, (_, verdicts) in sections.items()],
        title="Verdicts",
    )
    blocks: list[Block] = [summary, *map(Paragraph, [*_audit_notes(result), *result.notes])]
    for title, (content, verdicts) in sections.items():
        blocks += [Heading(title), *content]
        blocks += [
            Paragraph(f"{about}: {verdict.sentence}" if about else verdict.sentence)
            for about, verdict in verdicts
        ]
    return Report(f"Audit of {result.grader}", blocks, result.provenance)


def _worst(verdicts: Sequence[tuple[str, Verdict]]) -> str:
    outcomes = [verdict.outcome for _, verdict in verdicts]
    return next(outcome for outcome in ("evidence", "no evidence", "undecided") if outcome in outcomes)


def _audit_notes(result: Audit) -> Iterator[str]:
    from exam_pp.metrics.uncertainty import few_units_note

    options = result.options
    people = "no labels of people" if result.people is None else f"labels of people: {result.people}"
    yield (
        f"Grader: {result.grader} ({result.prompt_class}); {people}. Score of systems: {result.measure}. low "
        f"and high: {100 * options.confidence:.4g} % intervals by the bootstrap over queries "
        f"({options.samples:,} samples, seed {options.seed}), of shares by Gaffke's bound, of "
        "mean scores and lengths of systems by draws of their true means. "
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
    from exam_pp.metrics.calibration import BINS
    from exam_pp.rendering.pictures.points import ReliabilityBin, reliability_diagram

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
