"""``exam-pp split``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import PASSAGES, OutputPath, log_summary
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import SelectionError
from exam_pp.store.files import folder_output, is_stream
from exam_pp.text.wording import counted


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
    "-n",
    "--count",
    "parts",
    type=IntRange(min=1),
    required=True,
    help="Number of files to write, of nearly equal size.",
)
def command(passages: Path, folder: Path, parts: int) -> None:
    """Split a passages file into parts of whole queries.

    The parts of NAME.jsonl.gz are NAME-1-of-N.jsonl.gz and so on. `exam-pp merge` merges them again.
    `exam-pp filter --query ID` writes the part of a single query.

    Example:

    \b
      exam-pp split passages.jsonl.gz --count 2 -o shards
    """
    split = split_in_parts(passages, folder, parts)
    files, queries = counted(len(split), "file"), counted(sum(split.values()), "query")
    log_summary([f"Written to {folder}: {files} with {queries}."])


def split_in_parts(source: Path, folder: Path, parts: int) -> dict[Path, int]:
    """Write ``NAME-1-of-N`` to ``NAME-N-of-N`` into a folder, which is created if it is missing.

    Returns the files with the numbers of their queries.

    All lines of a query are written to the part that has the fewest bytes so far, so the parts differ by at
    most the largest query. The order of the file is kept. After an error no part is written. Raises
    :class:`SelectionError` if there are more parts than queries.
    """
    from exam_pp.store.passages.graded_file import passages_writer
    from exam_pp.store.passages.raw_passages import read_raw_passages

    stem, dot, suffix = ("passages.jsonl.gz" if is_stream(source) else source.name).partition(".")
    suffix = dot + suffix or ".jsonl"
    names = [f"{stem}-{number}-of-{parts}{suffix}" for number in range(1, parts + 1)]
    sizes = [0] * parts
    part_of: dict[str, int] = {}
    with folder_output(folder, [source], source.name) as work, ExitStack() as outputs:
        writers = [outputs.enter_context(passages_writer(work / name)) for name in names]
        for query in read_raw_passages(source):
            part = part_of.setdefault(query.query_id, sizes.index(min(sizes)))
            sizes[part] += len(query.dump())
            writers[part].write(query)
        if len(part_of) < parts:
            queries = counted(len(part_of), "query")
            raise SelectionError(f"{source} has {queries}, which is fewer than --count {parts}.")
    return {folder / name: list(part_of.values()).count(part) for part, name in enumerate(names)}
