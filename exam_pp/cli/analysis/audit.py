"""``exam-pp analyze audit``: signs that grades or games depend on something else than quality."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    from exam_pp.phases.analysis.audit_inputs import AuditOptions
    from exam_pp.reports.analysis.audit import audit, game_biases

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
        emit_report(biases.report(decimals), form, output, [*games, families])
        return
    if reviewer is not None and reviewer != "judgments" and qrels is not None:
        raise click.UsageError("--qrels are judgments; use --reviewer judgments with them, or leave it out.")
    if families is None:
        refuse_without("--families", "official")
    report = audit(
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
        decimals=decimals,
    )
    emit_report(report, form, output, [*files, bank, qrels, families, official])
