"""Consistency over repeats: pairs of answers, means, missing repeats, and spreads of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from exam_pp.errors import SelectionError
from exam_pp.plugins.rag_metrics.consistency import answer_consistency, score_consistency
from exam_pp.plugins.rag_metrics.embeddings import TokenEmbedder, TokenVectors

pytest.importorskip("rouge_score")

REPEATS: dict[str, dict[str, list[str | None]]] = {
    "rag": {
        "q1": ["police killed the gunman", "police kill the gunman", "the gunman kill police"],
        "q2": ["same", None, "same", " "],
        "q3": ["alone", None],
    },
    "other": {"q1": ["水", "水"]},
}


class Letters(TokenEmbedder):
    """An encoder whose tokens are letters, each with its own dimension."""

    def __init__(self) -> None:
        self.name, self.layer = "letters", 1

    def vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        rows = [[np.eye(128)[ord(char) % 128] for char in text] for text in texts]
        return [TokenVectors(np.array(row), np.ones(len(row)), len(row) // 23) for row in rows]


def test_all_pairs_of_repeats_are_compared() -> None:
    result = answer_consistency(REPEATS)
    pairs = [pair for pair in result.pairs if (pair.system, pair.query_id) == ("rag", "q1")]
    assert [(p.first, p.second, p.metric) for p in pairs if p.metric == "ROUGE-L"] == [
        (1, 2, "ROUGE-L"), (1, 3, "ROUGE-L"), (2, 3, "ROUGE-L"),
    ]  # fmt: skip
    values = {(s.query_id, s.metric): s.value for s in result.evaluation.scores}
    # rouge-score 0.1.2: .75, .75, 1 for ROUGE-1; 1/3 for ROUGE-2; .75, .5, .5 for ROUGE-L
    assert values["q1", "ROUGE-1"] == pytest.approx((0.75 + 0.75 + 1) / 3)
    assert values["q1", "ROUGE-2"] == pytest.approx(1 / 3)
    assert values["q1", "ROUGE-L"] == pytest.approx((0.75 + 0.5 + 0.5) / 3)
    assert [(p.first, p.second) for p in result.pairs if p.query_id == "q2" and p.metric == "ROUGE-1"] == [
        (1, 3)
    ]
    assert values["q2", "ROUGE-1"] == 1.0
    assert ("q3", "ROUGE-1") not in values
    assert {score.system for score in result.evaluation.scores} == {"rag"}


def test_what_is_in_no_score_is_noted() -> None:
    notes = answer_consistency(REPEATS, stem=True).evaluation.notes
    assert "ROUGE compares stemmed words: lower-cased letters from a to z, and digits." in notes
    assert "1 pair has no ROUGE, because an answer has no letters from a to z and no digits." in notes
    assert "3 repeats have no answer and are in no pair." in notes
    assert "1 query of a system has fewer than two answers and no score." in notes


def test_bert_score_of_all_pairs() -> None:
    result = answer_consistency(REPEATS, with_rouge=False, embedder=Letters())
    assert {pair.metric for pair in result.pairs} == {"BERTScore"}
    values = {(s.system, s.query_id): s.value for s in result.evaluation.scores}
    assert values["rag", "q2"] == values["other", "q1"] == 1.0
    assert "BERTScore uses layer 1 of letters, not rescaled with a baseline." in result.evaluation.notes
    assert "1 answer was too long for BERTScore and cut." in result.evaluation.notes


def test_the_spread_of_every_score() -> None:
    table: dict[str, dict[str, dict[str, list[float | None]]]] = {
        "V": {"rag": {"q1": [0.5, 0.7, 0.9], "q2": [0.0, 0.0, 0.0]}},
        "W": {"rag": {"q1": [None, 1.0, None]}},
    }
    evaluation = score_consistency(table)
    values = {(s.query_id, s.metric): s.value for s in evaluation.scores}
    deviation = np.std([0.5, 0.7, 0.9])
    assert values["q1", "mean(V)"] == pytest.approx(0.7)
    assert values["q1", "variance(V)"] == pytest.approx(deviation**2)
    assert values["q1", "cv(V)"] == pytest.approx(deviation / 0.7)
    assert values["q1", "adjusted(V)"] == pytest.approx(0.7 / (1 + deviation))
    assert ("q2", "cv(V)") not in values
    assert values["q2", "variance(V)"] == 0.0
    assert not any(metric.endswith("(W)") for _, metric in values)
    assert "Variances divide by n (population variance)" in evaluation.notes[0]
    assert evaluation.notes[1:] == [
        "2 scores are missing from a repeat and in no number.",
        "1 score of a query is in fewer than two repeats and left out.",
        "1 coefficient of variation is undefined, because the mean is 0.",
    ]
    sample = {(s.query_id, s.metric): s.value for s in score_consistency(table, sample=True).scores}
    assert sample["q1", "variance(V)"] == pytest.approx(np.var([0.5, 0.7, 0.9], ddof=1))


def test_reserved_names_are_refused() -> None:
    with pytest.raises(SelectionError, match="'all' is reserved"):
        answer_consistency({"s": {"all": ["a", "b"]}})
    with pytest.raises(SelectionError, match="'_overall_' is reserved"):
        score_consistency({"V": {"_overall_": {"q": [1.0, 0.5]}}})
