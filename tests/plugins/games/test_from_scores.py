"""Games from grades and from files of scores: equal to comparing the scores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.games import QueryGames
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.measures import NUGGET_METRICS
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.plugins.games.biases import game_biases
from exam_pp.plugins.games.from_scores import games_from_grades, games_from_scores, winner_of
from exam_pp.results import OVERALL_SYSTEM, Score
from tests.conftest import passage, rubric
from tests.phases.evaluation.test_corrections import file_of as corrected_file
from tests.phases.nugget_material import answer, bank_line

WriteLines = Callable[[str, list[Any]], Path]
Verdicts = dict[tuple[str, str, str], str | None]


def verdicts(queries: Iterable[QueryGames]) -> Verdicts:
    """Query and both systems to the winner."""
    return {
        (query.query_id, str(game.a), str(game.b)): game.winner
        for query in queries
        for game in query.game_sets[0].games
    }


def compared(scores: Iterable[Score], metric: str) -> Verdicts:
    """The same from scores, by plain comparison."""
    values = {
        (s.query_id, s.system): s.value for s in scores if s.metric == metric and s.system != OVERALL_SYSTEM
    }
    return {
        (query, a, b): "A"
        if values[query, a] > values[query, b]
        else "B"
        if values[query, a] < values[query, b]
        else "C"
        for query in {query for query, _ in values}
        for a, b in combinations(sorted(system for of, system in values if of == query), 2)
    }


def graded(
    passage_id: str, query_id: str, ranks: Mapping[str, int], ratings: dict[str, int]
) -> dict[str, Any]:
    """A passage of as many words as its id has letters, with the ranks of systems and its ratings."""
    rankings = [
        {"method": name, "paragraphId": passage_id, "queryId": query_id, "rank": rank, "score": 1.0}
        for name, rank in ranks.items()
    ]
    return passage(
        passage_id,
        text="word " * len(passage_id),
        paragraph_data={"judgments": [], "rankings": rankings},
        exam_grades=[rubric(ratings, llm="grader")],
    )


LINES = [
    [
        "q1",
        [
            graded("p", "q1", {"x": 1}, {"q1/a": 5, "q1/b": 0}),
            graded("pp", "q1", {"x": 2, "y": 1}, {"q1/a": 1, "q1/b": 3}),
            graded("ppp", "q1", {"z": 1}, {"q1/a": 4, "q1/b": 0}),
        ],
    ],
    ["q2", [graded("r", "q2", {"x": 1, "y": 1}, {"q2/a": 4})]],
]


@pytest.fixture
def file(write_jsonl: WriteLines) -> Path:
    return write_jsonl("graded.jsonl", LINES)


def test_games_by_hand(file: Path) -> None:
    """Cover at 4 is 1/2, 0 and 1/2 for q1, and 1, 1 and 0 for q2, for which z has no results."""
    result = games_from_grades(file, cutoff=5)
    assert (result.systems, result.games, result.ties) == (3, 6, 2)
    assert verdicts(result.queries) == {
        ("q1", "x", "y"): "A", ("q1", "x", "z"): "C", ("q1", "y", "z"): "B",
        ("q2", "x", "y"): "C", ("q2", "x", "z"): "A", ("q2", "y", "z"): "A",
    }  # fmt: skip
    first = next(iter(result.queries)).game_sets[0]
    assert first.model == "grader"
    prompt = "QuestionSelfRatedUnanswerablePromptWithChoices"
    assert first.prompt_info == {
        "prompt_class": f"Cover(min_grade=4)@5 of {prompt}",
        "measure": "Cover(min_grade=4)@5",
        "tie_margin": 0.0,
    }
    assert {game.decided_by for game in first.games} == {"ratings"}
    assert [(game.words_a, game.words_b) for game in first.games] == [(3, 2), (3, 3), (2, 3)]
    assert any("No results from z for 1 query (q2)" in note for note in result.notes)


def test_a_query_without_results_can_be_skipped(file: Path) -> None:
    for measure in ("Cover", "MeanRating"):
        result = games_from_grades(file, measure=measure, cutoff=5, missing_queries="skip")
        assert [key for key in verdicts(result.queries) if key[0] == "q2"] == [("q2", "x", "y")]
        assert "1 score is missing: such a system has no games for the query." in result.notes


def test_the_mean_rating_by_hand(file: Path) -> None:
    """For q1, the best ratings are 5 and 3 for x, 1 and 3 for y, 4 and 0 for z: means of 4, 2 and 2."""
    result = games_from_grades(file, measure="MeanRating", cutoff=5)
    of_q1 = {key[1:]: winner for key, winner in verdicts(result.queries).items() if key[0] == "q1"}
    assert of_q1 == {("x", "y"): "A", ("x", "z"): "A", ("y", "z"): "C"}
    wide = games_from_grades(file, measure="MeanRating", cutoff=5, tie_margin=2)
    assert {w for key, w in verdicts(wide.queries).items() if key[0] == "q1"} == {"C"}
    narrow = games_from_grades(file, measure="MeanRating", cutoff=5, tie_margin=1.99)
    assert verdicts(narrow.queries)["q1", "x", "y"] == "A"


def test_repeats_of_a_system_play_only_against_other_systems(write_jsonl: WriteLines) -> None:
    passages = [graded("p", "q1", {}, {"q1/a": 5}), graded("pp", "q1", {"y": 1}, {"q1/a": 0})]
    for repeat, of_passage in ((1, passages[0]), (2, passages[1])):
        of_passage["paragraph_data"]["rankings"].append(
            {"method": "x", "paragraphId": "p", "queryId": "q1", "rank": 1, "score": 1.0, "repeat": repeat}
        )
    result = games_from_grades(write_jsonl("graded.jsonl", [["q1", passages]]))
    assert verdicts(result.queries) == {("q1", "x-run-1", "y"): "A", ("q1", "x-run-2", "y"): "C"}
    games = next(iter(result.queries)).game_sets[0].games
    assert [(game.system_a, game.repeat_a, game.repeat_b) for game in games] == [
        ("x", 1, None),
        ("x", 2, None),
    ]


@pytest.mark.parametrize("measure", NUGGET_METRICS)
def test_nugget_scores_decide(write_jsonl: WriteLines, measure: Any) -> None:
    lines = [
        ["q1", [answer("a", "q1", "SPN"), answer("b", "q1", "PPP"), answer("c", "q1", "NSS", "One two.")]],
        ["q2", [answer("a", "q2", "NS"), answer("b", "q2", "NS")]],
    ]
    path = write_jsonl("assigned.jsonl", lines)
    bank = write_jsonl("nuggets.jsonl", [bank_line("q1", "vvo"), bank_line("q2", "vo")])
    (evaluation,) = nugget_scores(path, bank).values()
    result = games_from_grades(path, bank, measure=measure)
    assert verdicts(result.queries) == compared(evaluation.scores, measure)
    lengths = {str(game.b): game.words_b for game in next(iter(result.queries)).game_sets[0].games}
    assert lengths == {"b": 3, "c": 2}


def test_nugget_scores_need_a_bank_and_one_grader(write_jsonl: WriteLines) -> None:
    path = write_jsonl(
        "assigned.jsonl", [["q1", [answer("a", "q1", "S"), answer("b", "q1", "N", other="S")]]]
    )
    bank = write_jsonl("nuggets.jsonl", [bank_line("q1", "v")])
    with pytest.raises(SelectionError, match="need the bank of the nuggets"):
        games_from_grades(path, measure="V")
    with pytest.raises(SelectionError, match=r"several graders .judge, other.; select one"):
        games_from_grades(path, bank, measure="V")


def test_rounding_errors_decide_no_game() -> None:
    assert winner_of(0.1 + 0.2, 0.3) == "C"
    assert winner_of(2e-10, 1e-12) == "A"
    assert winner_of(0.3 - 0.1, 0.1, tie_margin=0.1) == "C"


def test_outputs_of_trec_eval(tmp_path: Path) -> None:
    """A file for each run, with means and another measure."""
    for system, score in (("x", 0.5), ("y", 0.25)):
        lines = [
            ("runid", "all", system),
            ("map", "q1", score),
            ("P_5", "q1", 1 - score),
            ("map", "all", score),
        ]
        text = "".join(f"{name:22}\t{query}\t{value}\n" for name, query, value in lines)
        (tmp_path / f"{system}.eval").write_text(text)
    files = [tmp_path / "x.eval", tmp_path / "y.eval"]
    result = games_from_scores(files, measure="map")
    assert verdicts(result.queries) == {("q1", "x", "y"): "A"}
    first = next(iter(result.queries)).game_sets[0]
    assert (first.model, first.prompt_class, first.games[0].words_a) == ("x.eval, y.eval", "map", None)
    assert verdicts(games_from_scores(files, measure="P_5").queries) == {("q1", "x", "y"): "B"}
    (tmp_path / "again").mkdir()
    files.append(Path(shutil.copy(files[0], tmp_path / "again")))
    with pytest.raises(SelectionError, match="and so has another file; leave out one of them"):
        games_from_scores(files, measure="map")


@pytest.mark.parametrize(
    ("lines", "options", "problem"),
    [
        ("x\tall\tF1\t1\n", {}, "has no scores of single queries"),
        (
            "x\tq1\tF1\t1\nx\tq1\tF2\t1\n",
            {},
            "has several measures (F1, F2); select one with --by.",
        ),
        ("x\tq1\tF1\t1\n", {"measure": "F2"}, "does not have the measure 'F2', only F1."),
        ("x\tq1\tF1\t1\ny\tq2\tF1\t1\n", {}, "at least two systems on a common query"),
        ("x\tq1\tF1\t1\ny\tq1\tF1\t1\n", {"queries": ["q2"]}, "at least two systems on a common query"),
    ],
)
def test_scores_that_decide_no_games(tmp_path: Path, lines: str, options: Any, problem: str) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text(f"system\tquery\tmeasure\tvalue\n{lines}")
    with pytest.raises(SelectionError) as caught:
        games_from_scores(path, **options)
    assert problem in str(caught.value)


def test_a_judge_of_ratings_has_no_place_bias(file: Path) -> None:
    """The response of x is longer than that of y for q1, and wins; for q2, z has no words and loses twice."""
    found = game_biases(games_from_grades(file, cutoff=5).queries).judges[0].shares
    assert found["place A"].total == 0
    assert (found["longer answer"].count, found["longer answer"].total) == (4, 4)


def test_games_of_grades_need_all_of_them(write_jsonl: WriteLines) -> None:
    graded = corrected_file(write_jsonl, lambda system, *_: system == "good")
    with pytest.raises(SelectionError, match="name the judge alone"):
        games_from_grades(graded)
    judge = GradeFilter(model="google/flan-t5-large")
    assert games_from_grades(graded, grade_filter=judge)
