"""``exam-pp analyze agreement``: agreement of labels with judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    FILE,
    LABEL_RULE,
    MIN_RELEVANT,
    bank_option,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
)
from exam_pp.cli.ranges import IntRange


@click.command("agreement", cls=Command)
@click.argument("graded", metavar="GRADED|QRELS", type=FILE)
@click.option("--qrels", type=FILE, help="Qrels file with manual judgments, instead of those in GRADED.")
@bank_option("Test bank; only its entries count.", default="all graded entries")
@MIN_RELEVANT
@click.option(
    "--min-answers",
    multiple=True,
    type=IntRange(min=1),
    help="Label passages by their k-th best rating; may be repeated.  [default: 1]",
)
@click.option(
    "--min-grade",
    "min_grades",
    multiple=True,
    type=int,
    help="Add a table that separates labels of at least this grade from lower labels; may be repeated.",
)
@LABEL_RULE
@click.option(
    "--seed",
    type=IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the bootstrap samples for the intervals.",
)
@filter_options
@format_option()
@output_option()
def command(
    *,
    graded: Path,
    qrels: Path | None,
    bank: Path | None,
    min_relevant: int,
    min_answers: tuple[int, ...],
    min_grades: tuple[int, ...],
    label_rule: str | None,
    seed: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Measure the agreement of labels with judgments: tables of counts and Cohen's κ.

    For labels made from ratings, the command writes the published tables: every grade (GRADED), merged grades
    (MERGE), relevant from grade 1 (LENIENT) and from grade 4 (STRICT, Table 5 of the workbench paper). For
    labels of UMBRELA and other grades from 0 to 3, or qrels of a model in place of GRADED, it writes
    confusion matrices: grade by grade, and binarised at --min-judgment. With --min-answers or --min-grade, it
    writes the published tables for these, too.

    To compare the ratings of a reviewer with those of a model, use `exam-pp analyze graders --by entry`.

    Example:

    \b
      exam-pp analyze agreement graded.jsonl.gz --bank questions.jsonl --min-judgment 2
    """
    from exam_pp.metrics.qrels import LabelRule
    from exam_pp.phases.analysis.agreement import (
        agreement,
        labelled_passages,
        rated_passages,
    )
    from exam_pp.phases.evaluation.judgments import is_passages
    from exam_pp.reports.analysis.agreement import agreement_report

    if label_rule is not None and min_answers:
        raise click.UsageError("--label-rule and --min-answers cannot be combined.")
    if label_rule is not None and min_grades:
        raise click.UsageError("--min-grade and --label-rule cannot be combined.")
    rule = None if label_rule is None else LabelRule.parse(label_rule)
    if is_passages(graded):
        passages = rated_passages(graded, qrels=qrels, bank=bank, grade_filter=grade_filter(**criteria))
    else:
        if qrels is None:
            raise click.UsageError(
                f"{graded} is not a passages file. If it holds qrels of a model, name the judgments to "
                "compare with in --qrels."
            )
        passages = labelled_passages(graded, qrels)
    result = agreement(
        passages,
        min_relevant=min_relevant,
        min_answers=min_answers or (1,),
        min_grades=min_grades,
        rule=rule,
        same_scale=passages.like_judgments and not (rule or min_answers or min_grades),
        like_judgments=passages.like_judgments,
        seed=seed,
    )
    emit_report(agreement_report(result), form, output, [graded, qrels, bank])
