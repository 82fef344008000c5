"""A report as data: a title and blocks, for every renderer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

Cell = str | int | float | None
"""None is an empty cell: a value that does not exist, never a zero."""


@dataclass(frozen=True)
class Table:
    """Rows under column names. ``decimals`` is how floats are shown to people (TSV and text alike).

    Columns in ``significant`` show two significant digits instead.
    ``boxed`` and ``bold`` are the (row, column) places of cells that stand out, where a format can show it.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    decimals: int = 3
    boxed: Collection[tuple[int, int]] = ()
    bold: Collection[tuple[int, int]] = ()
    significant: Collection[int] = ()


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Quote:
    """A text that is shown as it is: a passage, a reply.

    ``marks`` are the stretches (start and end, in characters) that stand out, where a format can show it.
    """

    text: str
    label: str = ""
    marks: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True)
class Heading:
    """A section title; ``level`` 1 is the highest inside a report."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Link:
    """The way to another file, by a path relative to where the report is written."""

    text: str
    target: str


@dataclass(frozen=True)
class Image:
    """A figure as the bytes of a PNG; formats without pictures show its caption."""

    png: bytes
    caption: str


Block = Table | Paragraph | Quote | Heading | Link | Image


@dataclass(frozen=True)
class Report:
    """What a command has to say."""

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)

    @property
    def notes(self) -> list[str]:
        """The running text."""
        return [block.text for block in self.blocks if isinstance(block, Paragraph)]
