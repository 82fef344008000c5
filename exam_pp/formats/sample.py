"""Format detection: the parsed beginning of a file, and how well it fits each format."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from exam_pp.errors import DataError
from exam_pp.store.csv_cells import NUMBERING, is_separator_line, separator_of, system_first
from exam_pp.store.files import read_lines, read_text
from exam_pp.store.numbers import is_number, plain_number
from exam_pp.store.tables import Layout, header_of, index_columns, long_cells
from exam_pp.store.trec.published_boards import is_footer
from exam_pp.store.trec.queries import is_outlines

SYSTEMS = frozenset(("system", "systems", "method", "run", "runid", "runtag", "model", "agent", "team"))
"""Words that occur in the name of a column of systems."""
_MAX_LINES = 20
"""Number of lines in the sample of a file that is not JSON."""


class Fit(IntEnum):
    """How well a file fits a format. A file has the format with the best fit."""

    NOT = 0
    FAINT = 1
    """Only names or cells that a reader accepts."""
    LOOSE = 2
    """A shape that many files share: ids with texts or numbers, two columns."""
    FAIR = 3
    """Names of columns or keys that other formats may have too."""
    GOOD = 4
    """All lines have the shape of the format."""
    STRONG = 5
    """Numbers are in the columns where the format has them, and there is no header."""
    CERTAIN = 6
    """Names of columns or keys that only this format has."""


@dataclass(frozen=True)
class Sample:
    """The beginning of a file, parsed either as JSON, as markup or as a table.

    ``value`` is the first JSON value, and ``is_document`` is true if it is the only one. ``markup`` are lines
    of XML or SGML. ``texts`` are the lines of a table. The attributes of other formats are empty.
    ``is_outlines`` is true for pages of TREC CAR in CBOR.
    """

    is_folder: bool = False
    is_outlines: bool = False
    value: Any = None
    is_document: bool = False
    markup: Sequence[bytes] = ()
    texts: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    """The cells of a table, without columns that only number the rows."""

    @classmethod
    def of(cls, path: str | Path) -> Sample:
        """Read the sample of a file or folder; raises :class:`DataError` if it cannot be read."""
        if Path(path).is_dir():
            return cls(is_folder=True)
        lines = [line for _, line in islice(read_lines(path), _MAX_LINES)]
        first = lines[0] if lines else b""
        if first[:1] in (b"{", b"["):
            value, whole = _first_value(path, lines)
            return cls(value=value, is_document=whole or len(lines) == 1)
        if first[:1] == b"<":
            return cls(markup=lines)
        if is_outlines(first):
            return cls(is_outlines=True)
        texts = [line.decode("utf-8", "replace") for line in lines]
        texts = [text for text in texts if not is_footer(text.partition("\t")[0])]
        texts = texts[1:] if texts and is_separator_line(texts[0]) else texts
        if not texts or any("\0" in text for text in texts):
            return cls()
        with suppress(csv.Error), long_cells():  # a binary file raises csv.Error: the sample is empty
            rows = [[cell.strip() for cell in row] for row in _cells(texts)]
            index = index_columns(rows[0])
            return cls(texts=texts, rows=[row[index:] for row in rows])
        return cls()

    @property
    def object(self) -> Mapping[str, Any]:
        """The first JSON value if it is an object, else an empty mapping."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def item(self) -> Mapping[str, Any]:
        """The first JSON object, or the first of a list of objects; else an empty mapping."""
        first = self.value[0] if isinstance(self.value, list) and self.value else self.value
        return first if isinstance(first, dict) else {}

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the columns of a table with any separator, or the keys of :attr:`item`."""
        with suppress(csv.Error):
            return header_of(self.texts[0]) if self.texts else tuple(self.item)
        return ()

    def has(self, layout: Layout) -> bool:
        """Whether a table or a list of JSON objects has the columns of a layout."""
        return layout.fits(self.names)

    @property
    def values(self) -> Sequence[Any]:
        """The values of a JSON document that is one object, such as ``{id: text}``; else empty."""
        return list(self.object.values()) if self.is_document else []

    @property
    def header(self) -> Sequence[str]:
        """The first row of a table; empty if the file has no rows."""
        return self.rows[0] if self.rows else []

    @cached_property
    def fields(self) -> Sequence[Sequence[str]]:
        """The whitespace-separated fields of each line.

        Empty if the first line is a comment: that is the title of a table of exam_pp, whose counts look like
        the columns of other formats.
        """
        commented = self.texts and self.texts[0].startswith("# ")
        return [] if commented else [text.split() for text in self.texts]

    @property
    def is_titled(self) -> bool:
        """Whether the first row is a header of three columns or more."""
        return len(self.header) > 2 and not any(map(is_number, self.header))

    @property
    def is_tabbed(self) -> bool:
        """Whether tabs separate the cells."""
        return bool(self.texts) and "\t" in self.texts[0]

    @property
    def has_four_fields(self) -> bool:
        """Whether all lines have four fields, as results of AutoJudge have: run, topic, measure, value."""
        fields = self.fields
        return (
            bool(fields)
            and all(len(row) == 4 for row in fields)
            and not {"measure", "system"} <= set(fields[0])
        )

    @property
    def columns(self) -> frozenset[str]:
        """The names in the first row of a table; empty if all lines have four fields."""
        return frozenset(self.header) if self.fields and not self.has_four_fields else frozenset()

    @property
    def is_of_pairs(self) -> bool:
        """Whether most rows are two non-empty cells."""
        return bool(self.columns) and most(len(row) == 2 and all(row) for row in self.rows)

    @property
    def is_of_numbered_pairs(self) -> bool:
        """Whether the second cells of most rows after the header are numbers."""
        return most(_is_number(row[1]) for row in self.rows[1:] or self.rows if len(row) > 1)

    @property
    def is_of_systems(self) -> bool:
        """Whether the first column is named like a column of systems, and most rows have numbers.

        A leaderboard with any other header is not detected: users name its format with an option.
        """
        is_numbered = bool(self.header) and self.header[0].lower() in NUMBERING
        header, *rows = system_first([*map(list, self.rows)]) if is_numbered else [*self.rows] or [[]]
        return (
            len(header) > 1
            and bool(SYSTEMS.intersection(re.findall(r"[a-z]+", header[0].lower())))
            and most(len(row) <= len(header) and any(map(_is_number, row[1:])) for row in rows)
        )


Sniff = Callable[[Sample], Fit]


def never(_sample: Sample) -> Fit:
    """The sniff function of a format that is never detected from the content."""
    return Fit.NOT


def fits(test: Callable[[Sample], bool], fit: Fit = Fit.CERTAIN) -> Sniff:
    """Make a sniff function that returns ``fit`` if the sample passes the test."""
    return lambda sample: fit if test(sample) else Fit.NOT


def with_keys(*names: str, fit: Fit = Fit.CERTAIN, arrays: bool = False) -> Sniff:
    """Make a sniff function for JSON objects that have all these keys, or ``arrays`` of such objects."""
    return fits(lambda s: (s.item if arrays else s.object).keys() >= set(names), fit)


def with_columns(*names: str) -> Sniff:
    """Make a sniff function for tables that have all these columns."""
    return fits(lambda sample: sample.columns >= set(names), Fit.FAIR)


def most(tests: Iterable[bool]) -> bool:
    """Whether more than half of the lines fit; the reader reports errors in the rest."""
    results = list(tests)
    return 2 * sum(results) > len(results)


def nearly_all(tests: Iterable[bool]) -> bool:
    """Whether at least nine of ten values fit, because many JSON objects contain some texts or numbers."""
    results = list(tests)
    return bool(results) and 10 * sum(results) >= 9 * len(results)


def _first_value(path: str | Path, lines: list[bytes]) -> tuple[Any, bool]:
    """Return the value on the first line, or of a document over many lines, and whether it is the whole file.

    If the first line is damaged, the next JSON object or list of the sample is used.
    """
    try:
        return json.loads(lines[0]), False
    except (ValueError, RecursionError):
        pass
    with suppress(ValueError, RecursionError, DataError):
        return json.loads(read_text(path)), True
    for line in lines[1:]:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, list | dict):
                return value, False
    return None, True


def _is_number(cell: str) -> bool:
    """Whether a cell is a number in any language."""
    return is_number(plain_number(cell, "."))


def _cells(lines: list[str]) -> Iterator[list[str]]:
    separator = separator_of(lines[0])
    if separator == "\t":
        return (line.split("\t") for line in lines)
    return csv.reader(lines, delimiter=separator)
