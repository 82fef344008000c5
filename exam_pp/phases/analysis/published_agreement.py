"""Layouts of the published agreement tables: labels of each row, judgments of each column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SCALE = range(6)
"""The grades of the published prompts."""

JUDGMENTS = range(-2, 4)
"""The judgments of TREC DL."""


class LabelSet(NamedTuple):
    """A row or column of an agreement table: its name and its labels."""

    name: str
    labels: frozenset[int]


class Layout(NamedTuple):
    """Rows (labels), columns (judgments), and for each row the number of the column that agrees with it."""

    name: str
    rows: tuple[LabelSet, ...]
    columns: tuple[LabelSet, ...]
    boxes: tuple[int, ...]


def layouts(
    min_relevant: int,
    judgments: Iterable[int] = (),
    *,
    grades: Iterable[int] = SCALE,
    min_grades: Iterable[int] = (),
    like_judgments: bool = False,
) -> list[Layout]:
    """Return the layouts of the published tables for ratings: GRADED, MERGE, LENIENT and STRICT.

    If the highest grade is 1, BINARY is the only published table.
    """
    judged = sorted({*JUDGMENTS, *judgments}, reverse=True)
    best, second = judged[0], min(min_relevant, judged[1])
    scale = sorted(set(grades), reverse=True)
    highest = scale[0]
    relevant = label_set(_span(min_relevant, best), [j for j in judged if j >= min_relevant])
    worse = _span(min(0, min_relevant - 1), min_relevant - 1)
    irrelevant = label_set(worse, [j for j in judged if j < min_relevant])
    cuts = [_cut(grade, scale, (relevant, irrelevant)) for grade in min_grades]
    low = label_set("0", [g for g in scale if g <= 0])
    if highest == 1:
        return [Layout("BINARY", (label_set("1", [1]), low), (relevant, irrelevant), (0, 1)), *cuts]
    zero = label_set("0", [j for j in judged if j <= 0])
    singles = [j for j in judged if j > 0]
    middle = 2 if min_relevant > 1 else 1
    box_of = {2: singles.index(middle + 1), 1: singles.index(middle), 0: len(singles)}
    if like_judgments:
        boxes = tuple(singles.index(min(grade, best)) if grade > 0 else len(singles) for grade in scale)
    else:
        boxes = tuple(box_of[(grade >= 4) + (grade >= 1)] for grade in scale)
    high = label_set(f"4–{highest}", [g for g in scale if g >= 4])
    mid = label_set("1–3", [g for g in scale if 1 <= g <= 3])
    if min_relevant > 1:
        merged = (
            label_set(f"{best}", [best]),
            label_set(_span(second, best - 1), [j for j in judged if second <= j < best]),
            label_set(_span(0, second - 1), [j for j in judged if j < second]),
        )
    else:
        merged = (label_set(f"2–{best}", [j for j in judged if j >= 2]), label_set("1", [1]), zero)
    graded = tuple(label_set(str(grade), [grade]) for grade in scale)
    columns = (*(label_set(str(j), [j]) for j in singles), zero)
    lenient = label_set(f"1–{highest}", [g for g in scale if g >= 1])
    strict = label_set("0–3", [g for g in scale if g < 4])
    return [
        Layout("GRADED", graded, columns, boxes),
        Layout("MERGE", (high, mid, low), merged, (0, 1, 2)),
        Layout("LENIENT", (lenient, low), (relevant, irrelevant), (0, 1)),
        Layout("STRICT", (high, strict), (relevant, irrelevant), (0, 1)),
        *cuts,
    ]


def _cut(grade: int, grades: Iterable[int], columns: tuple[LabelSet, LabelSet]) -> Layout:
    at_least = label_set(f"≥ {grade}", [g for g in grades if g >= grade])
    below = label_set(f"< {grade}", [g for g in grades if g < grade])
    return Layout(f"GRADE ≥ {grade}", (at_least, below), columns, (0, 1))


def _span(low: int, high: int) -> str:
    return f"{low}–{high}" if high > low else str(high)


def label_set(name: str, labels: Iterable[int]) -> LabelSet:
    """Make a named set of labels."""
    return LabelSet(name, frozenset(labels))
