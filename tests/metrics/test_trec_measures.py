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

NEEDS_PERL = pytest.mark.skipif(not ir_measures.gdeval.is_available(), reason="no perl")
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


def expected(name: str, level: int | None) -> dict[tuple[str, str], float]:
    """(measure, query) to the value that trec_eval printed, for measures that ir-measures knows.

    With a level, without two counts: ir-measures fixes their level at 1.
    """
    left_out = CHANGED_IN_VERSION_10 if level is None else CHANGED_IN_VERSION_10 | {"num_rel", "num_rel_ret"}
    values = {}
    for line in (DATA / name).read_text().splitlines():
        measure, query_id, value = line.split(maxsplit=2)
        try:
            parse_measures([measure])
        except UnknownNameError:
            continue
        if measure not in left_out:
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
    golden = expected(output, level)
    names = list(dict.fromkeys(name for name, _ in golden))
    actual = computed(names, read_qrels(qrels), read_run(run), level)

    assert len(names) >= 24
    for (name, query_id), value in golden.items():
        if query_id == ALL_QUERIES or "aq" in output:
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
    names = list(dict.fromkeys(name for name, _ in expected(output, level)))
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


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (
            ["nDCG@10", "RR(rel=2)", "AP(rel=2)@5", "NumRet(rel=1)", "IPrec@0.1", "RR@10",
             "Cover(min_grade=4)@20"],
            ["ndcg_cut_10", "recip_rank", "map_cut_5", "num_rel_ret", "iprec_at_recall_0.10", "RR@10",
             "Cover(min_grade=4)@20"],
        ),
        (["P@5", "P(rel=2)@5"], ["P@5", "P(rel=2)@5"]),
        (["AP_top(rel=2)@3", "MeanLabel", "P@5"], ["AP_top(rel=2)@3", "MeanLabel", "P_5"]),
    ],
    ids=["of trec_eval", "of two levels", "of retrieved passages"],
)  # fmt: skip
def test_names_of_trec_eval(names: list[str], shown: list[str]) -> None:
    assert trec_eval_names(names) == dict(zip(names, shown, strict=True))


@NEEDS_PERL
@pytest.mark.parametrize("query_ids", [("1", "2"), ("2024-7", "2025-7"), ("q one", "q-b"), ("7", "007")])
def test_gdeval_measures_accept_any_ids(query_ids: tuple[str, str]) -> None:
    """gdeval.pl reads `2024-7` as 7, and fails for ids without a number.

    The values follow its formula: (2^grade - 1) / 16 at the first rank, half of it at the second.
    """
    one, two = query_ids
    qrels = [Qrel(one, "a passage", 2), Qrel(one, "b", 0), Qrel(two, "a passage", 1)]
    run = {one: {"a passage": 2.0, "b": 1.0}, two: {"\x01 not there": 2.0, "a passage": 1.0}}
    scores = list(TrecEval(parse_measures(["ERR@10"]), qrels)("s", run))

    assert {score.query_id: score.value for score in scores} == {
        one: 3 / 16,
        two: pytest.approx(1 / 32, abs=1e-5),
    }


@NEEDS_PERL
@pytest.mark.parametrize("measure", ["ERR@20", "nDCG(dcg='exp-log2')@5"])
def test_labels_above_the_limit_of_gdeval_are_refused(measure: str) -> None:
    """gdeval.pl ends with an error for labels above 4; grades of rubrics reach 5."""
    with pytest.raises(SelectionError, match=r"labels .*4 .* 5"):
        TrecEval(parse_measures([measure]), [Qrel("1", "a", 5)])
    (score,) = TrecEval(parse_measures([measure]), [Qrel("1", "a", 4)])("run", {"1": {"a": 1.0}})
    assert score.value > 0.9


def test_errors_of_the_library_are_one_sentence() -> None:
    """Accuracy divides by the number of passages that are not relevant."""
    scorer = TrecEval(parse_measures(["Accuracy@3"]), [Qrel("1", "a", 1)])
    with pytest.raises(SelectionError, match="Accuracy@3"):
        list(scorer("run", {"1": {"a": 1.0}}))


@pytest.mark.parametrize("measure", ["RR", "RR@10", "P@1", "nDCG@1", "ERR@1"])
def test_equal_scores_are_ordered_by_descending_passage_id(measure: str) -> None:
    """As trec_eval; ir-measures' other backends, which serve RR@10 and ERR, order ascending."""
    run = {"1": {"a": 2.0, "b": 2.0}}
    (for_a,) = TrecEval(parse_measures([measure]), [Qrel("1", "a", 1), Qrel("1", "b", 0)])("run", run)
    (for_b,) = TrecEval(parse_measures([measure]), [Qrel("1", "a", 0), Qrel("1", "b", 1)])("run", run)

    assert for_b.value > for_a.value


@pytest.mark.parametrize("measure", ["RR", "RR@10"])
def test_scores_equal_in_single_precision_are_ties(measure: str) -> None:
    """trec_eval stores scores as floats of 32 bits."""
    scorer = TrecEval(parse_measures([measure]), [Qrel("1", "b", 1)])
    assert [score.value for score in scorer("run", {"1": {"a": 1.0 + 1e-12, "b": 1.0}})] == [1.0]


@pytest.mark.parametrize(
    ("names", "level", "parsed"),
    [
        (["RR", "P@10", "nDCG@10", "AP(rel=2)"], 4, ["RR(rel=4)", "P(rel=4)@10", "nDCG@10", "AP(rel=2)"]),
        (["nDCG@10"], 0, ["nDCG@10"]),
    ],
)
def test_min_grade_is_the_relevance_level_of_measures_that_have_one(
    names: list[str], level: int, parsed: list[str]
) -> None:
    assert [str(measure) for measure in parse_measures(names, min_grade=level)] == parsed


@pytest.mark.parametrize(
    ("name", "level", "text"),
    [
        ("nDGC@10", None, "'nDCG@10'"), ("ndcg@10", None, "'nDCG@10'"), ("", None, "Examples"),
        ("P@0", None, "cutoff"), ("P_0", None, "cutoff"), ("AP_top@0", None, "below 1"),
        ("RR(rel=0)", None, "relevance level"), ("ndcg_cut_-1", None, "No measure"),
        ("RR(rel=a)", None, "RR has cutoff, rel, judged_only; a cutoff is written @10"),
        ("nDCG@10 AP", None, "parameters"), ("ERR", None, "parameters"),
        ("BPM@10", None, r"max_rel \(required\)"),
        ("BPM(max_rel=3)@10", None, r"pip install cwl-eval\."),
        ("RBP(p=0.8)", None, r"computed by the package cwl-eval as RBP\(rel=1"),
        ("MeanLabel(rel=2)", None, "MeanLabel"),
        # trec_eval has no level below 1: passages without a label would be relevant.
        ("RR", 0, "RR .* 0"), ("RR", -2, "RR .* -2"),
    ],
)  # fmt: skip
def test_refused_measures(name: str, level: int | None, text: str) -> None:
    with pytest.raises(UnknownNameError, match=text):
        parse_measures([name], level)


def test_measures_on_judged_passages_do_not_change_other_measures() -> None:
    """ir-measures computes NumRet with whichever parameters come first in a set of them."""
    qrels = [Qrel("q", "a", 1)]
    run = {"q": {"a": 1.0, "b": 2.0, "c": 3.0}}
    names = ["NumRet", "P@3", *(f"{measure}(judged_only=True)" for measure in ("RR", "Rprec", "AP", "SetP"))]
    scores = {score.metric: score.value for score in TrecEval(parse_measures(names), qrels)("s", run)}

    assert scores["NumRet"] == 3
    assert scores["RR(judged_only=True)"] == 1
