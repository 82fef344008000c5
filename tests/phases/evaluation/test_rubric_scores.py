"""Scores of criteria with weights of any sign: boards, ranges, bounds, labels and notes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.cli.main import main
from exam_pp.errors import UnknownNameError
from exam_pp.phases.evaluation.leaderboards import Statistics, leaderboard
from exam_pp.phases.evaluation.nugget_scores import ONLY_MISTAKES, sanity_scores
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.verdict import verdict
from exam_pp.store.banks.bank_json import read_bank
from tests.phases.nugget_material import answer, bank_line

WriteJsonl = Callable[[str, list[Any]], Path]


def weighted(query_id: str, *weights: float, **keys: Any) -> dict[str, Any]:
    """A bank line with criteria of these weights."""
    line = bank_line(query_id, "?" * len(weights))
    for item, weight in zip(line["items"], weights, strict=True):
        item |= {"weight": weight, **keys}
        del item["importance"]
    return line


@pytest.fixture
def bank(write_jsonl: WriteJsonl) -> Path:
    return write_jsonl("bank.jsonl", [weighted("q1", 4, 2, -3), weighted("q2", 1, -1, 0)])


def graded(write_jsonl: WriteJsonl, **labels: tuple[str, str]) -> Path:
    """A file with the labels of each system for q1 and q2; "" is no answer."""
    queries = [
        [query, [answer(system, query, of[n]) for system, of in labels.items() if of[n]]]
        for n, query in enumerate(("q1", "q2"))
    ]
    return write_jsonl("graded.jsonl", queries)


def of_judge(evaluations: dict[str, Evaluation]) -> Evaluation:
    (evaluation,) = evaluations.values()
    return evaluation


def value(evaluation: Evaluation, system: str, query_id: str, metric: str) -> float:
    (score,) = [
        s.value for s in evaluation.scores if (s.system, s.query_id, s.metric) == (system, query_id, metric)
    ]
    return score


def test_mistakes_cost_their_weight(write_jsonl: WriteJsonl, bank: Path) -> None:
    file = graded(write_jsonl, a=("MHM", "MOM"), b=("OOO", "OMO"))
    evaluation = of_judge(exam_pp.rubric_scores(file, bank))
    assert list(dict.fromkeys(s.metric for s in evaluation.scores)) == ["Rubric", "Rubric_strict", "L"]
    # (4 + 2 / 2 - 3) / 6, and 1 / 1: the criterion of weight 0 counts nothing.
    assert value(evaluation, "a", "q1", "Rubric") == 2 / 6
    assert value(evaluation, "a", "q1", "Rubric_strict") == 1 / 6
    assert value(evaluation, "a", "q2", "Rubric") == 1
    assert value(evaluation, "b", "q2", "Rubric") == -1
    assert evaluation.ranges == {"Rubric": (-1.0, 1.0), "Rubric_strict": (-1.0, 1.0)}


def test_an_open_mistake_lowers_the_worst_case_only(write_jsonl: WriteJsonl, bank: Path) -> None:
    evaluation = of_judge(
        exam_pp.rubric_scores(graded(write_jsonl, a=("M--", "MO-")), bank, measures=["Rubric"])
    )
    ends = {
        (s.query_id, name): s.value
        for name in ("worst_case", "best_case")
        for s in getattr(evaluation, name)
        if s.metric == "Rubric"
    }
    # Weights 4 met, 2 and -3 open; then 1 met, -1 not met, 0 open.
    assert ends == {
        ("q1", "worst_case"): 1 / 6, ("q1", "best_case"): 1.0,
        ("q2", "worst_case"): 1.0, ("q2", "best_case"): 1.0,
    }  # fmt: skip


def test_notes_say_what_silence_gains(write_jsonl: WriteJsonl) -> None:
    bank = write_jsonl("bank.jsonl", [weighted("q1", 4, 2, -3), weighted("q2", 1, 0)])
    evaluation = of_judge(exam_pp.rubric_scores(graded(write_jsonl, a=("MOM", ""), b=("", "OM")), bank))
    assert [note for note in evaluation.notes if "avoids" in note] == [
        "b avoids every mistake in 1 query by not answering: its score is 0 there, not below."
    ]


def test_a_query_without_positive_weights(write_jsonl: WriteJsonl) -> None:
    bank = write_jsonl("bank.jsonl", [weighted("q1", -2, -1, 0), weighted("q2", 1, -2)])
    file = graded(write_jsonl, a=("MOM", "MH"))
    measures = ["Rubric", "Rubric_clipped", "HealthBench"]
    evaluation = of_judge(exam_pp.rubric_scores(file, bank, measures=measures))
    assert value(evaluation, "a", "q1", "Rubric") == 0
    assert value(evaluation, "a", "q1", "Rubric_clipped") == 1 - 2 / 3
    assert [s.query_id for s in evaluation.scores if s.metric == "HealthBench"] == ["q2"]
    assert (
        "No positive weight for 1 query (q1): Rubric is 0 there; Rubric_clipped is 1 less what is lost "
        "there; HealthBench has no score there." in evaluation.notes
    )


def test_the_mean_of_healthbench_is_clipped_and_its_scores_are_not(
    write_jsonl: WriteJsonl, bank: Path
) -> None:
    file = graded(write_jsonl, a=("OOM", "OMO"), b=("MOO", "OMO"))
    evaluation = of_judge(exam_pp.rubric_scores(file, bank, measures=["HealthBench"]))
    assert value(evaluation, "a", "q2", "HealthBench") == -1
    board = leaderboard(evaluation.of_metrics("HealthBench"))
    assert {system: round(mean, 3) for system, mean in board.means.items()} == {"a": 0, "b": 0}


MINE = """
[[measure]]
name = "Mine"
credit = {met = 1, partly_met = 0.25}
clip = true

[[measure]]
name = "Lapses"
credit = {not_met = 0, met = 1}
words = {vital = 0, "*" = 1}
empty = "none"
lower_is_better = true
"""


def test_measures_of_a_file(
    write_jsonl: WriteJsonl, bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = graded(write_jsonl, a=("MHO", "OMO"), b=("MMO", "MMO"))
    (tmp_path / "mine.toml").write_text(MINE)
    words = ["evaluate", "rubric", file, "--bank", bank, "--measure-file", tmp_path / "mine.toml"]
    main([*map(str, words), "--format", "tsv"])
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines(), delimiter="\t"))[:2]
    # b: 6 / 6 and (1 - 1) / 1; 2 of 3 criteria, twice.  a: (4 + 0.25 × 2) / 6 and 0 of 1; 1 of 3, twice.
    shown = [(row["Run ID"], float(row["Mine"]), float(row["Lapses"])) for row in rows]
    assert [name for name, *_ in shown] == ["b", "a"]
    assert [values for _, *values in shown] == [
        pytest.approx([0.5, 2 / 3], abs=1e-6),
        pytest.approx([0.375, 1 / 3], abs=1e-6),
    ]


def test_an_own_measure_may_count_mistakes(write_jsonl: WriteJsonl, bank: Path) -> None:
    lapses = exam_pp.Measure("Lapses", {"met": 1}, words={None: 1}, lower_is_better=True)
    file = graded(write_jsonl, a=("MHO", "OMO"), b=("MMO", "MMO"))
    board = leaderboard(of_judge(exam_pp.rubric_scores(file, bank, measures=[lapses])))
    assert list(board.systems) == ["a", "b"]
    assert "Lapses counts mistakes, so lower is better." in str(verdict(board))


def test_unknown_names(write_jsonl: WriteJsonl, bank: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"No measure named 'Rubrics'\. Did you mean 'Rubric'\?"):
        exam_pp.rubric_scores(graded(write_jsonl, a=("MHO", "OMO")), bank, measures=["Rubrics"])
    with pytest.raises(UnknownNameError, match="No label named 'good'"):
        exam_pp.Measure("Mine", {"good": 1})


def test_supported_and_contradicted(write_jsonl: WriteJsonl) -> None:
    """Two questions of weight 4 and 1; contradiction wins over support, and is never netted."""
    first = weighted("q1", 4, 4, 1)
    for item, group in zip(first["items"], "aab", strict=True):
        item |= {"group": group, "combine": "mean"}
    bank = write_jsonl("bank.jsonl", [first])
    file = write_jsonl("g.jsonl", [["q1", [answer("x", "q1", "SCP"), answer("y", "q1", "SSN")]]])
    evaluation = of_judge(exam_pp.rubric_scores(file, bank))
    assert value(evaluation, "x", "q1", "Supported") == pytest.approx((4 / 2 + 1 / 2) / 5)
    assert value(evaluation, "x", "q1", "Contradicted") == pytest.approx(4 / 2 / 5)
    assert value(evaluation, "y", "q1", "Contradicted") == 0
    by_contradiction = leaderboard(evaluation.of_metrics("Contradicted"), Statistics(places=True))
    assert list(by_contradiction.systems) == ["y", "x"]
    said = verdict(by_contradiction)
    assert said is not None
    assert "Contradicted counts mistakes, so lower is better." in said.sentence


def test_coverage_of_and_and_or(write_jsonl: WriteJsonl) -> None:
    line = weighted("q1", 1, 1, 1, 1)
    for item, (group, combine) in zip(line["items"], [("a", "any")] * 2 + [("b", "all")] * 2, strict=True):
        item |= {"group": group, "combine": combine}
    bank = write_jsonl("bank.jsonl", [line])
    file = write_jsonl("g.jsonl", [["q1", [answer("x", "q1", "SNSN"), answer("y", "q1", "NSSS")]]])
    evaluation = of_judge(exam_pp.rubric_scores(file, bank))
    assert [value(evaluation, system, "q1", "Coverage") for system in "xy"] == [0.5, 1.0]
    assert {score.metric for score in evaluation.scores} == {"Coverage", "L"}


def test_artificial_runs_bound_every_score(bank: Path) -> None:
    rows = {(s.system, s.query_id): s.value for s in sanity_scores(bank) if s.metric == "Rubric"}
    assert rows == {
        ("_all_nuggets_", "q1"): 1, (ONLY_MISTAKES, "q1"): -0.5,
        ("_all_nuggets_", "q2"): 1, (ONLY_MISTAKES, "q2"): -1,
    }  # fmt: skip


def test_cover_of_weights_below_0(write_jsonl: WriteJsonl, bank: Path) -> None:
    evaluation = exam_pp.cover(graded(write_jsonl, a=("SSS", "NSS"), b=("SNN", "SNN")), bank, min_grade=2)
    metric = "Cover(min_grade=2)@1"
    assert value(evaluation, "a", "q1", metric) == 3 / 6
    assert value(evaluation, "a", "q2", metric) == -1
    assert {score.system for score in evaluation.scores} == {"a", "b"}
    assert {score.metric for score in evaluation.scores} == {metric}
    assert evaluation.ranges == {metric: (-1.0, 1.0)}
    assert "nCover is left out, because the bank has 2 negative weights." in evaluation.notes


def test_a_mistake_makes_no_passage_relevant(write_jsonl: WriteJsonl, bank: Path) -> None:
    file = graded(write_jsonl, a=("NPS", "NSS"), b=("NNN", "PNN"))
    made = exam_pp.rubric_qrels(file, bank)
    assert {(q.passage_id, q.relevance) for q in made.qrels} == {
        ("a/q1", 1),
        ("a/q2", 0),
        ("b/q1", 0),
        ("b/q2", 1),
    }
    assert "3 entries with a weight of 0 or below made no labels." in made.notes


def test_weights_of_a_file(write_jsonl: WriteJsonl) -> None:
    line = weighted("q1", 4, -3.0)
    assert [item.weight for item in read_bank(write_jsonl("b.jsonl", [line])).lines[0].items] == [4, -3]
    exam_pp.write_bank(read_bank("b.jsonl"), "again.jsonl")
    assert '"weight":4,' in Path("again.jsonl").read_text()
    assert '"weight":-3.0,' in Path("again.jsonl").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"weight": "4"},
            "weight: must be a number, up to a billion; negative numbers are for what an answer should avoid",
        ),
        ({"weight": True}, "weight: must be a number"),
        (
            {"weight": 2, "group": "g"},
            r"the entries of the group 'g' have different weights \(4, 2\); give all the",
        ),
        ({"weight": 4, "group": "g", "combine": "all"}, r"different values of combine \(any, all\)"),
    ],
)
def test_refusals(write_jsonl: WriteJsonl, change: dict[str, Any], message: str) -> None:
    line = weighted("q1", 4, 4)
    line["items"][0] |= {"group": "g"}
    line["items"][1] |= change
    with pytest.raises(exam_pp.ExamError, match=message):
        read_bank(write_jsonl("b.jsonl", [line]))


@pytest.mark.parametrize(("weights", "criteria"), [((4, 2), False), ((4, -2), True)])
def test_nuggets_to_avoid_are_criteria(
    write_jsonl: WriteJsonl, weights: tuple[int, int], *, criteria: bool
) -> None:
    """A judge that compares words cannot tell a mistake from a warning against it."""
    assert read_bank(write_jsonl("b.jsonl", [weighted("q1", *weights)])).has_criteria is criteria
