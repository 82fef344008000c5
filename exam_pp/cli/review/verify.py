"""``exam-pp verify``: verification reports on the grades of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.options import (
    ANSWERS_CLASS,
    FILTER,
    GRADED,
    MIN_GRADE_DEFAULT,
    ONLY_QUERY,
    SCRIPT_FORMATS,
    bank_option,
    emit_rendered,
    filter_options,
    format_option,
    grade_filter,
    log_summary,
    output_option,
    take,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.plugins import offered

if TYPE_CHECKING:
    from exam_pp.rendering.document import Report

_GRADES = ("bank", "prompt_type", "question_set", "grade_choice", "answers_class")
_COVERED = (*_GRADES, "min_grade", "min_judgment")
_COVERS = f"Lowest grade that covers an entry.  {MIN_GRADE_DEFAULT}"
_RELEVANT = "Lowest judgment that counts as relevant (use 2 for TREC DL).  [default: 1]"
_JUDGED = "Only passages with a judgment of at least this."
_KINDS = {
    "grading": Kind(
        """List the passages of every bank entry, sorted by rating.

        The report shows the judgment of each passage, the extracted answer if the same model extracted
        answers, and the reply if it is not just a number. Ratings of replies without a number and ungraded
        pairs are marked.

        Examples:

        \b
          exam-pp verify grading graded.jsonl.gz --bank questions.jsonl --min-grade 3
          exam-pp verify grading graded.jsonl.gz --bank questions.jsonl --format html -o grading.html
        """,
        _COVERED,
        {
            "min_grade": "Only passages with a rating of at least this.",
            "min_judgment": _JUDGED,
            "limit": "Maximum number of passages per entry.  [default: all]",
        },
    ),
    "grid": Kind(
        """Show a table of passages × bank entries for every query, with grades and extracted answers.

        Passages are sorted by judgment, best grade and number of covered entries.

        Example:

        \b
          exam-pp verify grid graded.jsonl.gz --bank questions.jsonl --format html -o grid.html
        """,
        (*_COVERED, "min_answers"),
        {
            "min_grade": _COVERS,
            "min_judgment": _JUDGED,
            "limit": "Maximum number of passages per query.  [default: all]",
        },
    ),
    "uncovered": Kind(
        """List the relevant passages that cover no bank entry.

        They contain information that the bank may lack.

        Example:

        \b
          exam-pp verify uncovered graded.jsonl.gz --bank questions.jsonl --min-judgment 2
        """,
        _COVERED,
        {
            "min_grade": _COVERS,
            "min_judgment": _RELEVANT,
            "limit": "Maximum number of passages per query.  [default: all]",
        },
    ),
    "spurious": Kind(
        """List the bank entries that non-relevant passages often cover, most frequent first.

        Such entries are often too general. The report shows up to three of the passages for each.

        Example:

        \b
          exam-pp verify spurious graded.jsonl.gz --bank questions.jsonl -S often=2
        """,
        (*_COVERED, "often"),
        {
            "min_grade": _COVERS,
            "min_judgment": _RELEVANT,
            "limit": "Maximum number of entries.  [default: all]",
        },
    ),
    "disagreements": Kind(
        """List the passages on which judgments and grades disagree, worst first.

        These are relevant passages that cover no entry, and non-relevant passages that cover an entry.

        Example:

        \b
          exam-pp verify disagreements graded.jsonl.gz --bank questions.jsonl --limit 10
        """,
        _COVERED,
        {
            "min_grade": _COVERS,
            "min_judgment": _RELEVANT,
            "limit": "Maximum number of passages in each direction.  [default: 20]",
        },
    ),
    "unparsed": Kind(
        """List replies that are not numbers, ungraded pairs, and shortened prompts.

        The report also counts the pairs of passage and bank entry for which the file has no request.

        Example:

        \b
          exam-pp verify unparsed graded.jsonl.gz --bank questions.jsonl
        """,
        (*_GRADES, "min_judgment"),
        {"min_judgment": _JUDGED, "limit": "Maximum number of rows of each list.  [default: all]"},
    ),
}


_OFFERED: dict[str, tuple[Kind, Callable[[dict[str, Any], bool], Report]]] = {
    name: (kind, report) for name, kind, report in offered("verify")
}
"""The reports of plug-ins at the place ``verify``, by name: the kind, and a function of the options of the
command that makes the report; with True, as one table."""
_EVERY_KIND = _KINDS | {name: kind for name, (kind, _) in _OFFERED.items()}


@click.command("verify", cls=Command, kinds=_EVERY_KIND, chosen_by="report")
@click.argument("report", type=click.Choice(list(_EVERY_KIND)))
@GRADED
@bank_option("Test bank; the report shows its entries with their texts.", default="the graded entries, by id")
@ONLY_QUERY
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Only passages returned by this system; may be repeated.",
)
@filter_options
@ANSWERS_CLASS
@click.option(
    "--min-grade",
    type=int,
    help="Lowest grade that covers an entry; in grading, only ratings of at least this.",
)
@click.option(
    "--min-answers",
    type=IntRange(min=0),
    help="Only passages that cover at least this many entries.  [default: 1 with --min-grade, else 0]",
)
@click.option(
    "--min-judgment",
    type=int,
    help="Only passages with a judgment of at least this; in uncovered, spurious and disagreements, the "
    "lowest judgment that counts as relevant.",
)
@click.option(
    "-S often",
    "often",
    type=IntRange(min=1),
    default=3,
    show_default=True,
    help="Only entries that at least this many non-relevant passages cover.",
)
@click.option(
    "--limit",
    type=IntRange(min=1),
    help="Maximum number of rows of each list.  [default: 20 of disagreements, else all]",
)
@format_option()
@output_option()
def command(report: str, **options: Any) -> None:
    """Write reports to check the grades of a model.

    Example:

    \b
      exam-pp verify grading graded.jsonl.gz --bank questions.jsonl --min-grade 3
    """
    from exam_pp.store.files import check_output

    graded, bank, form = options["graded"], options["bank"], options["form"]
    inputs = [graded] if bank is None else [graded, bank]
    check_output(options["output"], inputs)
    flat = form in SCRIPT_FORMATS
    made = _OFFERED[report][1](options, flat) if report in _OFFERED else _report(report, options, flat)
    if flat:
        log_summary(made.notes)
        made = replace(made, blocks=made.blocks[1:])
    emit_rendered(made, form, options["output"], inputs=inputs)


def _report(report: str, options: dict[str, Any], flat: bool) -> Report:
    from exam_pp.phases.review.checked_file import Shown, checked_file
    from exam_pp.reports.review.verification.disagreements import disagreements
    from exam_pp.reports.review.verification.grading import grading
    from exam_pp.reports.review.verification.grid import grid
    from exam_pp.reports.review.verification.spurious import spurious
    from exam_pp.reports.review.verification.uncovered import uncovered
    from exam_pp.reports.review.verification.unparsed import unparsed

    limit, min_grade, min_judgment = options["limit"], options["min_grade"], options["min_judgment"]
    compares = report in {"uncovered", "spurious", "disagreements"}
    relevant = 1 if min_judgment is None else min_judgment
    shown = Shown(
        min_judgment=None if compares else min_judgment,
        min_grade=None if report == "grading" else min_grade,
        **take(options, "queries", "systems", "answers_class"),
    )
    checked = checked_file(
        options["graded"],
        grade_filter(**take(options, *FILTER)),
        bank=options["bank"],
        shown=shown,
        needs_judgments=compares,
    )
    match report:
        case "grading":
            return grading(checked, min_grade=min_grade, limit=limit, flat=flat)
        case "grid":
            answers = options["min_answers"]
            covered = (0 if min_grade is None else 1) if answers is None else answers
            return grid(checked, min_answers=covered, limit=limit, form=options["form"], flat=flat)
        case "uncovered":
            return uncovered(checked, min_judgment=relevant, limit=limit, flat=flat)
        case "spurious":
            often = options["often"]
            return spurious(checked, min_judgment=relevant, often=often, limit=limit, flat=flat)
        case "disagreements":
            return disagreements(checked, min_judgment=relevant, limit=limit or 20, flat=flat)
        case _:
            return unparsed(checked, limit=limit, flat=flat)
