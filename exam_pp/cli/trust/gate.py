"""The command ``exam-pp gate``, which checks a new version against a baseline in continuous integration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse, refuse_without
from exam_pp.cli.leaderboard_options import SEED, confidence_option
from exam_pp.cli.options import FILE, emit_report, format_option, of_each_side, output_option
from exam_pp.cli.ranges import IntRange, NumberRange

FAILED = 4
"""Exit code of a gate that failed."""
UNDECIDED = 5
"""Exit code of an undecided gate that does not pass."""


@click.command("gate", cls=Command)
@click.argument("baseline", type=FILE, required=False)
@click.argument("new", type=FILE, required=False)
@click.option(
    "--max-drop",
    type=NumberRange(0),
    help="Largest drop of the mean that is accepted, in units of the measure, such as 0.02.  [required, "
    "unless --plan]",
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure, by its name in the files; may be repeated.  [default: the only one of both files]",
)
@click.option(
    "--system",
    "systems",
    metavar="NAME",
    multiple=True,
    callback=of_each_side,
    help="The system, if a file has several. Name it twice for BASELINE and NEW.",
)
@click.option(
    "--missing-queries",
    type=click.Choice(["zero", "skip"]),
    default="zero",
    show_default=True,
    help="A query that NEW has no score for counts as 0 (zero), or is left out (skip). If the measure has "
    "scores below 0, zero counts it as a drop by --worst-drop.",
)
@click.option(
    "--undecided",
    type=click.Choice(["estimate", "pass", "fail"]),
    help="An undecided gate passes if the measured drop is at most --max-drop (estimate), always (pass), or "
    "never (fail).  [required, unless --plan]",
)
@click.option(
    "--worst-drop",
    type=NumberRange(0, min_open=True),
    help="Largest possible change of the score of one query. Needed for measures with another range than 0 "
    "to 1; a value that is too low makes the outcome wrong.  [default: 1]",
)
@confidence_option("Confidence level of each confidence bound.")
@click.option(
    "--limit",
    type=IntRange(min=0),
    default=5,
    show_default=True,
    help="Maximum number of queries with large drops to list for each measure.",
)
@click.option(
    "--plan",
    "planned",
    is_flag=True,
    help="Estimate how many queries and labels show a difference; BASELINE has scores of a pilot, if any.",
)
@click.option(
    "-S systems",
    "number",
    type=IntRange(min=2),
    help="Number of systems of the planned leaderboard.  [default: those of the pilot, or 2]",
)
@click.option(
    "-S difference",
    "difference",
    type=NumberRange(0, min_open=True),
    default=0.05,
    show_default=True,
    help="True difference of two means that the planned leaderboard has to show.",
)
@SEED
@format_option()
@output_option()
def command(
    *,
    baseline: Path | None,
    new: Path | None,
    systems: tuple[str | None, str | None],
    planned: bool,
    number: int | None,
    difference: float,
    seed: int,
    form: str,
    output: Path,
    **options: Any,
) -> None:
    """Check that a new version of a system is not worse than the baseline, for continuous integration.

    BASELINE and NEW are files with scores of single queries: those of `exam-pp evaluate ... --per-query`,
    JSON lines of scores, or output of `trec_eval -q`. Both can be the same file, with two systems. One-sided
    confidence bounds of the drop are paired over queries. The gate passes if they show for all measures that
    the drop is at most --max-drop, and fails if they show for any measure that it is larger. Otherwise it is
    undecided: the queries are too few, and --undecided says what happens.

    The exit code is 0 if the gate passes, 4 if it fails, and 5 if it is undecided and does not pass. In
    GitHub Actions, --format md >> "$GITHUB_STEP_SUMMARY" shows the report on the page of the run.

    With --plan, it reports how many queries show a difference of -S difference between systems of a
    leaderboard, by a formula and, with the scores of a pilot, by a simulation of a few minutes. It also
    reports how many labels of people correct a score as exactly.

    Examples:

    \b
      exam-pp gate ndcg.tsv ndcg.tsv --system bm25 --system rerank --max-drop 0.02 --undecided estimate
      exam-pp gate baseline.tsv new.tsv --max-drop 0.02 --undecided fail --format md
      exam-pp gate --plan -S systems=12
    """
    from exam_pp.phases.trust.gate import gate
    from exam_pp.reports.trust.gate import gate_report, query_plan_report

    if planned:
        used = {
            "planned",
            "baseline",
            "measures",
            "number",
            "difference",
            "confidence",
            "seed",
            "form",
            "output",
        }
        refuse(click.get_current_context(), lambda name: name not in used, "has no effect on --plan")
        report = query_plan_report(
            baseline, options["measures"], number, difference, options["confidence"], seed
        )
        emit_report(report, form, output, [baseline])
        return
    refuse_without("--plan", "number", "difference", "seed")
    if baseline is None or new is None:
        raise click.UsageError("Missing arguments 'BASELINE' and 'NEW'.")
    for name in ("max_drop", "undecided"):
        if options[name] is None:
            raise click.UsageError(f"Missing option '--{name.replace('_', '-')}'.")

    result = gate(baseline, new, system=systems[0], system_after=systems[1], **options)
    report = gate_report(result, decimals=6 if form == "tsv" else 4)
    emit_report(report, form, output, [baseline, new])
    if not result.passes:
        sys.exit(FAILED if result.outcome == "failed" else UNDECIDED)
