"""``exam-pp import``: import of runs, texts, judgments, answers and labels into a passages file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.options import (
    FILE,
    FILES,
    METHOD_NAME,
    OUTPUT_PATH,
    QUERIES_FILE,
    QUERY_FORMATS,
    UNIT_HELP,
    UNITS,
    bank_option,
    log_summary,
    output_option,
)
from exam_pp.cli.ranges import IntRange

# Options for files of other tools, and the options that go with each.
_COMPANIONS = {
    "candidates": ("queries_output",),
    "assignments": ("passages", "grader_name", "bank", "bank_output", "queries_output"),
    "umbrela": ("passages", "grader_name", "queries"),
}
_TOOL_OPTIONS = (*_COMPANIONS, "passages", "grader_name", "bank", "bank_output", "queries_output")
_POOLING = ("runs", "texts", "qrels", "queries", "judged", "answers", "pages", "skip_missing_texts")


@click.command("import", cls=Command)
@output_option("Passages file to write.  [default: standard output]")
@click.option(
    "--runs",
    multiple=True,
    type=FILES,
    help="Run file (TREC), or folder of run files; may be repeated.",
)
@click.option(
    "--texts",
    multiple=True,
    type=FILE,
    help="Texts of the passages: TSV `id<TAB>text`, or JSON lines with an id and a text; may be repeated.",
)
@click.option(
    "--qrels",
    multiple=True,
    type=FILE,
    help="Qrels file; its judgments are stored with the pooled passages; may be repeated.",
)
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"Only the queries of this file, in its order ({QUERY_FORMATS}).  [default: all, in the order of "
    "the "
    "runs]",
)
@click.option(
    "--top",
    type=IntRange(min=1),
    default=20,
    show_default=True,
    help="Pool depth: number of top passages of each run and query.",
)
@click.option(
    "--facet-rankings",
    type=click.Choice(["merge", "keep", "separate"]),
    default="merge",
    show_default=True,
    help="Rankings of facets (`query/facet`): merge them into a ranking of the query, keep them by facet, or "
    "make each facet a separate query.",
)
@click.option("--judged", is_flag=True, help="Also pool every passage of --qrels.")
@click.option(
    "--answers",
    multiple=True,
    type=FILE,
    help="Answers of RAG systems (TREC RAG, RAGTIME or plain JSON lines); may be repeated.",
)
@click.option(
    "--pages", multiple=True, type=FILE, help="Run pages of TREC CAR Y3 (JSON lines); may be repeated."
)
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    default="paragraph",
    show_default=True,
    help=UNIT_HELP,
)
@METHOD_NAME
@click.option(
    "--skip-missing-texts",
    is_flag=True,
    help="Drop passages without a text instead of stopping with an error.",
)
@click.option(
    "--candidates",
    multiple=True,
    type=FILE,
    help="Retrieved segments with texts of rank_llm, UMBRELA or AutoNuggetizer; may be repeated.",
)
@click.option(
    "--assignments",
    multiple=True,
    type=FILE,
    help="Answers with nugget assignments of AutoNuggetizer; may be repeated.",
)
@click.option("--umbrela", multiple=True, type=FILE, help="Labels of UMBRELA; may be repeated.")
@click.option(
    "--passages",
    type=FILE,
    help="With --assignments or --umbrela: passages file to which the assignments or labels are added.",
)
@click.option(
    "--name",
    "grader_name",
    metavar="NAME",
    help="With --assignments or --umbrela: name of the grader, such as human:alice.  [default: nuggetizer or "
    "umbrela]",
)
@bank_option(
    "With --assignments: test bank of the nuggets, whose ids are used.",
    default="ids are digests of the texts",
)
@click.option(
    "--also bank",
    "bank_output",
    type=OUTPUT_PATH,
    help="With --assignments: also write the nuggets as a test bank to this file.",
)
@click.option(
    "--also queries",
    "queries_output",
    type=OUTPUT_PATH,
    help="With --assignments or --candidates: also write the texts of the queries to this file.",
)
def command(output: Path, **options: Any) -> None:
    """Build a passages file from runs, texts, judgments and answers.

    The file holds the top passages of every run (the pool), with their text, their judgments and their rank
    in every run. Answers of RAG systems become passages, ranked by their system in the order of the answer.

    --candidates, --assignments and --umbrela read files of other tools. Only one of these options can be
    used at a time, and not with --runs or --answers. Nuggets and labels without ids are matched by their
    texts. A message counts the dropped fields, which a passages file cannot hold.

    Examples:

    \b
      exam-pp import --runs runs --texts passages.tsv --queries queries.jsonl --qrels qrels.txt \\
        -o passages-20.jsonl.gz
      exam-pp import --answers answers.jsonl --answers answers-2.jsonl --unit whole \\
        -o whole-answers.jsonl.gz
    """
    from exam_pp.phases.interchange.import_passages import ImportSources, import_passages

    if not options["runs"]:
        refuse_without("--runs", "method_name")
    if not (options["runs"] or options["pages"]):
        refuse_without("--runs or --pages", "top")
    if not options["answers"]:
        refuse_without("--answers", "unit")
    tool_options = {name: options.pop(name) for name in _TOOL_OPTIONS}
    if any(tool_options.values()):
        _check_companions(tool_options, options)
        _import_tool_files(output, options["queries"], tool_options)
        return
    if not (options["runs"] or options["answers"] or options["pages"] or options["judged"]):
        raise click.UsageError("import needs --runs, --pages, --answers, or --qrels with --judged.")
    if options["judged"] and not options["qrels"]:
        raise click.UsageError("--judged needs --qrels.")
    summary = import_passages(ImportSources(**options), output)
    log_summary(summary.lines())


def _check_companions(tool_options: dict[str, Any], options: dict[str, Any]) -> None:
    """Raise a usage error unless one file option of another tool is set, with options that go with it."""
    named = [name for name in _COMPANIONS if tool_options[name]]
    if len(named) != 1:
        raise click.UsageError(
            "--passages, --name, --bank, --also bank and --also queries need one of --candidates, "
            "--assignments and --umbrela."
            if not named
            else f"{' and '.join(f'--{name}' for name in named)} cannot be combined; use one of them."
        )
    present = [name for name in _TOOL_OPTIONS if tool_options[name]]
    present += [name for name in _POOLING if options[name]]
    for name in present:
        if name not in (*named, *_COMPANIONS[named[0]]):
            raise click.UsageError(f"--{name.replace('_', '-')} cannot be combined with --{named[0]}.")
    if tool_options["bank"] and tool_options["bank_output"]:
        raise click.UsageError(
            "--bank and --also bank cannot be combined; the nuggets are already in --bank."
        )
    if tool_options["umbrela"] and not (tool_options["passages"] and options["queries"]):
        raise click.UsageError(
            "--umbrela needs --passages and --queries, because its labels have texts but no ids."
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
            tool_options["grader_name"] or DEFAULT_GRADER,
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
            tool_options["umbrela"],
            tool_options["passages"],
            queries,
            output,
            model=tool_options["grader_name"],
        ).lines()
    log_summary(lines)
