"""``exam-pp split``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import PASSAGES, OutputPath, log_summary
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import DataError, SelectionError
from exam_pp.store.files import folder_output, is_stream, safe_name
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
    if (parts is None) == (unit is None):
        raise click.UsageError("split needs either --count N or --by query.")
    split = split_by_query(passages, folder) if parts is None else split_in_parts(passages, folder, parts)
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

    stem, suffix = _stem_and_suffix(source)
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


def split_by_query(source: Path, folder: Path) -> dict[Path, int]:
    """Write a file per query into a folder, which is created if it is missing.

    The file's name is the escaped id of the query (:func:`~exam_pp.store.files.safe_name`). Raises
    :class:`DataError` for a query on several lines, and for ids that differ only in case, whose files would
    overwrite each other on many systems.
    """
    from exam_pp.store.passages.graded_file import passages_writer
    from exam_pp.store.passages.raw_passages import read_raw_passages

    _, suffix = _stem_and_suffix(source)
    known: dict[str, str] = {}
    with folder_output(folder, [source], source.name) as work:
        for query in read_raw_passages(source):
            folded = query.query_id.casefold()
            if folded in known:
                raise DataError(_conflict(known[folded], query.query_id), file=str(source))
            known[folded] = query.query_id
            with passages_writer(work / (safe_name(query.query_id) + suffix)) as writer:
                writer.write(query)
        if not known:
            raise DataError("has no queries.", file=str(source))
    return {folder / (safe_name(query_id) + suffix): 1 for query_id in known.values()}


def _conflict(first: str, second: str) -> str:
    if first == second:
        return f"the query {first!r} is on several lines. Merge them first with exam-pp merge."
    return f"the query ids {first!r} and {second!r} differ only in case. Use --count instead of --by query."


def _stem_and_suffix(source: Path) -> tuple[str, str]:
    """Return the file's name without extensions, and the extensions."""
    if is_stream(source):
        return "passages", ".jsonl.gz"
    stem, dot, suffix = source.name.partition(".")
    return (stem, dot + suffix) if stem and dot else (source.name, ".jsonl")
