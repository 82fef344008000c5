"""Samples of pairs of passage and bank entry, drawn by ``exam-pp sample-pairs`` for people to label."""

from __future__ import annotations

from exam_pp.formats.base import Format, Schema, register
from exam_pp.formats.sample import fits
from exam_pp.pair_sample import FORMAT, PairSample
from exam_pp.store.pair_samples import read_pair_sample

register(
    Format(
        "pair-sample", "pairs", "sample of pairs for people to label",
        fits(lambda sample: sample.object.get("format") == FORMAT),
        lambda path: read_pair_sample(path).pairs, "pair",
        read_by="exam-pp review --pairs",
        written_by="exam-pp sample-pairs",
        schema=Schema("pair-sample", "a sample of pairs", PairSample),
    ),
)  # fmt: skip
