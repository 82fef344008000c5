"""The words of the prompts are part of the method: they only change together with their version."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import UnknownNameError
from exam_pp.prompts import PROMPTS, RUBRIC_PROMPTS, Prompt

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "prompts"

HASHES = {
    "QuestionSelfRatedUnanswerablePromptWithChoices": (1, "ea74ca711cc3584d"),
    "QuestionCompleteConciseUnanswerablePromptWithChoices": (1, "5cd9cbb0f7d6245d"),
    "NuggetSelfRatedPrompt": (1, "f20cf3daa14e98ec"),
    "NuggetExtractionPrompt": (1, "871f2b7e5a18fe7c"),
}


def values(prompt: Prompt) -> dict[str, str]:
    return {prompt.kind: "Why is the {sky} blue?", "context": "Air scatters {blue} light."}


@pytest.mark.parametrize("prompt", RUBRIC_PROMPTS, ids=lambda prompt: prompt.name)
def test_golden_words(prompt: Prompt) -> None:
    """Table 2 of the workbench paper (Dietz, SIGIR 2024), word by word; the line breaks are ours."""
    golden = (GOLDEN / f"{prompt.name}.txt").read_text(encoding="utf-8")
    assert "".join(part.text for part in prompt.render(values(prompt))) + "\n" == golden


@pytest.mark.parametrize("prompt", RUBRIC_PROMPTS, ids=lambda prompt: prompt.name)
def test_new_words_need_a_new_version(prompt: Prompt) -> None:
    assert (prompt.version, prompt.hash) == HASHES[prompt.name]


@pytest.mark.parametrize("prompt", RUBRIC_PROMPTS, ids=lambda prompt: prompt.name)
def test_only_the_passage_may_be_cut(prompt: Prompt) -> None:
    parts = prompt.render(values(prompt))
    assert [part.slot for part in parts if part.may_be_cut] == ["context"]
    assert [part.slot for part in parts if part.slot] == [prompt.kind, "context"], "the entry comes first"


@pytest.mark.parametrize("prompt", RUBRIC_PROMPTS, ids=lambda prompt: prompt.name)
def test_provenance(prompt: Prompt) -> None:
    info = prompt.provenance()
    assert info["prompt_class"] == prompt.name
    assert info["prompt_hash"] == prompt.hash
    assert info["is_self_rated"] == (prompt.max_rating is not None)
    assert prompt.labels == (("0", "1", "2", "3", "4", "5") if prompt.is_rated else ())


def test_unknown_prompt() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'NuggetSelfRatedPrompt'"):
        PROMPTS.get("NuggetSelfRatedPromt")
