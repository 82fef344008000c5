"""``exam-pp generate``: test banks, answers and queries that a model writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    JOURNAL,
    NEW_BANK,
    QUERIES_FILE,
    journal_options,
    new_bank_options,
    prompt_file_option,
    repairs_option,
    required_output,
    take,
)
from exam_pp.cli.progress import asking
from exam_pp.cli.ranges import IntRange

if TYPE_CHECKING:
    from exam_pp.llm import ModelOptions

_LISTS = ("count", "repairs", "top_ups")
_BANKS = (*_LISTS, "facets", *NEW_BANK)
_FOR_BANKS = {
    "output": "Test bank to write.",
    "count": "Maximum number of entries per query or facet.  [default: 10 for a query, unlimited for a "
    "facet]",
    "prompt_files": "TOML file with your own prompt; may be repeated: one with {subtopic} for facets, one "
    "without it.",
}
_KINDS = {
    "questions": Kind(
        """Let a model write exam questions for queries.

        SOURCE is a file of queries, or irds:NAME for a data set of ir_datasets. The prompts are those of the
        workbench paper: TREC DL style for a query, and TREC CAR style for each facet of a query with facets.
        --prompt-file replaces them. To continue an interrupted run, repeat the command.

        Example:

        \b
          exam-pp generate questions queries.jsonl -o new-questions.jsonl \\
            --model gpt-4o --model-pipeline openai
        """,
        _BANKS,
        _FOR_BANKS,
    ),
    "nuggets": Kind(
        """Let a model write nuggets (key facts of a few words) for queries.

        SOURCE is a file of queries, or irds:NAME for a data set of ir_datasets. The model lists nuggets for a
        query, or for each facet of a query with facets. To make nuggets from relevant passages instead, use
        `exam-pp nuggetize`. To continue an interrupted run, repeat the command.

        Example:

        \b
          exam-pp generate nuggets queries.jsonl -o new-nuggets.jsonl \\
            --model gpt-4o --model-pipeline openai
        """,
        _BANKS,
        _FOR_BANKS,
    ),
    "answers": Kind(
        """Let a model answer queries, as one or several generative systems.

        SOURCE is a file of queries, or irds:NAME for a data set of ir_datasets. `exam-pp import --answers`
        reads the file of answers. An empty reply becomes an empty answer; failed calls are listed and not
        written. To continue an interrupted run, repeat the command.

        Examples:

        \b
          exam-pp generate answers queries.jsonl -o new-answers.jsonl --style wikipedia --style direct \\
            --model gpt-4o --model-pipeline openai
          exam-pp generate answers queries.jsonl -o cited-answers.jsonl --passages passages.jsonl.gz \\
            --system bm25 --model gpt-4o --model-pipeline openai
        """,
        ("styles", "contexts", "ranking", "max_passages", "system_name", "form", "max_queries"),
        {
            "output": "File of answers to write.",
            "prompt_files": "TOML file with your own prompt, for another system; may be repeated.",
        },
    ),
    "queries": Kind(
        """Let a model write the queries that users may ask about documents.

        SOURCE has texts by id (TSV or JSON lines), or is a passages file. Long documents are divided into
        windows (RAGElo: ten pages, about 2000 tokens), and the model writes questions about each. Queries
        that repeat another one, or nearly so, are dropped. Each query records its model, prompt, document and
        window. For several models, run the command for each, with --pool for the queries of the models
        before.

        Example:

        \b
          exam-pp generate queries passages.tsv -o new-queries.jsonl --queries queries.jsonl \\
            --max-windows 3 --model gpt-4o --model-pipeline openai
        """,
        (*_LISTS, "examples", "window_tokens", "max_windows", "seed", "pool"),
        {
            "output": "File of queries to write (JSON lines).",
            "count": "Maximum number of queries about a window of a document.  [default: 10]",
            "prompt_files": "TOML file with your own prompt of the kind query.",
        },
    ),
}


@click.command("generate", cls=Command, kinds=_KINDS)
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.argument("source", type=QUERIES_FILE)
@required_output("File to write: a test bank, answers or queries.")
@click.option(
    "--count",
    type=IntRange(1, 100),
    help="Maximum number of entries per query or facet, or of queries about a window of a document.  "
    "[default: 10, unlimited for a facet]",
)
@click.option(
    "--facets",
    type=click.Choice(["title", "facet"]),
    default="facet",
    show_default=True,
    help="Write entries for each query as a whole (title), or for each facet of a query with facets (facet).",
)
@repairs_option("without a list.", default=1)
@click.option(
    "-S top-ups",
    "top_ups",
    type=IntRange(0, 10),
    default=2,
    show_default=True,
    help="Number of further requests if a list has fewer entries than requested; they stop when a reply has "
    "no new entry. Prompts for facets request no number.",
)
@click.option(
    "--style",
    "styles",
    type=click.Choice(["wikipedia", "web", "direct"]),
    multiple=True,
    help="Style of the answers: a Wikipedia article, a web page, or a direct answer; may be repeated, for a "
    "system of each.  [default: direct, unless --prompt-file]",
)
@prompt_file_option("TOML file with your own prompt; may be repeated, except for queries.")
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
@click.option(
    "--queries",
    "examples",
    type=QUERIES_FILE,
    help="Queries of users, which the prompt shows as examples.",
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
@new_bank_options
@model_options()
@journal_options
def command(kind: str, source: Path, output: Path, **options: Any) -> None:
    """Let a model write test banks (questions or nuggets), answers to queries, or queries.

    SOURCE is a file of queries, or of documents to write queries about.

    Example:

    \b
      exam-pp generate questions queries.jsonl -o new-questions.jsonl \\
        --model gpt-4o --model-pipeline openai
    """
    from exam_pp.phases.grading.prompt_files import choose_prompts

    if options["contexts"] is None:
        refuse_without("--passages", "ranking", "max_passages")
    if options["max_windows"] is None:
        refuse_without("--max-windows", "seed")
    model = take_model_options(options)
    options["prompts"] = choose_prompts((), options.pop("prompt_files"))
    if kind == "answers":
        _answers(source, output, model, options)
    elif kind == "queries":
        _queries(source, output, model, options)
    else:
        _bank("question" if kind == "questions" else "nugget", source, output, model, options)


def _bank(
    kind: Literal["question", "nugget"],
    queries: Path,
    output: Path,
    model: ModelOptions,
    options: dict[str, Any],
) -> None:
    from exam_pp.phases.banks.generate import GenerateOptions, generate_file

    bank_options = GenerateOptions(
        kind, facets=options["facets"] == "facet", **take(options, "prompts", *_LISTS, *NEW_BANK)
    )
    asking(
        "Generating",
        "replies",
        lambda advance: generate_file(
            queries, output, model, bank_options, **take(options, *JOURNAL), advance=advance
        ),
    )


def _answers(queries: Path, output: Path, model: ModelOptions, options: dict[str, Any]) -> None:
    from exam_pp.phases.banks.generate_answers import (
        DEFAULT_CONTEXTS,
        AnswerOptions,
        generate_answers_file,
    )

    answer_options = AnswerOptions(
        options["styles"] or (() if options["prompts"] else ("direct",)),
        max_passages=options["max_passages"] or DEFAULT_CONTEXTS,
        **take(options, "prompts", "system_name", "contexts", "ranking", "max_queries", "form"),
    )
    asking(
        "Answering",
        "answers",
        lambda advance: generate_answers_file(
            queries, output, model, answer_options, **take(options, *JOURNAL), advance=advance
        ),
    )


def _queries(documents: Path, output: Path, model: ModelOptions, options: dict[str, Any]) -> None:
    from exam_pp.phases.banks.generate_queries import QueryOptions, generate_queries_file

    query_options = QueryOptions(
        per_window=options["count"] or 10,
        **take(options, "prompts", "examples", "window_tokens", "max_windows", "seed", "pool"),
        **take(options, "repairs", "top_ups"),
    )
    asking(
        "Generating",
        "windows",
        lambda advance: generate_queries_file(
            documents, output, model, query_options, **take(options, *JOURNAL), advance=advance
        ),
    )
