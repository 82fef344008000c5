"""``exam-pp split``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import PASSAGES, OutputPath, log_summary
from exam_pp.cli.ranges import IntRange
from exam_pp.wording import counted


@click.command("split", cls=Command)
@PASSAGES
@click.option(
    "-o",
    "--output",
    "folder",
    type=OutputPath(folders=True),
    metavar="DIRECTORY",
    required=True,
    help="Folder to write; created if missing.",
)
@click.option(
    "-n", "--count", "parts", type=IntRange(min=1), help="Number of files to write, of nearly equal size."
)
@click.option(
    "--by",
    "unit",
    type=click.Choice(["query"]),
    help="Write a file for each query, named by its percent-encoded id.",
)
def command(passages: Path, folder: Path, parts: int | None, unit: str | None) -> None:
    """Split a passages file into parts of whole queries, or into one file per query.

    The parts of NAME.jsonl.gz are NAME-1-of-N.jsonl.gz and so on. `exam-pp merge` merges them again.

    Example:

    \b
      exam-pp split passages.jsonl.gz --count 2 -o shards
    """
    from exam_pp.phases.passages.split import split_by_query, split_in_parts

    if (parts is None) == (unit is None):
        raise click.UsageError("split needs either --count N or --by query.")
    split = split_by_query(passages, folder) if parts is None else split_in_parts(passages, folder, parts)
    files, queries = counted(len(split.files), "file"), counted(sum(split.files.values()), "query")
    log_summary([f"Written to {folder}: {files} with {queries}."])
