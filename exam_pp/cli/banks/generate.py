"""The command group ``exam-pp generate``, which writes test banks and answers from queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Group
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    JOURNAL,
    MAX_QUERIES,
    NEW_BANK,
    QUERIES_FILE,
    journal_options,
    log_summary,
    new_bank_options,
    prompt_file_option,
    repairs_option,
    required_output,
    take,
    together,
)
from exam_pp.cli.progress import progress
from exam_pp.cli.ranges import IntRange

_generate_options = together(
    click.argument("queries", type=QUERIES_FILE),
    required_output("Test bank to write."),
    click.option(
        "--count",
        type=IntRange(1, 100),
        help="Maximum number of entries per query or facet.  [default: 10 for a query, unlimited for a "
        "facet]",
    ),
    click.option("--no-facets", is_flag=True, help="Ignore facets, and generate entries for whole queries."),
    repairs_option("without a list.", default=1),
    click.option(
        "-S top-ups",
        "top_ups",
        type=IntRange(0, 10),
        default=2,
        show_default=True,
        help="Number of further requests if a list has fewer entries than requested; they stop when a reply "
        "has no new entry. Prompts for facets request no number.",
    ),
    prompt_file_option(
        "TOML file with your own prompt; may be repeated: one with {subtopic} for facets, one without it."
    ),
    new_bank_options,
    model_options(),
    journal_options,
)


@click.group("generate", cls=Group)
def command() -> None:
    """Let a model write test banks (questions or nuggets), answers to queries, or queries."""


@command.command("questions")
@_generate_options
def questions_command(**options: Any) -> None:
    """Let a model write exam questions for QUERIES.

    QUERIES is a file of queries, or irds:NAME for a data set of ir_datasets. The prompts are those of the
    workbench paper: TREC DL style for a query, and TREC CAR style for each facet of a query with facets.
    --prompt-file replaces them. To continue an interrupted run, repeat the command.

    Example:

    \b
      exam-pp generate questions queries.jsonl -o new-questions.jsonl \\
        --model gpt-4o --model-pipeline openai
    """
    _run("question", **options)


@command.command("nuggets")
@_generate_options
def nuggets_command(**options: Any) -> None:
    """Let a model write nuggets (key facts of a few words) for QUERIES.

    QUERIES is a file of queries, or irds:NAME for a data set of ir_datasets. The model lists nuggets for a
    query, or for each facet of a query with facets. To make nuggets from relevant passages instead, use
    `exam-pp nuggetize`. To continue an interrupted run, repeat the command.

    Example:

    \b
      exam-pp generate nuggets queries.jsonl -o new-nuggets.jsonl \\
        --model gpt-4o --model-pipeline openai
    """
    _run("nugget", **options)


@command.command("answers")
@click.argument("queries", type=QUERIES_FILE)
@required_output("File of answers to write.")
@click.option(
    "--style",
    "styles",
    type=click.Choice(["wikipedia", "web", "direct"]),
    multiple=True,
    help="Style of the answers: a Wikipedia article, a web page, or a direct answer; may be repeated, for a "
    "system of each.  [default: direct, unless --prompt-file]",
)
@prompt_file_option("TOML file with your own prompt, for another system; may be repeated.")
@click.option(
    "--passages",
    "contexts",
    type=FILE,
    help="Passages file whose top passages the prompt shows, so that answers cite them.",
)
@click.option(
    "--system",
    "ranking",
    metavar="SYSTEM",
    help="With --passages: the system whose top passages are shown.  [default: reciprocal rank fusion of all "
    "systems]",
)
@click.option(
    "--max-passages",
    type=IntRange(1, 100),
    help="With --passages: maximum number of passages per query.  [default: 5]",
)
@click.option(
    "--name",
    "system_name",
    metavar="NAME",
    help="Name of the system in the file, followed by the style if there are several.  [default: the name of "
    "the model and the style, such as gpt-4o-direct, and with --passages gpt-4o-direct-cited]",
)
@click.option(
    "--to",
    "form",
    type=click.Choice(["plain", "rag24", "rag25", "ragtime"]),
    help="Format: JSON lines of query_id, system and text (plain), TREC RAG 2024 (rag24) or 2025 (rag25), or "
    "NeuCLIR and RAGTIME (ragtime).  [default: plain, or rag24 with --passages, as plain has no citations]",
)
@MAX_QUERIES
@model_options()
@journal_options
def answers_command(queries: Path, output: Path, **options: Any) -> None:
    """Let a model answer QUERIES, as one or several generative systems.

    QUERIES is a file of queries, or irds:NAME for a data set of ir_datasets. `exam-pp import --answers` reads
    the file of answers. An empty reply becomes an empty answer; failed calls are listed and not written. To
    continue an interrupted run, repeat the command.

    Examples:

    \b
      exam-pp generate answers queries.jsonl -o new-answers.jsonl --style wikipedia --style direct \\
        --model gpt-4o --model-pipeline openai
      exam-pp generate answers queries.jsonl -o cited-answers.jsonl --passages passages.jsonl.gz \\
        --system bm25 --model gpt-4o --model-pipeline openai
    """
    from exam_pp.phases.banks.generate_answers import (
        DEFAULT_CONTEXTS,
        AnswerOptions,
        generate_answers_file,
    )
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.signals import STOP

    if options["contexts"] is None:
        refuse_without("--passages", "ranking", "max_passages")
    model = take_model_options(options)
    prompts = choose_prompts((), options["prompt_files"])
    answer_options = AnswerOptions(
        options["styles"] or (() if prompts else ("direct",)),
        prompts,
        **take(options, "system_name", "contexts", "ranking", "max_queries", "form"),
        max_passages=options["max_passages"] or DEFAULT_CONTEXTS,
    )
    with STOP.on_sigterm(), progress("Answering", "answers") as advance:
        summary = generate_answers_file(
            queries, output, model, answer_options, **take(options, *JOURNAL), advance=advance
        )
    log_summary(summary.lines())


@command.command("queries")
@click.argument("documents", type=FILE)
@required_output("File of queries to write (JSON lines).")
@click.option(
    "--queries",
    "examples",
    type=QUERIES_FILE,
    help="Queries of users, which the prompt shows as examples.",
)
@click.option(
    "--count",
    "per_window",
    type=IntRange(1, 100),
    default=10,
    show_default=True,
    help="Maximum number of queries about a window of a document.",
)
@click.option(
    "-S window-tokens",
    "window_tokens",
    type=IntRange(20),
    default=2000,
    show_default=True,
    help="Maximum length of a window; a token is a sign or up to eight characters of a word.",
)
@click.option(
    "--max-windows", type=IntRange(1), help="Number of windows to draw from all documents.  [default: all]"
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random sample of windows.")
@click.option(
    "--pool",
    type=QUERIES_FILE,
    multiple=True,
    help="Queries that are written first, such as those of another model; may be repeated. New queries that "
    "repeat them are dropped.",
)
@repairs_option("without a list.", default=1)
@click.option(
    "-S top-ups",
    "top_ups",
    type=IntRange(0, 10),
    default=2,
    show_default=True,
    help="Number of further requests if a list has fewer queries than requested; they stop when a reply has "
    "no new query.",
)
@prompt_file_option("TOML file with your own prompt of the kind query.")
@model_options()
@journal_options
def queries_command(documents: Path, output: Path, **options: Any) -> None:
    """Let a model write the queries that users may ask about DOCUMENTS.

    DOCUMENTS are texts by id (TSV or JSON lines), or a passages file. Long documents are divided into windows
    (RAGElo: ten pages, about 2000 tokens), and the model writes questions about each. Queries that repeat
    another one, or nearly so, are dropped. Each query records its model, prompt, document and window. For
    several models, run the command for each, with --pool for the queries of the models before.

    Example:

    \b
      exam-pp generate queries passages.tsv -o new-queries.jsonl --queries queries.jsonl \\
        --max-windows 3 --model gpt-4o --model-pipeline openai
    """
    from exam_pp.phases.banks.generate_queries import QueryOptions, generate_queries_file
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.signals import STOP

    if options["max_windows"] is None:
        refuse_without("--max-windows", "seed")
    model = take_model_options(options)
    journal = take(options, *JOURNAL)
    query_options = QueryOptions(prompts=choose_prompts((), options.pop("prompt_files")), **options)
    with STOP.on_sigterm(), progress("Generating", "windows") as advance:
        summary = generate_queries_file(documents, output, model, query_options, **journal, advance=advance)
    log_summary(summary.lines())


def _run(kind: Any, *, queries: Path, output: Path, **options: Any) -> None:
    from exam_pp.phases.banks.generate import GenerateOptions, generate_file
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.signals import STOP

    model = take_model_options(options)
    generate_options = GenerateOptions(
        kind,
        facets=not options["no_facets"],
        prompts=choose_prompts((), options["prompt_files"]),
        **take(options, "count", "repairs", "top_ups", *NEW_BANK),
    )
    with STOP.on_sigterm(), progress("Generating", "replies") as advance:
        summary = generate_file(
            queries, output, model, generate_options, **take(options, *JOURNAL), advance=advance
        )
    log_summary(summary.lines())
