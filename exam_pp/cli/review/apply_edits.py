"""``exam-pp apply-edits``: the ratings of people become grades."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.options import FILE, log_summary, prompt_file_option, required_output


@click.command(name="apply-edits")
@click.argument("graded", type=FILE)
@click.argument("edits", nargs=-1, required=True, type=FILE)
@required_output("Graded file.")
@click.option("--prompt-class", metavar="NAME", help="The prompt whose grades were reviewed, if several fit.")
@prompt_file_option("A TOML file with that prompt, for its scale; may be repeated.")
@click.option("--bank", type=FILE, help="The test bank, where GRADED has no grades for the entries yet.")
@click.option("--reviewer", metavar="NAME", help="Who rated, in place of the name in EDITS.")
@click.option("--force", is_flag=True, help="Apply edits that were made for another state of GRADED.")
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
    """Write GRADED with the ratings of EDITS as grades of another grader, `human:NAME`.

    The grades of models stay as they are, and the person's have the same prompt class: so `exam-pp
    analyze graders` tells how they agree. Several EDITS are applied together. Their changes of the bank
    are applied with `exam-pp bank apply`.
    """
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.review.apply_ratings import apply_ratings

    prompts = {prompt.name: prompt for prompt in choose_prompts((), prompt_files)}
    summary = apply_ratings(
        graded, edits, output,
        prompt_class=prompt_class, bank=bank, reviewer=reviewer, prompts=prompts, force=force,
    )  # fmt: skip
    log_summary(summary.lines())
