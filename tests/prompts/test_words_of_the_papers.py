"""The prompts against the papers themselves, where their texts are at hand."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

import pytest

from exam_pp.prompts import PROMPTS
from tests.conftest import NO_PAPERS

WORKBENCH = "rubric-grading-workbench.txt"
EXAM = "exam-plusplus.txt"
NUGGETS = "autonuggetizer-trec-rag-2024.txt"
_SIGNS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "…": "..."})


def plain(text: str) -> str:
    """Without what a page decides: line breaks, and how quotes are set."""
    return " ".join(text.translate(_SIGNS).split())


def pieces(template: str) -> list[str]:
    """The words between the placeholders."""
    return [piece for words, _, _, _ in Formatter().parse(template) if (piece := plain(words))]


def assert_in_order(found: list[str], paper: str) -> None:
    """All pieces stand in the paper, one after the other."""
    position = paper.find(found[0])
    for piece in found:
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
def test_words(name: str, paper: str, papers: Path) -> None:
    prompt = PROMPTS.get(name)
    text = plain((papers / paper).read_text(encoding="utf-8"))
    assert_in_order([*pieces(prompt.system), *pieces(prompt.template)], text)


@pytest.mark.parametrize("name", ["QuestionGenerationDL", "NuggetGenerationDL", "NuggetGenerationCAR"])
def test_words_before_the_instruction(name: str, papers: Path) -> None:
    """Table 1 of the workbench paper has ``{instruction}`` where ours has its words."""
    template = PROMPTS.get(name).template.replace("{count}", "10")
    words, found, instruction = template.partition("Give the ")
    text = plain((papers / WORKBENCH).read_text(encoding="utf-8"))
    assert_in_order(pieces(words), text)
    assert plain(found + instruction.partition("\n")[0]) in text


def test_examples(papers: Path) -> None:
    """The page has ligatures that its text lost."""
    words = PROMPTS.get("FagB_few").template.rpartition("\nQuestion:")[0]
    text = plain((papers / EXAM).read_text(encoding="utf-8")).replace("They ofer free", "They offer free")
    assert_in_order(pieces(words), text)
    other = PROMPTS.get("Sun_few").template.rpartition("\nQuestion:")[0]
    assert words.partition("\n")[2] == other.partition("\n")[2]
