"""Prompts on criteria: their labels, verdicts in JSON, and what a bank says of an entry in a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.banks import Nugget
from exam_pp.errors import DataError
from exam_pp.graders.base import PassageUnit
from exam_pp.graders.listwise import AssignmentGrader
from exam_pp.llm_requests import Completion
from exam_pp.phases.grading.prompt_files import read_prompt
from exam_pp.prompts.base import Prompt
from exam_pp.prompts.nuggets import json_reader
from exam_pp.prompts.requirements import CRITERION, CRITERION_LIST, EXPECTED_ANSWERS

VERDICTS = json_reader(
    "verdict",
    {"not_met": ["Not Satisfied", False], "partly_met": ["Partially Satisfied"], "met": ["Satisfied", True]},
)


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ('{"verdict": "Satisfied", "score": 1.0}', 2),
        ('Thinking {"verdict": "Satisfied"}, but finally:\n```json\n{"verdict": "Not Satisfied"}\n```', 0),
        ('{"reasoning": "half of it", "verdict": "partially satisfied",}', 1),
        ('{"verdict": true}', 2),
        ("{'verdict': False}", 0),
        ("partly_met", 1),
        ('{"verdict": "Maybe"}', None),
        ('{"score": 1}', None),
        ("Satisfied, I think, because it says so.", None),
        ("", None),
    ],
)
def test_verdicts_in_json(reply: str, rating: int | None) -> None:
    assert VERDICTS(reply, None, "default").rating == rating


@pytest.mark.parametrize(
    ("reply", "rating"), [("met", 2), ("Label: Partly met.", 1), ("**not_met**", 0), ("support", None)]
)
def test_labels_of_criteria(reply: str, rating: int | None) -> None:
    assert CRITERION.parse(reply, None, "default").rating == rating


def unit(*entries: Nugget, text: str = "It rusts.") -> PassageUnit:
    return PassageUnit("q", "Why does iron rust?", "p", text, list(entries))


def criterion(text: str, **values: object) -> Nugget:
    return Nugget(query_id="q", nugget_id=text, nugget_text=text, **values)


def test_a_contradiction_has_a_rating_below_0() -> None:
    grader = AssignmentGrader(EXPECTED_ANSWERS, "m", {})
    run = grader.run(unit(criterion("water", group="a", group_text="What rusts it?"), criterion("gold")))
    (request,) = next(run)
    assert '["What rusts it? water", "gold"]' in request.text
    with pytest.raises(StopIteration) as done:
        run.send([Completion('["contradict", "support"]')])
    grades = done.value.value
    assert grades.entry_ratings() == {"water": -1, "gold": 2}
    assert grades.nugget_labels() == [("water", "contradict"), ("gold", "support")]
    assert (grades.wrong, grades.correct) == (["water"], ["gold"])


@pytest.mark.parametrize(
    ("prompt", "label"), [(EXPECTED_ANSWERS, "not_support"), (CRITERION_LIST, "not_met")]
)
def test_an_empty_answer_contradicts_nothing(prompt: Prompt, label: str) -> None:
    with pytest.raises(StopIteration) as done:
        next(AssignmentGrader(prompt, "m", {}).run(unit(criterion("water"), text=" ")))
    assert done.value.value.nugget_labels() == [("water", label)]


PROMPT = """
name = "Published"
kind = "assignment"
template = "[{weight}, {sign}, {category}] {question} {nugget}: {context}"
reading = "json"
key = "criteria_met"
labels = {labels}
"""


def test_a_prompt_file_with_verdicts_in_json() -> None:
    Path("p.toml").write_text(PROMPT.replace("{labels}", "{ met = [true], not_met = [false] }"))
    prompt = read_prompt(Path("p.toml"))
    assert (prompt.choices, prompt.max_rating, prompt.whole_answer) == (("not_met", "met"), 2, True)
    entry = criterion("Invents a source.", weight=-4.0, category="Style", group="g", group_text="Sources?")
    run = AssignmentGrader(prompt, "m", {}).run(unit(entry, criterion("Names one.", weight=5)))
    requests = next(run)
    assert [request.text for request in requests] == [
        "[-4.0, negative, Style] Sources? Invents a source.: It rusts.",
        "[5, positive, ]  Names one.: It rusts.",
    ]
    with pytest.raises(StopIteration) as done:
        run.send([Completion('{"criteria_met": true}'), Completion("no JSON")])
    assert done.value.value.nugget_labels() == [("Invents a source.", "met")]
    assert list(done.value.value.errors) == ["Names one."]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("{ met = [true] }", r"labels: is missing; the reading rule 'json' needs two labels\."),
        ("{ met = [true], bad = [false] }", r"labels: 'bad' is not a label; use contradict, not_support, "),
    ],
)
def test_labels_of_a_prompt_file(labels: str, message: str) -> None:
    Path("p.toml").write_text(PROMPT.replace("{labels}", labels))
    with pytest.raises(DataError, match=message):
        read_prompt(Path("p.toml"))


def test_a_prompt_file_may_name_the_reference() -> None:
    Path("p.toml").write_text(
        'name = "Own"\nkind = "assignment"\nreading = "assignment"\n'
        'template = "{query} {reference} {context}"\n'
    )
    run = AssignmentGrader(read_prompt(Path("p.toml")), "m", {}).run(unit(criterion("Iron and water.")))
    assert [request.text for request in next(run)] == ["Why does iron rust? Iron and water. It rusts."]
