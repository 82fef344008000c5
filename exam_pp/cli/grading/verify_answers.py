"""``exam-pp verify-answers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import FILE, GRADED, JOURNAL, journal_options, log_summary, required_output, take
from exam_pp.cli.progress import progress
from exam_pp.grade_filter import GradeFilter


@click.command("verify-answers")
@GRADED
@required_output("Graded file.")
@click.option("--bank", type=FILE, required=True, help="Test bank of questions with gold answers.")
@click.option("--answers-by", metavar="MODEL", help="Only answers that this model extracted.")
@click.option("--prompt-class", help="Only answers that were extracted with this prompt.")
@model_options()
@click.option("--regrade", is_flag=True, help="Ask again about answers that the model has verified.")
@journal_options
def command(
    graded: Path, output: Path, bank: Path, answers_by: str | None, prompt_class: str | None, **options: Any
) -> None:
    """Let a model verify the answers in GRADED that their words do not match with a gold answer.

    The verified grades are added under QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2: answers that
    match the key by their words, and those that the model calls an equally correct response.
    """
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.signals import STOP
    from exam_pp.phases.grading.verify_answers import verify_answers

    model = take_model_options(options)
    files = GradeFiles(graded, output, bank, **take(options, *JOURNAL))
    answers = GradeFilter(model=answers_by, prompt_class=prompt_class)
    with STOP.on_sigterm(), progress("Verifying", "answers") as advance:
        summary = verify_answers(files, model, answers, regrade=options["regrade"], advance=advance)
    log_summary(summary.lines())
