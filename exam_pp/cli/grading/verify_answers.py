"""The command ``exam-pp verify-answers``, which compares extracted answers with gold answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    GRADED,
    JOURNAL,
    answer_match_option,
    bank_option,
    journal_options,
    prompt_option,
    required_output,
    take,
)
from exam_pp.cli.progress import asking


@click.command("verify-answers", cls=Command)
@GRADED
@required_output("Graded file to write.")
@bank_option("Test bank of questions with gold answers.", required=True)
@click.option(
    "--grades answers-grader", "answers_grader", metavar="MODEL", help="Only answers extracted by this model."
)
@prompt_option("Only answers extracted with this prompt.", "answers_class", option="--grades answers")
@click.option("--prompt-file", type=FILE, help="TOML file with your own prompt that asks the model.")
@answer_match_option(
    "model", help_text="by the model alone, as in the paper (model); or first by the words, with an "
)
@model_options()
@click.option(
    "--regrade", is_flag=True, help="Verify all answers again, also those with a verified grade in GRADED."
)
@journal_options
def command(
    graded: Path,
    output: Path,
    bank: Path,
    answers_grader: str | None,
    answers_class: str | None,
    **options: Any,
) -> None:
    """Let a model verify the extracted answers in GRADED against the gold answers of the bank.

    An extracted answer is correct if the model calls it a response as correct as a gold answer. With
    --answer-match paper or strict, an answer whose words match a gold answer is correct without a call, and
    an unanswerable answer is wrong. The verified grades have the prompt
    answer-verification. To continue an interrupted run, repeat the command.

    Example:

    \b
      exam-pp verify-answers two-models.jsonl.gz --bank questions-gold.jsonl -o verified.jsonl.gz \\
        --model google/flan-t5-large
    """
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import read_prompt
    from exam_pp.phases.grading.verify_answers import verify_answers
    from exam_pp.prompts.rubric import ANSWER_VERIFICATION

    prompt_file, match = options["prompt_file"], options["answer_match"]
    prompt = ANSWER_VERIFICATION if prompt_file is None else read_prompt(prompt_file)
    model = take_model_options(options)
    files = GradeFiles(graded, output, bank, **take(options, *JOURNAL))
    answers = GradeFilter(model=answers_grader, prompt_class=answers_class)
    asking(
        "Verifying",
        "answers",
        lambda advance: verify_answers(
            files,
            model,
            answers,
            prompt=prompt,
            regrade=options["regrade"],
            only_model=match == "model",
            answer_match="paper" if match == "model" else match,
            advance=advance,
        ),
    )
