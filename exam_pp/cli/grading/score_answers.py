"""The command ``exam-pp score-answers``: factual consistency of answers with their sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import prompt_names
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    JOURNAL,
    PASSAGES,
    journal_options,
    log_summary,
    prompt_file_option,
    required_output,
    take,
)
from exam_pp.cli.progress import progress


@click.command("score-answers", cls=Command)
@PASSAGES
@required_output("Graded file to write.")
@model_options()
@click.option(
    "--trust-remote-code",
    is_flag=True,
    help="Run code from the files of a text-classification model; a model of the Hub needs its commit as "
    "-M revision.",
)
@click.option(
    "--prompt-class",
    shell_complete=prompt_names,
    metavar="NAME",
    help="Prompt of the kind claim, for language models.  [default: FactualConsistency]",
)
@prompt_file_option("TOML file with your own prompt of the kind claim, for language models.")
@click.option(
    "--soft/--no-soft",
    default=None,
    help="Score by the probability of the labels of a prompt instead of the written reply.  [default: --soft "
    "where probabilities do not double the time]",
)
@click.option(
    "--claims",
    type=click.Choice(["both", "answer", "part"]),
    default="both",
    show_default=True,
    help="Score whole answers (answer), their parts (part), or both.",
)
@click.option(
    "--sources",
    type=click.Choice(["cited", "all"]),
    default="cited",
    show_default=True,
    help="Passages against which a part is scored: those that it cites, or all passages of the answer.",
)
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated.")
@click.option("--regrade", is_flag=True, help="Score all claims again, also those with a score in PASSAGES.")
@journal_options
def command(passages: Path, output: Path, prompt_class: str | None, **options: Any) -> None:
    """Score how consistent the answers in PASSAGES are with their sources, from 0 to 1.

    The sources of a whole answer are all passages that its system retrieved or cited, joined with spaces. A
    part is scored against each passage that it cites, and its score is the highest. Higher means more
    consistent; a low score points to a hallucination. `exam-pp evaluate factual-consistency` makes a
    leaderboard of the scores.

    The model is a classifier of pairs (--model-pipeline text-classification), such as a model for natural
    language inference, or a language model, which answers a prompt with Yes or No. vectara's
    hallucination_evaluation_model needs --trust-remote-code and its commit as -M revision. If a pair is too
    long for the model, the source is shortened first. To continue an interrupted run, repeat the command.

    Examples:

    \b
      exam-pp score-answers cited.jsonl.gz -o new-scored.jsonl.gz --model fake
      exam-pp score-answers cited.jsonl.gz -o scored-nli.jsonl.gz --model nli-model \\
        --model-pipeline text-classification -M positive_class=entailment
    """
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.grading.score_answers import ScoreOptions, score_answers
    from exam_pp.signals import STOP

    model = take_model_options(options)
    prompts = choose_prompts([prompt_class] if prompt_class else [], options["prompt_files"])
    if len(prompts) > 1:
        raise click.UsageError(
            "score-answers asks with one prompt; use --prompt-class or --prompt-file once."
        )
    chosen = ScoreOptions(
        prompt=prompts[0] if prompts else None,
        **take(options, "claims", "sources", "systems", "soft", "regrade"),
    )
    files = GradeFiles(passages, output, **take(options, *JOURNAL))
    with STOP.on_sigterm(), progress("Scoring", "requests") as advance:
        summary = score_answers(files, model, chosen, advance)
    log_summary(summary.lines())
