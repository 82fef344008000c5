"""Corrected scores of files: equal to people's scores if all pairs are labelled; notes and errors."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from exam_pp.plugins.trust.corrected import corrected_scores
from exam_pp.plugins.trust.corrected_estimates import Interval
from exam_pp.plugins.trust.pair_sample import Block, PairSample, SampledPair
from exam_pp.store.passages.graded_file import read_passages


def test_judgments_correct_the_labels_of_flan_t5(shared_data: Path) -> None:
    """All judgments give their own mean, and a thousand of them an interval that contains it."""
    graded = shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"
    means, pairs = [], []
    could_be_drawn = {}
    for query in read_passages(graded):
        judged = [max(j.relevance for j in passage.judgments) for passage in query.passages]
        means.append(sum(judged) / len(judged))
        passages = [passage.passage_id for passage in query.passages]
        pairs += [(query.query_id, passage_id) for passage_id in passages]
        could_be_drawn[query.query_id] = [Block(passages=passages, entries=["direct"])]
    truth = sum(means) / len(means)

    def corrected(probability: float) -> Interval:
        rng = random.Random(0)
        drawn = [
            SampledPair(query_id=query, passage_id=passage, entry_id="direct", probability=probability)
            for query, passage in pairs
            if rng.random() < probability
        ]
        found = PairSample(
            model="flan-t5-large",
            by="even",
            seed=0,
            population=could_be_drawn,
            lowest_probability=probability,
            pairs=drawn,
        )
        result = corrected_scores(
            graded, found, reviewer="judgments", measure="label-mean", intervals="labels"
        )
        (row,) = result.boards[0].systems
        assert row.scores.judged - truth > 0.2
        return row.scores.corrected

    assert corrected(1.0).value == pytest.approx(truth)
    interval = corrected(1000 / len(pairs))
    assert interval.low is not None
    assert interval.high is not None
    assert truth - 0.1 < interval.low < truth < interval.high < truth + 0.1
