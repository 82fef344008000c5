"""``exam-pp import``: import of runs, texts, judgments, answers and labels into a passages file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp import defaults
from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse, refuse_without
from exam_pp.cli.options import (
    COLUMNS,
    FILE,
    FILES,
    METHOD_NAME,
    OUTPUT_PATH,
    QUERIES_FILE,
    QUERY_FORMATS,
    REPAIR,
    UNIT_HELP,
    UNITS,
    bank_option,
    log_summary,
    output_option,
    refuse_terminal,
    take,
)
from exam_pp.cli.ranges import IntRange

_ALONE = {
    "candidates": ("queries_output",),
    "nuggetizer-assignments": ("passages", "grader_name", "bank", "bank_output", "queries_output"),
    "rubric-verdicts": ("passages", "grader_name", "bank"),
    "umbrela": ("passages", "grader_name", "queries"),
}
"""Format of --from that is imported alone to the options that go with it."""
_POOLED = ("car-pages", "qrels")
"""Formats of --from whose passages are pooled with those of runs and answers."""
_ONLY_ALONE = ("passages", "grader_name", "bank", "bank_output", "queries_output")


@click.command("import", cls=Command)
@output_option("Passages file to write.  [default: standard output]")
@click.option(
    "--runs",
    multiple=True,
    type=FILES,
    help="Run file (TREC, or a table with a rank or score), or folder of run files; may be repeated.",
)
@click.option(
    "--texts",
    multiple=True,
    type=FILE,
    help="Texts of the passages: TSV `id<TAB>text`, or a table or JSON with an id and a text; may be "
    "repeated.",
)
@click.option(
    "--qrels",
    multiple=True,
    type=FILE,
    help="Qrels file or table; its judgments are stored with the pooled passages; may be repeated.",
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
    default=defaults.CUTOFF,
    show_default=True,
    help="Pool depth: number of top passages of each run and query.",
)
@click.option(
    "--facets",
    type=click.Choice(["title", "keep", "facet"]),
    default="title",
    show_default=True,
    help="Rankings of facets (`query/facet`): merge them into a ranking of the query (title), store them "
    "with the query (keep), or make each facet a query of its own (facet).",
)
@click.option(
    "--answers",
    multiple=True,
    type=FILE,
    help="Answers of RAG systems (TREC RAG, RAGTIME, or a table or JSON with a query id and an answer); may "
    "be repeated.",
)
@click.option(
    "--from",
    "sources",
    multiple=True,
    type=(click.Choice([*_ALONE, *_POOLED]), FILE),
    metavar="FORMAT FILE",
    help="File of candidates, nuggetizer-assignments, rubric-verdicts, umbrela, car-pages or qrels; may be "
    "repeated. "
    "These are retrieved segments of rank_llm, UMBRELA or AutoNuggetizer "
    "(candidates), answers with assignments of AutoNuggetizer (nuggetizer-assignments), verdicts of "
    "ResearchRubrics, RAGDoll, DRAGUN or the package rubric (rubric-verdicts), labels of UMBRELA "
    "(umbrela), run pages of TREC CAR Y3 (car-pages), or judgments whose passages are all pooled (qrels).",
)
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    default="paragraph",
    show_default=True,
    help=UNIT_HELP,
)
@METHOD_NAME
@COLUMNS
@REPAIR
@click.option(
    "--passages",
    type=FILE,
    help="Passages file of umbrela, nuggetizer-assignments or rubric-verdicts; the labels, assignments or "
    "verdicts are added to it.",
)
@click.option(
    "--name",
    "grader_name",
    metavar="NAME",
    help="With nuggetizer-assignments, rubric-verdicts or umbrela: name of the grader, such as human:alice; "
    "with rubric-verdicts that name no system, name of the system.  [default: nuggetizer, rubric-verdicts or "
    "umbrela; the name of the file for a system]",
)
@bank_option(
    "With nuggetizer-assignments or rubric-verdicts: test bank of the nuggets, whose ids are used.",
    default="ids are digests of the texts; rubric-verdicts need it",
)
@click.option(
    "--also bank",
    "bank_output",
    type=OUTPUT_PATH,
    help="With nuggetizer-assignments: also write the nuggets as a test bank to this file.",
)
@click.option(
    "--also queries",
    "queries_output",
    type=OUTPUT_PATH,
    help="With nuggetizer-assignments or candidates: also write the texts of the queries to this file.",
)
def command(output: Path, **options: Any) -> None:
    """Build a passages file from runs, texts, judgments and answers.

    The file holds the top passages of every run (the pool), with their text, their judgments and their rank
    in every run. Answers of RAG systems become passages, ranked by their system in the order of the answer.

    --from candidates, nuggetizer-assignments, rubric-verdicts and umbrela have passages, answers or grades of
    their own. Only one of these formats can be imported at a time, and not with --runs or --answers. Nuggets
    and labels without ids are matched by their texts. A message counts the dropped fields, which a passages
    file cannot hold.

    Tables are CSV, TSV, JSON lines or JSON arrays, whose columns have names such as `Query ID` or `question`.

    Examples:

    \b
      exam-pp import --runs runs --texts passages.tsv --queries queries.jsonl --qrels qrels.txt \\
        -o passages-20.jsonl.gz
      exam-pp import --answers answers.jsonl --answers answers-2.jsonl --unit whole \\
        -o whole-answers.jsonl.gz
      exam-pp import --from candidates segments.jsonl -o passages.jsonl.gz
    """
    from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
    from exam_pp.store.problems import repairing
    from exam_pp.store.tables import columns_named

    refuse_terminal(output, "passages.jsonl.gz")
    columns, repair = options.pop("columns"), options.pop("repair")
    files: dict[str, list[Path]] = {}
    for form, file in options.pop("sources"):
        files.setdefault(form, []).append(file)
    alone = [form for form in files if form in _ALONE]
    if alone:
        _check_alone(list(files), options)
        with columns_named(columns):
            _import_alone(alone[0], files[alone[0]], output, options)
        return
    if options["runs"] and options["passages"]:
        raise click.UsageError("--passages needs --from umbrela; the texts of runs are named with --texts.")
    refuse_without("--from candidates, nuggetizer-assignments, rubric-verdicts or umbrela", *_ONLY_ALONE)
    if not options["runs"]:
        refuse_without("--runs", "method_name")
    if not (options["runs"] or "car-pages" in files):
        refuse_without("--runs or --from car-pages", "top")
    if not options["answers"]:
        refuse_without("--answers", "unit")
    if not (options["runs"] or options["answers"] or files):
        raise click.UsageError("import needs --runs, --answers or --from.")
    take(options, *_ONLY_ALONE)
    sources = ImportSources(
        pages=files.get("car-pages", ()), judged=files.get("qrels", ()), skip_missing_texts=repair, **options
    )
    with columns_named(columns), repairing(enabled=repair) as repairs:
        log_summary(import_passages(sources, output).lines())
    log_summary(repairs.lines())


def _check_alone(formats: list[str], options: dict[str, Any]) -> None:
    """Raise a usage error unless there is one format, with options that go with it."""
    if len(formats) > 1:
        raise click.UsageError(f"--from {' and --from '.join(formats)} cannot be combined; use one of them.")
    (form,) = formats
    fitting = ("output", "sources", *_ALONE[form])
    why = f"cannot be combined with --from {form}"
    refuse(click.get_current_context(), lambda name: name not in fitting, why)
    if options["bank"] and options["bank_output"]:
        raise click.UsageError(
            "--bank and --also bank cannot be combined; the nuggets are already in --bank."
        )
    if form == "rubric-verdicts" and not options["bank"]:
        raise click.UsageError(
            "--from rubric-verdicts needs --bank, because its verdicts are on entries of it."
        )
    if form == "umbrela" and not (options["passages"] and options["queries"]):
        raise click.UsageError(
            "--from umbrela needs --passages and --queries, because its labels have texts but no ids."
        )


def _import_alone(name: str, files: list[Path], output: Path, options: dict[str, Any]) -> None:
    from exam_pp.formats.base import FORMATS

    imports = FORMATS.get(name).imports
    assert imports is not None, "formats that are imported alone have a function for it"
    log_summary(imports(files, output, **take(options, *_ALONE[name])))
