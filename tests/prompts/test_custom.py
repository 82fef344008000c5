"""Custom prompts from TOML files, and the message for each mistake in a file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.phases.grading.prompt_files import choose_prompts, read_prompt
from exam_pp.prompts.custom import parse_prompt
from exam_pp.prompts.reading import NOT_YES_OR_NO
from tests.conftest import data_error

GOOD = {
    "name": '"Mine"',
    "kind": '"question"',
    "scale": "3",
    "reading": '"rating"',
    "template": '"Rate 0-3.\\nQuestion: {question}\\nContext: {context}"',
}


def toml(**changes: str | None) -> str:
    values = {**GOOD, **changes}
    return "".join(f"{key} = {value}\n" for key, value in values.items() if value is not None)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_prompt_with_a_scale(tmp_path: Path) -> None:
    prompt = read_prompt(write(tmp_path, toml()))
    assert (prompt.name, prompt.kind, prompt.max_rating, prompt.version) == ("Mine", "question", 3, 1)
    assert prompt.labels == ("0", "1", "2", "3")
    assert prompt.parse("3/3", None, "default").rating == 3
    assert prompt.parse("4", None, "default").source == "default-1"
    assert [part.slot for part in prompt.render({"question": "a", "context": "b"})] == [
        None, "question", None, "context",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reply", "verdict"),
    [
        ({"kind": '"direct"', "reading": '"number"', "template": '"{query} {context}"'}, "2", (2, True)),
        ({"kind": '"direct"', "reading": '"number"', "template": '"{query} {context}"'}, "x", (None, False)),
        ({"reading": '"yes-no"', "scale": None}, "Yes.", (None, True)),
        ({"reading": '"yes-no"', "scale": None, "choices": '["Nein", "Ja"]'}, "Ja, denn es", (None, True)),
        ({"reading": '"yes-no"', "scale": None, "choices": '["Nein", "Ja"]'}, "**Nein.**", (None, False)),
        ({"reading": '"yes-no"', "scale": None, "choices": '["否", "是"]'}, "是。", (None, True)),
        ({"reading": '"yes-no"', "scale": None, "choices": '["no", "not so"]'}, "not so", (None, True)),
        ({"reading": '"extraction"', "scale": None}, "unanswerable", (None, False)),
        ({"reading": '"any-answer"', "scale": None}, "unanswerable", (None, True)),
        ({"kind": '"nugget"', "template": '"{nugget} {context}"'}, "1", (1, True)),
        ({"rating_names": '["Urteil"]'}, "Das Urteil ist 3.", (3, True)),
        ({"rating_names": '["Urteil", "Stufe"]'}, "Rating: 1\nStufe 2", (2, True)),
        ({"rating_names": '["Urteil"]'}, '{"urteil":2,"grund":"knapp"}', (2, True)),
        ({"rating_names": '["Urteil"]', "reading": '"final-score"'}, "Es gibt 3. Urteil: 2", (2, True)),
    ],
)
def test_reading_rules(
    tmp_path: Path, changes: dict[str, str | None], reply: str, verdict: tuple[int | None, bool]
) -> None:
    read = read_prompt(write(tmp_path, toml(**changes))).parse(reply, None, "default")
    assert (read.rating, read.correct) == verdict


@pytest.mark.parametrize(
    ("changes", "field", "about"),
    [
        ({"name": None}, "name", "missing"),
        ({"kind": '"quest"'}, "kind", "'question', 'nugget', 'direct', 'verification'"),
        ({"reading": None}, "reading", "missing"),
        ({"reading": None, "scale": None}, "reading", "missing"),
        ({"reading": '"ratings"'}, "reading", "'rating'?"),
        ({"scale": None}, "scale", "'rating'"),
        ({"reading": '"extraction"'}, "scale", "'extraction'"),
        ({"scale": "0"}, "scale", "1"),
        ({"scale": "true"}, "scale", "integer"),
        ({"kind": '"nugget"', "reading": '"answer-key"'}, "reading", "'answer-key'"),
        ({"kind": '"direct"'}, "reading", "'rating' cannot"),
        ({"template": '"{qestion} {context}"'}, "template", "{qestion}"),
        ({"template": '"{question}"'}, "template", "not contain the placeholder {context}"),
        ({"template": '"{question} {context} {context}"'}, "template", "contains the placeholder {context}"),
        ({"template": '"{question} {context} {"'}, "template", "'{'"),
        ({"template": '"{question.x} {context}"'}, "template", "{question.x}"),
        ({"template": '"{question!r} {context}"'}, "template", "{question} is not"),
        ({"template": '"{question} {context} {}"'}, "template", "{}"),
        ({"template": '"{examples} {question} {context}"'}, "template", "contains {examples}"),
        ({"examples": '[{question = "q"}]'}, "template", "must contain {examples}"),
        (
            {"template": '"{examples} {question} {context}"', "examples": '[{question = "q", context = ""}]'},
            "examples.1", "'answer'",
        ),
        ({"choices": '["No", "Yes"]'}, "choices", "'rating'"),
        (
            {"reading": '"yes-no"', "scale": None, "choices": '["ja", "Ja "]'},
            "choices", "different",
        ),
        ({"rating_names": '["Urteil"]', "reading": '"yes-no"', "scale": None}, "rating_names", "'yes-no'"),
        ({"rating_names": '[" "]'}, "rating_names.1", ""),
        ({"colour": '"red"'}, "colour", ""),
        ({"name": '"Thom"'}, "name", "'Thom'"),
        ({"name": '"open'}, None, "TOML"),
    ],
)  # fmt: skip
def test_messages_for_mistakes(
    tmp_path: Path, changes: dict[str, str | None], field: str | None, about: str
) -> None:
    path = write(tmp_path, toml(**changes))
    with data_error(path, None, field, about=about) as error:
        read_prompt(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    with data_error(path):
        read_prompt(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = write(tmp_path, toml(template=None, template_file='"pipe"'))
    with data_error(tmp_path / "pipe", about="is not a regular file."):
        read_prompt(path)


def test_custom_choices_replace_yes_and_no(tmp_path: Path) -> None:
    prompt = read_prompt(write(tmp_path, toml(reading='"yes-no"', scale=None, choices='["Nein", "Ja"]')))
    assert (prompt.choices, prompt.scale) == (("Nein", "Ja"), "Nein or Ja")
    assert prompt.reading == "ja is 1 and nein is 0; any other reply stays ungraded"
    for reply in ("Yes", "Jahre", "Ja und nein", ""):
        assert prompt.parse(reply, None, "default").reason == NOT_YES_OR_NO


def test_two_files_with_one_name(tmp_path: Path) -> None:
    path = write(tmp_path, toml())
    with pytest.raises(Exception, match="'Mine'"):
        choose_prompts([], [path, path])
    assert [prompt.name for prompt in choose_prompts(["Sun", "Mine"], [path])] == ["Sun", "Mine"]


@given(st.text(alphabet="{}abc question", max_size=12), st.text(alphabet="{}!: x", max_size=8))
def test_braces_in_examples_are_text(question: str, context: str) -> None:
    text = (
        'name = "Mine"\nkind = "question"\nreading = "extraction"\n'
        'template = "{{go}} {examples}\\nQ {question} C {context} A"\n'
        f"[[examples]]\nquestion = '{question}'\ncontext = '{context}'\nanswer = '{{yes}}'\n"
    )
    prompt = parse_prompt(text, "mine.toml")
    text = "".join(part.text for part in prompt.render({"question": "1", "context": "2"}))
    assert text == f"{{go}} Q {question} C {context} A {{yes}}\nQ 1 C 2 A"


def test_the_example_of_the_documentation(repository: Path) -> None:
    page = (repository / "docs" / "reference" / "prompts.md").read_text(encoding="utf-8")
    text = next(
        block for block in re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL) if "scale" in block
    )
    prompt = parse_prompt(text, "usefulness.toml")
    rendered = "".join(part.text for part in prompt.render({"question": "When?", "context": "Now."}))
    assert rendered.splitlines()[1:4] == [
        "Question: At which temperature does water boil?",
        "Context: At sea level, water boils at 100 °C.",
        "Rating: 3",
    ]
    assert rendered.endswith("Question: When?\nContext: Now.\nRating:")
