"""``exam-pp analyze graders``: agreement of several graders, or of judges of games."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import SAMPLES, SEED
from exam_pp.cli.options import (
    FIGURE_PATH,
    FILE,
    LABEL_RULE,
    bank_option,
    compared_graders,
    emit_figure,
    emit_report,
    format_option,
    grade_filter,
    log_notes,
    output_option,
    plot_option,
)
from exam_pp.plugins import needed


@click.command("graders", cls=Command)
@click.argument("files", metavar="GRADED|GAMES...", nargs=-1, required=True, type=FILE)
@bank_option("Test bank; only its entries count.", default="all graded entries")
@LABEL_RULE
@click.option(
    "--by",
    type=click.Choice(["label", "entry", "criterion"]),
    default="label",
    show_default=True,
    help="What to compare: labels of passages (label), ratings of pairs of passage and entry (entry), or "
    "ratings of answers by criteria (criterion).",
)
@click.option(
    "--test",
    type=click.Choice(["bound", "published"]),
    default="bound",
    show_default=True,
    help="The alternative annotator test: by a bound of the judge's loss, for any number of items, or the t "
    "test of the paper, from 30 items.",
)
@compared_graders
@SAMPLES
@SEED
@format_option()
@output_option()
@plot_option("the weighted κ of every two graders")
@click.option(
    "--plot differences",
    "plot_differences",
    type=FIGURE_PATH,
    help="Also draw the differences of two graders against their means, with bias and limits of agreement "
    "(.svg).",
)
def command(
    *,
    files: tuple[Path, ...],
    bank: Path | None,
    label_rule: str | None,
    by: str,
    test: Any,
    graders: tuple[str, ...],
    samples: int,
    seed: int,
    plot: Path | None,
    plot_differences: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Measure the agreement of the graders of a file with each other and with the judgments.

    A grader is a model with a prompt, or a reviewer. The command compares the labels of passages. It
    writes tables for every two graders: Cohen's κ, weighted κ and Krippendorff's α; Kendall's τ-b and
    Spearman's ρ with p-values and intervals; bias and limits of agreement (Bland and Altman). A further table
    has α of all graders. If three reviewers or more rated the same items, the alternative annotator test
    (Calderon et al., 2025) says whether a model may replace them.

    Reviewers often rate only some pairs of passage and entry (`exam-pp apply`). To include them, use
    --by entry.

    GAMES are games files, as exam-pp or RAGElo writes them, such as one of a model and one of a person. For
    every two judges of the same games, the command writes the share of equal and of opposite verdicts,
    Cohen's κ with an interval, weighted κ, and the rank correlations. Two games are the same if they compare
    the same systems on the same query, in whatever places.

    Examples:

    \b
      exam-pp analyze graders two-models.jsonl.gz --bank questions.jsonl
      exam-pp analyze graders two-models.jsonl.gz --by entry --plot differences=differences.svg
      exam-pp analyze graders games.jsonl human-games.jsonl
    """
    from exam_pp.formats.exam_pp_files import contains_games

    if all(map(contains_games, files)):
        refuse_without(
            "a graded file", "bank", "label_rule", "by", "test", "plot", "plot_differences", *criteria
        )
        # A plug-in offers it: a function of these values that returns a Report.
        compare_judges = needed("agreement of judges", "games")
        report = compare_judges(files, models=graders, samples=samples, seed=seed)
        emit_report(report, form, output, files)
        return
    if len(files) > 1:
        raise click.UsageError("Name one graded file, or games files; exam-pp merge joins graded files.")
    (graded,) = files
    from exam_pp.grade_filter import AnswerFilter
    from exam_pp.metrics.qrels import LabelRule
    from exam_pp.phases.analysis.graders import criteria_graders
    from exam_pp.phases.analysis.graders import graders as compare
    from exam_pp.reports.analysis.agreement import difference_pictures, graders_report, kappa_picture

    if by == "label":
        refuse_without("--by entry or criterion", "test")
    else:
        refuse_without("--by label", "label_rule")
    if by == "criterion":
        refuse_without("--by label or entry", "bank", "prompt_type", "question_set", "grade_choice")
        selection = AnswerFilter(prompt_class=criteria["prompt_class"], prompt_hash=criteria["prompt_hash"])
        result = criteria_graders(
            graded, selection=selection, models=graders, test=test, samples=samples, seed=seed
        )
    else:
        rule = None if label_rule is None else LabelRule.parse(label_rule)
        result = compare(
            graded, bank=bank, grade_filter=grade_filter(None, **criteria), models=graders, labelling=rule,
            per_entry=by == "entry", test=test, samples=samples, seed=seed,
        )  # fmt: skip
    if plot is not None:
        emit_figure([kappa_picture(result)], plot, [graded, bank])
    if plot_differences is not None:
        drawn = difference_pictures(result)
        if drawn:
            emit_figure(drawn, plot_differences, [graded, bank])
        else:
            log_notes([f"{plot_differences} is not written: the graders have no common items."])
    emit_report(graders_report(result), form, output, [graded, bank])
