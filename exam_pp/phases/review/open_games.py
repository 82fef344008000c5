"""Games for people to decide: two answers in drawn places, with an id that hides their systems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from exam_pp.data_model import QueryPassages
from exam_pp.phases.passages.sample import random_key
from exam_pp.roles import System, SystemOutput, outputs_of

DIGITS = 20
"""Hexadecimal digits of the id of a game, which are 80 bits: enough for billions of games without a clash."""


@dataclass(frozen=True)
class OpenGame:
    """Two answers to a query in the places A and B.

    The id is a hash of the seed, the query, the systems in their places, and the texts of the answers. So
    decisions fit only the answers that were read, and the id reveals nothing without the seed.
    """

    query_id: str
    a: SystemOutput
    b: SystemOutput
    game_id: str

    @property
    def pair(self) -> frozenset[System]:
        """Both systems, in whatever places."""
        return frozenset((self.a.key, self.b.key))


@dataclass(frozen=True)
class QueryAnswers:
    """The answers of systems to a query."""

    query_id: str
    outputs: list[SystemOutput]

    @classmethod
    def of(cls, query: QueryPassages) -> QueryAnswers:
        """The answers in a line of a passages file, also empty ones."""
        return cls(query.query_id, [output for output in outputs_of(query).values() if output.answered])

    def games(self, seed: int) -> Iterator[OpenGame]:
        """The games between all answers that a person can compare."""
        for first, second in combinations(self.outputs, 2):
            if comparable(first, second):
                yield self._game(first, second, seed)

    def _game(self, first: SystemOutput, second: SystemOutput, seed: int) -> OpenGame:
        a, b = sorted((first, second), key=lambda output: (output.system, output.repeat or 0))
        if int(self._key(seed, a, b)[-1], 16) % 2:
            a, b = b, a
        return OpenGame(self.query_id, a, b, self._key(seed, a, b, a.text, b.text)[:DIGITS])

    def _key(self, seed: int, a: SystemOutput, b: SystemOutput, *texts: str) -> str:
        names = [self.query_id, a.system, a.repeat, b.system, b.repeat, *texts]
        return random_key(seed, json.dumps(names))


def comparable(first: SystemOutput, second: SystemOutput) -> bool:
    """Whether a person can prefer an answer: of two systems, both with text, and not the same text."""
    return first.system != second.system and "" not in (first.text, second.text) and first.text != second.text
