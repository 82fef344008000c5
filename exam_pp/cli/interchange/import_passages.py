"""``exam-pp import``: runs, texts, judgments and answers in; a passages file out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import (
    FILE,
    FILES,
    METHOD_NAME,
    OUTPUT_PATH,
    QUERIES_FILE,
    log_summary,
    output_option,
)

# Options of files that bring passages or labels of their own, and what belongs to each.
_BELONGS = {
    "candidates": ("queries_output",),
    "assignments": ("passages", "grader", "bank", "bank_output", "queries_output"),
    "umbrela": ("passages", "grader", "queries"),
}
_FOREIGN = (*_BELONGS, "passages", "grader", "bank", "bank_output", "queries_output")
_POOLING = ("runs", "texts", "qrels", "queries", "judged", "answers", "skip_missing_texts")


@click.command(name="import")
@output_option("The passages file to write (.jsonl or .jsonl.gz; default: standard output).")
@click.option(
    "--runs",
    multiple=True,
    type=FILES,
    help="A TREC run file, or a folder of them; may be repeated.",
)
@click.option(
    "--texts", type=FILE, help="Passage texts: TSV `id<TAB>text`, or JSON lines with an id and a text."
)
@click.option("--qrels", type=FILE, help="Manual judgments, noted with the pooled passages.")
@click.option(
    "--queries", type=QUERIES_FILE, help="Only these queries, in this order.  [default: all, as they appear]"
)
@click.option(
    "--top", type=click.IntRange(min=1), default=20, show_default=True, help="Passages pooled of each run."
)
@click.option("--judged", is_flag=True, help="Pool every passage of --qrels too.")
@click.option("--answers", multiple=True, type=FILE, help="Answers of RAG systems; may be repeated.")
@click.option(
    "--unit",
    type=click.Choice(["paragraph", "sentence", "whole"]),
    default="paragraph",
    show_default=True,
    help="What of an answer is one passage; a paragraph has at most about 400 words.",
)
@METHOD_NAME
@click.option("--skip-missing-texts", is_flag=True, help="Drop passages without a text instead of refusing.")
@click.option(
    "--candidates",
    multiple=True,
    type=FILE,
    help="Retrieved segments with their texts (rank_llm, UMBRELA, AutoNuggetizer), in place of --runs.",
)
@click.option(
    "--assignments", multiple=True, type=FILE, help="Answers with nugget assignments (AutoNuggetizer)."
)
@click.option("--umbrela", multiple=True, type=FILE, help="Judge rows of UMBRELA, for --passages.")
@click.option(
    "--passages", type=FILE, help="Passages file that --assignments or --umbrela add their labels to."
)
@click.option("--grader", help="With --assignments or --umbrela: who labelled, such as human:alice.")
@click.option(
    "--bank",
    type=FILE,
    help="With --assignments: bank whose ids the nuggets get, by query and text. [default: ids of the texts]",
)
@click.option(
    "--bank-output", type=OUTPUT_PATH, help="With --assignments: also write their nuggets as a bank."
)
@click.option(
    "--queries-output",
    type=OUTPUT_PATH,
    help="With --assignments or --candidates: also write the query texts.",
)
def command(output: Path, **options: Any) -> None:
    """Build a passages file from runs, texts, judgments and answers.

    The best passages of every run are pooled, with their text, their judgments and their rank in
    every run; answers of RAG systems become passages that the system ranked in order. What passages do not
    say of answers is counted: with --unit whole, where their parts end, and which part cites what.

    --candidates, --assignments and --umbrela read files of other tools, each on its own. They tell what
    they leave out. Files without ids are joined by their texts.
    """
    from exam_pp.phases.interchange.import_passages import ImportSources, import_passages

    foreign = {name: options.pop(name) for name in _FOREIGN}
    if any(foreign.values()):
        _check_alone(foreign, options)
        _import_labels(output, options["queries"], foreign)
        return
    if not (options["runs"] or options["answers"] or options["judged"]):
        raise click.UsageError("Nothing to import: name --runs, --answers, or --qrels with --judged.")
    if options["judged"] and not options["qrels"]:
        raise click.UsageError("--judged needs --qrels.")
    summary = import_passages(ImportSources(**options), output)
    log_summary(summary.lines())


def _check_alone(foreign: dict[str, Any], options: dict[str, Any]) -> None:
    """Files of other tools are imported one kind at a time."""
    named = [name for name in _BELONGS if foreign[name]]
    if len(named) != 1:
        raise click.UsageError("Name one of --candidates, --assignments and --umbrela.")
    given = [name for name in _FOREIGN if foreign[name]] + [name for name in _POOLING if options[name]]
    for name in given:
        if name not in (*named, *_BELONGS[named[0]]):
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --{named[0]}.")
    if foreign["bank"] and foreign["bank_output"]:
        raise click.UsageError("--bank-output writes the nuggets that --bank has: name one of them.")
    if foreign["umbrela"] and not (foreign["passages"] and options["queries"]):
        raise click.UsageError("--umbrela needs --passages and --queries: its rows have texts, but no ids.")


def _import_labels(output: Path, queries: Path | None, foreign: dict[str, Any]) -> None:
    lines: Iterable[str]
    if foreign["candidates"]:
        from exam_pp.phases.interchange.candidate_segments import import_candidates

        lines = import_candidates(foreign["candidates"], output, queries_output=foreign["queries_output"])
    elif foreign["assignments"]:
        from exam_pp.formats.nugget_assignments import DEFAULT_GRADER
        from exam_pp.phases.interchange.import_assignments import AssignmentSources, import_assignments

        sources = AssignmentSources(
            foreign["assignments"],
            output,
            foreign["grader"] or DEFAULT_GRADER,
            foreign["passages"],
            foreign["bank_output"],
            foreign["queries_output"],
            foreign["bank"],
        )
        lines = import_assignments(sources).lines()
    else:
        from exam_pp.phases.interchange.umbrela_rows import import_judge_rows

        assert queries is not None
        lines = import_judge_rows(
            foreign["umbrela"], foreign["passages"], queries, output, model=foreign["grader"]
        ).lines()
    log_summary(lines)
