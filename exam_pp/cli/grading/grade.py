"""The command ``exam-pp grade``, which grades passages with a model."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    JOURNAL,
    MAX_TOKENS_TOTAL,
    OUTPUT_PATH,
    QUERIES_FILE,
    QUERY_FORMATS,
    TO_BATCH,
    answer_match_option,
    bank_option,
    emit_rendered,
    journal_options,
    log_summary,
    part_to_grade,
    prompt_file_option,
    prompt_option,
    repairs_option,
    reply_option,
    take,
    take_reply,
    unparsed_option,
)
from exam_pp.cli.progress import asking, progress
from exam_pp.llm.base import ModelOptions
from exam_pp.plugins import needed, offered
from exam_pp.rendering.document import Report
from exam_pp.rendering.render import REPORT_FORMATS

if TYPE_CHECKING:
    from exam_pp.phases.grading.distributed import Shard
    from exam_pp.phases.grading.grade import GradeOptions
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.prompts.base import Prompt


GRADE_POLICY = "chat for text-generation, openai and openai-completions, else default"
NO_REQUESTS = 3
"""Exit code of ``--plan`` if no requests are left to send."""
_GRADE_OPTIONS = (
    "unparsed",
    "soft",
    "regrade",
    "repairs",
    "max_queries",
    "max_passages",
    "only_unjudged",
    "role",
    "calibrate",
)
"""Options that are fields of ``GradeOptions``."""


_ENTRIES = {
    "bank", "queries", "soft", "reply", "unparsed", "answer_match", "repairs", "only_unjudged",
    "role", "max_queries", "max_passages", "shard_text", "planned", "again", "form", "batch",
}  # fmt: skip
_USES = {
    "": _ENTRIES,
    "support": {"systems"},
    "criteria": {"queries", "systems", "max_passages"},
    "claim": {"soft", "systems", "sources", "trust_remote_code"},
    "closed-book": {"bank", "closed_book"},
    "doctor": {"planned", "form"},
}
"""Kind of the work to its parameters, beside those of all kinds; "" grades passages with a bank or query."""
_OF_ALL = {
    "passages", "output", "prompt_classes", "prompt_files", "model", "pipeline", "settings", "base_url",
    "device", "threads", "regrade", "max_tokens_total", *JOURNAL,
}  # fmt: skip


@click.command("grade", cls=Command)
@click.argument("passages", type=FILE, required=False)
@click.option(
    "-o", "--output", type=OUTPUT_PATH, help="Graded file to write.  [required, unless --plan or --again]"
)
@bank_option("Test bank with the questions or nuggets to grade.")
@click.option(
    "--queries", type=QUERIES_FILE,
    help=f"Texts of the queries, for direct prompts ({QUERY_FORMATS}).  [default: those of the bank, or of "
    "PASSAGES]",
)  # fmt: skip
@prompt_option(
    "Prompt to grade with (see `exam-pp list prompts`); may be repeated.  [default: ratings of the entries "
    "of --bank]",
    "prompt_classes",
    multiple=True,
)
@prompt_file_option("TOML file with your own prompt or criteria; may be repeated.")
@model_options(required=False)
@click.option(
    "--soft/--no-soft", default=None,
    help="Store soft grades (probabilities).  [default: --soft; --no-soft with CTranslate2, where they "
    "double the "
    "time]",
)  # fmt: skip
@reply_option("label of the scale", "calibrated")
@unparsed_option(GRADE_POLICY)
@answer_match_option()
@repairs_option("whose labels cannot be read (only for the prompt nugget-assignment).")
@click.option("--regrade", is_flag=True, help="Grade everything again, also what has a grade in PASSAGES.")
@part_to_grade
@click.option(
    "--system", "systems", multiple=True, metavar="NAME",
    help="Grade only answers of this system; for citations, criteria and claims. May be repeated.",
)  # fmt: skip
@click.option(
    "--sources",
    type=click.Choice(["cited", "all"]),
    default="cited",
    show_default=True,
    help="Passages against which a part is scored: those that it cites, or all of the answer (claims).",
)
@click.option(
    "--trust-remote-code",
    is_flag=True,
    help="Run code from the files of a text-classification model; a model of the Hub needs its commit as "
    "-M revision (claims).",
)
@click.option(
    "--closed-book",
    is_flag=True,
    help="Grade the entries of --bank without passages; this finds those that the model answers closed book.",
)
@journal_options
@click.option(
    "--shard", "shard_text", metavar="I/N",
    help="Grade and write only shard I (1 to N) of N shards of about equal work; `exam-pp merge` merges "
    "them.",
)  # fmt: skip
@TO_BATCH
@MAX_TOKENS_TOTAL
@click.option(
    "--plan", "planned", is_flag=True,
    help="Estimate requests and time, without grading; a sample of the requests is timed.",
)  # fmt: skip
@click.option(
    "--again", type=click.IntRange(min=1), metavar="N",
    help="Grade N graded passages again; in another order, one at a time and with another seed. "
    "Counts the grades that change.",
)  # fmt: skip
@click.option(
    "--format",
    "form",
    type=click.Choice(REPORT_FORMATS),
    default=REPORT_FORMATS[0],
    show_default=True,
    help="Format of the report of --plan and --again.",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    passages: Path | None,
    output: Path | None,
    bank: Path | None,
    prompt_classes: tuple[str, ...],
    **options: Any,
) -> None:
    """Let a model grade every passage in PASSAGES against every bank entry of its query, or directly.

    Grades that PASSAGES already holds are kept. To continue an interrupted run, repeat the command.

    The prompt decides what is graded: questions or nuggets of --bank, or the passage for its query (a direct
    prompt); of answers, their citations (citation-support), the whole answer by criteria (criteria, or a file
    of criteria), or its consistency with the sources (factual-consistency, or a classifier of pairs with
    --model-pipeline text-classification).

    Citations: the model reads each part of an answer with each passage that it cites, and chooses
    full_support, partial_support or no_support. Criteria: the model reads the query, the documents that the
    system retrieved or cited, and the answer, and rates all criteria in one reply; `exam-pp show prompt
    criteria --format toml` prints those of RAGElo as a file for --prompt-file. Claims: the sources of a
    whole answer are all passages that its system retrieved or cited; a part is scored against each passage
    that it cites, and its score is the highest, from 0 to 1. A low score points to a hallucination.

    To use several GPUs or machines, run `accelerate launch -m exam_pp grade ...`. The output is the same as
    with one process.

    With --plan, the command writes a report to standard output instead of -o, and no file. The exit code is
    0 if requests are left to send, and 3 if no requests are left. Without PASSAGES, --plan shows the hardware
    and the versions of libraries and, with --model, whether its replies depend only on the prompt: it counts
    those that change in batches. The exit code is 1 if one changes in float32, which is a defect.

    With --to-batch, the requests are written as files for a batch service, and the exit code is 3 until the
    folder holds all replies; repeat the command each time. The grades are those of calls to --base-url.

    With --again, PASSAGES are graded, and the command writes a report in the same way: the share of the
    grades of a sample that change when the same model gives them again, with its interval.

    With --closed-book and without PASSAGES, the output holds one empty passage for each query, for `exam-pp
    bank clinic`.

    Examples:

    \b
      exam-pp grade passages.jsonl.gz --bank questions.jsonl --prompt self-rated \\
        --model google/flan-t5-large -o new-graded.jsonl.gz
      exam-pp grade passages.jsonl.gz --queries queries.jsonl --prompt relevance \\
        --model gpt-4o --model-pipeline openai -o new-labelled.jsonl.gz
      exam-pp grade cited.jsonl.gz -o new-citations.jsonl.gz --prompt citation-support --model fake
      exam-pp grade --closed-book --bank questions.jsonl -o closed-book.jsonl.gz \\
        --prompt self-rated --model google/flan-t5-large
      exam-pp grade --plan --model google/flan-t5-large
      exam-pp grade graded.jsonl.gz --bank questions.jsonl --model google/flan-t5-large --again 10
    """
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import choose_prompts, has_criteria

    if passages is None and options["planned"] and not options["closed_book"]:
        _refuse_unused(context, "doctor", "--plan without PASSAGES")
        _examine(options)
        return
    if options["model"] is None:
        raise click.UsageError("Missing option '--model'.")
    prompt_files = options["prompt_files"]
    criteria = [path for path in prompt_files if has_criteria(path)]
    if bank is not None and not (prompt_classes or prompt_files):
        prompt_classes = (_prompt_for(bank),)
    prompts = choose_prompts(prompt_classes, [path for path in prompt_files if path not in criteria])
    kind = _kind(prompts, criteria, options["pipeline"])
    take_reply(options)
    if options["closed_book"]:
        kind = "closed-book"
    elif passages is None:
        raise click.UsageError("Missing argument 'PASSAGES'. (--closed-book grades without passages.)")
    reports = options["planned"] or options["again"]
    if output is None and not (reports and not kind):
        raise click.UsageError("Missing option '-o' / '--output'.")
    _refuse_unused(context, kind, _GRADED[kind])
    model = take_model_options(options, in_process_group=not kind)
    source = passages if passages is not None else bank
    if source is None:
        raise click.UsageError("--closed-book needs --bank.")
    files = GradeFiles(source, output or Path("-"), bank, **take(options, *JOURNAL, "queries", "batch"))
    if kind:
        options["criteria_file"] = next(iter(criteria), None)
        _grade_answers(kind, files, model, prompts, options)
    else:
        _grade_passages(files, model, prompts, options)


def _prompt_for(bank: Path) -> str:
    """The prompt for ratings of the bank's entries."""
    from exam_pp.phases.grading.prompt_files import rating_prompt
    from exam_pp.store.banks.bank_json import read_bank

    kinds = read_bank(bank).kinds
    if len(kinds) > 1:
        raise click.UsageError(f"{bank} has questions and nuggets: name the prompt of one kind.")
    return rating_prompt(next(iter(kinds), "question")).name


def _refuse_unused(context: click.Context, kind: str, what: str) -> None:
    used = _OF_ALL | _USES[kind]
    refuse(context, lambda name: name not in used, f"has no effect on grades of {what}")


_GRADED = {
    "": "passages",
    "support": "citations",
    "criteria": "answers by criteria",
    "claim": "claims",
    "closed-book": "entries without passages",
}


def _kind(prompts: Sequence[Prompt], criteria: Sequence[Path], pipeline: str) -> str:
    """The kind of the prompts and of the files of criteria, as in ``_USES``."""
    kinds = {prompt.kind if prompt.kind in _USES else "" for prompt in prompts}
    if criteria:
        kinds.add("criteria")
    if not kinds and pipeline == "text-classification":
        kinds.add("claim")
    if not kinds:
        raise click.UsageError(
            "grade needs --prompt or --prompt-file. For ratings of questions, use --prompt "
            "self-rated; `exam-pp list prompts` shows all prompts."
        )
    if len(kinds) > 1 or (kinds != {""} and len(prompts) + len(criteria) > 1):
        raise click.UsageError(
            "Prompts for citations, criteria and claims are used alone, and once; grade in several steps."
        )
    return kinds.pop()


def _grade_passages(
    files: GradeFiles, model: ModelOptions, prompts: Sequence[Prompt], options: dict[str, Any]
) -> None:
    from exam_pp.phases.grading.distributed import Shard
    from exam_pp.phases.grading.grade import GradeOptions
    from exam_pp.prompts.answer_key import with_answer_match

    prompts = [with_answer_match(prompt, options["answer_match"]) for prompt in prompts]
    grade_options = GradeOptions(prompts, **take(options, *_GRADE_OPTIONS))
    shard = Shard.parse(options["shard_text"]) if options["shard_text"] else None
    if options["again"]:
        report = needed("grades given again", "trust")(files, model, grade_options, options["again"])
        emit_rendered(report, options["form"], Path("-"))
    elif options["planned"]:
        _plan(files, model, grade_options, shard, options["form"])
    else:
        _grade(files, model, grade_options, shard)


def _grade_answers(
    kind: str, files: GradeFiles, model: ModelOptions, prompts: Sequence[Prompt], options: dict[str, Any]
) -> None:
    """Grade citations, answers by criteria, claims, or entries without passages.

    A plug-in grades answers: at the place ``grades of answers`` it offers functions by the kind of prompt,
    called with the files, the model, the prompt (or None), the options and the progress.
    """
    from exam_pp.phases.grading.closed_book import closed_book

    if kind == "closed-book":
        if len(prompts) != 1 or options["regrade"]:
            raise click.UsageError("--closed-book asks with one prompt, and has nothing to --regrade.")
        asking("Grading", "requests", lambda advance: closed_book(files, model, prompts[0], advance=advance))
        return
    graders = {name: grader for each in offered("grades of answers") for name, grader in each.items()}
    if kind not in graders:
        raise click.UsageError(f"No plug-in grades {_GRADED[kind]}.")
    prompt = prompts[0] if prompts else None
    asking("Grading", "requests", lambda advance: graders[kind](files, model, prompt, options, advance))


def _examine(options: dict[str, Any]) -> None:
    """Write what ``--plan`` shows without passages."""
    if options["model"] is None:
        from exam_pp.cli.grading.plan import machine

        report, sound = Report("exam-pp grade --plan", [machine()]), True
    else:
        # The plug-in offers a function that returns a report, and whether replies depend only on the prompt.
        report, sound = needed("examination of a model", "trust")(take_model_options(options))
    emit_rendered(report, options["form"], Path("-"))
    if not sound:
        sys.exit(1)


def _grade(files: GradeFiles, model: ModelOptions, options: GradeOptions, shard: Shard | None) -> None:
    from exam_pp.phases.grading.distributed import process_group_from_environment
    from exam_pp.phases.grading.grading_run import grade_file
    from exam_pp.signals import STOP

    with STOP.on_sigterm(), process_group_from_environment() as group:
        if not group.leads:
            logging.getLogger().setLevel(logging.WARNING)
        with progress("Grading", "pairs") as advance:
            summary = grade_file(files, model, options, advance, shard=shard, group=group)
    log_summary(summary.lines())


def _plan(
    files: GradeFiles, model: ModelOptions, options: GradeOptions, shard: Shard | None, form: str
) -> None:
    from exam_pp.cli.grading.plan import plan_grading
    from exam_pp.phases.grading.distributed import process_group_from_environment

    with process_group_from_environment() as group:
        if not group.leads:  # A second process would find the journal in use.
            return
        plan = plan_grading(files, model, options, shard=shard)
    emit_rendered(plan.report, form, Path("-"))
    if not plan.requests:
        sys.exit(NO_REQUESTS)
