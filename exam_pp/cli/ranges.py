"""Number ranges as option types."""

from __future__ import annotations

import math
from typing import Any

import click


class IntRange(click.IntRange):
    """A range of integers, shown as INTEGER in ``--help``."""

    name = "integer"


class Repetitions(IntRange):
    """A number of random repetitions; more than the maximum would take days, or all memory."""

    def __init__(self, min: int = 1) -> None:  # noqa: A002 - name of click
        super().__init__(min, 100_000)


class NumberRange(click.FloatRange):
    """A range of numbers that rejects NaN, which click accepts because every comparison with it is False."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; fails with a usage error."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class IntRangeOrAll(IntRange):
    """A range of integers, or ``all``, which is None in Python."""

    name = "integer|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The integer, or None for ``all``; fails with a usage error."""
        return None if value == "all" else super().convert(value, param, ctx)
