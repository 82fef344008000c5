"""Evaluation results of TREC AutoJudge: rows of run, topic, measure and value, in two orders.

``ir_measures`` has ``run topic measure value``, ``tot`` has ``run measure topic value``; the topic ``all``
is the mean. A header line, where there is one, tells the order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from exam_pp.errors import DataError
from exam_pp.results import Score
from exam_pp.store.files import atomic_output, read_text_lines
from exam_pp.store.trec.scores import once

Order = Literal["ir_measures", "tot"]
_FIELDS = 4


def read_evaluation(path: str | Path, order: Order = "ir_measures") -> Iterator[Score]:
    """The scores, single queries and means, in file order; raises :class:`DataError`."""
    return once(_rows(path, order), path)


def _rows(path: str | Path, order: Order) -> Iterator[tuple[int, Score]]:
    for index, (number, line) in enumerate(read_text_lines(path)):
        fields = line.split()
        if len(fields) != _FIELDS:
            raise DataError(
                f"has {len(fields)} fields, not four: run, topic, measure (in either order) and value.",
                file=str(path), line=number,
            )  # fmt: skip
        if index == 0 and "measure" in fields:
            order = "tot" if fields[1] == "measure" else "ir_measures"
            continue
        system, second, third, text = fields
        topic, measure = (second, third) if order == "ir_measures" else (third, second)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise DataError(f"{text!r} is not a number.", file=str(path), line=number, field="value")
        yield number, Score(system, topic, measure, value)


def write_evaluation(
    scores: Iterable[Score],
    path: str | Path,
    order: Order = "ir_measures",
    *,
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write scores, tab separated, with the header that tells the order.

    Raises :class:`DataError` for names that hold white space, which would shift the columns.
    """
    header = (
        ("run_id", "query_id", "measure") if order == "ir_measures" else ("run_id", "measure", "query_id")
    )
    with atomic_output(path, inputs=inputs) as stream:
        stream.write(("\t".join(header) + "\tvalue\n").encode())
        for score in scores:
            topic, measure = score.query_id, score.metric
            names = (score.system, *((topic, measure) if order == "ir_measures" else (measure, topic)))
            for name in names:
                if name.split() != [name]:
                    raise DataError(
                        f"the name {name!r} is empty or holds white space, which this format cannot."
                    )
            stream.write("\t".join((*names, repr(score.value))).encode() + b"\n")
