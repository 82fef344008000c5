"""Agreement of graders on labels of passages and pairs, and whether a judge may replace people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.plugins.trust.graders import graders, graders_report
from exam_pp.rendering.render import REPORT_FORMATS, render
from tests.conftest import passage, rubric
from tests.tables import notes_of, tables_of

WriteLines = Callable[[str, list[Any]], Path]


def with_people(write_jsonl: WriteLines, *people: str) -> Path:
    """A file with a model that agrees with two of its three people in each of 40 pairs."""

    def rating(name: str, query: int) -> int:
        return query % 6 if name == "gpt" or people.index(name) != query % 3 else 5 - query % 6

    def graded(query: int) -> dict[str, Any]:
        sets = [rubric({f"q{query}/e": rating(name, query)}, llm=name) for name in ("gpt", *people)]
        return passage(exam_grades=sets)

    return write_jsonl("people.jsonl", [[f"q{query}", [graded(query)]] for query in range(40)])


@pytest.mark.parametrize("form", REPORT_FORMATS)
def test_a_judge_that_may_replace_people(write_jsonl: WriteLines, form: str) -> None:
    path = with_people(write_jsonl, "human:a", "human:b", "human:c")
    report = graders_report(graders(path, per_entry=True))
    rows = tables_of(report)["May the judge replace people?"].rows
    assert [list(row) for row in rows] == [
        ["gpt", "experts", 0.2, 3, 40, 1.0, 1.0, "yes"],
        ["gpt", "skilled annotators", 0.15, 3, 40, 1.0, 1.0, "yes"],
        ["gpt", "crowd workers", 0.1, 3, 40, 1.0, 1.0, "yes"],
    ]
    assert "skilled annotators" in render(report, form)


def test_too_few_items_to_replace_people(write_jsonl: WriteLines) -> None:
    """Three people agree on all of ten items, and so does the model: it needs 17 items for ε = 0.2."""
    sets = [
        [rubric({f"q{q}/e": q % 6}, llm=name) for name in ("gpt", *(f"human:{n}" for n in "abc"))]
        for q in range(10)
    ]
    path = write_jsonl("few.jsonl", [[f"q{q}", [passage(exam_grades=of)]] for q, of in enumerate(sets)])
    rows = tables_of(graders_report(graders(path, per_entry=True)))["May the judge replace people?"].rows
    assert [row[-1] for row in rows] == ["too few items"] * 3
    published = graders_report(graders(path, per_entry=True), test="published")
    assert "May the judge replace people?" not in tables_of(published)
    assert "needs 30 items" in notes_of(published)


def test_macro_f1_is_a_mean_over_answers(write_jsonl: WriteLines) -> None:
    """By hand: in p1 the F1 of 0, 1 and 2 are 1, 0 and 2/3; in p2, without a 1, they are 0, 0 and 0."""
    labels = {"p1": ({"a": 0, "b": 1, "c": 2}, {"a": 0, "b": 2, "c": 2}), "p2": ({"a": 2}, {"a": 0})}
    passages = [
        passage(key, exam_grades=[rubric(judged, llm="gpt"), rubric(rated, llm="human:ana")])
        for key, (judged, rated) in labels.items()
    ]
    path = write_jsonl("f1.jsonl", [["q", passages]])
    row = tables_of(graders_report(graders(path, per_entry=True)))["Every two graders"].rows[0]
    assert list(row[-2:]) == [pytest.approx((1 + 0 + 2 / 3) / 3 / 2), pytest.approx((2 / 3 + 2 / 3) / 2 / 2)]


def test_labels_of_passages_have_no_such_test(write_jsonl: WriteLines) -> None:
    """The best of the few entries that a person rated is no label of the passage."""
    path = with_people(write_jsonl, "human:a", "human:b", "human:c")
    assert "May the judge replace people?" not in tables_of(graders_report(graders(path)))


def test_fewer_than_three_people_cannot_be_replaced(write_jsonl: WriteLines) -> None:
    report = graders_report(graders(with_people(write_jsonl, "human:a", "human:b"), per_entry=True))
    assert "May the judge replace people?" not in tables_of(report)
    assert "needs the ratings of 3 people" in notes_of(report)


def test_judgments_are_not_replaced(write_jsonl: WriteLines) -> None:
    """Without reviewers there is neither a test nor a sentence about it."""
    sets = [rubric({"q/e": 1}, llm=name) for name in ("a", "b")]
    path = write_jsonl("two.jsonl", [["q", [passage(exam_grades=sets)]]])
    assert "alternative" not in notes_of(graders_report(graders(path, per_entry=True)))


def test_graders_of_one_file(write_jsonl: Callable[[str, list[Any]], Path]) -> None:
    def two(passage_id: str, first: int, second: int) -> dict[str, Any]:
        return passage(passage_id, exam_grades=[rubric({"q/a": first}), rubric({"q/a": second}, llm="other")])

    path = write_jsonl("two.jsonl", [["q", [two("p1", 5, 5), two("p2", 0, 0), two("p3", 4, 4)]]])
    tables = tables_of(graders_report(graders(path)))

    assert list(tables["Every two graders"].rows[0]) == [
        "google/flan-t5-large",
        "other",
        3,
        1.0,
        1.0,
        1.0,
        1.0,
    ]
    with pytest.raises(SelectionError, match=r"two\.jsonl.* 1 grader"):
        graders(path, grade_filter=GradeFilter(model="other"))


def test_the_highest_of_several_judgments_is_that_of_the_judges(
    write_jsonl: Callable[[str, list[Any]], Path],
) -> None:
    """Also if the judgments are on two lines of the query."""

    def judged(passage_id: str, grade: int, *relevance: int) -> dict[str, Any]:
        judgments = [
            {"paragraphId": passage_id, "query": "q", "relevance": r, "titleQuery": "q"} for r in relevance
        ]
        return passage(
            passage_id, paragraph_data={"judgments": judgments}, exam_grades=[rubric({"e": grade})]
        )

    lines = [["q", [judged("p1", 3, 3, 0), judged("p2", 2, 2)]], ["q", [judged("p2", 2, 0)]]]
    path = write_jsonl("judged.jsonl", lines)

    assert list(tables_of(graders_report(graders(path)))["Every two graders"].rows[0])[1:] == [
        "judges",
        2,
        *[1.0] * 4,
    ]


def test_labels_that_no_judge_could_give_have_a_note(write_jsonl: WriteLines) -> None:
    judgment = {"paragraphId": "a", "query": "q", "relevance": 3, "titleQuery": "q"}
    read = passage("a", paragraph_data={"judgments": [judgment]}, exam_grades=[rubric({"e": 5}, llm="m")])
    result = graders(write_jsonl("g.jsonl", [["q", [read]]]))
    assert result.notes[0].endswith(": 1 label is outside the scale of the judgments (0 to 3): 5.")
