"""``exam-pp verify``: reports for people who check how the model graded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exam_pp.cli.groups import Group
from exam_pp.cli.options import (
    FILE,
    GRADED,
    MIN_GRADE,
    ONLY_QUERY,
    SCRIPT_FORMATS,
    answers_class_option,
    emit,
    filter_options,
    format_option,
    grade_filter,
    log_summary,
    min_relevant_option,
    output_option,
    together,
)

if TYPE_CHECKING:
    from exam_pp.phases.review.verification.base import Selection
    from exam_pp.reports.review.verification.base import VerificationReport

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound="Selection")


@click.group(name="verify", cls=Group)
def command() -> None:
    """Reports for people who check how the model graded."""


_report = together(
    GRADED,
    click.option(
        "--bank",
        type=FILE,
        help="The test bank: the words of its entries. Without it, graded ids stand for them.",
    ),
    ONLY_QUERY,
    click.option(
        "--system",
        "systems",
        multiple=True,
        metavar="NAME",
        help="Only passages that this system returned; may be repeated.",
    ),
    filter_options,
    answers_class_option,
    format_option(),
    output_option(),
)
"""Arguments and options of every report: what to look at, and how to write it."""


def _limit(what: str, default: int | None = None) -> Callable[[F], F]:
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        default=default,
        show_default=default is not None,
        help=f"At most so many {what}.",
    )


_MIN_JUDGMENT = click.option(
    "--min-judgment", type=int, help="Only passages with at least this judgment (the highest of several)."
)
_RELEVANT = min_relevant_option("--min-judgment")


@command.command(short_help="Entry by entry: passages by rating, with answers.")
@_report
@click.option("--min-grade", type=int, help="Only passages with at least this rating.")
@_MIN_JUDGMENT
@_limit("passages for each entry")
def grading(min_grade: int | None, limit: int | None, **options: Any) -> None:
    """List, for every bank entry, the passages of GRADED by rating.

    Each comes with the extracted answer, where the same model was also asked for one, the manual
    judgment, and the model's raw reply where it was not just a number. Ratings that the default rule
    gave and ungraded pairs are marked.
    """
    from exam_pp.phases.review.verification.grading import Grading
    from exam_pp.reports.review.verification.grading import REPORT

    _write(Grading(min_grade, limit), REPORT, **options)


@command.command(short_help="Passages × entries: grades and answers.")
@_report
@MIN_GRADE
@click.option(
    "--min-answers",
    type=click.IntRange(min=0),
    help="Only passages that cover at least so many entries.  [default: 1 with --min-grade, else 0]",
)
@_MIN_JUDGMENT
@_limit("passages for each query")
def grid(min_answers: int | None, limit: int | None, form: str, **options: Any) -> None:
    """Show, for every query, the passages of GRADED × the bank entries: grades and answers.

    Passages are sorted by judgment, best grade and number of entries covered.
    """
    from exam_pp.phases.review.verification.grid import Grid
    from exam_pp.reports.review.verification.grid import grid_report

    if min_answers is None:
        min_answers = 0 if options["min_grade"] is None else 1
    report = grid_report(answers_in_cells=form in ("html", "md"))
    _write(Grid(min_answers, limit), report, form=form, **options)


@command.command(short_help="Relevant passages that cover no entry.")
@_report
@MIN_GRADE
@_RELEVANT
@_limit("passages for each query")
def uncovered(min_relevant: int, limit: int | None, **options: Any) -> None:
    """List the relevant passages of GRADED that cover no bank entry: what the bank misses."""
    from exam_pp.phases.review.verification.uncovered import Uncovered
    from exam_pp.reports.review.verification.uncovered import REPORT

    _write(Uncovered(min_relevant, limit), REPORT, **options)


@command.command(short_help="Entries that non-relevant passages cover.")
@_report
@MIN_GRADE
@_RELEVANT
@click.option(
    "--often",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Only entries that at least so many non-relevant passages cover.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Non-relevant passages that are shown for each entry.",
)
@_limit("entries")
def spurious(min_relevant: int, often: int, examples: int, limit: int | None, **options: Any) -> None:
    """List the bank entries that non-relevant passages of GRADED often cover, most frequent first."""
    from exam_pp.phases.review.verification.spurious import Spurious
    from exam_pp.reports.review.verification.spurious import REPORT

    _write(Spurious(min_relevant, often, limit, examples), REPORT, **options)


@command.command(short_help="Where people and the model disagree, worst first.")
@_report
@MIN_GRADE
@_RELEVANT
@_limit("passages in each direction", default=20)
def disagreements(min_relevant: int, limit: int | None, **options: Any) -> None:
    """List the passages of GRADED on which people and the model disagree, worst first.

    Judged relevant without a grade that covers an entry, or judged non-relevant with one.
    """
    from exam_pp.phases.review.verification.disagreements import Disagreements
    from exam_pp.reports.review.verification.disagreements import REPORT

    _write(Disagreements(min_relevant, limit), REPORT, **options)


@command.command(short_help="Replies that were not numbers; ungraded pairs.")
@_report
@_MIN_JUDGMENT
@_limit("rows of each kind")
def unparsed(limit: int | None, **options: Any) -> None:
    """List what was not read as the model said it: replies that were not numbers, pairs without a grade.

    Also the pairs that the model was never asked about, and the passages of which it did not see the end.
    """
    from exam_pp.phases.review.verification.unparsed import Unparsed
    from exam_pp.reports.review.verification.unparsed import REPORT

    _write(Unparsed(limit), REPORT, **options)


@command.command(short_help="Pairs for a person to check, drawn by a seed.")
@_report
@click.option("--min-grade", type=int, help="Only pairs with at least this rating.")
@_MIN_JUDGMENT
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws other pairs.")
@_limit("pairs", default=50)
def sample(min_grade: int | None, seed: int, limit: int, **options: Any) -> None:
    """Draw pairs of passage and bank entry from GRADED for a person to check.

    As evenly over ratings as the file allows, then over queries; the same seed draws the same pairs,
    whatever the order of the file.
    """
    from exam_pp.phases.review.verification.sample import Sample
    from exam_pp.reports.review.verification.sample import REPORT

    _write(Sample(limit, seed, min_grade), REPORT, **options)


def _write(
    selection: S,
    report: VerificationReport[S],
    graded: Path,
    bank: Path | None,
    form: str,
    output: Path,
    answers_class: str | None,
    queries: tuple[str, ...],
    systems: tuple[str, ...],
    min_grade: int | None = None,
    min_judgment: int | None = None,
    **filters: Any,
) -> None:
    from exam_pp.phases.review.verification.verify import Shown, verify
    from exam_pp.rendering.render import rendered
    from exam_pp.store.files import check_output

    check_output(output, [path for path in (graded, bank) if path is not None])
    shown = Shown(queries, systems, min_judgment, answers_class, min_grade)
    found = verify(graded, selection, grade_filter(**filters), bank=bank, shown=shown)
    flat = form in SCRIPT_FORMATS
    if flat:
        log_summary([report.summary(selection)])
    emit(rendered(report.report(found, flat=flat), form), output, inputs=[graded, bank])
