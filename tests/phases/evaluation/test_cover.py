"""Evaluation of files: query sets, notes, real data."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.cli.main import main
from exam_pp.data_model import Role
from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.judgments import judgments
from exam_pp.phases.evaluation.leaderboards import leaderboard
from exam_pp.phases.evaluation.result import Evaluation, missing_query_notes
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs
from exam_pp.reports.evaluation.leaderboards import leaderboard_report
from exam_pp.results import OVERALL_SYSTEM, Qrel
from tests.conftest import passage, rubric
from tests.tables import rows_of

WriteJsonl = Callable[[str, list[Any]], Path]


def ranked(passage_id: str, ratings: dict[str, int], **ranks: int) -> dict[str, Any]:
    rankings = [
        {"method": system, "paragraphId": passage_id, "queryId": "q", "rank": rank, "score": 1.0}
        for system, rank in ranks.items()
    ]
    data = {"judgments": [], "rankings": rankings}
    return passage(passage_id, paragraph_data=data, exam_grades=[rubric(ratings)])


def means(evaluation: Evaluation) -> dict[tuple[str, str], float]:
    return {(row.system, row.metric): row.mean for row in standings(evaluation.scores)}


@pytest.fixture
def graded(write_jsonl: WriteJsonl) -> Path:
    return write_jsonl(
        "ranked.jsonl",
        [
            ["q1", [ranked("p1", {"q1/a": 5, "q1/b": 0}, easy=1, all=1), ranked("p2", {"q1/b": 4}, all=2)]],
            ["q2", [ranked("p3", {"q2/a": 4, "q2/b": 4}, all=1)]],
            ["q3", [passage("p4")]],
        ],
    )


@pytest.fixture
def bank(write_jsonl: WriteJsonl) -> Path:
    lines = [
        {
            "query_id": query,
            "test_collection": "t",
            "query_text": query,
            "items": [
                {"query_id": query, "question_id": f"{query}/{e}", "question_text": f"{e}?"} for e in "abc"
            ],
        }
        for query in ("q1", "q2", "q3", "q4")
    ]
    return write_jsonl("bank.jsonl", lines)


def test_an_empty_answer_covers_nothing(tmp_path: Path) -> None:
    """It is 0 in both bounds: nothing of it is left to grade."""
    answers = {"full": {"q1": "air scatters blue light"}, "empty": {"q1": " "}}
    study = exam_pp.study(answers=answers, bank={"q1": ["What does air scatter?"]}).grade("lexical")
    scores = study.scores()
    assert [score.value for score in scores.scores if score.system == "empty"] == [0, 0]
    assert not scores.best_case
    assert "1 of empty's 1 answer is empty." in scores.notes
    assert (scores.of_answers, scores.provenance and scores.provenance.cutoff) == (True, None)
    page = study.report(tmp_path / "page.html").read_text()
    assert "Share of the questions that an answer covers: Cover(min_grade=4).<" in page
    assert "Upper bound: all answers together score 100\N{NO-BREAK SPACE}%." in page
    assert "of a part of an answer and an entry." in page


def test_means_are_over_the_bank_s_graded_queries(graded: Path, bank: Path) -> None:
    """A system that answers only easy queries scores 0 on the others, so it does not win."""
    evaluation = cover(graded, bank=bank)
    name = "Cover(min_grade=4)@2"

    assert means(evaluation)["easy", name] == pytest.approx(1 / 6)
    assert means(evaluation)["all", name] == pytest.approx(2 / 3)
    assert means(evaluation)[OVERALL_SYSTEM, name] == pytest.approx(2 / 3)
    assert any("2 queries (q3, q4) of the bank" in note for note in evaluation.notes)
    assert any("2 bank entries (q1/c, q2/c)" in note for note in evaluation.notes)
    for notes in (
        evaluation.notes,
        score_rankings(rubric_qrels(graded).qrels, graded, ["RR"]).notes,
    ):
        assert any("No results from easy for 1 query (q2)" in note for note in notes)


def test_skipping_missing_queries_reproduces_the_published_means(graded: Path, bank: Path) -> None:
    evaluation = cover(graded, bank=bank, missing_queries="skip")

    assert means(evaluation)["easy", "Cover(min_grade=4)@2"] == pytest.approx(1 / 3)
    assert not any("No results" in note for note in evaluation.notes)
    report = leaderboard_report(leaderboard(evaluation), "")
    assert rows_of(report)[1]["queries"] == 1
    assert "Upper bound: 66.7 % of the questions are answered by any passage." in report.notes


def test_without_a_bank_the_entries_are_those_of_the_grades(graded: Path) -> None:
    evaluation = cover(graded)

    assert means(evaluation)["all", "Cover(min_grade=4)@2"] == 1.0
    assert any("No --bank" in note for note in evaluation.notes)


def test_queries_restrict_the_means(graded: Path, bank: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("q1\tone\nq9\tnine\n")
    evaluation = cover(graded, bank=bank, queries=queries)

    assert {score.query_id for score in evaluation.scores} == {"q1"}
    assert not any("not in the bank" in note for note in evaluation.notes)
    assert any("1 selected query (q9)" in note for note in evaluation.notes)


def test_the_default_threshold_of_prompts_without_a_scale_is_1(write_jsonl: WriteJsonl) -> None:
    grades = rubric({"q/a": 1, "q/b": 0}, self_ratings=None)
    path = write_jsonl("extracted.jsonl", [["q", [passage("p", exam_grades=[grades])]]])

    assert rubric_qrels(path, label="count").qrels == [Qrel("q", "p", 1)]
    assert rubric_qrels(path, label="count").min_grade == 1


def test_replies_that_cannot_be_read_are_named_in_place_of_the_bank(
    write_jsonl: WriteJsonl, bank: Path
) -> None:
    failure = {"q/a": {"failure_reason": "the reply is not a number", "response": "It depends."}}
    unread = rubric({}, llm_response_errors=failure)
    of_replies = r"None of the 1 pair .*: the reply .*, such as 'It depends\.'"
    beside = rubric({"q/b": 5}, llm_response_errors=failure)
    for grades, banks, message in (
        (unread, bank, of_replies),
        (unread, None, of_replies),
        (rubric({}), None, r"None of the queries in the bank has a graded passage in .*unread\.jsonl"),
        (beside, bank, r"None of the queries in .*bank\.jsonl has a graded passage in .*unread\.jsonl"),
    ):
        path = write_jsonl("unread.jsonl", [["q", [passage("p", exam_grades=[grades])]]])
        with pytest.raises(SelectionError, match=message):
            cover(path, banks)


def test_the_mean_label_is_that_of_the_graded_entries(write_jsonl: WriteJsonl) -> None:
    """An ungraded entry is in no mean; it could move the mean up or down, so scores have no bounds."""
    passages = [
        passage("p", exam_grades=[rubric({"q/a": 5, "q/b": 2})]),
        passage("r", exam_grades=[rubric({"q/b": 1})]),
        passage("s"),
    ]
    labels = rubric_qrels(write_jsonl("g.jsonl", [["q", passages]]), label="mean")
    assert list(labels.qrels) == [Qrel("q", "p", 3.5), Qrel("q", "r", 1)]
    assert (labels.ungraded, labels.level) == (None, None)


def test_a_threshold_above_all_grades_is_refused(graded: Path, write_jsonl: WriteJsonl) -> None:
    with pytest.raises(
        SelectionError, match=r"--min-grade 6 is above all grades: the scale of \S+ ends at 5"
    ):
        cover(graded, min_grade=6)
    with pytest.raises(SelectionError, match="--min-grade 6 is above all grades"):
        rubric_qrels(graded, min_grade=6)
    assert not any("No grade reaches" in note for note in cover(graded, min_grade=5).notes)
    assert any("--min-grade 0 covers every" in note for note in cover(graded, min_grade=0).notes)
    below = write_jsonl("below.jsonl", [["q", [ranked("p", {"q/a": 4}, s=1)]]])
    assert "No grade reaches --min-grade 5; the highest grade is 4." in cover(below, min_grade=5).notes
    assert not any("covers every" in note for note in cover(graded, min_grade=1).notes)


def test_a_query_without_covered_entries_is_noted(graded: Path, bank: Path) -> None:
    note = "No passage covers an entry of 1 query (q2): nCover(min_grade=5) is 0 there."

    assert note in cover(graded, bank=bank, min_grade=5).notes
    assert not any("covers an entry" in note for note in cover(graded, bank=bank, min_grade=4).notes)


def test_a_label_of_the_threshold_is_relevant(graded: Path) -> None:
    labels = rubric_qrels(graded, label="binary", min_grade=5).qrels

    assert [label.relevance for label in labels] == [1, 0, 0]


def test_ungraded_passages_within_the_cutoff_are_counted(write_jsonl: WriteJsonl) -> None:
    ungraded = ranked("p2", {}, s=2) | {"exam_grades": None}
    path = write_jsonl("part.jsonl", [["q", [ranked("p1", {"q/a": 5}, s=1), ungraded]]])

    assert any("1 of 2 ranked passages" in note for note in cover(path).notes)
    assert not any("ranked passage" in note for note in cover(path, cutoff=1).notes)
    answers = [
        ranked(f"{system}/q", {}, **{system: 1}) | {"exam_grades": None} for system in ("t", "canary:x")
    ]
    answers.append(ranked("s/q", {"q/a": 5}, s=1) | {"text": ""})
    notes = cover(write_jsonl("answers.jsonl", [["q", answers]]), canaries=True).notes
    assert any("2 of 3 parts of answers have no grade" in note for note in notes)
    assert any("The grader did not grade 1 canary (canary:x):" in note for note in notes)
    assert not any("empty" in note for note in notes), "two have a text, and the other a grade"


def test_a_file_without_rankings_gives_the_upper_bound(write_jsonl: WriteJsonl) -> None:
    path = write_jsonl("judged.jsonl", [["q", [ranked("p", {"q/a": 5})]]])
    evaluation = cover(path)

    assert {score.system for score in evaluation.scores} == {OVERALL_SYSTEM}
    assert any("no rankings" in note for note in evaluation.notes)


@pytest.mark.parametrize(("query_id", "system"), [("all", "s"), ("q", "_overall_")])
def test_reserved_names_are_refused(
    write_jsonl: WriteJsonl, tmp_path: Path, query_id: str, system: str
) -> None:
    """The scores of a query `all` would replace the mean; those of `_overall_` would mix with the bound."""
    place = {"method": system, "paragraphId": "p", "queryId": query_id, "rank": 1, "score": 1.0}
    graded = passage("p", paragraph_data={"rankings": [place]}, exam_grades=[rubric({"e": 5})])
    path = write_jsonl("names.jsonl", [[query_id, [graded]]])
    run = tmp_path / f"{system}.run"
    run.write_text(f"{query_id} Q0 p 1 1 t\n")
    labels = rubric_qrels(path).qrels
    refused = pytest.raises(SelectionError, match=r"'(all|_overall_)' is reserved")
    with refused:
        cover(path)
    with refused:
        score_runs(labels, run, ["RR"])
    with refused:
        score_rankings(labels, path, ["RR"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('(q1|007)(/|")', r"x\1\2", r"None of the queries in .*other\.jsonl has a graded .*graded\.jsonl"),
        ("(q1|007)/", r"\1/x", r"No entry of .*other\.jsonl has a grade in .*graded\.jsonl: name the bank"),
    ],
    ids=["queries", "entries"],
)
def test_another_bank_is_refused(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(re.sub(old, new, tiny_bank.read_text()))

    with pytest.raises(SelectionError, match=message):
        cover(tiny_passages, bank=other)


@pytest.mark.parametrize(
    ("criteria", "shares"),
    [
        ({"prompt_class": "QuestionSelfRatedUnanswerablePromptWithChoices"}, {"s": 1.0, "t": 0.0}),
        ({"kind": "nugget"}, {"s": 0.0, "t": 0.5}),
        ({"prompt_class": "NuggetSelfRatedPrompt"}, {"s": 0.0, "t": 0.5}),
        ({"prompt_class": "Own"}, {"s": 1 / 3, "t": 0.0}),
    ],
)
def test_only_entries_of_the_selected_kind_count(
    write_jsonl: WriteJsonl, criteria: dict[str, Any], shares: dict[str, float]
) -> None:
    """A bank of a question and two nuggets; the kind of the entries of an unknown prompt is unknown."""
    question, nugget = ranked("p1", {"a": 5}, s=1), ranked("p2", {"n": 5}, t=1)
    question["exam_grades"].append(rubric({"a": 5}, prompt_info={"prompt_class": "Own"}))
    nugget["exam_grades"] = [
        rubric({"n": 5}, prompt_info={"prompt_class": "NuggetSelfRatedPrompt"}, prompt_type="nugget")
    ]
    items = [{"query_id": "q", f"{kind}_id": key, f"{kind}_text": key} for key, kind in KINDS.items()]
    bank = write_jsonl("kinds.jsonl", [{"query_id": "q", "query_text": "q", "items": items}])
    path = write_jsonl("both.jsonl", [["q", [question, nugget]]])
    evaluation = cover(path, bank, grade_filter=exam_pp.GradeFilter(**criteria))
    name = "Cover(min_grade=4)@1"
    assert {system: means(evaluation)[system, name] for system in "st"} == pytest.approx(shares)


KINDS = {"a": "question", "n": "nugget", "m": "nugget"}


def test_the_answer_of_a_system_counts_and_not_what_it_retrieved(
    write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels are for both, and do not need the role."""
    pytest.importorskip("pyndeval")
    passages = [ranked("p", {"a": 5, "b": 5}, s=1), ranked("s/q", {"a": 5, "b": 0}, s=1)]
    for each, recorded in zip(passages, ("retrieved", "answer"), strict=True):
        each["paragraph_data"]["rankings"][0]["role"] = recorded
    path = write_jsonl("roles.jsonl", [["q", passages]])
    roles: tuple[Role | None, ...] = (None, "answer", "retrieved")
    scores = [means(cover(path, role=role))["s", "Cover(min_grade=4)@1"] for role in roles]
    assert scores == [0.5, 0.5, 1.0]
    del passages[0]["paragraph_data"]["rankings"][0]["role"]
    path = write_jsonl("unclear.jsonl", [["q", passages]])
    with pytest.raises(SelectionError, match="'s' has an answer, but also a ranking without a role"):
        cover(path)
    for facets in ("title", "entry"):
        main(["evaluate", "qrels", str(path), "--facets", facets])
        assert {line.split()[2] for line in capsys.readouterr().out.splitlines()} == {"p", "s/q"}


def test_soft_cover_needs_probabilities(graded: Path) -> None:
    with pytest.raises(SelectionError, match=r"probabilities.* --soft"):
        cover(graded, soft=True)


def test_soft_cover_is_the_probability_of_the_threshold(write_jsonl: WriteJsonl) -> None:
    def soft(passage_id: str, mass: float) -> dict[str, Any]:
        rating = {"question_id": "q/a", "self_rating": 4, "probabilities": [0.1, 0.0, 0.1, 0.1, 0.5, 0.2]}
        of_passage = ranked(passage_id, {"q/a": 4}, s=1)
        of_passage["exam_grades"][0]["self_ratings"] = [rating | {"mass": mass}]
        return of_passage

    path = write_jsonl("soft.jsonl", [["q", [soft("p", 0.5)]]])
    for min_grade, probability in {None: 0.7, 3: 0.8, 0: 1.0}.items():
        evaluation = cover(path, soft=True, min_grade=min_grade)
        name = f"SoftCover(min_grade={4 if min_grade is None else min_grade})@1"
        assert means(evaluation)["s", name] == pytest.approx(probability)
        assert not any("mass" in note for note in evaluation.notes)
    path = write_jsonl("soft.jsonl", [["q", [soft("p", 0.5), soft("r", 0.25)]]])
    assert any("1 of 2 soft grades have a mass below 0.5" in note for note in cover(path, soft=True).notes)


def test_judgments_come_from_either_kind_of_file(tiny_passages: Path, tmp_path: Path) -> None:
    qrels = tmp_path / "judged.qrels"
    qrels.write_text("q1 0 p1 3\n")

    assert judgments(tiny_passages) == judgments(qrels) == [Qrel("q1", "p1", 3)]


def test_judgments_of_some_queries(tmp_path: Path) -> None:
    qrels, queries = tmp_path / "judged.qrels", tmp_path / "queries.tsv"
    qrels.write_text("q1 0 p1 3\nq2 0 p1 1\n")
    queries.write_text("q2\twhy?\nq3\thow?\n")
    assert judgments(qrels, queries=queries) == [Qrel("q2", "p1", 1)]
    queries.write_text("q3\thow?\n")
    with pytest.raises(SelectionError, match=r"queries\.tsv.* judgments .*judged\.qrels"):
        judgments(qrels, queries=queries)


def test_a_file_without_judgments_is_refused(graded: Path) -> None:
    with pytest.raises(SelectionError, match="--qrels"):
        judgments(graded)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "good.run").write_text(
        "q1 Q0 p1 1 2 tag\nq1 Q0 p2 2 1 tag\nq2 Q0 p3 1 9 tag\nq8 Q0 x 1 1 tag\n"
    )
    (folder / "bad.run").write_text("q1 Q0 p2 1 2 other\nq1 Q0 p1 2 1 other\n")
    return folder


LABELS = [Qrel("q1", "p1", 1), Qrel("q2", "p3", 1)]


def test_runs_are_scored_over_the_labels_queries(runs: Path) -> None:
    evaluation = score_runs(LABELS, runs, ["RR"])

    assert means(evaluation) == {("bad", "RR"): 0.25, ("good", "RR"): 1.0}
    assert evaluation.notes == ["No results from bad for 1 query (q2): scored as an empty ranking."]


def test_many_runs_with_different_missing_queries_have_a_single_note() -> None:
    missing = {f"s{n}": ["q"] * n for n in range(8)}

    assert missing_query_notes(missing) == [
        "No results from 7 systems (s1, s2, s3, s4, s5, ...) for some queries: scored as empty rankings."
    ]


def test_two_runs_of_one_system_are_refused(runs: Path) -> None:
    (runs / "good.txt").write_text((runs / "good.run").read_text())

    with pytest.raises(DataError, match=r"'good'.* good\.run") as error:
        score_runs(LABELS, runs, ["RR"])
    assert error.value.file == str(runs / "good.txt")


def test_runs_without_a_common_query_are_refused(runs: Path) -> None:
    with pytest.raises(SelectionError, match=r"run in .*runs .* query"):
        score_runs([Qrel("other", "p", 1)], runs, ["RR"])


def test_missing_ranks_stay_empty(write_jsonl: WriteJsonl) -> None:
    """The second passage is at rank 3, so it does not move up to 2."""
    path = write_jsonl("holes.jsonl", [["q", [ranked("p1", {"q/a": 0}, s=1), ranked("p2", {"q/a": 5}, s=3)]]])
    evaluation = score_rankings(rubric_qrels(path).qrels, path, ["RR", "P@2"], min_grade=4)

    assert means(evaluation) == {("s", "RR(rel=4)"): pytest.approx(1 / 3), ("s", "P(rel=4)@2"): 0.0}
    assert "1 rank " in evaluation.notes[0]


def test_a_huge_rank_is_refused(write_jsonl: WriteJsonl) -> None:
    """Every missing rank above it would take memory."""
    ids = ranked("p1", {"q/a": 0}, s=1), ranked("p2", {"q/a": 5}, s=2_000_000_000)
    path = write_jsonl("deep.jsonl", [["q", [*ids]]])
    with pytest.raises(DataError, match=r"2000000000 .*'s' .*'q'"):
        score_rankings(rubric_qrels(path).qrels, path, ["RR"], min_grade=4)
