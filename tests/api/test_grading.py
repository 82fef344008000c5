"""Grading from Python: objects are not changed, and files equal those of the command."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import exam_pp
from exam_pp.cli.main import main

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


BANK = exam_pp.TestBank.from_lines(
    [
        exam_pp.BankLine(
            query_id="q",
            query_text="ocean tides",
            items=[exam_pp.Question(query_id="q", question_id="q/1", question_text="What causes the tides?")],
        )
    ]
)


def passages() -> list[exam_pp.QueryPassages]:
    texts = {"p1": "The Moon causes the tides of the ocean.", "p2": "Bread needs flour."}
    made = [exam_pp.Passage(passage_id=name, text=text) for name, text in texts.items()]
    return [exam_pp.QueryPassages("q", made)]


def ratings(queries: list[exam_pp.QueryPassages]) -> list[dict[str, int]]:
    return [grades.entry_ratings() for q in queries for p in q.passages for grades in p.grade_sets()]


def test_grades_of_iterators_and_files_are_equal(tmp_path: Path) -> None:
    path, bank = tmp_path / "p.jsonl", tmp_path / "bank.jsonl"
    assert exam_pp.write_passages(passages(), path) == 1
    exam_pp.write_bank(BANK, bank)
    from_memory = list(exam_pp.grade(iter(passages()), BANK, prompts=RATED, model="lexical"))
    from_file = list(exam_pp.grade(path, bank, prompts=[RATED], model=exam_pp.ModelOptions("lexical")))
    assert ratings(from_memory) == ratings(from_file)


def test_graded_files_equal_those_of_the_command(tmp_path: Path) -> None:
    path, bank = tmp_path / "p.jsonl", tmp_path / "bank.jsonl"
    exam_pp.write_passages(passages(), path)
    exam_pp.write_bank(BANK.lines, bank)
    summary = exam_pp.grade_file(str(path), tmp_path / "a.jsonl", bank=bank, prompts=RATED, model="lexical")
    assert (summary.graded, summary.ungraded, summary.queries) == (2, 0, 1)
    output = tmp_path / "b.jsonl"
    main(f"grade {path} -o {output} --bank {bank} --prompt {RATED} --model lexical".split())
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    in_memory = list(exam_pp.grade(path, bank, prompts=RATED, model="lexical"))
    assert list(exam_pp.read_passages(tmp_path / "a.jsonl")) == in_memory


def test_direct_prompts_need_query_texts() -> None:
    graded = list(
        exam_pp.grade(passages(), prompts="GradedRelevance", model="lexical", queries={"q": "ocean tides"})
    )
    assert all(set(by_entry) == {"direct"} for by_entry in ratings(graded))


def test_queries_that_are_not_graded_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    absent_query = exam_pp.QueryPassages("other", [exam_pp.Passage(passage_id="p", text="A text.")])
    with caplog.at_level(logging.WARNING, "exam_pp"):
        graded = list(exam_pp.grade([*passages(), absent_query], BANK, prompts=RATED, model="constant"))
    assert [query.query_id for query in graded] == ["q", "other"]
    (message,) = caplog.messages
    assert "1 query " in message
    assert "'other'" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prompts": "NuggetSelfRatedPrompt"}, "nuggets.* questions"),
        ({"prompts": "NoSuchPrompt"}, "'NoSuchPrompt'"),
        ({"model": "lexicla"}, "'lexical'"),
        ({"bank": None}, "test bank"),
    ],
)
def test_wrong_arguments_raise_before_the_first_query(arguments: dict[str, object], message: str) -> None:
    keywords: dict[str, object] = {"bank": BANK, "prompts": RATED, "model": "lexical"} | arguments
    with pytest.raises(exam_pp.ExamError, match=message):
        exam_pp.grade(passages(), **keywords)  # type: ignore[arg-type]


def test_make_prompt() -> None:
    prompt = exam_pp.make_prompt(
        name="Own", kind="question", reading="rating", scale=3, template="{question}\n{context}\n0 to 3:"
    )
    graded = list(exam_pp.grade(passages(), BANK, prompts=prompt, model="lexical"))
    assert [grades.prompt_class for grades in graded[0].passages[0].grade_sets()] == ["Own"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"kind": "queries"}, "^kind: "),
        ({"temperature": 1}, "^temperature: "),
        ({"scale": "3"}, "^scale: "),
        ({"template": "{question} {passage}"}, "^template: .*{passage}"),
    ],
)
def test_wrong_keys_of_a_prompt(keys: dict[str, object], message: str) -> None:
    good = {"name": "Own", "kind": "question", "reading": "rating", "scale": 3}
    with pytest.raises(exam_pp.ExamError, match=message):
        exam_pp.make_prompt(**{**good, "template": "{question} {context}", **keys})
