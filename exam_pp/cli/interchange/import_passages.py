"""``exam-pp import``: import of runs, texts, judgments, answers and labels into a passages file."""

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

# Options for files of other tools, and the options that go with each.
_COMPANIONS = {
    "candidates": ("queries_output",),
    "assignments": ("passages", "grader", "bank", "bank_output", "queries_output"),
    "umbrela": ("passages", "grader", "queries"),
}
_TOOL_OPTIONS = (*_COMPANIONS, "passages", "grader", "bank", "bank_output", "queries_output")
_POOLING = ("runs", "texts", "qrels", "queries", "judged", "answers", "skip_missing_texts")


@click.command(name="import")
@output_option("Passages file to write (.jsonl or .jsonl.gz).  [default: standard output]")
@click.option(
    "--runs",
    multiple=True,
    type=FILES,
    help="TREC run file, or a folder of run files; may be repeated.",
)
@click.option(
    "--texts", type=FILE, help="Passage texts: TSV `id<TAB>text`, or JSON lines with an id and a text."
)
@click.option("--qrels", type=FILE, help="Judgments, stored with the pooled passages.")
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help="Only these queries, in this order.  [default: all, in the order of the runs]",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=20, show_default=True, help="Pool depth: passages per run."
)
@click.option("--judged", is_flag=True, help="Also pool every passage of --qrels.")
@click.option("--answers", multiple=True, type=FILE, help="Answers of RAG systems; may be repeated.")
@click.option(
    "--unit",
    type=click.Choice(["paragraph", "sentence", "whole"]),
    default="paragraph",
    show_default=True,
    help="The part of an answer that becomes a passage; a paragraph has at most about 400 words.",
)
@METHOD_NAME
@click.option("--skip-missing-texts", is_flag=True, help="Drop passages without a text instead of stopping.")
@click.option(
    "--candidates",
    multiple=True,
    type=FILE,
    help="Retrieved segments with texts (rank_llm, UMBRELA, AutoNuggetizer); may be repeated.",
)
@click.option(
    "--assignments",
    multiple=True,
    type=FILE,
    help="Answers with nugget assignments (AutoNuggetizer); may be repeated.",
)
@click.option("--umbrela", multiple=True, type=FILE, help="Labels of UMBRELA; may be repeated.")
@click.option(
    "--passages",
    type=FILE,
    help="With --assignments or --umbrela: the passages file that gets the assignments or labels.",
)
@click.option("--grader", help="With --assignments or --umbrela: name of the grader, such as human:alice.")
@click.option(
    "--bank",
    type=FILE,
    help="With --assignments: test bank with the ids of the nuggets, joined by query and text.  "
    "[default: digests of the texts]",
)
@click.option(
    "--bank-output", type=OUTPUT_PATH, help="With --assignments: write the nuggets as a test bank here."
)
@click.option(
    "--queries-output",
    type=OUTPUT_PATH,
    help="With --assignments or --candidates: write the query texts here.",
)
def command(output: Path, **options: Any) -> None:
    """Build a passages file from runs, texts, judgments and answers.

    The pool holds the top passages of every run, with text, judgments and rank in every run. Answers of RAG
    systems become passages that their system ranks in order.

    --candidates, --assignments and --umbrela read files of other tools; only one of them can be used at a
    time. Files without ids are joined by their texts. A message counts the dropped fields, which a passages
    file cannot hold.

    Example:

    \b
      exam-pp import --runs runs --texts passages.tsv --queries queries.jsonl --qrels qrels.txt \\
          -o passages-20.jsonl.gz
      exam-pp import --answers answers.jsonl --answers answers-2.jsonl --unit whole \\
          -o whole-answers.jsonl.gz
    """
    from exam_pp.phases.interchange.import_passages import ImportSources, import_passages

    tool_options = {name: options.pop(name) for name in _TOOL_OPTIONS}
    if any(tool_options.values()):
        _check_companions(tool_options, options)
        _import_tool_files(output, options["queries"], tool_options)
        return
    if not (options["runs"] or options["answers"] or options["judged"]):
        raise click.UsageError("import needs --runs, --answers, or --qrels with --judged.")
    if options["judged"] and not options["qrels"]:
        raise click.UsageError("--judged needs --qrels.")
    summary = import_passages(ImportSources(**options), output)
    log_summary(summary.lines())


def _check_companions(tool_options: dict[str, Any], options: dict[str, Any]) -> None:
    """Raise a usage error unless one file option of another tool is set, with options that go with it."""
    named = [name for name in _COMPANIONS if tool_options[name]]
    if len(named) != 1:
        raise click.UsageError(
            "--passages, --grader, --bank, --bank-output and --queries-output need one of --candidates, "
            "--assignments and --umbrela."
            if not named
            else f"{' and '.join(f'--{name}' for name in named)} cannot be combined; name one of them."
        )
    present = [name for name in _TOOL_OPTIONS if tool_options[name]]
    present += [name for name in _POOLING if options[name]]
    for name in present:
        if name not in (*named, *_COMPANIONS[named[0]]):
            raise click.UsageError(f"--{name.replace('_', '-')} cannot be combined with --{named[0]}.")
    if tool_options["bank"] and tool_options["bank_output"]:
        raise click.UsageError("--bank-output would write the nuggets of --bank; name only one of them.")
    if tool_options["umbrela"] and not (tool_options["passages"] and options["queries"]):
        raise click.UsageError(
            "--umbrela needs --passages and --queries, as its lines have texts but no ids."
        )


def _import_tool_files(output: Path, queries: Path | None, tool_options: dict[str, Any]) -> None:
    lines: Iterable[str]
    if tool_options["candidates"]:
        from exam_pp.phases.interchange.candidate_segments import import_candidates

        lines = import_candidates(
            tool_options["candidates"], output, queries_output=tool_options["queries_output"]
        )
    elif tool_options["assignments"]:
        from exam_pp.formats.nugget_assignments import DEFAULT_GRADER
        from exam_pp.phases.interchange.import_assignments import AssignmentSources, import_assignments

        sources = AssignmentSources(
            tool_options["assignments"],
            output,
            tool_options["grader"] or DEFAULT_GRADER,
            tool_options["passages"],
            tool_options["bank_output"],
            tool_options["queries_output"],
            tool_options["bank"],
        )
        lines = import_assignments(sources).lines()
    else:
        from exam_pp.phases.interchange.umbrela_rows import import_judge_rows

        assert queries is not None
        lines = import_judge_rows(
            tool_options["umbrela"], tool_options["passages"], queries, output, model=tool_options["grader"]
        ).lines()
    log_summary(lines)
