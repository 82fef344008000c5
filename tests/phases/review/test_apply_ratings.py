"""Human ratings of edits files as grades of a graded file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError, ExamError, OutputError, SelectionError
from exam_pp.phases.review.apply_ratings import apply_ratings
from exam_pp.store.edits import FORMAT, Edits, file_sha256, read_edits, write_edits
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import PASSAGES, passage, rubric

WriteLines = Callable[[str, list[Any]], Path]
RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


def rating(query_id: str, passage_id: str, key: str, value: int, **more: Any) -> dict[str, Any]:
    return {"query_id": query_id, "passage_id": passage_id, "id": key, "rating": value, **more}


def edits_file(
    folder: Path, graded: Path, *ratings: dict[str, Any], name: str = "edits.json", **keys: Any
) -> Path:
    values = {"format": FORMAT, "graded_sha256": file_sha256(graded), "reviewer": "ana", "ratings": ratings}
    write_edits(Edits.model_validate({**values, **keys}), folder / name)
    return folder / name


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_a_reviewer_is_a_further_grader(tiny_passages: Path, tmp_path: Path) -> None:
    edits = edits_file(
        tmp_path, tiny_passages,
        rating("q1", "p1", "q1/b", 3, comment="answered at the end"), rating("q1", "p1", "q1/a", 0),
        rating("007", "p3", "007/a", 2),
    )  # fmt: skip
    output = tmp_path / "out.jsonl"
    summary = apply_ratings(tiny_passages, [edits], output)

    first, second = lines_of(output)
    assert first[1][0]["exam_grades"][1] == {
        "correctAnswered": ["q1/b"], "wrongAnswered": ["q1/a"], "answers": [], "llm_response_errors": {},
        "llm": "human:ana", "llm_options": {}, "exam_ratio": 0.5, "prompt_type": "question",
        "prompt_info": {"prompt_class": RATED, "is_self_rated": True},
        "self_ratings": [
            {"question_id": "q1/b", "self_rating": 3, "source": "human"},
            {"question_id": "q1/a", "self_rating": 0, "source": "human"},
        ],
        "relevance_label": 3, "comments": {"q1/b": "answered at the end"},
    }  # fmt: skip
    assert second[1][0]["exam_grades"][1]["llm"] == "human:ana"
    assert first[1][1] == PASSAGES[0][1][1], "a passage that nobody rated stays as it is"
    del first[1][0]["exam_grades"][1], second[1][0]["exam_grades"][1]
    assert [first, second] == PASSAGES, "everything else stays as it is"
    assert list(summary.lines()) == [
        f"3 ratings added as human:ana with the prompt {RATED}.",
    ]


@pytest.mark.parametrize("content", ['{"ratings": []}', '{"format": "exam_pp.edits.v2"}', "[]"])
def test_files_of_another_format_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "other.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"other\.json.*\"format\""):
        read_edits(tmp_path / "other.json")


def test_right_and_wrong_without_a_scale(write_jsonl: WriteLines, tmp_path: Path) -> None:
    """The label is the number of right answers, as in the grades of models."""
    answered = rubric({"q/a": 1, "q/b": 0, "q/c": 1}, prompt_info={"prompt_class": "Own"}, self_ratings=None)
    graded = write_jsonl("g.jsonl", [["q", [passage("p", exam_grades=[answered])]]])
    ratings = [rating("q", "p", f"q/{key}", value) for key, value in (("a", 1), ("b", 1), ("c", 0))]
    apply_ratings(graded, [edits_file(tmp_path, graded, *ratings)], tmp_path / "out.jsonl")
    (_, reviewer_grades) = lines_of(tmp_path / "out.jsonl")[0][1][0]["exam_grades"]
    assert (reviewer_grades["correctAnswered"], reviewer_grades["wrongAnswered"]) == (["q/a", "q/b"], ["q/c"])
    assert reviewer_grades["relevance_label"] == 2
    assert "self_ratings" not in reviewer_grades


def test_contradicting_ratings_are_reported(tiny_passages: Path, tmp_path: Path) -> None:
    first = edits_file(
        tmp_path, tiny_passages, rating("q1", "p1", "q1/a", 2), rating("q1", "p1", "q1/a", 3), name="one.json"
    )
    second = edits_file(
        tmp_path, tiny_passages, rating("q1", "p1", "q1/a", 4), rating("q1", "p1", "q1/b", 1), name="two.json"
    )
    repeated = edits_file(tmp_path, tiny_passages, rating("q1", "p1", "q1/b", 1), name="same.json")
    summary = apply_ratings(tiny_passages, [first, second, repeated], tmp_path / "out.jsonl")
    grades = lines_of(tmp_path / "out.jsonl")[0][1][0]["exam_grades"][1]
    assert [item["self_rating"] for item in grades["self_ratings"]] == [4, 1]
    place = f"first in {first}, ratings.2: the later rating counts."
    assert f"1 pair was rated again with another rating, {place}" in summary.lines()


def test_later_ratings_of_a_reviewer_replace_earlier_ratings(tiny_passages: Path, tmp_path: Path) -> None:
    first = edits_file(
        tmp_path, tiny_passages,
        rating("q1", "p1", "q1/a", 2, comment="old"), rating("q1", "p1", "q1/b", 1, comment="stays"),
        name="first.json",
    )  # fmt: skip
    second = edits_file(tmp_path, tiny_passages, rating("q1", "p1", "q1/a", 5), name="second.json")
    other = edits_file(
        tmp_path, tiny_passages, rating("q1", "p1", "q1/a", 1), name="third.json", reviewer="bo"
    )
    apply_ratings(tiny_passages, [first], tmp_path / "one.jsonl")
    apply_ratings(tmp_path / "one.jsonl", [second, other], tmp_path / "two.jsonl", force=True)

    model, ana, bo = lines_of(tmp_path / "two.jsonl")[0][1][0]["exam_grades"]
    assert model == PASSAGES[0][1][0]["exam_grades"][0]
    assert (ana["llm"], bo["llm"]) == ("human:ana", "human:bo")
    assert {r["question_id"]: r["self_rating"] for r in ana["self_ratings"]} == {"q1/a": 5, "q1/b": 1}
    assert ana["comments"] == {"q1/b": "stays"}, "a comment goes with its rating"


@pytest.mark.parametrize(
    ("ratings", "keys", "message"),
    [
        ([rating("q1", "p9", "q1/a", 2), rating("q2", "p1", "q1/a", 2)], {},
         "2 passages (q1/p9, q2/p1)"),
        ([rating("q1", "p1", "q1/z", 2)], {}, "(q1/z)"),
        ([rating("q1", "p1", "007/a", 2)], {}, "(007/a)"),
        ([rating("q1", "p1", "q1/a", 6)], {}, f"{RATED} (0, 1, 2"),
        ([rating("q1", "p1", "q1/a", -1)], {}, "rating -1"),
        ([rating("q1", "p1", "q1/a", 2)], {"graded_sha256": "0" * 64}, "graded_sha256: "),
        ([rating("q1", "p1", "q1/a", 2)], {"graded_sha256": None}, "graded_sha256: "),
        ([rating("q1", "p1", "q1/a", 2)], {"reviewer": " "}, "reviewer: is empty"),
        ([rating("q1", "p1", "q1/a", 2)], {"reviewer": "human: "}, "reviewer: is empty"),
        ([], {}, "No ratings and no labels of citations in"),
        ([], {"bank": [{"op": "remove", "query_id": "q1", "id": "q1/a"}]},
         "`exam-pp bank apply`"),
    ],
)  # fmt: skip
def test_edits_that_do_not_fit(
    tiny_passages: Path, tmp_path: Path, ratings: list[Any], keys: dict[str, Any], message: str
) -> None:
    edits = edits_file(tmp_path, tiny_passages, *ratings, **keys)
    with pytest.raises(ExamError) as caught:
        apply_ratings(tiny_passages, [edits], tmp_path / "out.jsonl")
    assert message in str(caught.value)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("key", "prompt_class", "message"),
    [
        ("q1/a", "GradedRelevance", "passages as a whole"),
        ("direct", RATED, "bank entries"),
        ("q1/a", "NuggetSelfRatedPrompt", "has a rating of a question"),
        ("q1/a", "Yours", "'Yours'"),
    ],
)
def test_a_prompt_class_that_does_not_fit(
    tiny_passages: Path, tmp_path: Path, key: str, prompt_class: str, message: str
) -> None:
    edits = edits_file(tmp_path, tiny_passages, rating("q1", "p1", key, 2))
    with pytest.raises(ExamError, match=message):
        apply_ratings(tiny_passages, [edits], tmp_path / "out.jsonl", prompt_class=prompt_class)


@pytest.mark.parametrize("taken", ["graded.jsonl", "edits.json"])
def test_an_input_is_not_overwritten(taken: str, tiny_passages: Path, tmp_path: Path) -> None:
    edits = edits_file(tmp_path, tiny_passages, rating("q1", "p1", "q1/a", 2))
    before = (tmp_path / taken).read_bytes()
    with pytest.raises(OutputError, match="also an input"):
        apply_ratings(tiny_passages, [edits], tmp_path / taken)
    assert (tmp_path / taken).read_bytes() == before


def test_the_prompt_class_must_be_unambiguous(write_jsonl: WriteLines, tmp_path: Path) -> None:
    other = rubric({"q/a": 1}, prompt_info={"prompt_class": "Mine"})
    graded = write_jsonl(
        "g.jsonl", [["q", [passage("p", exam_grades=[rubric({"q/a": 5, "q/b": 1}), other])]]]
    )
    edits = edits_file(tmp_path, graded, rating("q", "p", "q/a", 1))
    output = tmp_path / "out.jsonl"
    with pytest.raises(SelectionError, match=f"--prompt \\(Mine, {RATED}\\)"):
        apply_ratings(graded, [edits], output)
    mine = "1 rating added as human:ana with the prompt Mine."
    assert mine in apply_ratings(graded, [edits], output, prompt_class="Mine").lines()
    only_one = edits_file(tmp_path, graded, rating("q", "p", "q/b", 1))
    assert mine.replace("Mine", RATED) in apply_ratings(graded, [only_one], output).lines()
    # The scale of an unknown prompt ends at its highest grade.
    beyond = edits_file(tmp_path, graded, rating("q", "p", "q/a", 2))
    with pytest.raises(DataError, match=r"rating 2 .* Mine \(0, 1\)"):
        apply_ratings(graded, [beyond], output, prompt_class="Mine")


def test_ratings_from_scratch(write_jsonl: WriteLines, tmp_path: Path) -> None:
    """Manual nugget assignment of answers that no model has graded."""
    graded = write_jsonl("g.jsonl", [["q", [passage("run/q"), passage("other/q")]]])
    item = {"query_id": "q", "nugget_id": "q/n", "nugget_text": "tides follow the moon"}
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "items": [item]}])
    edits = edits_file(tmp_path, graded, rating("q", "run/q", "q/n", 1))
    output = tmp_path / "out.jsonl"
    with pytest.raises(DataError, match=r"q/n.*--bank"):
        apply_ratings(graded, [edits], output, prompt_class="NuggetAssignment")
    apply_ratings(graded, [edits], output, prompt_class="NuggetAssignment", bank=bank)
    (grades,) = lines_of(output)[0][1][0]["exam_grades"]
    assert grades["assignments"] == [{"nugget_id": "q/n", "assignment": "partial_support"}]
    assert grades["self_ratings"] == [{"nugget_id": "q/n", "self_rating": 1, "source": "human"}]
    assert "exam_grades" not in lines_of(output)[0][1][1]


def test_direct_grades(write_jsonl: WriteLines, tmp_path: Path) -> None:
    model = {
        "correctAnswered": True, "answer": "Yes", "llm": "m", "llm_options": {},
        "prompt_info": {"prompt_class": "FagB"}, "prompt_type": "direct_grading",
    }  # fmt: skip
    graded = write_jsonl("g.jsonl", [["q", [passage("p", grades=[model])]]])
    edits = edits_file(tmp_path, graded, rating("q", "p", "direct", 0, comment="off topic"))
    apply_ratings(graded, [edits], tmp_path / "out.jsonl")
    (query,) = read_passages(tmp_path / "out.jsonl")
    grades = query.passages[0].direct_grades
    assert grades is not None
    assert [(g.model, g.correct, g.entry_ratings()) for g in grades] == [
        ("m", True, {"direct": 1}), ("human:ana", False, {"direct": 0}),
    ]  # fmt: skip
    assert grades[1].comments == {"direct": "off topic"}


@pytest.mark.parametrize(
    ("names", "models", "warned"),
    [
        (["ana", " Ana ", "ANA"], ["human:ana", "human:Ana", "human:ANA"], 2),
        (["ana", "  ana\u00a0", "human:ana"], ["human:ana"], 0),
        (["Jose\u0301 B", "Jos\u00e9  B"], ["human:Jos\u00e9 B"], 0),
        (["Stra\u00dfe", "STRASSE"], ["human:Stra\u00dfe", "human:STRASSE"], 1),
        (["ana", "bo"], ["human:ana", "human:bo"], 0),
    ],
)
def test_names_of_one_person(
    tiny_passages: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    names: list[str], models: list[str], warned: int,
) -> None:  # fmt: skip
    """Blanks and forms of Unicode make no second person; upper and lower case do, with a word on it."""
    for number, name in enumerate(names):
        edits = edits_file(tmp_path, tiny_passages, rating("q1", "p1", "q1/a", 1), reviewer=name)
        before, after = (tiny_passages if not number else tmp_path / f"{number}.jsonl"), number + 1
        apply_ratings(before, [edits], tmp_path / f"{after}.jsonl", force=True)
    grades = lines_of(tmp_path / f"{len(names)}.jsonl")[0][1][0]["exam_grades"]
    assert [grade["llm"] for grade in grades[1:]] == models
    last = [edits_file(tmp_path, tiny_passages, rating("q1", "p1", "q1/a", 1), name=f"{n}.json", reviewer=n)
            for n in names]  # fmt: skip
    caplog.clear()
    apply_ratings(tiny_passages, last, tmp_path / "all.jsonl")
    assert caplog.text.count("differ only in case and count as two people") == warned


def test_one_name_for_the_files_of_several_reviewers_is_refused(tiny_passages: Path, tmp_path: Path) -> None:
    files = [
        edits_file(tmp_path, tiny_passages, rating("q1", "p1", "q1/a", grade), name=name, reviewer=name)
        for name, grade in (("ana", 1), ("bo", 5))
    ]
    with pytest.raises(SelectionError, match=r"the work of 2 EDITS files to 'eva'"):
        apply_ratings(tiny_passages, files, tmp_path / "out.jsonl", reviewer="eva")
    assert not (tmp_path / "out.jsonl").exists()
    apply_ratings(tiny_passages, files[:1], tmp_path / "out.jsonl", reviewer="eva")
    assert lines_of(tmp_path / "out.jsonl")[0][1][0]["exam_grades"][1]["llm"] == "human:eva"
