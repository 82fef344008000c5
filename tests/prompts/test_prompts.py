"""Texts and versions of all prompts: a text may only change together with its version."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from exam_pp.llm_requests import Request
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.prompts.direct import DIRECT_PROMPTS, GRADED_RELEVANCE
from exam_pp.prompts.nuggets import ASSIGNMENT_PROMPTS
from exam_pp.prompts.rubric import RUBRIC_PROMPTS

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "prompts"
VERSIONS = json.loads((GOLDEN / "versions.json").read_text(encoding="utf-8"))
ALL = [PROMPTS.get(name) for name in PROMPTS]
GRADING = [*RUBRIC_PROMPTS, *DIRECT_PROMPTS, GRADED_RELEVANCE]

VALUES = {
    "question": "Why is the {sky} blue?",
    "nugget": "Why is the {sky} blue?",
    "query": "Why is the {sky} blue?",
    "context": "Air scatters {blue} light.",
    "answer": "scattered {light}",
    "claim": "Blue light is {scattered}.",
    "correct_answer": "Rayleigh scattering",
    "subtopic": "colour at {dusk}",
    "count": "10",
    "length": "1",
    "labels": "vital or okay",
    "nuggets": '["scattered {light}"]',
    "documents": "[1] Air scatters {blue} light.",
    "answer_a": "scattered {light}",
    "answer_b": "the {sea}",
    "factors": "correctness.",
    "user_queries": "why does {light} scatter",
}


def by_name(prompt: Prompt) -> str:
    return prompt.name


@pytest.mark.parametrize("prompt", ALL, ids=by_name)
def test_golden_texts(prompt: Prompt) -> None:
    """Templates equal those of the papers.

    These are Table 2 of the workbench paper (Dietz, SIGIR 2024), Table 2 and appendix A of EXAM++, and
    Figures 3 to 5 of the AutoNuggetizer report (Pradeep et al., 2024). Line breaks differ from the papers;
    `scripts/golden_prompts.py` writes the files.
    """
    golden = (GOLDEN / f"{prompt.name}.txt").read_text(encoding="utf-8")
    assert Request(prompt.render(VALUES)).text + "\n" == golden


@pytest.mark.parametrize("prompt", ALL, ids=by_name)
def test_a_changed_text_needs_a_new_version(prompt: Prompt) -> None:
    """`versions.json` contains the hash of every version; existing hashes never change."""
    known = VERSIONS[prompt.name]
    assert str(prompt.version) in known, "add the new version's hash to tests/golden/prompts/versions.json"
    assert known[str(prompt.version)] == prompt.hash, "the text has changed: increase the version"
    assert int(max(known, key=int)) == prompt.version


def test_every_prompt_has_a_golden_file() -> None:
    """Other files are of plug-ins that were deleted."""
    assert {path.stem for path in GOLDEN.glob("*.txt")} == VERSIONS.keys() >= set(PROMPTS)
    assert len({prompt.short for prompt in ALL}) == len(ALL)


@pytest.mark.parametrize("prompt", GRADING, ids=by_name)
def test_only_the_passage_may_be_cut(prompt: Prompt) -> None:
    parts = prompt.render(VALUES)
    assert [part.slot for part in parts if part.may_be_cut] == ["context"]
    about = "query" if prompt.kind == "direct" else prompt.kind
    assert [part.slot for part in parts if part.slot] == [about, "context"], "the entry comes first"


@pytest.mark.parametrize("prompt", ASSIGNMENT_PROMPTS, ids=by_name)
def test_assignments_shorten_only_the_answer(prompt: Prompt) -> None:
    parts = prompt.render(VALUES)
    assert [part.slot for part in parts if part.may_be_cut] == ["context"]
    assert (prompt.labels[0], prompt.labels[-1], prompt.entry_kind) == ("not_support", "support", "nugget")


def test_the_system_text_is_part_of_the_hash() -> None:
    prompt = PROMPTS.get("NuggetAssignment")
    assert prompt.render(VALUES)[0].role == "system"
    assert replace(prompt, system="Be kind.").hash != prompt.hash


@pytest.mark.parametrize("prompt", ALL, ids=by_name)
def test_facts_about_every_prompt(prompt: Prompt) -> None:
    assert prompt.reading
    assert prompt.scale
    assert "20" in prompt.cite, "a citation has a year"
    assert re.fullmatch(r"[a-z][a-z0-9-]{2,26}", prompt.short)
    info = prompt.provenance()
    assert (info["prompt_class"], info["prompt_hash"]) == (prompt.name, prompt.hash)
    assert info["is_self_rated"] == (prompt.max_rating is not None)
    assert info["check_answer_key"] == ("AnswerKey" in prompt.name)
    if prompt.max_rating is not None and not prompt.choices:
        assert prompt.labels == tuple(str(grade) for grade in range(prompt.max_rating + 1))


@pytest.mark.parametrize(
    ("alias", "name"),
    [("Thom", "Thomas"), ("Fag", "FagB"), ("FaggioliB", "FagB"), ("FaggioliB_few", "FagB_few")],
)
def test_aliases(alias: str, name: str) -> None:
    assert PROMPTS.get(alias) is PROMPTS.get(name)
