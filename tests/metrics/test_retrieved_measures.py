"""Measures of retrieved passages: the example of the documentation, and plain formulas."""

from __future__ import annotations

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.metrics.gains import RunMatrix, Ungraded, run_scores, score_bounds
from exam_pp.metrics.trec_measures import parse_measures
from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs
from exam_pp.results import Qrel, RunLine


def scores(labels: list[int | None], others: list[int], names: list[str], level: int) -> dict[str, float]:
    """Scores of one system that retrieved passages with these labels, best first; None has no label."""
    qrels = [Qrel("q", f"d{i}", label) for i, label in enumerate(labels) if label is not None]
    qrels += [Qrel("q", f"o{i}", label) for i, label in enumerate(others)]
    runs = RunMatrix([(qrel.query_id, qrel.passage_id) for qrel in qrels])
    runs.add("s", {"q": {f"d{i}": float(-i) for i in range(len(labels))}})
    return {
        score.metric.replace(f"(rel={level})", ""): score.value
        for score in run_scores(runs, qrels, parse_measures(names, level))
    }


LABELS = st.lists(st.one_of(st.none(), st.integers(-1, 3)), max_size=6)


@given(LABELS, st.lists(st.integers(0, 3), min_size=1), st.integers(1, 7), st.integers(1, 3))
def test_the_formulas(labels: list[int | None], others: list[int], k: int, level: int) -> None:
    found = scores(labels, others, [f"AP_top@{k}", "AP_top", f"MeanLabel@{k}", f"P@{k}", "RR"], level)
    relevant = [label is not None and label >= level for label in labels]

    def average(within: list[bool]) -> float:
        precisions = [sum(within[: i + 1]) / (i + 1) for i, is_relevant in enumerate(within) if is_relevant]
        return sum(precisions) / len(precisions) if precisions else 0.0

    top = [max(label, 0) for label in labels[:k] if label is not None]
    first = relevant.index(True) + 1 if True in relevant else None
    expected = {
        f"AP_top@{k}": average(relevant[:k]),
        "AP_top": average(relevant),
        f"MeanLabel@{k}": sum(top) / len(top) if top else 0.0,
        f"P@{k}": sum(relevant[:k]) / k,
        "RR": 1 / first if first else 0.0,
    }
    assert found.keys() == expected.keys()
    assert all(isclose(found[name], value) for name, value in expected.items())


@given(LABELS, st.integers(1, 3))
def test_it_is_trec_evals_ap_if_other_systems_found_nothing_else(
    labels: list[int | None], level: int
) -> None:
    found = scores(labels, [0], ["AP_top", "AP"], level)
    assert isclose(found["AP_top"], found["AP"])


def test_missing_ranks_are_in_no_mean() -> None:
    """The passages at ranks 8 to 10 are not in the file, because the import kept others."""
    ranks = [*range(1, 8), 11]
    rankings = [RankingEntry(method="s", passage_id=f"p{r}", query_id="q", rank=r, score=-r) for r in ranks]
    passages = [
        Passage(passage_id=f"p{entry.rank}", text="", data=PassageData(rankings=[entry]))
        for entry in rankings
    ]
    labels = [Qrel("q", f"p{rank}", 2) for rank in ranks]
    found = score_rankings(labels, [QueryPassages("q", passages)], ["MeanLabel", "MeanLabel@9", "P@10"])
    assert [score.value for score in found.scores] == [2.0, 2.0, 0.7]
    assert found.notes == ["3 ranks are missing in the file: scored as passages without a label."]


@given(LABELS, st.dictionaries(st.integers(0, 5), st.integers(0, 3)), st.integers(1, 7))
def test_bounds_of_the_mean_label(labels: list[int | None], best: dict[int, int], k: int) -> None:
    """Ungraded passages get the label 0, or their best one; other passages without a label stay out."""
    best = {i: label for i, label in best.items() if i < len(labels) and labels[i] is None}
    qrels = [Qrel("q", "o", 1), *(Qrel("q", f"d{i}", n) for i, n in enumerate(labels) if n is not None)]
    runs = RunMatrix([("q", "o"), *(("q", f"d{i}") for i in range(len(labels)))])
    runs.add("s", {"q": {f"d{i}": float(-i) for i in range(len(labels))}})
    ungraded = Ungraded({("q", f"d{i}"): label for i, label in best.items()}, {})
    low, high = score_bounds(runs, qrels, parse_measures([f"MeanLabel@{k}"]), ungraded)

    def mean(filled: dict[int, int]) -> float:
        top = [filled.get(i) if label is None else max(label, 0) for i, label in enumerate(labels[:k])]
        known = [label for label in top if label is not None]
        return sum(known) / len(known) if known else 0.0

    means = [mean({}), mean(dict.fromkeys(best, 0)), mean(best)]
    if isclose(min(means), max(means)):
        assert (low, high) == ([], [])
    else:
        assert isclose(low[0].value, min(means))
        assert isclose(high[0].value, max(means))


def test_ungraded_passages_without_a_label_have_bounds() -> None:
    """The first passage has the label 2; the other one has 0 at worst, and 3 at best."""
    runs = RunMatrix([("q", "d0"), ("q", "d1")])
    runs.add("s", {"q": {"d0": 2.0, "d1": 1.0}})
    bounds = score_bounds(runs, [Qrel("q", "d0", 2)], parse_measures(["MeanLabel@2"]), Ungraded({}, {"q": 3}))
    assert [score.value for scores in bounds for score in scores] == [1.0, 2.5]


def test_runs_by_these_measures() -> None:
    """A query without results scores 0, and several levels have their own columns."""
    labels = [Qrel("q1", "a", 3), Qrel("q2", "b", 1)]
    runs = [RunLine("q1", "x", 1, 2.0, "s"), RunLine("q1", "a", 2, 1.0, "s")]
    found = score_runs(labels, runs, ["AP_top@3", "MeanLabel"], min_grade=(1, 2)).scores
    assert {(s.query_id, s.metric): s.value for s in found} == {
        ("q1", "AP_top@3"): 0.5, ("q2", "AP_top@3"): 0.0,
        ("q1", "AP_top(rel=2)@3"): 0.5, ("q2", "AP_top(rel=2)@3"): 0.0,
        ("q1", "MeanLabel"): 3.0, ("q2", "MeanLabel"): 0.0,
    }  # fmt: skip


def test_labels_with_fractions() -> None:
    """Measures of trec_eval cut the fractions off, as trec_eval does; means keep them."""
    means, whole = (
        [Qrel("q", "a", first), Qrel("q", "b", second), Qrel("q", "c", third)]
        for first, second, third in ((1.8, 0.5, 2.0), (1, 0, 2))
    )
    runs = [RunLine("q", passage, rank, -rank, "s") for rank, passage in enumerate("abc", 1)]
    trec_eval = ["nDCG@3", "P(rel=2)@3", "AP", "ERR@3"]
    cut = score_runs(means, runs, trec_eval)
    assert cut.scores == score_runs(whole, runs, trec_eval).scores
    assert cut.notes == ["2 of 3 labels have fractions, which are cut off, as by trec_eval (1.8 is 1)."]
    kept = score_runs(means, runs, ["MeanLabel"])
    assert ([score.value for score in kept.scores], kept.notes) == ([(1.8 + 0.5 + 2) / 3], [])
