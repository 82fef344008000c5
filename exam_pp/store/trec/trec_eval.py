"""What trec_eval prints, read back as scores: lines of measure, query and value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from exam_pp.results import ALL_QUERIES

_RUN = "runid"
_QUOTE = "'"
"""Around words, the values of relstring."""


class Line(NamedTuple):
    """A value as it is written, of a system."""

    number: int
    system: str
    query_id: str
    measure: str
    value: str


def is_trec_eval(lines: Sequence[str]) -> bool:
    """Whether lines are those of trec_eval: measure, query and a number (or the name of the run), by tabs.

    Where a number comes first, they are query, passage and rank (MS MARCO), or query, measure and value.
    """
    rows = [[cell.strip() for cell in line.split("\t")] for line in lines]
    return bool(rows) and all(
        len(row) == 3
        and len(row[0].split()) == 1
        and not is_number(row[0])
        and (row[0] == _RUN or is_number(row[2].strip(_QUOTE)))
        for row in rows
    )


def trec_eval_lines(lines: Iterable[tuple[int, str]], otherwise: str) -> list[Line]:
    """The values with their systems, of one run or of several, one after the other.

    A system's name stands in its line ``runid``, after its single queries and before its means (query
    ``all``); values that no such line follows are of the system ``otherwise``. Words (of relstring) are
    passed over.
    """
    found: list[Line] = []
    waiting: list[Line] = []
    system = otherwise
    for number, text in lines:
        measure, query_id, value = (cell.strip() for cell in text.split("\t"))
        if measure == _RUN:
            system = value
            found += [line._replace(system=system) for line in waiting]
            waiting = []
        elif value.startswith(_QUOTE):
            continue
        elif query_id == ALL_QUERIES:
            found.append(Line(number, system, query_id, measure, value))
        else:
            waiting.append(Line(number, otherwise, query_id, measure, value))
    return found + waiting


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
