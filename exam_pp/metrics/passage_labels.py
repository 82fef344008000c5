"""Relevance labels of passages from their ratings: the k-th best rating, or a label rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from exam_pp.errors import SelectionError

_CONDITION = re.compile(r"(\d+)(?:st|nd|rd|th)?\s*>=\s*(\d+)\s*:\s*(-?\d+)")
_OTHERWISE = re.compile(r"else\s*:?\s*(-?\d+)")


@dataclass(frozen=True)
class KthBest:
    """The k-th best rating; with fewer than k ratings, the lowest.

    Source: "min-answers" of Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024.
    """

    k: int = 1

    def __call__(self, ratings: Sequence[int]) -> int:
        """The label of a passage; ``ratings`` are sorted, best first, and not empty."""
        return ratings[min(self.k, len(ratings)) - 1]

    def __str__(self) -> str:
        return "best rating" if self.k == 1 else f"{self.k}{_ordinal(self.k)} best rating"


@dataclass(frozen=True)
class LabelRule:
    """A list of conditions "k-th best rating ≥ threshold → label", as triples (k, threshold, label).

    The first condition that a passage meets gives its label. A passage with fewer than k ratings does not
    meet a condition. If the passage meets no condition, its label is ``otherwise``.
    """

    conditions: tuple[tuple[int, int, int], ...]
    otherwise: int = 0

    @classmethod
    def parse(cls, text: str) -> LabelRule:
        """Parse a rule such as ``2nd>=5:3, 2nd>=4:1, else 0``; raises :class:`SelectionError`."""
        *conditions, last = [part.strip() for part in text.split(",")]
        parsed = []
        if otherwise := _OTHERWISE.fullmatch(last):
            default = int(otherwise[1])
        else:
            conditions, default = [*conditions, last], 0
        for part in conditions:
            match = _CONDITION.fullmatch(part)
            if match is None or match[1] == "0":
                raise SelectionError(
                    f"Cannot parse {part!r} in the label rule; write it as '2nd>=5:3, 2nd>=4:1, else 0'."
                )
            parsed.append((int(match[1]), int(match[2]), int(match[3])))
        return cls(tuple(parsed), default)

    def __call__(self, ratings: Sequence[int]) -> int:
        """The label of a passage; ``ratings`` are sorted, best first."""
        for k, threshold, label in self.conditions:
            if self._meets(ratings, k, threshold):
                return label
        return self.otherwise

    def best(self, ratings: Sequence[int]) -> int:
        """The highest label that any ratings up to these give; ``ratings`` are sorted, best first."""
        reachable = [label for k, threshold, label in self.conditions if self._meets(ratings, k, threshold)]
        return max([*reachable, self.otherwise])

    @staticmethod
    def _meets(ratings: Sequence[int], k: int, threshold: int) -> bool:
        return len(ratings) >= k and ratings[k - 1] >= threshold

    def __str__(self) -> str:
        conditions = [f"{k}{_ordinal(k)}>={threshold}:{label}" for k, threshold, label in self.conditions]
        return ", ".join([*conditions, f"else {self.otherwise}"])


def _ordinal(k: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(k, "th")
