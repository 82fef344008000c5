"""``exam-pp apply-edits``: add human ratings and labels of citations to a graded file."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import prompt_names
from exam_pp.cli.options import FILE, bank_option, log_summary, prompt_file_option, required_output


@click.command("apply-edits", cls=Command)
@click.argument("graded", type=FILE)
@click.argument("edits", nargs=-1, required=True, type=FILE)
@required_output("Graded file to write.")
@click.option(
    "--prompt-class",
    shell_complete=prompt_names,
    metavar="NAME",
    help="Prompt class of the reviewed grades; required if GRADED has several.",
)
@prompt_file_option("TOML file with your own prompt, for its scale; may be repeated.")
@bank_option("Test bank; required for ratings of entries without grades in GRADED.")
@click.option(
    "--reviewer",
    metavar="NAME",
    help="Name of the reviewer, for a single EDITS file.  [default: the name in EDITS]",
)
@click.option("--force", is_flag=True, help="Also apply edits that were made for another version of GRADED.")
def command(
    graded: Path,
    edits: tuple[Path, ...],
    output: Path,
    prompt_class: str | None,
    prompt_files: tuple[Path, ...],
    bank: Path | None,
    reviewer: str | None,
    force: bool,
) -> None:
    """Add the ratings of reviewers to GRADED, as grades by `human:NAME`.

    EDITS are files that the page of `exam-pp review` saves. Grades of models stay as they are. The new grades
    have the prompt class of the reviewed grades, so that `exam-pp analyze graders` can compare reviewers and
    models. Labels of citations are added, too, for `exam-pp evaluate citations --grader human:NAME`. Edits of
    the bank are not applied; use `exam-pp bank apply` for them.

    Example:

    \b
      exam-pp apply-edits graded.jsonl.gz edits.json -o corrected.jsonl.gz
    """
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.review.apply_ratings import apply_ratings

    prompts = {prompt.name: prompt for prompt in choose_prompts((), prompt_files)}
    summary = apply_ratings(
        graded, edits, output,
        prompt_class=prompt_class, bank=bank, reviewer=reviewer, prompts=prompts, force=force,
    )  # fmt: skip
    log_summary(summary.lines())
