"""``exam-pp export``: export of runs, answers, assignments and labels to the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.groups import Group
from exam_pp.cli.options import (
    FILE,
    GRADED,
    QUERIES_FILE,
    QUERY_TEXTS,
    filter_options,
    grade_filter,
    log_summary,
    output_option,
)
from exam_pp.wording import counted

_OUTPUT = output_option("File to write.  [default: standard output]")


@click.group(name="export", cls=Group)
def command() -> None:
    """Export runs, answers, nugget assignments and labels of a passages file for other tools."""


@command.command()
@GRADED
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the run files; created if missing.",
)
def runs(graded: Path, output: Path) -> None:
    """Write one TREC run file per system from the rankings of GRADED.

    The runs hold only the passages of GRADED. Characters of a system's name that are not safe in a file name
    are percent-encoded.

    Example:

    \b
      exam-pp export runs passages.jsonl.gz -o exported-runs
    """
    from exam_pp.phases.interchange.export_runs import export_runs

    log_summary([f"Wrote {counted(len(export_runs(graded, output)), 'run file')} to {output}."])


@command.command()
@GRADED
@click.option(
    "--format",
    "form",
    type=click.Choice(["rag24", "rag25", "ragtime", "plain"]),
    default="rag24",
    show_default=True,
    help="TREC RAG 2024 or 2025, RAGTIME (NeuCLIR), or JSON lines of query_id, system and text.",
)
@click.option("--system", "systems", multiple=True, help="Only this system; may be repeated.  [default: all]")
@click.option("--queries", type=QUERIES_FILE, help=QUERY_TEXTS)
@_OUTPUT
def answers(graded: Path, form: Any, systems: tuple[str, ...], queries: Path | None, output: Path) -> None:
    """Write the answers of systems in GRADED, with their citations.

    Answers are the passages that `exam-pp import --answers` made; each passage becomes a part of its answer.

    Example:

    \b
      exam-pp export answers answers.jsonl.gz --format rag25 --queries queries.jsonl -o rag25.jsonl
    """
    from exam_pp.phases.interchange.export_answers import export_answers

    log_summary(export_answers(graded, output, form=form, systems=systems, queries=queries))


@command.command()
@GRADED
@click.option("--bank", type=FILE, required=True, help="The test bank with the nuggets.")
@filter_options
@_OUTPUT
def assignments(graded: Path, bank: Path, output: Path, **criteria: Any) -> None:
    """Write answers with the nugget assignments of one grader in the format of AutoNuggetizer.

    Example:

    \b
      exam-pp export assignments assigned.jsonl.gz --bank nuggets.jsonl -o assignments.jsonl
    """
    from exam_pp.phases.interchange.export_assignments import export_assignments

    log_summary(export_assignments(graded, bank, output, grade_filter(**criteria)))


@command.command()
@GRADED
@click.option("--queries", type=QUERIES_FILE, required=True, help=QUERY_TEXTS)
@filter_options
@_OUTPUT
def umbrela(graded: Path, queries: Path, output: Path, **criteria: Any) -> None:
    """Write direct grades in the format of UMBRELA: query text, passage text and label.

    Without --prompt-class, the grades of the prompt class Umbrela are written.

    Example:

    \b
      exam-pp export umbrela labelled.jsonl.gz --queries queries.jsonl -o umbrela.jsonl
    """
    from exam_pp.phases.interchange.umbrela_rows import export_judge_rows

    default = {"prompt_class": "Umbrela"} if criteria["prompt_class"] is None else {}
    log_summary(export_judge_rows(graded, queries, output, grade_filter(**(criteria | default))))


@command.command()
@GRADED
@click.option("--system", required=True, help="The system.")
@click.option("--queries", type=QUERIES_FILE, required=True, help=QUERY_TEXTS)
@_OUTPUT
def candidates(graded: Path, system: str, queries: Path, output: Path) -> None:
    """Write the ranking of a system as segments for rank_llm, UMBRELA and AutoNuggetizer.

    Example:

    \b
      exam-pp export candidates passages.jsonl.gz --system bm25 --queries queries.jsonl \\
          -o segments.jsonl
    """
    from exam_pp.phases.interchange.candidate_segments import export_candidates

    log_summary(export_candidates(graded, queries, system, output))
