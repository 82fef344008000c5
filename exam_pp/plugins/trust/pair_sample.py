"""Samples of pairs of passage and bank entry for people to label, with known probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from exam_pp.data_model import WHOLE, Id, Integer, Number
from exam_pp.metrics.fair_sample import draw
from exam_pp.models import Record

FORMAT: Literal["exam_pp.pair-sample.v2"] = "exam_pp.pair-sample.v2"

SampledBy = Literal["even", "rating", "disagreement", "entry"]
"""How pairs are drawn: all with the same probability; equal numbers of each rating are expected; pairs on
which graders disagree are likelier; or all pairs of an entry together, and all entries with the same
probability."""

Probability = Annotated[Number, Field(ge=1e-9, le=1)]
"""A pair stands for 1 / probability pairs, and no file has more than a billion."""


class SampledPair(Record):
    """A pair of passage and bank entry that was drawn with ``probability``.

    ``entry_id`` (in files ``id``) is ``direct`` for a direct grade.
    """

    query_id: Id
    passage_id: Id
    entry_id: Id = Field(alias="id")
    probability: Probability


class Block(Record):
    """Passages and entries of a query: each of the passages could be drawn with each of the entries."""

    passages: list[Id]
    entries: list[Id]


class PairSample(Record):
    """A file of sampled pairs: the drawn pairs, and the population from which they were drawn.

    Every pair of the population was drawn or not independently of the others (Poisson sampling), so that
    products of estimates are unbiased; by ``entry``, every entry with all of its pairs. Estimates from the
    sample are valid for the grades of ``model`` and ``prompt_class`` within the first ``cutoff`` ranks of
    each system; None means all graded passages.

    ``population``: Query id to the pairs that could be drawn. A block without entries has passages without a
    grade, a block without passages has entries without a grade. ``lowest_probability``: The lowest
    probability of a pair of the population, drawn or not.
    """

    format: Literal["exam_pp.pair-sample.v2"] = FORMAT
    graded_sha256: str | None = None
    model: str | None = None
    prompt_class: str | None = None
    by: SampledBy
    seed: Integer
    cutoff: Annotated[int, Field(ge=1), WHOLE] | None = None
    population: dict[Id, list[Block]]
    lowest_probability: Probability
    pairs: list[SampledPair]

    @property
    def size(self) -> int:
        """The number of pairs that could be drawn."""
        return sum(1 for _ in self.could_be_drawn())

    def could_be_drawn(self) -> Iterator[tuple[str, str, str]]:
        """Query id, passage id and entry id of all pairs of the population."""
        for query_id, blocks in self.population.items():
            for block in blocks:
                for passage_id, entry_id in product(block.passages, block.entries):
                    yield query_id, passage_id, entry_id


def drawn_number(by: SampledBy, seed: int, query_id: str, passage_id: str, entry_id: str) -> float:
    """A number from 0 to 1: the pair is drawn if it is below its probability.

    By ``entry``, all pairs of an entry have the same number.
    """
    return draw(seed, query_id, "" if by == "entry" else passage_id, entry_id)
