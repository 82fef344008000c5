"""``exam-pp export``: what a passages file holds, for other tools."""

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

_OUTPUT = output_option("The file to write.  [default: standard output]")


@click.group(name="export", cls=Group)
def command() -> None:
    """Write what a passages file holds in the formats of other tools."""


@command.command()
@GRADED
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the run files; made where it does not exist.",
)
def runs(graded: Path, output: Path) -> None:
    """Write one TREC run file per system, from the rankings of GRADED.

    The files hold the passages of GRADED alone. Characters of a system's name that are not safe in a
    file name are percent-encoded.
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
    help="TREC RAG 2024 or 2025, RAGTIME (NeuCLIR), or rows of query_id, system and text.",
)
@click.option("--system", "systems", multiple=True, help="Only this system; may be repeated.")
@click.option("--queries", type=QUERIES_FILE, help=QUERY_TEXTS)
@_OUTPUT
def answers(graded: Path, form: Any, systems: tuple[str, ...], queries: Path | None, output: Path) -> None:
    """Write the answers of systems that GRADED holds, with their citations.

    Answers are what `exam-pp import --answers` made; their parts are the elements.
    """
    from exam_pp.phases.interchange.export_answers import export_answers

    log_summary(export_answers(graded, output, form=form, systems=systems, queries=queries))


@command.command()
@GRADED
@click.option("--bank", type=FILE, required=True, help="The nuggets.")
@filter_options
@_OUTPUT
def assignments(graded: Path, bank: Path, output: Path, **criteria: Any) -> None:
    """Write answers with their nugget assignments, as AutoNuggetizer does; of one grader."""
    from exam_pp.phases.interchange.export_assignments import export_assignments

    log_summary(export_assignments(graded, bank, output, grade_filter(**criteria)))


@command.command()
@GRADED
@click.option("--queries", type=QUERIES_FILE, required=True, help=QUERY_TEXTS)
@filter_options
@_OUTPUT
def umbrela(graded: Path, queries: Path, output: Path, **criteria: Any) -> None:
    """Write direct grades as judge rows of UMBRELA: texts of query and passage, and the label."""
    from exam_pp.phases.interchange.umbrela_rows import export_judge_rows

    chosen = {"prompt_class": "Umbrela"} if criteria["prompt_class"] is None else {}
    log_summary(export_judge_rows(graded, queries, output, grade_filter(**(criteria | chosen))))


@command.command()
@GRADED
@click.option("--system", required=True, help="The system whose ranking is written.")
@click.option("--queries", type=QUERIES_FILE, required=True, help=QUERY_TEXTS)
@_OUTPUT
def candidates(graded: Path, system: str, queries: Path, output: Path) -> None:
    """Write what a system retrieved as segments for rank_llm, UMBRELA and AutoNuggetizer."""
    from exam_pp.phases.interchange.candidate_segments import export_candidates

    log_summary(export_candidates(graded, queries, system, output))
