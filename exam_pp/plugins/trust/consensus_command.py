"""``exam-pp consensus``: add the consensus of several graders to a graded file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import GRADED, grade_filter, log_summary, panel_members, required_output


@click.command("consensus", cls=Command)
@GRADED
@required_output("Graded file to write.")
@panel_members
@click.option(
    "--name", "grader_name", metavar="NAME", help="Name of the consensus.  [default: panel:median, by --rule]"
)
def command(
    *,
    graded: Path,
    output: Path,
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    rule: Any,
    min_graders: int,
    grader_name: str | None,
    **criteria: Any,
) -> None:
    """Add the consensus of the graders of GRADED, as a grader of its own name.

    A grader is a model with a prompt, or a reviewer. The consensus has a rating for every pair of
    passage and entry that at least -S min-graders of them rated, also for direct grades and assigned nuggets.
    Ties are resolved downwards, so that a doubtful pair is not covered. All graders need the same prompt,
    or prompts with the same scale.

    Other commands use the consensus like any grader, with --grader panel:median. A consensus is no member of
    another one unless --grader names it. Repeating the command replaces the consensus of this name.

    Examples:

    \b
      exam-pp consensus two-models.jsonl.gz -o with-consensus.jsonl.gz
      exam-pp consensus two-models.jsonl.gz --rule mean --name both -o with-mean.jsonl.gz
    """
    from exam_pp.plugins.trust.consensus import consensus

    summary = consensus(
        graded,
        output,
        rule=rule,
        name=grader_name,
        min_graders=min_graders,
        grade_filter=grade_filter(None, None, **criteria),
        graders=graders,
        prompt_classes=prompt_classes,
    )
    log_summary(summary.lines())
