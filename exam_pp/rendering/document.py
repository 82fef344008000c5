"""Data model of reports: a title and blocks such as tables, paragraphs and figures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from exam_pp.provenance import Provenance

Cell = str | int | float | None
"""Value of a table cell; None is an empty cell (undefined or missing), not zero."""


@dataclass(frozen=True)
class Table:
    """A table with column names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    decimals: int = 3
    boxed: Collection[tuple[int, int]] = ()
    bold: Collection[tuple[int, int]] = ()
    significant: Collection[int] = ()
    box: str = ""
    shades: Mapping[tuple[int, int], int] = field(default_factory=dict)
    hints: Mapping[int, str] = field(default_factory=dict)
    details: Mapping[tuple[int, int], Sequence[tuple[str, str]]] = field(default_factory=dict)
    details_title: str = "Details"
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Quote:
    """A quoted text, such as a passage or a reply.

    ``marks`` are ranges (start, end, in characters) that are highlighted in HTML.
    """

    text: str
    label: str = ""
    marks: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True)
class Heading:
    """A section title; ``level`` 1 is the highest level in a report."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Link:
    """A link to another file; ``target`` is a path relative to the report."""

    text: str
    target: str


@dataclass(frozen=True)
class Picture:
    """A drawing for HTML pages, in the colours of the page; other formats leave it out."""

    title: str
    description: str
    caption: str
    width: float
    height: float
    shapes: str


TextBlock = Table | Paragraph | Quote | Heading | Link
Block = TextBlock | Picture


@dataclass(frozen=True)
class Report:
    """The result of a command: a title, blocks, and what made their numbers."""

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    provenance: Provenance | None = None

    @property
    def content(self) -> Iterator[Block]:
        """The blocks, and the provenance as the last paragraph."""
        yield from self.blocks
        if self.provenance is not None:
            yield Paragraph(self.provenance.sentence)

    @property
    def text_content(self) -> Iterator[TextBlock]:
        """The content without pictures, for formats other than HTML."""
        return (block for block in self.content if not isinstance(block, Picture))

    @property
    def notes(self) -> list[str]:
        """The texts of all paragraphs."""
        return [block.text for block in self.blocks if isinstance(block, Paragraph)]
