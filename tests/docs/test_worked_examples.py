"""The numbers of the worked examples in docs/concepts/, which the pages compute by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

import exam_pp
from exam_pp.records import replace

ENTRIES = {
    "bread": ["gas", "sugar", "warmth", "salt"],
    "iron": ["water", "oxygen", "salt"],
    "snow": ["cold"],
}


def graded(
    query_id: str, passage_id: str, ranks: Mapping[str, int], grades: Mapping[str, int]
) -> exam_pp.Passage:
    ratings = {f"{query_id}/{entry}": grade for entry, grade in grades.items()}
    passage = exam_pp.Passage(passage_id=passage_id, text="...")
    passage.rankings.extend(
        exam_pp.RankingEntry(method=system, passage_id=passage_id, query_id=query_id, rank=rank, score=-rank)
        for system, rank in ranks.items()
    )
    rated: Any = [{"question_id": entry, "self_rating": rating} for entry, rating in ratings.items()]
    grade = exam_pp.RubricGrades(
        model="by hand",
        prompt_info={"prompt_class": "QuestionSelfRatedUnanswerablePromptWithChoices"},
        prompt_type="question",
        correct=[entry for entry, rating in ratings.items() if rating > 0],
        wrong=[entry for entry, rating in ratings.items() if rating == 0],
        self_ratings=rated,
    )
    passage.add_grades([grade])
    return passage


def bank(**weights: float) -> exam_pp.TestBank:
    lines = [
        exam_pp.BankLine(
            query_id=query_id,
            items=[
                exam_pp.Question(
                    query_id=query_id,
                    question_id=f"{query_id}/{entry}",
                    question_text=f"Question about {entry}",
                    weight=weights.get(entry, 1),
                )
                for entry in entries
            ],
        )
        for query_id, entries in ENTRIES.items()
    ]
    return exam_pp.TestBank.from_lines(lines)


@pytest.fixture
def queries() -> list[exam_pp.QueryPassages]:
    p1 = graded("bread", "p1", {"A": 1, "B": 2}, {"gas": 5, "sugar": 2, "warmth": 0, "salt": 0})
    p2 = graded("bread", "p2", {"A": 2}, {"gas": 4, "sugar": 4, "warmth": 0, "salt": 1})
    p3 = graded("bread", "p3", {"B": 1}, {"gas": 0, "sugar": 3, "warmth": 5})
    p4 = graded("iron", "p4", {"A": 1}, {"water": 5, "oxygen": 3, "salt": 4})
    return [exam_pp.QueryPassages("bread", [p1, p2, p3]), exam_pp.QueryPassages("iron", [p4])]


def means(evaluation: exam_pp.Evaluation) -> dict[str, float]:
    return {
        system: round(mean, 3)
        for system, mean in exam_pp.leaderboard(evaluation, intervals=None).means().items()
    }


def test_cover_and_its_bounds(queries: list[exam_pp.QueryPassages]) -> None:
    board = exam_pp.leaderboard(exam_pp.cover(queries, bank(), min_grade=4), intervals=None)
    rows = {
        (row.metric.partition("(")[0], row.system): [
            round(value, 3) for value in (row.mean, row.worst_case or 0, row.best_case or 0)
        ]
        for row in board
    }
    assert rows == {
        ("Cover", "A"): [0.583, 0.583, 0.583],
        ("Cover", "B"): [0.25, 0.25, 0.375],
        ("Cover", "_overall_"): [0.708, 0.708, 0.833],
        ("nCover", "A"): [0.833, 0.75, 0.833],
        ("nCover", "B"): [0.333, 0.333, 0.375],
        ("nCover", "_overall_"): [1.0, 1.0, 1.0],
    }
    assert round(next(row.stderr or 0 for row in board if row.system == "A"), 3) == 0.083


def test_thresholds_cutoffs_and_weights(queries: list[exam_pp.QueryPassages]) -> None:
    assert means(exam_pp.cover(queries, bank(), min_grade=3)) == {"A": 0.75, "B": 0.375}
    assert means(exam_pp.cover(queries, bank(), min_grade=4, cutoff=1)) == {"A": 0.458, "B": 0.125}
    assert means(exam_pp.cover(queries, bank(warmth=3), min_grade=4)) == {"A": 0.5, "B": 0.333}
    skipped = exam_pp.cover(queries, bank(), min_grade=4, missing_queries="skip")
    assert means(skipped) == {"A": 0.583, "B": 0.5}


def test_soft_cover(queries: list[exam_pp.QueryPassages]) -> None:
    p2: Any = queries[0].passages[1]
    of_p2 = p2.rubric_grades[0].self_ratings
    of_p2[1] = replace(of_p2[1], probabilities=[0.1, 0, 0, 0.2, 0.5, 0.2])
    assert means(exam_pp.cover(queries, bank(), min_grade=4, soft=True)) == {"A": 0.546, "B": 0.25}


def test_rubric_qrels() -> None:
    passages = [
        graded("bread", "p1", {}, {"gas": 5, "sugar": 2}),
        graded("bread", "p2", {}, {"gas": 1, "sugar": 0}),
        graded("bread", "p3", {}, {"gas": 4, "sugar": 4}),
    ]
    queries = [
        exam_pp.QueryPassages("bread", passages),
        exam_pp.QueryPassages("iron", [graded("iron", "p5", {}, {"water": 3})]),
    ]
    rankings = {
        ("A", "bread"): ["p2", "p1", "p3"],
        ("A", "iron"): ["p5"],
        ("B", "bread"): ["p3", "p4", "p1"],
    }
    runs = [
        exam_pp.RunLine(query_id, passage_id, rank, -rank, system)
        for (system, query_id), ranking in rankings.items()
        for rank, passage_id in enumerate(ranking, 1)
    ]
    labels = exam_pp.rubric_qrels(queries, min_grade=4)
    evaluation = exam_pp.score_runs(labels, runs, ["nDCG@3", "P@3", "AP", "RR"])
    of_bread = {
        (score.metric, score.system): round(score.value, 3)
        for score in evaluation.scores
        if score.query_id == "bread"
    }
    assert of_bread == {
        ("nDCG@3", "A"): 0.767,
        ("P(rel=4)@3", "A"): 0.667,
        ("AP(rel=4)", "A"): 0.583,
        ("RR(rel=4)", "A"): 0.5,
        ("nDCG@3", "B"): 0.81,
        ("P(rel=4)@3", "B"): 0.667,
        ("AP(rel=4)", "B"): 0.833,
        ("RR(rel=4)", "B"): 1.0,
    }
    board = exam_pp.leaderboard(evaluation, intervals=None)
    cases = {
        row.system: (round(row.worst_case or 0, 3), round(row.best_case or 0, 3))
        for row in board
        if row.metric == "nDCG@3"
    }
    assert cases == {"A": (0.884, 0.884), "B": (0.405, 0.475)}


def qrels(labels: Iterable[int]) -> list[exam_pp.Qrel]:
    return [exam_pp.Qrel("q1", f"p{number}", label) for number, label in enumerate(labels, 1)]


def test_correlation_and_agreement() -> None:
    scores = {"A": 0.6, "B": 0.5, "C": 0.5, "D": 0.3}
    ranks = {"A": 2, "B": 1, "C": 3, "D": 4}
    found = exam_pp.correlate(scores, ranks, top=2)
    values = (found.spearman, found.kendall, found.tau_ap, found.top_overlap)
    assert values == pytest.approx((0.632, 0.548, 0.333, 0.667), abs=0.0005)
    exchanged = exam_pp.correlate(
        {system: -rank for system, rank in ranks.items()},
        {system: -score for system, score in scores.items()},
    )
    assert exchanged.tau_ap == pytest.approx(1 / 6)
    labels = exam_pp.agreement(qrels([0, 0, 1, 2, 2, 3]), qrels([0, 1, 1, 2, 3, 3]))
    values = (labels.kappa, labels.linear_kappa, labels.quadratic_kappa, labels.ordinal_alpha)
    assert values == pytest.approx((0.571, 0.739, 0.870, 0.878), abs=0.0005)
