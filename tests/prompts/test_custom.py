"""Custom prompts from TOML files, and the message for each mistake in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError
from exam_pp.phases.grading.prompt_files import choose_prompts, read_prompt
from exam_pp.prompts.custom import parse_prompt
from exam_pp.prompts.reading import NOT_YES_OR_NO

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
    ],
)
def test_reading_rules(
    tmp_path: Path, changes: dict[str, str | None], reply: str, verdict: tuple[int | None, bool]
) -> None:
    read = read_prompt(write(tmp_path, toml(**changes))).parse(reply, None, "default")
    assert (read.rating, read.correct) == verdict


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": None}, "name: is missing."),
        ({"kind": '"quest"'}, "kind: input should be 'question', 'nugget' or 'direct'."),
        ({"reading": None}, "reading: is missing; use one of: rating, number,"),
        ({"reading": None, "scale": None}, "reading: is missing; use one of: rating,"),
        ({"reading": '"ratings"'}, "reading: 'ratings' is not a reading rule (did you mean 'rating'?); use"),
        ({"scale": None}, "scale: is missing; the reading rule 'rating' needs the highest rating."),
        ({"reading": '"extraction"'}, "scale: cannot be used with the reading rule 'extraction'."),
        ({"scale": "0"}, "scale: input should be greater than or equal to 1."),
        ({"scale": "true"}, "scale: input should be a valid integer."),
        ({"kind": '"nugget"', "reading": '"answer-key"'}, "reading: 'answer-key' cannot be used for"),
        ({"kind": '"direct"'}, "reading: 'rating' cannot be used for a direct prompt."),
        ({"template": '"{qestion} {context}"'}, "template: has the unknown placeholder {qestion} (did you"),
        ({"template": '"{question}"'}, "template: does not contain the placeholder {context}."),
        ({"template": '"{question} {context} {context}"'}, "template: contains the placeholder {context}"),
        ({"template": '"{question} {context} {"'}, "template: single '{' encountered in format"),
        ({"template": '"{question.x} {context}"'}, "template: {question.x} is not a placeholder. For a"),
        ({"template": '"{question!r} {context}"'}, "template: {question} is not a placeholder."),
        ({"template": '"{question} {context} {}"'}, "template: {} is not a placeholder."),
        ({"template": '"{examples} {question} {context}"'}, "template: contains {examples}, but the key"),
        ({"examples": '[{question = "q"}]'}, "template: must contain {examples}"),
        (
            {"template": '"{examples} {question} {context}"', "examples": '[{question = "q", context = ""}]'},
            "examples.1: has no key 'answer'.",
        ),
        ({"choices": '["No", "Yes"]'}, "choices: cannot be used with the reading rule 'rating', only"),
        (
            {"reading": '"yes-no"', "scale": None, "choices": '["ja", "Ja "]'},
            "choices: must be two different words, the word for no first.",
        ),
        ({"colour": '"red"'}, "colour: extra inputs are not permitted."),
        ({"name": '"Thom"'}, "name: 'Thom' is already the name of another prompt; choose a new one."),
        ({"name": '"open'}, "is not valid TOML:"),
    ],
)  # fmt: skip
def test_messages_for_mistakes(tmp_path: Path, changes: dict[str, str | None], message: str) -> None:
    path = write(tmp_path, toml(**changes))
    with pytest.raises(DataError) as error:
        read_prompt(path)
    text = str(error.value)
    assert text.startswith(
        f"{path}, {message}" if ": " in message[:20] and "TOML" not in message else str(path)
    )
    assert message in text
    assert "\n" not in text


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"mine\.toml"):
        read_prompt(path)


def test_custom_choices_replace_yes_and_no(tmp_path: Path) -> None:
    prompt = read_prompt(write(tmp_path, toml(reading='"yes-no"', scale=None, choices='["Nein", "Ja"]')))
    assert (prompt.choices, prompt.scale) == (("Nein", "Ja"), "Nein or Ja")
    assert prompt.reading == "ja is 1 and nein is 0; any other reply stays ungraded"
    for reply in ("Yes", "Jahre", "Ja und nein", ""):
        assert prompt.parse(reply, None, "default").reason == NOT_YES_OR_NO


def test_two_files_with_one_name(tmp_path: Path) -> None:
    path = write(tmp_path, toml())
    with pytest.raises(Exception, match="Two prompt files define 'Mine'"):
        choose_prompts([], [path, path])
    assert [prompt.name for prompt in choose_prompts(["Sun", "Mine"], [path])] == ["Sun", "Mine"]


def test_the_hash_depends_on_the_template(tmp_path: Path) -> None:
    first = read_prompt(write(tmp_path, toml()))
    second = read_prompt(write(tmp_path, toml(template='"Rate it: {question} {context}"')))
    assert first.hash != second.hash


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
    page = (repository / "docs" / "prompts.md").read_text(encoding="utf-8")
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


def test_the_python_example_of_the_documentation(repository: Path) -> None:
    page = (repository / "docs" / "prompts.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "docs/prompts.md", "exec"), names)
    assert getattr(names["USEFULNESS"], "scale") == "0 to 3"  # noqa: B009 - an object of the example
