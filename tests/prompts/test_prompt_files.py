"""Prompt files of every kind, with templates of other packages, and built-in prompts as prompt files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import Question
from exam_pp.errors import SelectionError
from exam_pp.llm_requests import Request
from exam_pp.phases.grading.prompt_files import choose_prompts, read_prompt
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.prompts.base import ReadingRule
from exam_pp.prompts.custom import parse_prompt, prompt_as_file
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


REPAIRS = {"QuestionGenerationRepair", "NuggetGenerationRepair", "NuggetLabelsRepair"}
CRITERIA = {"RAGEloCriteria"}  # in a file of criteria, not of a prompt: test_criteria.py
FOLLOW_UPS = REPAIRS | {"QueryGenerationTopUp"}
WHOLE = [PROMPTS.get(name) for name in PROMPTS if name not in FOLLOW_UPS | CRITERIA]


def prompt(kind: str, reading: str, template: str, *more: str) -> Prompt:
    lines = [
        'name = "Mine"',
        f'kind = "{kind}"',
        f'reading = "{reading}"',
        f"template = '''{template}'''",
        *more,
    ]
    return parse_prompt("\n".join(lines), "mine.toml")


@pytest.mark.parametrize(
    ("kind", "reading", "template", "reply", "expected"),
    [
        ("question", "extractive-extraction", "{question} {context}", "", (None, False)),
        ("question", "answer-key", "{question} {context}", "rising", (None, True)),
        ("question", "extractive-answer-key", "{question} {context}", "", (None, False)),
        ("verification", "yes-no", "{question} {correct_answer} {answer}", "Yes.", (None, True)),
        ("claim", "yes-no", "{claim} {context}", "No.", (None, False)),
        ("support", "support", "{claim} {context}", "Partial support.", (1, True)),
        ("assignment", "assignment", "{query} {context} {nuggets}", "partial_support", (1, True)),
        ("assignment", "assignment", "{context} {nugget}", "not_support", (0, False)),
        ("generate", "questions", "{query}", '["Why?"]', (None, True)),
        ("generate", "nuggets", "{query} {subtopic} {count}", '["air"]', (None, True)),
        ("query", "questions", "{context} {count} {user_queries}", '["Why?"]', (None, True)),
        ("nuggetize", "nuggets", "{query} {context} {nuggets} {length}", '["air"]', (None, True)),
        ("nuggetize", "importance", "{query} {nuggets}", "vital", (None, True)),
        ("answer", "text", "{query}", "It is blue.", (None, True)),
        ("answer", "text", "{query} {context}", "It is blue [1].", (None, True)),
    ],
)
def test_every_kind(kind: str, reading: str, template: str, reply: str, expected: tuple[Any, bool]) -> None:
    made = prompt(kind, reading, template, 'system = "Be brief."')
    entry = Question(query_id="q", question_id="q/1", question_text="What?", gold_answers=["rise"])
    verdict = made.parse(reply, entry, "default")
    assert (verdict.rating, verdict.correct, verdict.reason) == (*expected, None)
    parts = made.render({slot: slot.upper() for slot in made.slots})
    assert (parts[0].text, parts[0].role) == ("Be brief.", "system")
    assert [part.slot for part in parts if part.may_be_cut] == (
        ["context"] if "context" in made.slots else []
    )


def test_the_labels_of_assignments() -> None:
    ternary = prompt("assignment", "assignment", "{context} {nuggets}")
    assert (ternary.labels, ternary.max_rating) == (("not_support", "partial_support", "support"), 2)
    choices = 'choices = ["not_support", "support"]'
    binary = prompt("assignment", "assignment", "{context} {nuggets}", choices)
    assert binary.labels == ("not_support", "support")
    assert binary.parse("partial_support", None, "default").reason


@pytest.mark.parametrize(
    ("kind", "reading", "template", "more", "field", "about"),
    [
        ("generate", "rating", "{query}", "", "reading", "'rating' cannot be used for a generate prompt"),
        ("direct", "questions", "{query} {context}", "", "reading", "'questions' cannot"),
        ("generate", "questions", "{query} {context}", "", "template", "unknown placeholder {context}"),
        ("generate", "questions", "{subtopic}", "", "template", "{query}"),
        ("verification", "yes-no", "{question} {answer}", "", "template", "{correct_answer}"),
        ("assignment", "assignment", "{context}", "", "template", "{nuggets}"),
        ("assignment", "assignment", "{context} {nugget} {nuggets}", "", "template", "{nuggets}"),
        ("assignment", "assignment", "{context} {nugget}", 'choices = ["no", "yes"]', "choices", "support"),
        ("nuggetize", "importance", "{query} {context} {nuggets}", "", "template", "{context}"),
        ("query", "questions", "{query} {context}", "", "template", "unknown placeholder {query}"),
        ("query", "nuggets", "{context}", "", "reading", "'nuggets' cannot be used for a query prompt"),
        ("direct", "number", "{query} {context}", "scale = 3\nsystem = 'About {query}'", "system", "{query}"),
        ("direct", "number", "{query} {context}", "scale = 3\nrepair = 'Again.'", "repair", "repeated"),
        ("generate", "questions", "{query}", "repair = 'Again {count}.'", "repair", "{count}"),
        ("verification", "yes-no", " \n", "", "template", "empty"),
        ("answer", "text", "{context}", "", "template", "{query}"),
        ("answer", "rating", "{query}", "", "reading", "use one of: text"),
    ],
)  # fmt: skip
def test_messages(kind: str, reading: str, template: str, more: str, field: str, about: str) -> None:
    with data_error("mine.toml", None, field, about=about):
        prompt(kind, reading, template, more)


@pytest.mark.parametrize("built_in", WHOLE, ids=lambda prompt: prompt.name)
def test_a_built_in_prompt_as_a_prompt_file(built_in: Prompt) -> None:
    copy = parse_prompt(prompt_as_file(built_in), "copy.toml")
    assert copy.name == f"My{built_in.name}"
    assert copy.hash == built_in.hash, "the text is the same"
    for key in ("kind", "system", "template", "max_rating", "answer_key"):
        assert getattr(copy, key) == getattr(built_in, key), key
    assert [label.lower() for label in copy.labels] == [label.lower() for label in built_in.labels]
    assert isinstance(copy.parse, ReadingRule)
    assert isinstance(built_in.parse, ReadingRule)
    assert copy.parse.name == built_in.parse.name


@pytest.mark.parametrize("name", sorted(REPAIRS))
def test_the_text_of_a_repair_is_a_key_of_other_prompt_files(name: str) -> None:
    with pytest.raises(SelectionError, match="repair"):
        prompt_as_file(PROMPTS.get(name))


@given(st.text(alphabet='"\\ab{}\n\t', max_size=8), st.text(alphabet="\"\\'a\n", max_size=6))
def test_any_text_survives_the_prompt_file(literal: str, system: str) -> None:
    template = literal.replace("{", "{{").replace("}", "}}") + "a {query} {context} b" + literal[:0]
    made = Prompt(
        name="X", kind="direct", template=template.strip("\n"), parse=PROMPTS.get("HELM").parse,
        cite="we, 2026", choices=("No", "Yes"), system=system.strip("\n"),
    )  # fmt: skip
    copy = parse_prompt(prompt_as_file(made), "copy.toml")
    assert (copy.template, copy.system) == (made.template, made.system)


# A template in the shape of the files of the package `umbrela`: Python's str.format with {examples}, {query}
# and {passage}, trailing blanks, and an answer in JSON. The words are our own.
OTHER_TEMPLATE = """
Give the passage a label from 0 to 3 for the query, where 3 is a full answer.\x20

{examples}

Query: {query}
Passage: {passage}

Reply with a JSON object such as {{"O": 1}} and nothing else.
"""
OURS = """
name = "Theirs"
kind = "direct"
reading = "final-score"
scale = 3
system = "You are an assessor."
template_file = "templates/theirs.txt"
placeholders = { context = "{passage}", query = "{query}", examples = "{examples}" }
example = \"\"\"
###

Query: {query}
Passage: {context}
Output: {answer}
\"\"\"

[[examples]]
query = "tides"
context = "The moon {pulls} the sea."
answer = '{"O": 3}'

[[examples]]
query = "tides"
context = "Boats float."
answer = '{"O": 0}'
"""


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "theirs.txt").write_text(OTHER_TEMPLATE, encoding="utf-8")
    path = tmp_path / "theirs.toml"
    path.write_text(OURS, encoding="utf-8")
    return path


def text_of(made: Prompt) -> str:
    return Request(made.render({"query": "{why}", "context": "So {it} is."})).text


def test_the_template_of_another_package(theirs: Path) -> None:
    """The text is what the other package sends: its template, filled with ``str.format``."""
    made = read_prompt(theirs)
    examples = """###

Query: tides
Passage: The moon {pulls} the sea.
Output: {"O": 3}
###

Query: tides
Passage: Boats float.
Output: {"O": 0}"""
    values = {"examples": examples, "query": "{why}", "passage": "So {it} is."}
    assert text_of(made) == "You are an assessor.\n\n" + OTHER_TEMPLATE.strip().format(**values)
    assert made.parse('{"M": 2, "T": 1, "O": 1}', None, "default").rating == 1
    assert (made.labels, made.provenance()["max_rating"]) == (("0", "1", "2", "3"), 3)


def test_a_template_without_examples(theirs: Path) -> None:
    theirs.write_text(OURS.partition("example =")[0] + "examples = []\n", encoding="utf-8")
    expected = OTHER_TEMPLATE.strip().format(examples="", query="{why}", passage="So {it} is.")
    assert text_of(read_prompt(theirs)).partition("\n\n")[2] == expected


def test_the_content_of_the_template_is_part_of_the_hash(theirs: Path) -> None:
    before = read_prompt(theirs)
    assert read_prompt(theirs).hash == before.hash
    file = theirs.parent / "templates" / "theirs.txt"
    file.write_text(OTHER_TEMPLATE.replace("full answer", "good answer"), encoding="utf-8")
    assert read_prompt(theirs).hash != before.hash
    (theirs.parent / "system.txt").write_text("You are a judge.\n", encoding="utf-8")
    file.write_text(OTHER_TEMPLATE, encoding="utf-8")
    theirs.write_text(
        OURS.replace('system = "You are an assessor."', 'system_file = "system.txt"'), encoding="utf-8"
    )
    made = read_prompt(theirs)
    assert (made.system, made.hash == before.hash) == ("You are a judge.", False)


def test_placeholders_of_other_template_languages(theirs: Path) -> None:
    """Braces are literal text if the placeholders are not those of ``str.format``."""
    file = theirs.parent / "templates" / "theirs.txt"
    file.write_text('<<query>> in {{ passage }}: {"label": 1} {{x}}', encoding="utf-8")
    keys = 'placeholders = { context = "{{ passage }}", query = "<<query>>" }\n'
    theirs.write_text(OURS.partition("placeholders =")[0] + keys, encoding="utf-8")
    assert text_of(read_prompt(theirs)).partition("\n\n")[2] == '{why} in So {it} is.: {"label": 1} {{x}}'


@pytest.mark.parametrize(
    ("old", "new", "field", "about"),
    [
        ('"{passage}"', '"{text}"', "placeholders.context", "'{text}' does not occur"),
        ('context = "{passage}"', 'passage = "{passage}"', "placeholders.passage", "use: query, context"),
        ('context = "{passage}", ', "", "template", "unknown placeholder {passage}"),
        ("template_file =", "template = '{query} {context}'\ntemplate_file =", "template_file", "'template'"),
        ("system =", "system_file = 'x.txt'\nsystem =", "system_file", "'system'"),
        ('template_file = "templates/theirs.txt"', "", "template", "template_file"),
        ('"You are an assessor."', '"Judge {passage}."', "system", "{passage}"),
    ],
)
def test_messages_about_templates(theirs: Path, old: str, new: str, field: str, about: str) -> None:
    assert old in OURS
    theirs.write_text(OURS.replace(old, new, 1), encoding="utf-8")
    with data_error(theirs, None, field, about=about):
        read_prompt(theirs)


@pytest.mark.parametrize(
    ("name", "content", "about"),
    [
        ("theirs.txt", " \n", "empty"),
        ("theirs.yaml", "user: |\n  {query} {passage} {examples}\n", "copy the text of the prompt from it"),
    ],
)
def test_a_template_file_without_a_template(theirs: Path, name: str, content: str, about: str) -> None:
    (theirs.parent / "templates" / name).write_text(content, encoding="utf-8")
    theirs.write_text(OURS.replace("theirs.txt", name), encoding="utf-8")
    with data_error(theirs, None, "template_file", about=about):
        read_prompt(theirs)


def test_a_template_file_that_cannot_be_read(theirs: Path) -> None:
    file = theirs.parent / "templates" / "theirs.txt"
    file.unlink()
    with data_error(file):
        read_prompt(theirs)
    with data_error("theirs.toml", None, "template_file", about="cannot be read here"):
        parse_prompt(OURS, "theirs.toml")
