"""``exam-pp merge``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.options import FILE, log_notes, log_summary, required_output
from exam_pp.wording import counted


@click.command("merge")
@click.argument("files", nargs=-1, required=True, type=FILE)
@required_output("United file.")
@click.option(
    "--like", type=FILE,
    help="Put queries and passages in the order of this file; every query of it must be there.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Refuse files that say different things of a passage.")
def command(files: tuple[Path, ...], output: Path, like: Path | None, strict: bool) -> None:
    """Unite passages files: the shards of one grading, or gradings of the same passages.

    Passages are united by query and id. Their grades, rankings and judgments come in the order of the
    FILES, equal ones once; a passage without a text gets that of another file. Two different texts for one
    passage id are refused. What else differs between the files is counted, with the first place.
    """
    from exam_pp.phases.passages.merge import merge_files

    summary = merge_files(files, output, like, strict=strict)
    log_notes(summary.conflicts.lines())
    held = f"{counted(summary.queries, 'query')}, {counted(summary.passages, 'passage')}"
    log_summary([f"{counted(summary.files, 'file')} united: {held}. Written: {output}"])
