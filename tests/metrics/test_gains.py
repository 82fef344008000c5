"""The gain matrix: equal to ir-measures (trec_eval) for every measure that it computes."""

from __future__ import annotations

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.gains import RunMatrix, Ungraded, run_scores, supports
from exam_pp.metrics.trec_measures import TrecEval, parse_measures
from exam_pp.results import Qrel, Score

NAMES = [
    "nDCG", "nDCG@1", "nDCG@10", "AP", "AP@3", "AP(rel=2)", "AP(rel=3)@5", "P@1", "P@5", "P(rel=2)@10", "R@2",
    "R(rel=3)@10", "RR", "RR(rel=2)", "RR@2", "RR(rel=3)@10", "Rprec", "Rprec(rel=2)", "Success@1",
    "Success(rel=4)@5",
]  # fmt: skip
MEASURES = parse_measures(NAMES)

passages = st.sampled_from(["a", "b", "B", "d#1", "d10", "d9", "é", "\u4e2d", "z"])
scores = st.one_of(
    st.integers(0, 3).map(float), st.floats(-5, 5, width=32), st.sampled_from([1e300, 1 + 1e-12])
)
rankings = st.dictionaries(passages, scores, min_size=1)
runs = st.dictionaries(
    st.sampled_from(["s", "t", "u"]),
    st.dictionaries(st.sampled_from(["1", "01", "q"]), rankings, max_size=3),
    min_size=1,
)
qrels = st.dictionaries(
    st.tuples(st.sampled_from(["1", "01", "r"]), passages), st.integers(-1, 5), min_size=1
).map(lambda labels: [Qrel(q, p, label) for (q, p), label in labels.items()])


def matrix(systems: dict[str, dict[str, dict[str, float]]], labels: list[Qrel]) -> RunMatrix:
    result = RunMatrix([(label.query_id, label.passage_id) for label in labels])
    for system, run in systems.items():
        result.add(system, run)
    return result


def by_library(systems: dict[str, dict[str, dict[str, float]]], labels: list[Qrel]) -> list[Score]:
    return [score for system, run in systems.items() for score in TrecEval(MEASURES, labels)(system, run)]


@pytest.mark.parametrize(
    ("measure", "supported"),
    [
        *((measure, True) for measure in MEASURES), (ir_measures.P(rel=1) @ 5, True),
        *((measure, False) for measure in parse_measures(
            ["nDCG(judged_only=True)@10", "nDCG(gains={1:2})", "Bpref", "ERR@10", "NumRet",
             "nDCG(dcg='exp-log2')@5"])),
        (ir_measures.P(rel=0) @ 5, False),
    ],
    ids=str,
)  # fmt: skip
def test_measures_of_the_gain_matrix(measure: ir_measures.Measure, supported: bool) -> None:
    """ir-measures computes the others."""
    assert supports(measure) == supported


@given(runs, st.just([]) | qrels, qrels)
def test_equals_ir_measures(
    systems: dict[str, dict[str, dict[str, float]]], before: list[Qrel], labels: list[Qrel]
) -> None:
    """With ties (in single precision), missing queries, queries without relevant passages, labels below 0.

    A matrix that served other labels before gives the same scores.
    """
    runs_once = matrix(systems, before + labels)
    list(run_scores(runs_once, before, MEASURES))
    computed = {score[:3]: score.value for score in run_scores(runs_once, labels, MEASURES)}
    reference = {score[:3]: score.value for score in by_library(systems, labels)}

    assert computed.keys() == reference.keys()
    assert computed == pytest.approx(reference, abs=1e-12, rel=0)


def test_a_changed_label_is_counted_once() -> None:
    """The best label of p1 is 5 instead of 1, for the system that has it at rank 1."""
    labels = [Qrel("1", "p1", 1), Qrel("1", "p2", 3)]
    joined = matrix({"s": {"1": {"p2": 2.0, "p1": 1.0}}, "t": {"1": {"p2": 1.0}}}, labels)
    gains = joined.gains(labels, ungraded=Ungraded({("1", "p1"): 5, ("1", "p2"): 3}, {"1": 0}))
    measures = parse_measures(["nDCG@10", "R@10", "R(rel=3)@10"])
    best = TrecEval(measures, [Qrel("1", "p1", 5), Qrel("1", "p2", 3)])
    plain = TrecEval(measures, labels)

    assert [gains.values(m).T[0].tolist() for m in measures] == [
        [pytest.approx(one.value), pytest.approx(other.value)]
        for one, other in zip(best("s", joined.run("s")), plain("t", joined.run("t")), strict=True)
    ]


@pytest.mark.parametrize("label", [-1, -2])
def test_a_query_whose_labels_are_all_negative_scores_0(label: int) -> None:
    """trec_eval reads beyond its table of labels there, and may loop forever."""
    result = TrecEval(parse_measures(["nDCG@10", "RR", "Bpref"]), [Qrel("1", "a", label)])(
        "s", {"1": {"a": 1.0}}
    )

    assert [score.value for score in result] == [0.0, 0.0, 0.0]


def test_scores_are_in_the_order_of_the_measures() -> None:
    measures = parse_measures(["ERR@5", "RR", "NumRet"])
    labels = [Qrel("1", "b", 1)]
    result = list(run_scores(matrix({"s": {"1": {"a": 2.0, "b": 1.0}}}, labels), labels, measures))

    assert [(score.query_id, score.metric) for score in result] == [
        ("1", "ERR@5"), ("1", "RR"), ("1", "NumRet"), ("all", "NumRet"),
    ]  # fmt: skip


@given(runs, qrels, st.integers(1, 3), st.integers(1, 5))
def test_the_best_case_equals_the_scores_of_the_best_labels(
    systems: dict[str, dict[str, dict[str, float]]], labels: list[Qrel], depth: int, best: int
) -> None:
    """Every passage at the first ranks of a system gets its best label, for that system alone."""
    ranked_too = [Qrel(q, p, 0) for run in systems.values() for q, scores in run.items() for p in scores]
    joined = matrix(systems, labels + ranked_too)
    given = {(qrel.query_id, qrel.passage_id): qrel.relevance for qrel in labels}
    possible = {key: max(label, best) if key[1] < "b" else label for key, label in given.items()}
    gains = joined.gains(
        labels, ungraded=Ungraded(possible, dict.fromkeys(("1", "01", "r"), best)), depth=depth
    )
    for row, system in enumerate(joined.systems):
        full = dict(given)
        for query_id, ranked in joined.run(system).items():
            if query_id in gains.query_ids:
                for passage_id in list(ranked)[:depth]:
                    full[query_id, passage_id] = possible.get((query_id, passage_id), best)
        optimistic = TrecEval(MEASURES[::3], [Qrel(*key, label) for key, label in full.items()])
        expected = optimistic(system, joined.run(system))
        computed = {
            (query_id, str(measure)): value
            for measure in MEASURES[::3]
            for query_id, value in zip(gains.query_ids, gains.values(measure)[row].tolist(), strict=True)
        }
        assert computed == pytest.approx(
            {(s.query_id, s.metric): s.value for s in expected}, abs=1e-12, rel=0
        )
