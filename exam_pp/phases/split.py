"""A passages file in parts: of nearly equal size, or one for every query."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.errors import DataError, SelectionError
from exam_pp.store.files import is_stream, make_folder, safe_name
from exam_pp.store.passages import passages_writer
from exam_pp.store.raw_passages import read_raw_passages


@dataclass
class Split:
    """The files that were written, with their queries."""

    files: dict[Path, int] = field(default_factory=dict)


def split_in_parts(source: Path, folder: Path, parts: int) -> Split:
    """Write ``NAME-1-of-N`` to ``NAME-N-of-N`` into a folder, which is made if it is missing.

    Every query goes, with all its lines, to the part that is the smallest so far: the parts differ by no
    more than the largest query. The order of the file stays. All parts appear, or none. Raises
    :class:`SelectionError` where there are more parts than queries.
    """
    stem, suffix = _name(source)
    target = make_folder(folder)
    files = [target / f"{stem}-{number}-of-{parts}{suffix}" for number in range(1, parts + 1)]
    sizes = [0] * parts
    part_of: dict[str, int] = {}
    with ExitStack() as outputs:
        writers = [outputs.enter_context(passages_writer(file, inputs=[source])) for file in files]
        for query in read_raw_passages(source):
            part = part_of.setdefault(query.query_id, sizes.index(min(sizes)))
            sizes[part] += len(query.dump())
            writers[part].write(query)
        if len(part_of) < parts:
            raise SelectionError(f"{source} has {len(part_of)} queries, too few for {parts} parts.")
    return Split({file: list(part_of.values()).count(part) for part, file in enumerate(files)})


def split_by_query(source: Path, folder: Path) -> Split:
    """Write one file for every query into a folder, which is made if it is missing.

    The file's name is the query's id, escaped (:func:`~exam_pp.store.files.safe_name`). Raises
    :class:`DataError` for a query on several lines, and for ids that differ in case alone, whose files would
    be one on many systems.
    """
    if is_stream(source):
        raise SelectionError(f"A split by query reads the file twice: name a file, not {str(source)!r}.")
    _check_ids(source)
    _, suffix = _name(source)
    target = make_folder(folder)
    split = Split()
    for query in read_raw_passages(source):
        file = target / (safe_name(query.query_id) + suffix)
        with passages_writer(file, inputs=[source]) as writer:
            writer.write(query)
        split.files[file] = 1
    if not split.files:
        raise DataError("holds no queries.", file=str(source))
    return split


def _check_ids(source: Path) -> None:
    known: dict[str, tuple[int, str]] = {}
    for position, query in enumerate(read_raw_passages(source), 1):
        first, name = known.setdefault(query.query_id.casefold(), (position, query.query_id))
        if first == position:
            continue
        if name == query.query_id:
            raise DataError(
                f"the query {name!r} stands on several lines; unite them with `exam-pp merge` first.",
                file=str(source),
            )
        raise DataError(
            f"the queries {name!r} and {query.query_id!r} differ in case alone; split into parts instead.",
            file=str(source),
        )


def _name(source: Path) -> tuple[str, str]:
    """The file's name up to its suffixes, and these."""
    if is_stream(source):
        return "passages", ".jsonl.gz"
    stem, dot, suffix = source.name.partition(".")
    return (stem, dot + suffix) if stem and dot else (source.name, ".jsonl")
