"""The command ``exam-pp gate``, which checks a new version against a baseline in continuous integration."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse, refuse_without
from exam_pp.cli.leaderboard_options import SEED, confidence_option
from exam_pp.cli.options import FILE, emit_report, format_option, of_each_side, output_option
from exam_pp.cli.ranges import IntRange, NumberRange
from exam_pp.errors import SelectionError
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted, listed

if TYPE_CHECKING:
    from exam_pp.metrics.significance import QueriesNeeded
    from exam_pp.phases.trust.gate import Gate, MeasureGate


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
        report = _plan(baseline, options["measures"], number, difference, options["confidence"], seed)
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


def _plan(
    pilot: Path | None,
    measures: Sequence[str],
    systems: int | None,
    difference: float,
    confidence: float,
    seed: int,
) -> Report:
    """The number of queries and of labels for a difference."""
    from exam_pp.formats.scores import read_query_scores
    from exam_pp.metrics.planning import labels_needed, plan_queries, simulated_queries
    from exam_pp.metrics.uncertainty import score_matrices

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
    text = plan.sentence
    if values is not None and plan.spread is None and len(values) == number:
        found = simulated_queries(values, plan, confidence, seed)
        text += f" By simulation with the queries of the pilot: {found or 'more than three times as many'}."
    few, many = (labels_needed(difference, correlation=r) for r in (0.7, 0.0))
    labels = (
        f"An interval of ±{difference:g} for a corrected share takes at most {many} labels of people, and "
        f"{few} if the judge's ratings correlate with them by 0.7."
    )
    return Report("Plan", [Paragraph(text), Paragraph(labels)])


def gate_report(result: Gate, *, decimals: int = 4) -> Report:
    """The outcome as a sentence, a row for each measure, and the queries with the largest drops."""
    measures = Table(
        [
            "measure", "queries", "baseline", "new", "drop", "low", "high", "p (above)", "p (within)",
            "outcome", "queries needed",
        ],
        [_cells(row) for row in result.measures],
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
    blocks += map(Paragraph, [*result.notes, *_explanations(result)])
    return Report(f"Gate: {_title(result)}", blocks, result.provenance, result.notes)


def _title(result: Gate) -> str:
    accepted = "passed" if result.passes else "failed"
    return f"{accepted}, but undecided" if result.outcome == "undecided" else accepted


def _cells(row: MeasureGate) -> list[Cell]:
    bounds = row.bounds
    return [
        row.measure, row.queries, row.baseline, row.new, row.drop, bounds.low, bounds.high, row.p_above,
        bounds.p_within, row.outcome, _needed(row.needed),
    ]  # fmt: skip


def _needed(needed: QueriesNeeded | None) -> str | None:
    """The number and its range, such as ``190 (160 to 240)``."""
    if needed is None:
        return None
    if needed.high is None:
        return f"at least {needed.low}"
    return f"{needed.queries}" + (f" ({needed.low} to {needed.high})" if needed.low < needed.high else "")


def gate_sentence(result: Gate) -> str:
    """The outcome and its reason; only a gate that is decided names its confidence."""
    systems = result.new if result.new == result.baseline else f"{result.new} against {result.baseline}"
    level, limit = f"{100 * result.confidence:.4g} %", f"the accepted {result.max_drop:g}"
    assumed = f", if no query changes by more than {result.worst:g}" if result.worst_drop else ""
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
    from exam_pp.metrics.noninferiority import unseen_share

    for row in rows:
        if row.is_unchanged:
            share = 100 * unseen_share(row.queries, result.confidence)
            queries = "this query" if row.queries == 1 else f"these {row.queries} queries"
            yield f"{row.measure}: unchanged on {queries}; up to {share:.3g} % could break unseen."
            hidden = 0.9**row.queries
            if hidden > 1 - result.confidence:
                yield (
                    "A break of 10 % of all queries stays unseen in so few with a probability of "
                    f"{100 * hidden:.2g} %."
                )


def _too_few(result: Gate, rows: Sequence[MeasureGate]) -> str:
    """How many queries are needed unless scores rise."""
    from exam_pp.metrics.noninferiority import fewest_queries

    fewest = fewest_queries(result.max_drop, result.worst, result.confidence)
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


def _explanations(result: Gate) -> Iterator[str]:
    from exam_pp.metrics.uncertainty import GAFFKE

    alpha = f"{1 - result.confidence:.2g}"
    yield (
        "Drop: mean of the baseline minus mean of the new version over the same queries. Low and high: "
        f"one-sided bounds of the drop for α = {alpha}, by {GAFFKE}. Failed: p (above) is below {alpha}, "
        f"which shows a drop by more than {result.max_drop:g}. Passed: p (within) is at most {alpha}, which "
        "shows that the drop is not larger."
    )
    worst = f"The bounds assume that no query changes by more than {result.worst:g}"
    if result.worst_drop is None:
        yield f"{worst}, as all scores are from 0 to 1; --worst-drop names the range of another measure."
    else:
        yield f"{worst} (--worst-drop)."
