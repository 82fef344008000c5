"""``exam-pp convert``: conversion of files between formats."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import is_given, refuse
from exam_pp.cli.options import (
    FILE,
    FILES,
    FILTER,
    METHOD_NAME,
    OUTPUT_PATH,
    QUERIES_FILE,
    QUERY_FORMATS,
    UNIT_HELP,
    UNITS,
    OutputPath,
    bank_option,
    filter_options,
    grade_filter,
    role_option,
    take,
)

if TYPE_CHECKING:
    from exam_pp.formats.base import Format

log = logging.getLogger(__name__)

_USED_BY = {
    "bank": {"nuggetizer-assignments"},
    "contexts": {"open-rag-eval"},
    "measure": {"ranks"},
    "queries": {"answers", "candidates"},
    "role": {"runs"},
    "systems": {"answers", "candidates", "runs"},
    "unit": {"passages"},
    **{name: {"nuggetizer-assignments"} for name in FILTER},
}
"""Parameter to the target formats that use it, or the contents of these formats."""
_NEEDS = {"candidates": "queries", "nuggetizer-assignments": "bank"}
"""Target format to the parameter that it needs."""


@click.command("convert", cls=Command)
@click.argument("source", type=FILES)
@click.option("--to", "target_format", metavar="FORMAT", required=True, help="Format to write.")
@click.option(
    "-o",
    "--output",
    type=OutputPath(folders=True),
    metavar="PATH",
    default="-",
    help="File to write, or folder for several runs.  [default: standard output]",
)
@click.option(
    "--from",
    "source_format",
    metavar="FORMAT",
    help="Format of SOURCE.  [default: detected from the content]",
)
@click.option(
    "--also dropped-fields",
    "dropped_fields_output",
    type=OUTPUT_PATH,
    help="Also write the counts of dropped fields to this JSON file.",
)
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    default="sentence",
    show_default=True,
    help=UNIT_HELP,
)
@click.option(
    "--measure",
    metavar="NAME",
    help="Measure that determines official ranks, if SOURCE has several measures.",
)
@METHOD_NAME
@click.option(
    "--passages",
    "contexts",
    type=FILE,
    help="With --to open-rag-eval: passages file with the passage texts.",
)
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"Texts of the queries, for answers and candidates ({QUERY_FORMATS}).",
)
@bank_option("With --to nuggetizer-assignments: test bank of the nuggets.")
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Only runs, answers or candidates of this system; may be repeated, except for candidates.",
)
@role_option("of a system with a ranking and an answer, the ranking")
@filter_options
def command(
    source: Path,
    output: Path,
    target_format: str,
    dropped_fields_output: Path | None,
    **options: Any,
) -> None:
    """Convert a file to another format, also of other tools.

    `exam-pp list formats` shows the names of all formats. The format of SOURCE is detected from its content.
    A warning counts the dropped fields, which the target format cannot hold. For runs, PATH is a folder,
    unless there is only one system and PATH has an extension.

    Of a passages file, a format holds only a part:

    \b
      run                     rankings; the name of a run file is that of its system
      rag24, rag25, ragtime, plain-answers
                              answers that `exam-pp import --answers` made passages of
      candidates              the ranking of one system, for rank_llm, UMBRELA and AutoNuggetizer;
                              needs --queries
      nuggetizer-assignments  answers with the nugget assignments of one grader; needs --bank
      qrels                   judgments

    Examples:

    \b
      exam-pp convert nuggets.jsonl --to bank-csv -o nuggets.csv
      exam-pp convert passages.jsonl.gz --to run -o exported-runs
      exam-pp convert answers.jsonl.gz --to rag25 --queries queries.jsonl -o rag25.jsonl
      exam-pp convert passages.jsonl.gz --to candidates --system bm25 --queries queries.jsonl \\
        -o segments.jsonl
      exam-pp convert passages.jsonl.gz --to qrels -o judgments.qrels --also dropped-fields=dropped.json
    """
    from exam_pp.formats.base import FORMATS
    from exam_pp.phases.interchange.bridges import Conversion, convert

    _check_options(FORMATS.get(target_format))
    grades = grade_filter(**take(options, *FILTER))
    conversion = Conversion(source, output, target_format, grades=grades, **options)
    dropped = convert(conversion, dropped_fields_output)
    for line in dropped.lines():
        log.warning("%s", line)
    if not dropped:
        log.info("No fields were dropped.")


def _check_options(target: Format) -> None:
    """Refuse options without an effect on the target format, and a format without the option it needs."""
    context = click.get_current_context()
    known = {target.name, target.content}
    refuse(
        context,
        lambda name: known.isdisjoint(_USED_BY.get(name, known)),
        f"has no effect on --to {target.name}",
    )
    needed = _NEEDS.get(target.name)
    if needed is not None and not is_given(context, needed):
        raise click.UsageError(f"--to {target.name} needs --{needed}.")
