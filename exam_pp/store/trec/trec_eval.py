"""Parsing the output of trec_eval: lines of measure, query and value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from exam_pp.results import ALL_QUERIES
from exam_pp.store.numbers import is_number

_RUN = "runid"
_QUOTE = "'"
"""Encloses text values, such as those of the measure relstring."""


class Line(NamedTuple):
    """A line of trec_eval output with its system; the value is text."""

    number: int
    system: str
    query_id: str
    measure: str
    value: str


def is_trec_eval(lines: Sequence[str]) -> bool:
    """Whether all lines are output of trec_eval: measure, query, and a number or the run's name, with tabs.

    A number in the first column means another format, such as query, passage and rank (MS MARCO).
    """
    rows = [[cell.strip() for cell in line.split("\t")] for line in lines]
    return bool(rows) and all(
        len(row) == 3
        and len(row[0].split()) == 1
        and not is_number(row[0])
        and (row[0] == _RUN or is_number(row[2].strip(_QUOTE)))
        for row in rows
    )


def trec_eval_lines(lines: Iterable[tuple[int, str]], default_system: str) -> list[Line]:
    """Parse the concatenated output for one or several runs.

    A line ``runid`` names the system of the queries before it and of the means (query ``all``) after it;
    without such a line the system is ``default_system``. Text values (of relstring) are ignored.
    """
    result: list[Line] = []
    unnamed: list[Line] = []
    system = default_system
    for number, text in lines:
        measure, query_id, value = (cell.strip() for cell in text.split("\t"))
        if measure == _RUN:
            system = value
            result += [line._replace(system=system) for line in unnamed]
            unnamed = []
        elif value.startswith(_QUOTE):
            continue
        elif query_id == ALL_QUERIES:
            result.append(Line(number, system, query_id, measure, value))
        else:
            unnamed.append(Line(number, default_system, query_id, measure, value))
    return result + unnamed
