"""``exam-pp export``: export of runs, answers, assignments and labels, also for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Group
from exam_pp.cli.options import (
    GRADED,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    OutputPath,
    bank_option,
    filter_options,
    grade_filter,
    log_summary,
    output_option,
    role_option,
)
from exam_pp.wording import counted

_OUTPUT = output_option("File to write.  [default: standard output]")


@click.group(name="export", cls=Group)
def command() -> None:
    """Export runs, answers, nugget assignments and labels for other tools."""


@command.command()
@PASSAGES
@role_option("of a system with a ranking and an answer, the ranking")
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPath(folders=True, files=False),
    help="Folder for the run files; created if missing.",
)
def runs(passages: Path, role: Any, output: Path) -> None:
    """Write one TREC run file per system from the rankings in PASSAGES.

    The runs hold only the passages of the file. The name of a run file is that of its system; characters that
    are not safe in a file name are percent-encoded. Without --role, the ranking of a system is written that
    has a ranking and an answer.

    Example:

    \b
      exam-pp export runs passages.jsonl.gz -o exported-runs
    """
    from exam_pp.phases.interchange.export_runs import export_runs

    files = export_runs(passages, output, role=role)
    log_summary([f"Wrote {counted(len(files), 'run file')} to {output}."])


@command.command()
@PASSAGES
@click.option(
    "--to",
    "form",
    type=click.Choice(["rag24", "rag25", "ragtime", "plain"]),
    default="rag24",
    show_default=True,
    help="TREC RAG 2024 (rag24) or 2025 (rag25), NeuCLIR and RAGTIME (ragtime), or JSON lines of query_id, "
    "system "
    "and text (plain).",
)
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Only this system; may be repeated.  [default: all systems with answers]",
)
@click.option("--queries", type=QUERIES_FILE, help=f"{QUERY_TEXTS} The formats rag24 and rag25 hold them.")
@_OUTPUT
def answers(passages: Path, form: Any, systems: tuple[str, ...], queries: Path | None, output: Path) -> None:
    """Write the answers of systems in PASSAGES, with their citations.

    Answers are the passages that `exam-pp import --answers` made. Each of them becomes a part of its answer.

    Example:

    \b
      exam-pp export answers answers.jsonl.gz --to rag25 --queries queries.jsonl -o rag25.jsonl
    """
    from exam_pp.phases.interchange.export_answers import export_answers

    log_summary(export_answers(passages, output, form=form, systems=systems, queries=queries))


@command.command()
@GRADED
@bank_option("Test bank of the nuggets.", required=True)
@filter_options
@_OUTPUT
def assignments(graded: Path, bank: Path, output: Path, **criteria: Any) -> None:
    """Write answers with the nugget assignments of one grader in the format of AutoNuggetizer.

    If GRADED has assignments of several graders, select one with --grader and --prompt-class.

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

    If GRADED has direct grades of several graders or prompts, select one with --grader and --prompt-class.

    Example:

    \b
      exam-pp export umbrela labelled.jsonl.gz --queries queries.jsonl -o umbrela.jsonl
    """
    from exam_pp.phases.interchange.umbrela_rows import export_judge_rows

    default = {"prompt_type": "direct"} if criteria["prompt_type"] is None else {}
    log_summary(export_judge_rows(graded, queries, output, grade_filter(**(criteria | default))))


@command.command()
@PASSAGES
@click.option("--system", required=True, metavar="NAME", help="System whose ranking is written.")
@click.option("--queries", type=QUERIES_FILE, required=True, help=QUERY_TEXTS)
@_OUTPUT
def candidates(passages: Path, system: str, queries: Path, output: Path) -> None:
    """Write the ranking of a system as segments for rank_llm, UMBRELA and AutoNuggetizer.

    Every line holds a query with its segments, best first.

    Example:

    \b
      exam-pp export candidates passages.jsonl.gz --system bm25 --queries queries.jsonl \\
        -o segments.jsonl
    """
    from exam_pp.phases.interchange.candidate_segments import export_candidates

    log_summary(export_candidates(passages, queries, system, output))
