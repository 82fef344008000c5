"""Data model of reports: a title and blocks such as tables, paragraphs, figures and folded sections."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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


@dataclass(frozen=True)
class Statement:
    """The first sentences of a page; HTML pages show them in a box. They begin with ``headline``."""

    text: str
    headline: str = ""


class Bar(NamedTuple):
    """A row of :class:`Bars`: texts, and the numbers that are drawn.

    ``low`` and ``high`` are the ends of the interval; None without an interval. ``leads`` rows are marked.
    ``line``: A line separates the row from the next one.
    """

    name: str
    score: str
    interval: str
    place: str
    value: float
    low: float | None = None
    high: float | None = None
    leads: bool = False
    line: bool = False


@dataclass(frozen=True)
class Bars:
    """A ranking, best first, in which HTML pages draw each score with its interval.

    ``columns`` are the names of the four texts of a row. ``about`` stands above the rows, ``notes`` below.
    """

    title: str
    columns: tuple[str, str, str, str]
    rows: Sequence[Bar]
    about: str = ""
    notes: Sequence[str] = ()

    @property
    def text_blocks(self) -> Iterator[TextBlock]:
        """The ranking as a table."""
        if self.about:
            yield Paragraph(self.about)
        yield Table(self.columns, [row[:4] for row in self.rows], self.title)
        yield from map(Paragraph, self.notes)


CheckMark = Literal["good", "doubt", "fact"]
"""What a check says: in order, a reason for doubt, or neither."""


class Check(NamedTuple):
    """A line of :class:`Checks`; ``lead`` is the beginning of its sentence."""

    mark: CheckMark
    lead: str
    text: str


@dataclass(frozen=True)
class Checks:
    """A list of checks, each with a mark."""

    title: str
    lines: Sequence[Check]

    @property
    def text_blocks(self) -> Iterator[TextBlock]:
        """The checks as paragraphs."""
        yield Heading(self.title)
        for line in self.lines:
            yield Paragraph(f"{MARKS[line.mark]} {line.lead}{line.text}")


MARKS: Mapping[CheckMark, str] = {"good": "✓", "doubt": "!", "fact": "i"}
"""The marks of checks in text."""


@dataclass(frozen=True)
class Fold:
    """A section that HTML pages fold; ``about`` says what is in it."""

    title: str
    about: str
    blocks: Sequence[Block]

    @property
    def text_blocks(self) -> Iterator[TextBlock]:
        """The section below its title."""
        yield Heading(self.title)
        yield from in_text(self.blocks)


TextBlock = Table | Paragraph | Quote | Heading | Link
Block = TextBlock | Picture | Statement | Bars | Checks | Fold


def in_text(blocks: Iterable[Block]) -> Iterator[TextBlock]:
    """The blocks without pictures, and with plain blocks in place of those that only HTML pages draw."""
    for block in blocks:
        match block:
            case Picture():
                continue
            case Statement(text):
                yield Paragraph(text)
            case Bars() | Checks() | Fold():
                yield from block.text_blocks
            case _:
                yield block


@dataclass(frozen=True)
class Report:
    """The result of a command: a title, blocks, and what made their numbers.

    ``warnings`` are the notes that commands log as warnings, if a format cannot hold them.
    """

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    provenance: Provenance | None = None
    warnings: Collection[str] = ()

    @property
    def content(self) -> Iterator[Block]:
        """The blocks, and the provenance as the last paragraph."""
        yield from self.blocks
        if self.provenance is not None:
            yield Paragraph(self.provenance.sentence)

    @property
    def text_content(self) -> Iterator[TextBlock]:
        """The content for formats other than HTML."""
        return in_text(self.content)

    @property
    def notes(self) -> list[str]:
        """The texts of all paragraphs."""
        return [block.text for block in self.blocks if isinstance(block, Paragraph)]
