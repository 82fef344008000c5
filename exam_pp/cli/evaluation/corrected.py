"""``exam-pp evaluate corrected``: scores corrected by people's labels of a sample of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import BANK, confidence_option
from exam_pp.cli.options import (
    FILE,
    GRADED,
    MIN_GRADE,
    ONLY_QUERIES,
    ROLE,
    SCRIPT_FORMATS,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table

if TYPE_CHECKING:
    from exam_pp.metrics.corrected_estimates import Interval
    from exam_pp.phases.evaluation.corrected import Corrected, CorrectedBoard, SystemEstimate


@click.command("corrected", cls=Command)
@GRADED
@BANK
@click.option(
    "--pairs", type=FILE, required=True, help="The drawn pairs with their probabilities (sample-pairs)."
)
@click.option(
    "--reviewer",
    required=True,
    metavar="NAME",
    help="Source of the labels: human:NAME, a model that stands for people, or judgments (of passages, for "
    "-m label-mean).",
)
@click.option(
    "-m",
    "--measure",
    type=click.Choice(["cover", "pair-share", "label-mean", "nuggets"]),
    default="cover",
    show_default=True,
    help="Rubric-Cover; the share of pairs of passage and entry with at least --min-grade; the mean direct "
    "grade, and the share with at least --min-grade; or the nugget scores V, W and A.",
)
@ONLY_QUERIES
@MIN_GRADE
@click.option(
    "--cutoff",
    type=IntRange(min=1),
    help="Depth to which the rankings are evaluated.  [default: that of the sample, or the highest rank in "
    "the file, at most 20; for nuggets all ranks]",
)
@ROLE
@click.option(
    "--intervals",
    type=click.Choice(["queries", "labels"]),
    default="queries",
    show_default=True,
    help="Intervals contain the choice of the queries and the error of the judge (queries), or only the "
    "error of the judge on these queries (labels).",
)
@confidence_option()
@click.option(
    "--baseline", metavar="NAME", help="System to which others are compared.  [default: the best system]"
)
@format_option()
@output_option()
@filter_options
def command(
    *,
    graded: Path,
    bank: Path | None,
    pairs: Path,
    queries: Path | None,
    reviewer: str,
    measure: Any,
    min_grade: int | None,
    cutoff: int | None,
    role: Any,
    intervals: Any,
    confidence: float,
    baseline: str | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Estimate the scores that people would give, from the judge's grades and labels of a sample.

    The pairs were drawn by `exam-pp sample-pairs` and labelled by people. The labels show what people say
    to each rating of the judge, and with it how all pairs would be labelled. The score by the labels alone
    stands beside it: its interval shows what the judge adds. GRADED has the grades of the judge, the labels
    of people and the rankings.

    The default for --grader and --prompt are the grades from which the pairs were drawn.

    Examples:

    \b
      exam-pp evaluate corrected labelled-pairs.jsonl.gz --bank questions.jsonl \\
        --pairs pairs.json --reviewer human:ana
      exam-pp evaluate corrected labelled-pairs.jsonl.gz --bank questions.jsonl \\
        --pairs pairs.json --reviewer human:ana --intervals labels --format html -o corrected.html
    """
    from exam_pp.phases.evaluation.corrected import corrected_scores

    result = corrected_scores(
        graded,
        pairs,
        bank,
        reviewer=reviewer,
        measure=measure,
        grade_filter=grade_filter(**criteria),
        min_grade=min_grade,
        cutoff=cutoff,
        queries=queries,
        role=role,
        intervals=intervals,
        confidence=confidence,
        baseline=baseline,
    )
    formatted = form not in SCRIPT_FORMATS
    report = corrected_report(result, formatted=formatted, decimals=3 if formatted else 6)
    emit_report(report, form, output, [graded, bank, pairs, queries])


_SCRIPT_COLUMNS = (
    "system", "judge", "judge rank", "corrected", "low", "high", "bound", "too thin", "labels alone",
    "labels alone low", "labels alone high", "rank", "difference", "difference low", "difference high",
    "labels", "errors", "more labels", "limit",
)  # fmt: skip
_COLUMNS = (
    "system", "judge", "corrected", "interval", "labels alone", "rank", "rank by judge", "difference",
    "its interval", "labels", "errors", "more labels",
)  # fmt: skip


def corrected_report(result: Corrected, *, formatted: bool = True, decimals: int = 3) -> Report:
    """A leaderboard for each measure, and the labels of people by rating of the judge.

    With ``formatted``, intervals are ``[low, high]`` and pictures follow; otherwise, ends are columns.
    """
    blocks: list[Block] = [_table(board, formatted=formatted, decimals=decimals) for board in result.boards]
    blocks.append(_errors(result, decimals))
    blocks += [Paragraph(note) for note in [*_notes(result), *result.notes]]
    if formatted:
        blocks += _pictures(result)
    title = f"Scores of {result.judge.model}, corrected by labels of {result.reviewer.model}"
    return Report(title, blocks, result.provenance, result.notes)


def _table(board: CorrectedBoard, *, formatted: bool, decimals: int) -> Table:
    cells = _formatted if formatted else _script
    rows = [cells(row, decimals) for row in board.systems]
    return Table(_COLUMNS if formatted else _SCRIPT_COLUMNS, rows, title=board.measure, decimals=decimals)


def _formatted(row: SystemEstimate, decimals: int) -> list[Cell]:
    scores, more = row.scores, row.scores.more
    further: Cell = None
    if more is not None:
        further = more.labels if more.labels is not None else f"never (± {more.limit:.{decimals}f})"
    alone: Cell = None
    if scores.alone is not None:
        ends = _ends(scores.alone, decimals, scores.too_thin)
        alone = f"{scores.alone.value:.{decimals}f} {ends or ''}".rstrip()
    return [
        row.system, scores.judged, scores.corrected.value, _ends(scores.corrected, decimals, scores.too_thin),
        alone, scores.rank, scores.judged_rank, scores.difference and scores.difference.value,
        scores.difference and _ends(scores.difference, decimals, scores.difference_too_thin), row.labels,
        row.errors, further,
    ]  # fmt: skip


def _ends(interval: Interval, decimals: int, too_thin: bool = False) -> str | None:
    if interval.low is None or interval.high is None:
        return None
    ends = f"[{interval.low:.{decimals}f}, {interval.high:.{decimals}f}]"
    return f"{'≤ ' if interval.by_rule else ''}{ends}{' ?' if too_thin or interval.few else ''}"


def _script(row: SystemEstimate, _decimals: int) -> list[Cell]:
    scores = row.scores
    alone, difference = (value or (None, None, None) for value in (scores.alone, scores.difference))
    return [
        row.system, scores.judged, scores.judged_rank, *scores.corrected[:3], _yes(scores.corrected.by_rule),
        _yes(scores.too_thin or bool(scores.corrected.few)), *alone[:3], scores.rank, *difference[:3],
        row.labels, row.errors, scores.more and scores.more.labels, scores.more and scores.more.limit,
    ]  # fmt: skip


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _errors(result: Corrected, decimals: int) -> Table:
    """A row for each rating of the judge, with the estimated share of each label of people."""
    given = sorted({label for row in result.errors for label in row.pairs})
    rows: list[list[Cell]] = []
    for row in result.errors:
        total = sum(row.pairs.values())
        shares: list[Cell] = [row.pairs.get(label, 0.0) / total for label in given]
        rows.append([row.rating, sum(row.labels.values()), round(total), row.differing, *shares])
    columns = ["rating", "labels", "pairs", "differ", *(f"people {label}" for label in given)]
    return Table(columns, rows, title="Error of the judge, by its rating", decimals=decimals)


def _pictures(result: Corrected) -> Iterator[Picture]:
    from exam_pp.rendering.pictures.grids import confusion
    from exam_pp.rendering.pictures.rows import Bar, dot_plot

    board = result.boards[0]
    if len(board.systems) > 1:
        bars: list[Bar] = []
        for row in board.systems:
            named = {"": row.scores.corrected, " (labels alone)": row.scores.alone}
            bars += [Bar(row.system + name, of.value, of.low, of.high) for name, of in named.items() if of]
            bars.append(Bar(f"{row.system} (judge)", row.scores.judged))
        whiskers = f"{100 * result.confidence:.4g} % intervals"
        yield dot_plot(
            bars, board.measure, f"{board.measure}, corrected, by the labels alone and by the judge", whiskers
        )
    ratings = sorted({*(row.rating for row in result.errors)})
    given = sorted({label for row in result.errors for label in row.labels})
    counts = [[row.labels.get(label, 0) for label in given] for row in result.errors]
    agreeing = [(ratings.index(value), given.index(value)) for value in ratings if value in given]
    yield confusion(
        [str(rating) for rating in ratings],
        [str(label) for label in given],
        counts,
        "Ratings of the judge and labels of people",
        row_noun="ratings of the judge",
        column_noun="labels of people",
        boxed=agreeing,
    )


def _notes(result: Corrected) -> Iterator[str]:
    yield (
        "Corrected: estimate of the score that these people would give, for samples drawn with the recorded "
        "probabilities (regression of people's labels on the judge's ratings). Labels alone: the same "
        "without the judge; a judge that helps makes the interval of the corrected score narrower."
    )
    yield (
        f"Difference: corrected score minus that of {result.boards[0].baseline}, by a regression of its own, "
        "so it can differ a little from the difference of the scores."
    )
    yield (
        "Labels: labelled pairs on which the score depends; errors: those on which people differ from the "
        "judge in a way that can change the score. More labels: expected number of labels that would halve "
        "the interval; never: no number of labels can, and the interval would stay that wide on each side."
    )
    yield (
        "Error of the judge: pairs estimates the pairs of the population (Σ 1/π), differ the share with "
        "another label of people, and the last columns the shares of each label."
    )
