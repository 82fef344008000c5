"""Samples of pairs of passage and bank entry for people to label, with known probabilities."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from exam_pp.data_model import WHOLE, Id, Integer, Number, Record

FORMAT: Literal["exam_pp.pair-sample.v1"] = "exam_pp.pair-sample.v1"

SampledBy = Literal["even", "rating", "disagreement", "entry"]
"""How pairs are drawn: all with the same probability; equal numbers of each rating are expected; pairs on
which graders disagree are likelier; or all pairs of an entry together, and all entries with the same
probability."""


class SampledPair(Record):
    """A pair of passage and bank entry that was drawn with ``probability``.

    ``entry_id`` (in files ``id``) is ``direct`` for a direct grade.
    """

    query_id: Id
    passage_id: Id
    entry_id: Id = Field(alias="id")
    probability: Annotated[Number, Field(gt=0, le=1)]


class PairSample(Record):
    """A file of sampled pairs: the drawn pairs, and the population from which they were drawn.

    Every pair of the population was drawn or not independently of the others (Poisson sampling), so that
    products of estimates are unbiased; by ``entry``, every entry with all of its pairs. Estimates from the
    sample are valid for the grades of ``model`` and ``prompt_class`` within the first ``cutoff`` ranks of
    each system; None means all graded passages.

    Attributes:
        graded_sha256: Digest of the graded file (:func:`exam_pp.edits.canonical_sha256`).
        population: Number of pairs that could be drawn.
        lowest_probability: The lowest probability of a pair of the population, drawn or not.
    """

    format: Literal["exam_pp.pair-sample.v1"] = FORMAT
    graded_sha256: str | None = None
    model: str | None = None
    prompt_class: str | None = None
    by: SampledBy
    seed: Integer
    cutoff: Integer | None = None
    population: Annotated[int, Field(ge=0), WHOLE]
    lowest_probability: Annotated[Number, Field(gt=0, le=1)] | None = None
    pairs: list[SampledPair]
