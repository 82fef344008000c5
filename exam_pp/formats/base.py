"""File formats as values: what a format holds, how it is told, read, checked, written and described."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from exam_pp.errors import DataError
from exam_pp.formats.dropped_fields import DroppedFields, Used, unused_keys
from exam_pp.formats.sample import Fit, Sample, Sniff, never
from exam_pp.registry import Registry
from exam_pp.store.csv_cells import Cells, Layout, read_cells
from exam_pp.store.files import is_stream
from exam_pp.store.trec.runs import MethodName

Content = Literal[
    "passages", "bank", "queries", "qrels", "runs", "scores", "ranks", "answers", "games", "edits"
]
"""What a file holds, whatever its format: the type between a reader and a writer.

passages: QueryPassages, bank: BankLine, queries: Query, qrels: Qrel, scores: Score, answers: Answer, games:
Game (each an iterable); runs: system to its lines; ranks: system to rank; edits: Edits.
"""


@dataclass(frozen=True)
class Source:
    """Where a reader reads, and where it notes what it leaves out."""

    path: Path
    dropped: DroppedFields
    method_name: MethodName = "stem"


@dataclass(frozen=True)
class Target:
    """Where a writer writes, and where it notes what it leaves out.

    ``contexts`` are the texts of passages: query id to passage id to text; ``query_texts`` those of queries.
    """

    path: Path
    dropped: DroppedFields
    inputs: Sequence[Path] = ()
    contexts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    query_texts: Mapping[str, str] = field(default_factory=dict)


class Schema(NamedTuple):
    """A JSON Schema that ``exam-pp schema`` prints: its name, what it describes, and the type of that.

    It describes a line of JSON lines, or the file as a whole. Several formats may share one.
    """

    name: str
    about: str
    type: Any


@dataclass(frozen=True)
class Format:
    """A file format.

    Args:
        name: What users call it.
        content: What its files hold.
        about: What it is, in a few words.
        sniff: How well the beginning of a file fits the format.
        records: Reads the file's own records and raises :class:`DataError` for the first bad one; by it
            ``exam-pp validate`` checks files.
        noun: What a record is called.
        read: Reads the content. None where that makes no sense or takes several files.
        write: Writes the content. None as for ``read``.
        read_by: The command that reads files which ``read`` cannot.
        written_by: The command that writes files which ``write`` cannot.
        schema: The schema of JSON files.
    """

    name: str
    content: Content
    about: str
    sniff: Sniff = never
    records: Callable[[Path], Iterable[Any]] | None = None
    noun: str = "record"
    read: Callable[[Source], Any] | None = None
    write: Callable[[Any, Target], None] | None = None
    read_by: str = ""
    written_by: str = ""
    schema: Schema | None = None


FORMATS: Registry[Format] = Registry("file format", "file_formats", "exam_pp.formats")


def register(*formats: Format) -> None:
    """Add formats to :data:`FORMATS`."""
    for form in formats:
        FORMATS.add(form.name, form)


def all_formats() -> list[Format]:
    """Every format, sorted by name."""
    return [FORMATS.get(name) for name in FORMATS]


def format_of(path: str | Path, option: str = "--kind") -> Format:
    """The format of a file, told by its content; a folder is one of runs.

    Args:
        path: The file.
        option: The option that names the format, for errors.

    Raises:
        DataError: No format fits, or the file is a stream, which cannot be looked into and then read.
    """
    if not Path(path).is_dir() and is_stream(path):
        raise DataError(f"is a stream: say what it holds with {option}.", file=str(path))
    form = known_format(path)
    if form is None:
        raise DataError(
            f"is not of a kind that is known by its content: say what it holds with {option}.",
            file=str(path),
        )
    return form


def known_format(path: str | Path) -> Format | None:
    """As :func:`format_of`, but None where no format fits; raises :class:`DataError` if it cannot be read."""
    if not Path(path).is_dir() and is_stream(path):
        raise DataError(
            "is a stream, which cannot be looked into and then read: name a file.", file=str(path)
        )
    sample = Sample.of(path)
    found = [(form.sniff(sample), form) for form in all_formats()]
    fit, best = max(found, key=lambda pair: pair[0])  # the first by name of those that fit equally well
    return best if fit > Fit.NOT else None


def reading(read: Callable[[Path], Any], tree: Used | None = None) -> Callable[[Source], Any]:
    """A reader of a path, which notes keys outside ``tree``."""

    def reader(source: Source) -> Any:
        found = read(source.path)
        if tree is not None:
            found = found if isinstance(found, Mapping) else list(found)
            unused_keys(source.path, tree, source.dropped)
        return found

    return reader


def writing(write: Callable[..., None], **options: Any) -> Callable[[Any, Target], None]:
    """A writer of a path, for a format that holds the whole content."""
    return lambda value, target: write(value, target.path, inputs=target.inputs, **options)


def csv_format(
    name: str,
    content: Content,
    about: str,
    sniff: Sniff,
    layout: Layout,
    made: Callable[[Cells, Path], Any],
    noun: str,
    write: Callable[[Any, Target], None],
    *,
    content_of: Callable[[Cells, Path], Any] | None = None,
) -> Format:
    """A CSV format; ``content_of`` makes the content of its cells where the records are something else."""

    def read(source: Source) -> Any:
        return (content_of or made)(read_noted_cells(source, layout), source.path)

    return Format(name, content, about, sniff, csv_records(made, layout), noun, read, write)


def csv_records(made: Callable[[Cells, Path], Any], layout: Layout) -> Callable[[Path], Any]:
    """A reader of the records that ``made`` makes of a CSV file's cells."""
    return lambda path: made(read_cells(path, layout), path)


def read_noted_cells(source: Source, layout: Layout) -> Cells:
    """The cells of a CSV file; values of columns outside the layout are noted as left out."""
    cells = read_cells(source.path, layout)
    for name, count in cells.unused.items():
        source.dropped.add(f"values of {name!r}", count)
    return cells
