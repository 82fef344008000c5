"""The command ``exam-pp reread``, which reads stored replies again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    GRADED,
    answer_match_option,
    bank_option,
    filter_options,
    grade_filter,
    log_summary,
    prompt_file_option,
    required_output,
    unparsed_option,
)


@click.command("reread", cls=Command)
@GRADED
@required_output("Graded file to write.")
@unparsed_option("default")
@answer_match_option()
@bank_option(
    "Test bank with the gold answers; required for prompts that compare extracted answers with them."
)
@prompt_file_option("TOML file with your own prompt that the grades were made with; may be repeated.")
@filter_options
def command(
    graded: Path,
    output: Path,
    unparsed: Any,
    answer_match: Any,
    bank: Path | None,
    prompt_files: tuple[Path, ...],
    **criteria: Any,
) -> None:
    """Read ratings from the stored replies in GRADED again, without a model.

    The command applies the reading rule of the prompt (see --unparsed) to the replies of all selected grades.
    Extracted answers are compared with the gold answers of --bank (see --answer-match). Ratings that change
    are marked as reread. Failed requests and ratings by reviewers stay as they are.

    Example:

    \b
      exam-pp reread graded.jsonl.gz --unparsed ungraded -o reread.jsonl.gz
    """
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.grading.reread import reread

    summary = reread(
        graded,
        output,
        unparsed=unparsed or "default",
        answer_match=answer_match,
        bank=bank,
        prompts={prompt.name: prompt for prompt in choose_prompts((), prompt_files)},
        grade_filter=grade_filter(**criteria),
    )
    log_summary(summary.lines())
