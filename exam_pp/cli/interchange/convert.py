"""``exam-pp convert``: conversion of files between formats."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
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
from exam_pp.errors import SelectionError
from exam_pp.store.files import check_output, write_text

if TYPE_CHECKING:
    from exam_pp.formats.base import Format
    from exam_pp.formats.dropped_fields import DroppedFields
    from exam_pp.phases.interchange.bridges import Bridge, Conversion
    from exam_pp.store.trec.answers import Answer

log = logging.getLogger(__name__)

_USED_BY = {
    "bank": {"nuggetizer-assignments"},
    "contexts": {"squad2", "open-rag-eval"},
    "measure": {"ranks"},
    "queries": {"answers", "candidates", "umbrela"},
    "role": {"runs"},
    "systems": {"answers", "candidates", "runs"},
    "unit": {"passages"},
    **{name: {"nuggetizer-assignments", "umbrela"} for name in FILTER},
}
"""Parameter to the target formats that use it, or the contents of these formats."""
_NEEDS = {"candidates": "queries", "nuggetizer-assignments": "bank", "umbrela": "queries"}
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
    help="With --to squad2 or open-rag-eval: passages file with the passage texts.",
)
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"Texts of the queries, for answers, candidates and umbrela ({QUERY_FORMATS}).",
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
      umbrela                 direct grades of one grader, as labels of UMBRELA; needs --queries
      nuggetizer-assignments  answers with the nugget assignments of one grader; needs --bank
      qrels                   judgments

    Examples:

    \b
      exam-pp convert nuggets.jsonl --to bank-csv -o nuggets.csv
      exam-pp convert passages.jsonl.gz --to run -o exported-runs
      exam-pp convert answers.jsonl.gz --to rag25 --queries queries.jsonl -o rag25.jsonl
      exam-pp convert passages.jsonl.gz --to candidates --system bm25 --queries queries.jsonl \\
        -o segments.jsonl
      exam-pp convert labelled.jsonl.gz --to umbrela --queries queries.jsonl -o umbrela.jsonl
      exam-pp convert passages.jsonl.gz --to qrels -o judgments.qrels --also dropped-fields=dropped.json
    """
    from exam_pp.formats.base import FORMATS
    from exam_pp.phases.interchange.bridges import Conversion

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


def convert(conversion: Conversion, dropped_fields_output: Path | None = None) -> DroppedFields:
    """Write the target, and return the dropped fields; ``dropped_fields_output`` gets them as JSON.

    Raises :class:`~exam_pp.errors.SelectionError` for formats that cannot be read, written or converted into
    each other, and :class:`~exam_pp.errors.DataError` for an invalid source.
    """
    from exam_pp.formats.base import FORMATS, Source, Target, format_of
    from exam_pp.formats.dropped_fields import DroppedFields

    name = conversion.source_format
    source_format = FORMATS.get(name) if name else format_of(conversion.source, "--from")
    target_format = FORMATS.get(conversion.target_format)
    bridge = _possible(source_format, target_format)
    if conversion.source.is_dir() and source_format.content != "runs":
        raise SelectionError(
            f"{conversion.source} is a folder, but the format {source_format.name} needs a file; "
            "only runs can be read from a folder."
        )
    inputs = conversion.inputs
    if target_format.content != "runs" and not conversion.target.is_dir():
        check_output(conversion.target, inputs)
    if dropped_fields_output is not None:
        check_output(dropped_fields_output, inputs)
        if dropped_fields_output.resolve() == conversion.target.resolve():
            raise SelectionError(
                f"--also dropped-fields and -o name the same file, {dropped_fields_output}; name two files."
            )
    dropped = DroppedFields()
    assert source_format.read is not None
    assert target_format.write is not None
    source: Any = source_format.read(Source(conversion.source, dropped, conversion.method_name))
    value = bridge(source, dropped, conversion)
    if target_format.content == "runs" and conversion.systems:
        _check_systems(value, conversion)
        value = {system: run for system, run in value.items() if system in conversion.systems}
    if target_format.content == "answers" and (conversion.systems or conversion.queries):
        value = _answers_of_systems(value, conversion)
    contexts = _contexts(conversion.contexts) if conversion.contexts else {}
    target_format.write(value, Target(conversion.target, dropped, inputs, contexts))
    if dropped_fields_output is not None:
        _write_report(conversion, source_format, dropped, dropped_fields_output)
    return dropped


def _possible(source: Format, target: Format) -> Bridge:
    """The conversion between two formats; raises :class:`SelectionError` if it is impossible."""
    from exam_pp.formats.base import all_formats
    from exam_pp.phases.interchange.bridges import bridge_of

    if source.read is None:
        hint = f"; use {source.read_by}" if source.read_by else ""
        raise SelectionError(f"convert cannot read the format {source.name}{hint}.")
    if target.write is None:
        hint = f"; use {target.written_by}" if target.written_by else ""
        raise SelectionError(f"convert cannot write the format {target.name}{hint}.")
    if (bridge := bridge_of(source, target)) is None:
        reachable = [form.name for form in all_formats() if form.write and bridge_of(source, form)]
        raise SelectionError(
            f"{source.name} ({source.content}) cannot be converted to {target.name} ({target.content}); "
            f"possible targets: {', '.join(reachable)}."
        )
    return bridge


def _answers_of_systems(answers: Iterable[Answer], conversion: Conversion) -> list[Answer]:
    """The answers of the selected systems, with the texts of their queries."""
    selected = [a for a in answers if not conversion.systems or a.system in conversion.systems]
    _check_systems({answer.system for answer in selected}, conversion)
    texts = conversion.query_texts
    return [
        answer if answer.query_text.strip() else replace(answer, query_text=texts.get(answer.query_id, ""))
        for answer in selected
    ]


def _check_systems(known: Collection[str], conversion: Conversion) -> None:
    for system in conversion.systems:
        if system not in known:
            raise SelectionError(f"{conversion.source} has no rankings or answers of the system {system!r}.")


def _contexts(path: Path) -> dict[str, dict[str, str]]:
    """Read query id to passage id to text."""
    from exam_pp.store.passages.graded_file import read_passages

    return {
        query.query_id: {passage.passage_id: passage.text for passage in query.passages}
        for query in read_passages(path)
        if query.passages
    }


def _write_report(conversion: Conversion, source: Format, dropped: DroppedFields, path: Path) -> None:
    report = {
        "input": str(conversion.source),
        "from": source.name,
        "output": str(conversion.target),
        "to": conversion.target_format,
        "dropped_fields": dropped.counts,
    }
    write_text(path, json.dumps(report, ensure_ascii=False, indent=2) + "\n", inputs=conversion.inputs)
