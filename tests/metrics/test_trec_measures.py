"""Measures on runs, compared with output of trec_eval (tests/data/trec_eval/COMMANDS.txt)."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import pytest

from exam_pp.errors import SelectionError, UnknownNameError
from exam_pp.metrics.leaderboard import standings
from exam_pp.metrics.trec_measures import TrecEval, parse_measures, trec_eval_names
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.reports.evaluation.leaderboards import trec_eval_text
from exam_pp.results import ALL_QUERIES, Qrel, Score

DATA = Path(__file__).parents[1] / "data" / "trec_eval"

# trec_eval 10 rounds the recall level of these differently; pytrec_eval holds version 9.
CHANGED_IN_VERSION_10 = {"iprec_at_recall_0.10", "iprec_at_recall_0.60", "iprec_at_recall_0.90"}


def read_run(name: str) -> dict[str, dict[str, float]]:
    """A run, with trec_eval's tolerance for words at the end of lines."""
    run: dict[str, dict[str, float]] = {}
    for line in (DATA / name).read_text().splitlines():
        query_id, _, passage_id, _, score = line.split()[:5]
        run.setdefault(query_id, {})[passage_id] = float(score)
    return run


def read_qrels(name: str) -> list[Qrel]:
    rows = (line.split() for line in (DATA / name).read_text().splitlines())
    return [Qrel(query_id, passage_id, int(grade)) for query_id, _, passage_id, grade in rows]


def expected(name: str) -> dict[tuple[str, str], float]:
    """(measure, query) to the value that trec_eval printed, for measures that ir-measures knows."""
    values = {}
    for line in (DATA / name).read_text().splitlines():
        measure, query_id, value = line.split(maxsplit=2)
        try:
            parse_measures([measure])
        except UnknownNameError:
            continue
        if measure not in CHANGED_IN_VERSION_10:
            values[measure, query_id] = float(value)
    return values


def computed(
    names: list[str], qrels: list[Qrel], run: dict[str, dict[str, float]], level: int | None = None
) -> dict[tuple[str, str], float]:
    scores: list[Score] = []
    titles = {}
    for name in names:
        (measure,) = parse_measures([name], level)
        titles[name] = str(measure)
        scores += TrecEval([measure], qrels)("run", run)
    values = {(score.metric, score.query_id): score.value for score in scores}
    values |= {(row.metric, ALL_QUERIES): row.mean for row in standings(scores)}
    return {
        (name, query_id): value
        for name, title in titles.items()
        for (metric, query_id), value in values.items()
        if metric == title
    }


@pytest.mark.parametrize(
    ("output", "qrels", "run", "level"),
    [
        ("out.test", "qrels.test", "results.test", None),
        ("out.test.a", "qrels.test", "results.test", None),
        ("out.test.aq", "qrels.test", "results.test", None),
        ("out.test.aqc", "qrels.test", "results.trunc", None),
        ("out.test.aql", "qrels.rel_level", "results.test", 2),
    ],
)
def test_equals_trec_eval(output: str, qrels: str, run: str, level: int | None) -> None:
    golden = expected(output)
    names = list(dict.fromkeys(name for name, _ in golden))
    if level is not None:
        # ir-measures fixes the level of these two counts at 1.
        names = [name for name in names if name not in {"num_rel", "num_rel_ret"}]
    actual = computed(names, read_qrels(qrels), read_run(run), level)

    assert len(names) >= 24
    for (name, query_id), value in golden.items():
        if name in names and (query_id == ALL_QUERIES or "aq" in output):
            assert actual[name, query_id] == pytest.approx(value, abs=5.1e-5), (name, query_id)


@pytest.mark.parametrize(
    ("output", "qrels", "run", "level"),
    [
        ("out.test.aq", "qrels.test", "results.test", None),
        ("out.test.aqc", "qrels.test", "results.trunc", None),
        ("out.test.aql", "qrels.rel_level", "results.test", 2),
    ],
)
def test_the_layout_is_that_of_trec_eval(output: str, qrels: str, run: str, level: int | None) -> None:
    """Character by character, lines of measures that ir-measures has, in trec_eval's order."""
    names = list(dict.fromkeys(name for name, _ in expected(output)))
    if level is not None:
        names = [name for name in names if name not in {"num_rel", "num_rel_ret"}]
    golden = [
        line
        for line in (DATA / output).read_text().splitlines()
        if line.split()[0] in {"runid", *names} and line.split()[:2] != ["num_q", "all"]
    ]
    measures = [m for name in names if name != "num_q" for m in parse_measures([name], level)]
    scores = list(TrecEval(measures, read_qrels(qrels))("STANDARD", read_run(run)))
    text = trec_eval_text(Evaluation(scores), per_query=True)

    assert sum("\t301\t" in line for line in golden) > 50
    actual, reference = set(text.splitlines()), set(golden)
    assert reference <= actual
    assert [line for line in text.splitlines() if line in reference] == golden


def test_names_of_trec_eval() -> None:
    names = [
        "nDCG@10",
        "RR(rel=2)",
        "AP(rel=2)@5",
        "NumRet(rel=1)",
        "IPrec@0.1",
        "RR@10",
        "Cover(min_grade=4)@20",
    ]

    assert list(trec_eval_names(names).values()) == [
        "ndcg_cut_10", "recip_rank", "map_cut_5", "num_rel_ret", "iprec_at_recall_0.10", "RR@10",
        "Cover(min_grade=4)@20",
    ]  # fmt: skip
    assert trec_eval_names(["P@5", "P(rel=2)@5"]) == {"P@5": "P@5", "P(rel=2)@5": "P(rel=2)@5"}


def test_a_relevance_level_below_one_is_refused() -> None:
    """trec_eval has no such level: passages without a label would be relevant."""
    for level in (0, -2):
        with pytest.raises(UnknownNameError, match=f"RR .* {level}"):
            parse_measures(["RR"], level)
    assert [str(measure) for measure in parse_measures(["nDCG@10"], 0)] == ["nDCG@10"]


@pytest.mark.parametrize("query_ids", [("1", "2"), ("2024-7", "2025-7"), ("q one", "q-b"), ("7", "007")])
def test_gdeval_measures_accept_any_ids(query_ids: tuple[str, str]) -> None:
    """gdeval.pl reads `2024-7` as 7, and fails for ids without a number.

    The values follow its formula: (2^grade - 1) / 16 at the first rank, half of it at the second.
    """
    if not ir_measures.gdeval.is_available():
        pytest.skip("no perl")
    one, two = query_ids
    qrels = [Qrel(one, "a passage", 2), Qrel(one, "b", 0), Qrel(two, "a passage", 1)]
    run = {one: {"a passage": 2.0, "b": 1.0}, two: {"\x01 not there": 2.0, "a passage": 1.0}}
    scores = list(TrecEval(parse_measures(["ERR@10"]), qrels)("s", run))

    assert {score.query_id: score.value for score in scores} == {
        one: 3 / 16,
        two: pytest.approx(1 / 32, abs=1e-5),
    }


@pytest.mark.parametrize("measure", ["ERR@20", "nDCG(dcg='exp-log2')@5"])
def test_labels_above_the_limit_of_gdeval_are_refused(measure: str) -> None:
    """gdeval.pl ends with an error for labels above 4; grades of rubrics reach 5."""
    if not ir_measures.gdeval.is_available():
        pytest.skip("no perl")
    with pytest.raises(SelectionError, match=r"labels .*4 .* 5"):
        TrecEval(parse_measures([measure]), [Qrel("1", "a", 5)])
    (score,) = TrecEval(parse_measures([measure]), [Qrel("1", "a", 4)])("run", {"1": {"a": 1.0}})
    assert score.value > 0.9


def test_errors_of_the_library_are_one_sentence() -> None:
    """Accuracy divides by the number of passages that are not relevant."""
    scorer = TrecEval(parse_measures(["Accuracy@3"]), [Qrel("1", "a", 1)])
    with pytest.raises(SelectionError, match="Accuracy@3"):
        list(scorer("run", {"1": {"a": 1.0}}))


def test_missing_queries_score_zero() -> None:
    qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1)]
    scores = list(TrecEval(parse_measures(["RR"]), qrels)("run", {"1": {"a": 1.0}, "9": {"z": 1.0}}))

    assert [(score.query_id, score.value) for score in scores] == [("1", 1.0), ("2", 0.0)]


@pytest.mark.parametrize("measure", ["RR", "RR@10", "P@1", "nDCG@1", "ERR@1"])
def test_equal_scores_are_ordered_by_descending_passage_id(measure: str) -> None:
    """As trec_eval; ir-measures' other backends, which serve RR@10 and ERR, order ascending."""
    run = {"1": {"a": 2.0, "b": 2.0}}
    (for_a,) = TrecEval(parse_measures([measure]), [Qrel("1", "a", 1), Qrel("1", "b", 0)])("run", run)
    (for_b,) = TrecEval(parse_measures([measure]), [Qrel("1", "a", 0), Qrel("1", "b", 1)])("run", run)

    assert for_b.value > for_a.value


def test_scores_equal_in_single_precision_are_ties() -> None:
    """trec_eval stores scores as floats of 32 bits."""
    run = {"1": {"a": 1.0 + 1e-12, "b": 1.0}}
    for measure in ("RR", "RR@10"):
        (score,) = TrecEval(parse_measures([measure]), [Qrel("1", "b", 1)])("run", run)
        assert score.value == 1.0


def test_min_grade_is_the_relevance_level_of_measures_that_have_one() -> None:
    measures = parse_measures(["RR", "P@10", "nDCG@10", "AP(rel=2)"], min_grade=4)

    assert [str(measure) for measure in measures] == ["RR(rel=4)", "P(rel=4)@10", "nDCG@10", "AP(rel=2)"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nDGC@10", "'nDCG@10'"),
        ("ndcg@10", "'nDCG@10'"),
        ("", "Examples"),
        ("P@0", "cutoff"),
        ("P_0", "cutoff"),
        ("RR(rel=0)", "relevance level"),
        ("ndcg_cut_-1", "No measure"),
        ("RR(rel=a)", "RR has cutoff, rel, judged_only; a cutoff is written @10"),
        ("nDCG@10 AP", "parameters"),
        ("ERR", "parameters"),
        ("BPM@10", r"max_rel \(required\)"),
        ("BPM(max_rel=3)@10", r"pip install cwl-eval\."),
        ("RBP(p=0.8)", r"computed by the package cwl-eval as RBP\(rel=1"),
    ],
)
def test_unknown_measures_are_one_sentence(name: str, text: str) -> None:
    with pytest.raises(UnknownNameError, match=text):
        parse_measures([name])


def test_measures_on_judged_passages_do_not_change_other_measures() -> None:
    """ir-measures computes NumRet with whichever parameters come first in a set of them."""
    qrels = [Qrel("q", "a", 1)]
    run = {"q": {"a": 1.0, "b": 2.0, "c": 3.0}}
    names = ["NumRet", "P@3", *(f"{measure}(judged_only=True)" for measure in ("RR", "Rprec", "AP", "SetP"))]
    scores = {score.metric: score.value for score in TrecEval(parse_measures(names), qrels)("s", run)}

    assert scores["NumRet"] == 3
    assert scores["RR(judged_only=True)"] == 1
