"""``exam-pp merge``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.options import FILE, log_notes, log_summary, required_output
from exam_pp.plugins import offered
from exam_pp.text.wording import counted


@click.command("merge", cls=Command)
@click.argument("files", nargs=-1, required=True, type=FILE)
@required_output("File to write.")
@click.option(
    "--passages", "like", type=FILE,
    help="Passages file that gives the order of queries and passages; FILES must hold all of its queries.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Stop with an error if values differ between the files.")
def command(files: tuple[Path, ...], output: Path, like: Path | None, strict: bool) -> None:
    """Merge files of one kind: shards, gradings of the same passages, games, or test banks.

    Passages are matched by query and id. Their grades, rankings and judgments are concatenated in the order
    of FILES, without duplicates. A passage without a text gets the text of another file. Two different texts
    of a passage are an error, unless they differ only in whitespace; other differences are counted in a
    warning.

    Games are matched by query, judge, places and order. Equal games are kept once, a graded game replaces an
    ungraded one, and two different games are an error.

    Entries of test banks are matched by query and id. If an entry differs between the banks, that of the
    first bank is kept; two different texts are an error.

    Examples:

    \b
      exam-pp merge passages-1-of-2.jsonl.gz passages-2-of-2.jsonl.gz --passages passages.jsonl.gz \\
        -o merged.jsonl.gz
      exam-pp merge questions.jsonl questions-2.jsonl -o merged.jsonl
    """
    from exam_pp.store.banks.bank_json import is_bank_file

    if any(map(is_bank_file, files)):
        from exam_pp.phases.banks.compare import merge_banks

        refuse_without("passages files or games files", "like")
        log_summary([*merge_banks(files, output, strict=strict).lines(), f"Written: {output}"])
        return
    from exam_pp.phases.passages.merge import merge_files

    # A plug-in offers a function that returns whether the files have its content, and merges them if so.
    if any(merge(files, output, like, strict=strict) for merge in offered("merge")):
        return
    summary = merge_files(files, output, like, strict=strict)
    log_notes(summary.conflicts.lines())
    contents = f"{counted(summary.queries, 'query')}, {counted(summary.passages, 'passage')}"
    log_summary([f"Merged {counted(summary.files, 'file')}: {contents}. Written: {output}"])
