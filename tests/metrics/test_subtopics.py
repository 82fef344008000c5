"""Subtopic qrels: placeholders keep the denominator, measures are those of ndeval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyndeval")

from exam_pp.errors import UnknownNameError
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.gains import RunMatrix
from exam_pp.metrics.grade_masks import GradedFile
from exam_pp.metrics.subtopics import PLACEHOLDER, subtopic_qrels, subtopic_scores
from exam_pp.metrics.trec_measures import parse_measures
from exam_pp.results import OVERALL_SYSTEM, SubtopicQrel
from tests.metrics.test_cover import bank, collect, graded_passage, query

ENTRIES = ("a", "b", "c", "d")


def graded(grades: dict[str, dict[str, int]], ranks: dict[str, int]) -> GradedFile:
    """Passages with grades, ranked by the system ``s``."""
    passages = [graded_passage(name, ratings, {"s": [ranks[name]]}) for name, ratings in grades.items()]
    return collect(query("q", *passages), bank=bank("q", *ENTRIES))


def runs(ranks: dict[str, int]) -> RunMatrix:
    matrix = RunMatrix([("q", name) for name in ranks])
    matrix.add("s", {"q": {name: -float(rank) for name, rank in ranks.items()}})
    return matrix


def test_a_bank_with_a_single_entry_gives_no_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """The warning of the library, that results are probably invalid, is suppressed."""
    (score,) = subtopic_scores(
        runs({"p": 1}), [SubtopicQrel("q", "1", "p", 5)], parse_measures(["alpha_nDCG@20"], subtopics=True)
    )
    assert score.value == 1.0
    assert not capsys.readouterr().err


def test_every_entry_is_a_subtopic_and_uncovered_entries_have_placeholders() -> None:
    file = graded({"p1": {"a": 5, "b": 1}, "p2": {"b": 3}}, {"p1": 1, "p2": 2})

    assert list(subtopic_qrels(file.queries["q"], 4)) == [
        SubtopicQrel("q", "1", "p1", 5),
        SubtopicQrel("q", "2", "p1", 1),
        SubtopicQrel("q", "2", "p2", 3),
        SubtopicQrel("q", "2", f"{PLACEHOLDER}2", 4),
        SubtopicQrel("q", "3", f"{PLACEHOLDER}3", 4),
        SubtopicQrel("q", "4", f"{PLACEHOLDER}4", 4),
    ]
    assert [line.relevance for line in subtopic_qrels(file.queries["q"], 4, binary=True)] == [
        1,
        0,
        0,
        1,
        1,
        1,
    ]


@given(
    st.dictionaries(
        st.sampled_from([f"p{n}" for n in range(9)]),
        st.dictionaries(st.sampled_from(ENTRIES), st.integers(0, 5), min_size=1),
        min_size=1,
    ),
    st.integers(1, 5),
    st.integers(1, 9),
)
def test_subtopic_recall_is_rubric_cover(
    grades: dict[str, dict[str, int]], min_grade: int, cutoff: int
) -> None:
    """With the placeholders, StRecall@k at the threshold is Cover@k; without, uncovered entries are lost."""
    ranks = {name: place for place, name in enumerate(sorted(grades), 1)}
    file = graded(grades, ranks)
    (measure,) = parse_measures([f"StRecall@{cutoff}"], min_grade, subtopics=True)
    (score,) = subtopic_scores(runs(ranks), list(subtopic_qrels(file.queries["q"], min_grade)), [measure])
    cover = {s.system: s.value for s in Cover(min_grade, cutoff)(file.queries["q"], file.first_ranks)}

    assert score.value == pytest.approx(cover["s"])
    assert cover[OVERALL_SYSTEM] >= cover["s"]


def test_alpha_ndcg_of_a_worked_example() -> None:
    """Clarke et al. (SIGIR 2008), section 4: gains are halved each time that a subtopic is seen again."""
    grades = {"p1": {"a": 1, "b": 1}, "p2": {"a": 1}, "p3": {"c": 1, "d": 1}}
    ranks = {"p1": 1, "p2": 2, "p3": 3}
    file = graded(grades, ranks)
    measures = parse_measures(["alpha_DCG@3", "alpha_nDCG@3"], subtopics=True)
    scores = list(subtopic_scores(runs(ranks), list(subtopic_qrels(file.queries["q"], 1)), measures))
    log3 = 1.584962500721156
    gain = 2 / 1 + 0.5 / log3 + 2 / 2
    ideal = 2 / 1 + 2 / log3 + 0.5 / 2

    assert scores[1].value == pytest.approx(gain / ideal)


def test_several_levels_and_queries_without_results() -> None:
    file = graded({"p1": {"a": 5}}, {"p1": 1})
    qrels = [*subtopic_qrels(file.queries["q"], 4), SubtopicQrel("other", "1", "x", 5)]
    measures = parse_measures(["StRecall@5", "StRecall(rel=5)@5", "P_IA(rel=3)@5"], subtopics=True)
    values = {(s.query_id, s.metric): s.value for s in subtopic_scores(runs({"p1": 1}), qrels, measures)}

    assert values["q", "StRecall@5"] == 0.25
    assert values["q", "StRecall(rel=5)@5"] == 1.0
    assert values["other", "P_IA(rel=3)@5"] == 0.0


def test_a_query_without_relevant_passages_scores_0() -> None:
    """ndeval divides by an ideal of 0 there."""
    none = [SubtopicQrel("q", "1", "p1", 0), SubtopicQrel("q", "2", "p1", 0)]
    qrels = [*none, SubtopicQrel("other", "1", "x", 1)]
    measures = parse_measures(["nNRBP", "alpha_nDCG@5"], subtopics=True)

    assert {score.value for score in subtopic_scores(runs({"p1": 1}), qrels, measures)} == {0.0}


@pytest.mark.parametrize(
    ("name", "subtopics", "words"),
    [
        ("nDCG@10", True, "alpha_nDCG"),
        ("alpha_nDCG@10", False, "--facets entry"),
        ("alpha_nDCG@30", True, "20"),
        ("alpha_nDCG", True, "needs a cutoff"),
        ("ERR_IA(judged_only=True)@10", True, "judged_only"),
    ],
)
def test_unsupported_measures(name: str, subtopics: bool, words: str) -> None:
    with pytest.raises(UnknownNameError, match=words):
        parse_measures([name], subtopics=subtopics)
