"""File formats as values: content, detection, reader, writer, checks and schema of each format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from exam_pp.errors import DataError
from exam_pp.formats.dropped_fields import DroppedFields, Used, count_unused_keys
from exam_pp.formats.sample import Fit, Sample, Sniff, never
from exam_pp.registry import Registry
from exam_pp.store.tables import Cells, Layout, read_cells
from exam_pp.store.trec.runs import MethodName

Content = Literal[
    "passages",
    "bank",
    "queries",
    "texts",
    "qrels",
    "runs",
    "scores",
    "ranks",
    "answers",
    "games",
    "edits",
    "pairs",
    "manifest",
]
"""The subject of a file, whatever its format.

Each content has a Python type, which readers return and writers take: an iterable of QueryPassages, BankLine,
Query, Qrel, Score, Answer or QueryGames; a mapping of passage id to text (texts), or of system to lines
(runs) or to rank (ranks); Edits; PairSample (pairs).
"""


@dataclass(frozen=True)
class Source:
    """The file to read, and the counts of dropped fields that a reader adds to."""

    path: Path
    dropped: DroppedFields
    method_name: MethodName = "stem"


@dataclass(frozen=True)
class Target:
    """The file to write, and the counts of dropped fields that a writer adds to.

    ``contexts`` are passage texts: query id to passage id to text.
    """

    path: Path
    dropped: DroppedFields
    inputs: Sequence[Path] = ()
    contexts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Schema(NamedTuple):
    """A JSON Schema that ``exam-pp show schema`` prints: its name, a description, and the Python type.

    It describes one line of a JSON lines file, or else the whole file. Several formats may share a schema.
    """

    name: str
    about: str
    type: Any


@dataclass(frozen=True)
class Format:
    """A file format.

    ``read``: Reads the content. None if the format cannot be converted or needs several files. ``write``:
    Writes the content, or the part of passages that the format holds. None as for ``read``. ``of_passages``:
    Makes the records of a format that holds only a part of passages, from passages and their
    :class:`exam_pp.phases.interchange.bridges.Conversion`. ``imports``: Writes files as a passages file
    (``exam-pp import --from``) and returns the lines of the summary; its options are those of the command.
    ``read_by``: The command that reads the format if ``read`` is None. ``written_by``: The command that
    writes the format if ``write`` is None.
    """

    name: str
    content: Content
    about: str
    sniff: Sniff = never
    records: Callable[[Path], Iterable[Any]] | None = None
    noun: str = "record"
    read: Callable[[Source], Any] | None = None
    write: Callable[[Any, Target], None] | None = None
    of_passages: Callable[[Any, DroppedFields, Any], Any] | None = None
    imports: Callable[..., Iterable[str]] | None = None
    read_by: str = ""
    written_by: str = ""
    schema: Schema | None = None


FORMATS: Registry[Format] = Registry("file format", "file_formats", "exam_pp.formats")


def register(*formats: Format) -> None:
    """Add formats to :data:`FORMATS`."""
    for form in formats:
        FORMATS.add(form.name, form)


def all_formats() -> list[Format]:
    """All formats, sorted by name."""
    return [FORMATS.get(name) for name in FORMATS]


def format_of(path: str | Path, option: str = "--from") -> Format:
    """Detect the format of a file from the content; a folder is a folder of runs."""
    form = known_format(path)
    if form is None:
        raise DataError(
            f"has a format that cannot be detected; name the format with {option}.",
            file=str(path),
        )
    return form


def known_format(path: str | Path) -> Format | None:
    """Detect the format of a file as :func:`format_of` does, but return None if no format fits.

    Raises :class:`DataError` for a file that cannot be read.
    """
    sample = Sample.of(path)
    fits = [(form.sniff(sample), form) for form in all_formats()]
    fit, best = max(fits, key=lambda pair: pair[0])  # of several best fits, the first by name
    return best if fit > Fit.NOT else None


def make_reader(
    read: Callable[[Path], Any], ignored: Used | Callable[[Path, DroppedFields], None] | None = None
) -> Callable[[Source], Any]:
    """Make a reader from a function of a path.

    ``ignored`` counts what the reader ignores as dropped; a tree of keys counts the keys outside it.
    """
    count = partial(count_unused_keys, tree=ignored) if isinstance(ignored, Mapping) else ignored

    def reader(source: Source) -> Any:
        content = read(source.path)
        if count is not None:
            content = content if isinstance(content, Mapping) else list(content)
            count(source.path, source.dropped)
        return content

    return reader


def make_writer(write: Callable[..., None], **options: Any) -> Callable[[Any, Target], None]:
    """Make a writer from a function of content and path, for a format that drops no field."""
    return lambda value, target: write(value, target.path, inputs=target.inputs, **options)


def csv_format(
    name: str,
    content: Content,
    about: str,
    sniff: Sniff,
    layout: Layout,
    parse: Callable[[Cells, Path], Any],
    noun: str,
    write: Callable[[Any, Target], None] | None = None,
    *,
    content_of: Callable[[Cells, Path], Any] | None = None,
    written_by: str = "",
) -> Format:
    """Make a CSV format.

    ``parse`` turns the cells into records, and ``content_of`` into the content, if the two differ.
    """

    def read(source: Source) -> Any:
        cells = read_cells(source.path, layout, source.dropped.fields)
        return (content_of or parse)(cells, source.path)

    records = csv_records(parse, layout)
    return Format(name, content, about, sniff, records, noun, read, write, written_by=written_by)


def csv_records(parse: Callable[[Cells, Path], Any], layout: Layout) -> Callable[[Path], Any]:
    """Make a function that reads the cells of a CSV file and turns them into records with ``parse``."""
    return lambda path: parse(read_cells(path, layout), path)
