"""Prompt texts against the texts of the papers, if these are available."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from exam_pp.prompts import PROMPTS
from exam_pp.prompts.reasoner import REASONER
from tests.conftest import NO_PAPERS

WORKBENCH = "rubric-grading-workbench.txt"
EXAM = "exam-plusplus.txt"
RAGELO_PAPER = "ragelo.txt"
NUGGETS = "autonuggetizer-trec-rag-2024.txt"
_SIGNS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "…": "..."})


def plain(text: str) -> str:
    """The text without page layout: line breaks and typographic quotes."""
    return " ".join(text.translate(_SIGNS).split())


def pieces(template: str) -> list[str]:
    """The texts between the placeholders."""
    return [piece for literal, _, _, _ in Formatter().parse(template) if (piece := plain(literal))]


def assert_in_order(texts: list[str], paper: str) -> None:
    """Assert that the paper contains all texts in this order."""
    position = paper.find(texts[0])
    for piece in texts:
        position = paper.find(piece, position)
        assert position >= 0, f"not in the paper, or not in this order: {piece!r}"


@pytest.fixture
def papers(shared_data: Path) -> Path:
    folder = shared_data.parent / "papers"
    if not folder.is_dir():
        pytest.skip(NO_PAPERS)
    return folder


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("QuestionSelfRatedUnanswerablePromptWithChoices", WORKBENCH),
        ("QuestionSelfRatedUnanswerablePromptWithChoices", EXAM),
        ("QuestionCompleteConciseUnanswerablePromptWithChoices", WORKBENCH),
        ("NuggetSelfRatedPrompt", WORKBENCH),
        ("NuggetExtractionPrompt", WORKBENCH),
        ("QuestionGenerationCAR", EXAM),
        ("Thomas", EXAM),
        ("FagB", EXAM),
        ("HELM", EXAM),
        ("Sun", EXAM),
        ("NuggetCreation", NUGGETS),
        ("NuggetImportance", NUGGETS),
        ("NuggetAssignment", NUGGETS),
    ],
)
def test_text(name: str, paper: str, papers: Path) -> None:
    prompt = PROMPTS.get(name)
    text = plain((papers / paper).read_text(encoding="utf-8"))
    assert_in_order([*pieces(prompt.system), *pieces(prompt.template)], text)


@pytest.mark.parametrize("name", ["QuestionGenerationDL", "NuggetGenerationDL", "NuggetGenerationCAR"])
def test_text_before_the_instruction(name: str, papers: Path) -> None:
    """Table 1 of the workbench paper has ``{instruction}`` in place of its text."""
    template = PROMPTS.get(name).template.replace("{count}", "10")
    start, marker, instruction = template.partition("Give the ")
    text = plain((papers / WORKBENCH).read_text(encoding="utf-8"))
    assert_in_order(pieces(start), text)
    assert plain(marker + instruction.partition("\n")[0]) in text


def test_examples(papers: Path) -> None:
    """The extracted text of the paper lacks ligatures."""
    faggioli = PROMPTS.get("FagB_few").template.rpartition("\nQuestion:")[0]
    text = plain((papers / EXAM).read_text(encoding="utf-8")).replace("They ofer free", "They offer free")
    assert_in_order(pieces(faggioli), text)
    sun = PROMPTS.get("Sun_few").template.rpartition("\nQuestion:")[0]
    assert faggioli.partition("\n")[2] == sun.partition("\n")[2]


def letters(text: str) -> str:
    """The letters and digits of a text: the page layout spaces letters and changes quotes and dashes."""
    return re.sub(r"[\W_]", "", text).lower()


def test_texts_in_a_spaced_layout(papers: Path) -> None:
    template = REASONER.template.replace("{context}", "{document}")
    assert letters(template) in letters((papers / RAGELO_PAPER).read_text(encoding="utf-8"))
