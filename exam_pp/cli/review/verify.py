"""``exam-pp verify``: verification reports on the grades of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exam_pp.cli.command import Group
from exam_pp.cli.options import (
    FILE,
    GRADED,
    MIN_GRADE,
    MIN_RELEVANT,
    ONLY_QUERY,
    SCRIPT_FORMATS,
    answers_class_option,
    bank_option,
    emit_rendered,
    filter_options,
    format_option,
    grade_filter,
    log_summary,
    output_option,
    support_filter_options,
    together,
)
from exam_pp.cli.ranges import IntRange

if TYPE_CHECKING:
    from exam_pp.phases.review.verification.base import Selection
    from exam_pp.reports.review.verification.base import VerificationReport

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound="Selection")


@click.group(name="verify", cls=Group)
def command() -> None:
    """Write reports to check the grades of a model."""


_report = together(
    GRADED,
    bank_option(
        "Test bank; the report shows its entries with their texts.", default="the graded entries, by id"
    ),
    ONLY_QUERY,
    click.option(
        "--system",
        "systems",
        multiple=True,
        metavar="NAME",
        help="Only passages returned by this system; may be repeated.",
    ),
    filter_options,
    answers_class_option,
    format_option(),
    output_option(),
)
"""Arguments and options of every report."""


def _limit(noun: str, default: int | None = None) -> Callable[[F], F]:
    return click.option(
        "--limit",
        type=IntRange(min=1),
        default=default,
        show_default=default is not None,
        help=f"Maximum number of {noun}.{'' if default else '  [default: all]'}",
    )


_MIN_JUDGMENT = click.option(
    "--min-judgment", type=int, help="Only passages with a judgment of at least this."
)


@command.command()
@_report
@click.option("--min-grade", type=int, help="Only passages with a rating of at least this.")
@_MIN_JUDGMENT
@_limit("passages per entry")
def grading(min_grade: int | None, limit: int | None, **options: Any) -> None:
    """List the passages of every bank entry, sorted by rating.

    The report shows the judgment of each passage, the extracted answer if the same model extracted answers,
    and the reply if it is not just a number. Ratings of replies without a number and ungraded pairs are
    marked.

    Examples:

    \b
      exam-pp verify grading graded.jsonl.gz --bank questions.jsonl --min-grade 3
      exam-pp verify grading graded.jsonl.gz --bank questions.jsonl --format html -o grading.html
    """
    from exam_pp.phases.review.verification.grading import Grading
    from exam_pp.reports.review.verification.grading import REPORT

    _write(Grading(min_grade, limit), REPORT, **options)


@command.command()
@_report
@MIN_GRADE
@click.option(
    "--min-answers",
    type=IntRange(min=0),
    help="Only passages that cover at least this many entries.  [default: 1 with --min-grade, else 0]",
)
@_MIN_JUDGMENT
@_limit("passages per query")
def grid(min_answers: int | None, limit: int | None, form: str, **options: Any) -> None:
    """Show a table of passages × bank entries for every query, with grades and extracted answers.

    Passages are sorted by judgment, best grade and number of covered entries.

    Example:

    \b
      exam-pp verify grid graded.jsonl.gz --bank questions.jsonl --format html -o grid.html
    """
    from exam_pp.phases.review.verification.grid import Grid
    from exam_pp.reports.review.verification.grid import PAGE, grid_report

    if min_answers is None:
        min_answers = 0 if options["min_grade"] is None else 1
    selection = Grid(min_answers, limit, PAGE) if form == "html" else Grid(min_answers, limit)
    _write(selection, grid_report(form), form=form, **options)


@command.command()
@_report
@MIN_GRADE
@MIN_RELEVANT
@_limit("passages per query")
def uncovered(min_relevant: int, limit: int | None, **options: Any) -> None:
    """List the relevant passages that cover no bank entry.

    They contain information that the bank may lack.

    Example:

    \b
      exam-pp verify uncovered graded.jsonl.gz --bank questions.jsonl --min-judgment 2
    """
    from exam_pp.phases.review.verification.uncovered import Uncovered
    from exam_pp.reports.review.verification.uncovered import REPORT

    _write(Uncovered(min_relevant, limit), REPORT, **options)


@command.command()
@_report
@MIN_GRADE
@MIN_RELEVANT
@click.option(
    "-S often",
    "often",
    type=IntRange(min=1),
    default=3,
    show_default=True,
    help="Only entries that at least this many non-relevant passages cover.",
)
@click.option(
    "--max-examples",
    type=IntRange(min=0),
    default=3,
    show_default=True,
    help="Maximum number of non-relevant passages to show per entry.",
)
@_limit("entries")
def spurious(min_relevant: int, often: int, max_examples: int, limit: int | None, **options: Any) -> None:
    """List the bank entries that non-relevant passages often cover, most frequent first.

    Such entries are often too general.

    Example:

    \b
      exam-pp verify spurious graded.jsonl.gz --bank questions.jsonl -S often=2
    """
    from exam_pp.phases.review.verification.spurious import Spurious
    from exam_pp.reports.review.verification.spurious import REPORT

    _write(Spurious(min_relevant, often, limit, max_examples), REPORT, **options)


@command.command()
@_report
@MIN_GRADE
@MIN_RELEVANT
@_limit("passages in each direction", default=20)
def disagreements(min_relevant: int, limit: int | None, **options: Any) -> None:
    """List the passages on which judgments and grades disagree, worst first.

    These are relevant passages that cover no entry, and non-relevant passages that cover an entry.

    Example:

    \b
      exam-pp verify disagreements graded.jsonl.gz --bank questions.jsonl --limit 10
    """
    from exam_pp.phases.review.verification.disagreements import Disagreements
    from exam_pp.reports.review.verification.disagreements import REPORT

    _write(Disagreements(min_relevant, limit), REPORT, **options)


@command.command()
@_report
@_MIN_JUDGMENT
@_limit("rows of each list")
def unparsed(limit: int | None, **options: Any) -> None:
    """List replies that are not numbers, ungraded pairs, and shortened prompts.

    The report also counts the pairs of passage and bank entry for which the file has no request.

    Example:

    \b
      exam-pp verify unparsed graded.jsonl.gz --bank questions.jsonl
    """
    from exam_pp.phases.review.verification.unparsed import Unparsed
    from exam_pp.reports.review.verification.unparsed import REPORT

    _write(Unparsed(limit), REPORT, **options)


@command.command()
@_report
@click.option("--min-grade", type=int, help="Only pairs with a rating of at least this.")
@_MIN_JUDGMENT
@click.option("--seed", type=int, help="Seed of the random sample.  [default: 0]")
@click.option(
    "--limit", type=IntRange(min=1), help="Maximum number of pairs.  [default: 50, or all of --pairs]"
)
@click.option("--pairs", type=FILE, help="Show the pairs of this file of `exam-pp sample-pairs` instead.")
@click.option(
    "--force", is_flag=True, help="Also accept --pairs that were drawn from another version of GRADED."
)
def sample(
    min_grade: int | None,
    seed: int | None,
    limit: int | None,
    pairs: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Draw a random sample of pairs of passage and bank entry to check.

    The sample is spread as evenly as possible over the ratings, then over the queries. It depends only on the
    seed and the ids, not on the order of the file.

    Examples:

    \b
      exam-pp verify sample graded.jsonl.gz --bank questions.jsonl --limit 30 --seed 1
      exam-pp verify sample graded.jsonl.gz --bank questions.jsonl --pairs pairs.json
    """
    if pairs is not None:
        if (min_grade, seed, limit) != (None, None, None):
            raise click.UsageError("--min-grade, --seed and --limit do not fit --pairs, which has the pairs.")
        _write_given(pairs, force=force, **options)
        return
    from exam_pp.phases.review.verification.sample import Sample
    from exam_pp.reports.review.verification.sample import REPORT

    _write(Sample(limit or 50, seed or 0, min_grade), REPORT, **options)


def _write_given(pairs: Path, *, force: bool, **options: Any) -> None:
    from exam_pp.phases.review.pairs_to_label import read_pairs_to_label
    from exam_pp.phases.review.verification.given_pairs import GivenPairs
    from exam_pp.reports.review.verification.given_pairs import REPORT
    from exam_pp.store.files import allow_rereading

    allow_rereading(options["graded"])
    given = read_pairs_to_label(pairs, options["graded"], force=force)
    options["grader"] = options["grader"] or given.sample.model
    options["prompt_class"] = options["prompt_class"] or given.sample.prompt_class
    _write(GivenPairs(given), REPORT, pairs=pairs, **options)


@command.command()
@GRADED
@ONLY_QUERY
@support_filter_options
@_limit("citations", default=50)
@format_option()
@output_option()
def citations(
    graded: Path, queries: tuple[str, ...], limit: int, form: str, output: Path, **selection: Any
) -> None:
    """List the citations of answers with statement, cited passage and label, most doubtful first.

    Ungraded citations come first, then those whose label differs most from the share of the words of the
    statement that the passage contains: full support by a passage without its words, no support by one with
    all of them. Cited passages without text in the file are only counted.

    Example:

    \b
      exam-pp verify citations citations.jsonl.gz --limit 20
    """
    from exam_pp.phases.evaluation.graded_citations import SupportFilter
    from exam_pp.phases.review.verification.citations import check_citations
    from exam_pp.reports.review.verification.citations import citations_report, summary
    from exam_pp.store.files import check_output

    check_output(output, [graded])
    chosen = SupportFilter(model=selection.pop("grader"), **selection)
    checked = check_citations(graded, chosen, queries=queries, limit=limit)
    flat = form in SCRIPT_FORMATS
    if flat:
        log_summary([summary(checked)])
    emit_rendered(citations_report(checked, flat=flat), form, output, inputs=[graded])


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
    pairs: Path | None = None,
    **filters: Any,
) -> None:
    from exam_pp.phases.review.verification.verify import Shown, verify
    from exam_pp.store.files import check_output

    check_output(output, [path for path in (graded, bank, pairs) if path is not None])
    shown = Shown(queries, systems, min_judgment, answers_class, min_grade)
    verified = verify(graded, selection, grade_filter(**filters), bank=bank, shown=shown)
    flat = form in SCRIPT_FORMATS
    if flat:
        log_summary([report.summary(selection)])
    emit_rendered(report.report(verified, flat=flat), form, output, inputs=[graded, bank, pairs])
