"""``exam-pp split``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.options import PASSAGES, log_summary
from exam_pp.wording import counted


@click.command("split")
@PASSAGES
@click.option("-o", "--output", "folder", type=click.Path(path_type=Path), required=True, help="Folder.")
@click.option("-n", "--parts", type=click.IntRange(min=1), help="So many files of nearly equal size.")
@click.option("--by-query", is_flag=True, help="One file for every query, with its id, escaped, as the name.")
def command(passages: Path, folder: Path, parts: int | None, by_query: bool) -> None:
    """Cut PASSAGES into files of whole queries; `exam-pp merge` puts them together again."""
    from exam_pp.phases.passages.split import split_by_query, split_in_parts

    if (parts is None) != by_query:
        raise click.UsageError("Say --parts N or --by-query.")
    split = split_by_query(passages, folder) if parts is None else split_in_parts(passages, folder, parts)
    files, queries = counted(len(split.files), "file"), counted(sum(split.files.values()), "query")
    log_summary([f"{files} with {queries} written to {folder}"])
