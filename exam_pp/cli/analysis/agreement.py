"""``exam-pp analyze agreement``: labels from grades against the judgments of people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import (
    FILE,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    min_relevant_option,
    output_option,
)


@click.command("agreement")
@click.argument("graded", metavar="GRADED|QRELS", type=FILE)
@click.option("--qrels", type=FILE, help="Judgments, in place of those in GRADED.")
@click.option("--bank", type=FILE, help="Test bank: which entries count.")
@min_relevant_option()
@click.option(
    "--min-answers",
    multiple=True,
    type=click.IntRange(min=1),
    help="Label by the k-th best rating; may be repeated. [default: 1]",
)
@click.option(
    "--min-grade",
    "min_grades",
    multiple=True,
    type=int,
    help="Also a table of labels from this grade on, against the rest; may be repeated.",
)
@click.option(
    "--label-rule", help="Label by a rule in place of the k-th best, such as '2nd>=5:3, 2nd>=4:1, else 0'."
)
@click.option(
    "--same-scale/--published-tables",
    default=None,
    help="Labels are on the judgments' scale: confusion matrices, graded and binarised. "
    "[default: for qrels and for prompts such as Umbrela]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the intervals.")
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
    same_scale: bool | None,
    seed: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """How labels from grades agree with the judgments of people: tables of counts and Cohen's κ.

    For ratings, the published tables: every grade (GRADED), merged grades (MERGE), relevant from grade 1
    (LENIENT) and from grade 4 (STRICT, as in the workbench paper's Table 5). Labels of UMBRELA, and qrels of
    a model in place of GRADED, are compared grade by grade, and both cut at --min-relevant-judgment. Ratings
    that people gave pairs of a passage and an entry (`exam-pp apply-edits`) are compared with those of models
    by `exam-pp analyze graders --per-entry`.
    """
    from exam_pp.metrics.passage_labels import LabelRule
    from exam_pp.phases.analysis.agreement import agreement, rated_passages
    from exam_pp.phases.analysis.qrels_agreement import labelled_passages, on_the_scale_of_judgments
    from exam_pp.phases.evaluation.judgments import is_passages
    from exam_pp.reports.analysis.agreement import agreement_report

    if label_rule is not None and min_answers:
        raise click.UsageError("--label-rule replaces --min-answers.")
    if min_grades and (label_rule is not None or same_scale):
        raise click.UsageError("--min-grade goes with neither --label-rule nor --same-scale.")
    rule = None if label_rule is None else LabelRule.parse(label_rule)
    if same_scale and (rule or min_answers):
        raise click.UsageError("--same-scale takes labels as they are.")
    if is_passages(graded):
        chosen = grade_filter(**criteria)
        passages = rated_passages(graded, qrels=qrels, bank=bank, grade_filter=chosen)
        like_judgments = on_the_scale_of_judgments(graded, chosen)
    else:
        if qrels is None:
            raise click.UsageError("Qrels of a model are compared with those of people: name --qrels.")
        passages = labelled_passages(graded, qrels)
        like_judgments = True
    if same_scale is None:
        same_scale = like_judgments and not rule and not min_answers and not min_grades
    found = agreement(
        passages,
        min_relevant=min_relevant,
        min_answers=min_answers or (1,),
        min_grades=min_grades,
        rule=rule,
        same_scale=same_scale,
        seed=seed,
    )
    emit_report(agreement_report(found), form, output, [graded, qrels, bank])
