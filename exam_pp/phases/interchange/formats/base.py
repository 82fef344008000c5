"""What ``exam-pp convert`` knows of a file format: its content, and how it is read and written.

To add a format, add a :class:`FileFormat` to :data:`FORMATS`: what it holds (its content), a reader that
gives it, a writer that takes it; both note what they leave out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from exam_pp.phases.interchange.dropped_fields import Used, unused_keys
from exam_pp.phases.interchange.losses import Losses
from exam_pp.registry import Registry
from exam_pp.store.trec.runs import MethodName

Content = Literal["passages", "bank", "queries", "qrels", "runs", "scores", "ranks", "answers", "games"]
"""What a file holds, whatever its format: the type between a reader and a writer.

passages: QueryPassages, bank: BankLine, queries: Query, qrels: Qrel, scores: Score, answers: Answer, games:
Game (each an iterable); runs: system to its lines; ranks: system to rank.
"""


@dataclass(frozen=True)
class Source:
    """Where a reader reads, and where it notes what it leaves out."""

    path: Path
    losses: Losses
    method_name: MethodName = "stem"


@dataclass(frozen=True)
class Target:
    """Where a writer writes, and where it notes what it leaves out.

    ``contexts`` are the texts of passages: query id to passage id to text; ``query_texts`` those of queries.
    """

    path: Path
    losses: Losses
    inputs: Sequence[Path] = ()
    contexts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    query_texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FileFormat:
    """A format: its content, and how it is read and written.

    None where that makes no sense, or takes more than one file: ``read_by`` and ``written_by`` are what does
    it then.
    """

    name: str
    content: Content
    words: str
    read: Callable[[Source], Any] | None = None
    write: Callable[[Any, Target], None] | None = None
    read_by: str = ""
    written_by: str = ""


FORMATS: Registry[FileFormat] = Registry("file format", "file_formats")


def add_format(
    name: str,
    content: Content,
    words: str,
    read: Callable[[Source], Any] | None,
    write: Callable[[Any, Target], None] | None,
    *,
    read_by: str = "",
    written_by: str = "",
) -> None:
    """Register a format."""
    FORMATS.add(name, FileFormat(name, content, words, read, write, read_by, written_by))


def reading(read: Callable[[Path], Any], tree: Used | None = None) -> Callable[[Source], Any]:
    """A reader of a path, which notes keys outside ``tree``."""

    def reader(source: Source) -> Any:
        found = read(source.path)
        if tree is not None:
            found = found if isinstance(found, Mapping) else list(found)
            unused_keys(source.path, tree, source.losses)
        return found

    return reader
