"""The beginning of a file, by which its format is told, and how well it fits a format."""

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
from exam_pp.store.csv_cells import long_cells
from exam_pp.store.files import read_lines, read_text
from exam_pp.store.trec.trec_eval import is_number

SYSTEMS = frozenset(("system", "systems", "method", "run", "runid", "runtag", "model", "agent", "team"))
"""Words in the name of a column of systems."""
_ENOUGH = 20
"""Lines that are looked at, of files that are no JSON."""


class Fit(IntEnum):
    """How well a file fits a format; of several formats, it is of the one that it fits best."""

    NOT = 0
    LOOSE = 1
    """A shape that many files have: ids with texts or numbers, two columns."""
    FAIR = 2
    """Names of columns or keys that files of other formats may have too."""
    GOOD = 3
    """A shape of all lines."""
    STRONG = 4
    """Columns of numbers where the format has them, without names."""
    CERTAIN = 5
    """Names of columns or keys that no other format has."""


@dataclass(frozen=True)
class Sample:
    """The beginning of a file, as JSON, as markup or as a table; the attributes of the other two are empty.

    ``value`` is the first JSON value, and ``is_document`` whether the file holds no other. ``markup`` are
    lines of XML or SGML. ``texts`` are the lines of a table.
    """

    is_folder: bool = False
    value: Any = None
    is_document: bool = False
    markup: Sequence[bytes] = ()
    texts: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    """The cells of a table, by tabs if the first line has any, else by commas."""

    @classmethod
    def of(cls, path: str | Path) -> Sample:
        """The sample of a file or folder; raises :class:`DataError` if it cannot be read."""
        if Path(path).is_dir():
            return cls(is_folder=True)
        lines = [line for _, line in islice(read_lines(path), _ENOUGH)]
        first = lines[0] if lines else b""
        if first[:1] in (b"{", b"["):
            value, whole = _first_value(path, lines)
            return cls(value=value, is_document=whole or len(lines) == 1)
        if first[:1] == b"<":
            return cls(markup=lines)
        texts = [line.decode("utf-8", "replace") for line in lines]
        if not texts or any("\0" in text for text in texts):
            return cls()
        with suppress(csv.Error), long_cells():  # bytes of another program are no table
            rows = [[cell.strip() for cell in row] for row in _cells(texts)]
            return cls(texts=texts, rows=rows)
        return cls()

    @property
    def object(self) -> Mapping[str, Any]:
        """The first JSON value if it is an object, else an empty one."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def item(self) -> Mapping[str, Any]:
        """The first JSON object, also of a list of them."""
        first = self.value[0] if isinstance(self.value, list) and self.value else self.value
        return first if isinstance(first, dict) else {}

    @property
    def values(self) -> Sequence[Any]:
        """The values of a JSON document that is one object, as with ids for keys."""
        return list(self.object.values()) if self.is_document else []

    @property
    def header(self) -> Sequence[str]:
        """The first row of a table."""
        return self.rows[0] if self.rows else []

    @cached_property
    def fields(self) -> Sequence[Sequence[str]]:
        """The fields of a table by white space.

        A comment first is the title of a table of ours, whose counts look like the columns of other files:
        then there are none.
        """
        commented = self.texts and self.texts[0].startswith("# ")
        return [] if commented else [text.split() for text in self.texts]

    @property
    def is_titled(self) -> bool:
        """Whether the first row names three columns or more."""
        return len(self.header) > 2 and not any(map(is_number, self.header))

    @property
    def is_tabbed(self) -> bool:
        """Whether tabs separate the cells."""
        return bool(self.texts) and "\t" in self.texts[0]

    @property
    def has_four_fields(self) -> bool:
        """Whether all lines have four fields, as results of AutoJudge: run, topic, measure and value."""
        fields = self.fields
        return (
            bool(fields)
            and all(len(row) == 4 for row in fields)
            and not {"measure", "system"} <= set(fields[0])
        )

    @property
    def columns(self) -> frozenset[str]:
        """The first row of a table; none where all lines have four fields, which no header tells."""
        return frozenset(self.header) if self.fields and not self.has_four_fields else frozenset()

    @property
    def is_of_pairs(self) -> bool:
        """Whether most rows are two cells, none of them empty."""
        return bool(self.columns) and most(len(row) == 2 and all(row) for row in self.rows)

    @property
    def is_of_numbered_pairs(self) -> bool:
        """Whether the second cells of most rows behind the header are numbers."""
        return most(is_number(row[1]) for row in self.rows[1:] or self.rows if len(row) > 1)

    @property
    def is_of_systems(self) -> bool:
        """Whether the first column is of systems by its name, with numbers for each of them.

        Any other table could be a leaderboard: who means it says so.
        """
        return (
            len(self.header) > 1
            and bool(SYSTEMS.intersection(re.findall(r"[a-z]+", self.header[0].lower())))
            and most(len(row) <= len(self.header) and any(map(is_number, row[1:])) for row in self.rows[1:])
        )


Sniff = Callable[[Sample], Fit]


def never(_sample: Sample) -> Fit:
    """The sniff of a format that is not told by its content."""
    return Fit.NOT


def fits(test: Callable[[Sample], bool], fit: Fit = Fit.CERTAIN) -> Sniff:
    """A sniff of a yes or no."""
    return lambda sample: fit if test(sample) else Fit.NOT


def with_keys(*names: str, fit: Fit = Fit.CERTAIN) -> Sniff:
    """JSON objects that have all these keys."""
    return fits(lambda sample: sample.object.keys() >= set(names), fit)


def with_columns(*names: str) -> Sniff:
    """Tables that have all these columns."""
    return fits(lambda sample: sample.columns >= set(names), Fit.FAIR)


def most(fit: Iterable[bool]) -> bool:
    """Whether more than half of some lines fit: what is wrong with the others, a reader says."""
    found = list(fit)
    return 2 * sum(found) > len(found)


def nearly_all(fit: Iterable[bool]) -> bool:
    """Whether nine of ten values of a document fit: an object with a name and a number is no such file."""
    found = list(fit)
    return bool(found) and 10 * sum(found) >= 9 * len(found)


def _first_value(path: str | Path, lines: list[bytes]) -> tuple[Any, bool]:
    """The value on the first line, or of the whole file where a document spans many lines; and which.

    A first line that is damaged hides the format of the file as little as the lines behind it.
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


def _cells(lines: list[str]) -> Iterator[list[str]]:
    return (line.split("\t") for line in lines) if "\t" in lines[0] else csv.reader(lines)
