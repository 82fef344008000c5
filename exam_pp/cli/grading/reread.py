"""``exam-pp reread``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import (
    FILE,
    GRADED,
    UNPARSED,
    filter_options,
    grade_filter,
    log_summary,
    prompt_file_option,
    required_output,
)


@click.command("reread")
@GRADED
@required_output("Graded file.")
@UNPARSED
@click.option(
    "--bank",
    type=FILE,
    help="Test bank with gold answers, for answers to prompts with a key.",
)
@prompt_file_option("TOML file with a prompt of your own that made grades; may be repeated.")
@filter_options
def command(
    graded: Path,
    output: Path,
    unparsed: Any,
    bank: Path | None,
    prompt_files: tuple[Path, ...],
    **criteria: Any,
) -> None:
    """Read the stored replies of GRADED again, without a model.

    The grades that pass the filter are replaced in the output by what their replies mean under --unparsed,
    or with the gold answers that the bank has now; ratings that change are marked as reread. Failed
    calls and the ratings of people stay as they are.
    """
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.grading.reread import reread

    summary = reread(
        graded,
        output,
        unparsed=unparsed,
        bank=bank,
        prompts={prompt.name: prompt for prompt in choose_prompts((), prompt_files)},
        grade_filter=grade_filter(**criteria),
    )
    log_summary(summary.lines())
