"""Families of models by their names, and the warning of a judge that may prefer its own."""

from __future__ import annotations

import pytest

from exam_pp.judges import families_in, own_family


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("gen-gpt4o", {"GPT"}),
        ("openai/gpt-oss-120b", {"GPT"}),
        ("ChatGPT", {"GPT"}),
        ("egpt", set()),
        ("google/flan-t5-large", {"T5"}),
        ("monot5_rerank", {"T5"}),
        ("t50", set()),
        ("run-at5", set()),
        ("intfloat/multilingual-e5-small", {"E5"}),
        ("meta-llama/Llama-3.1-8B", {"Llama"}),
        ("llamaindex", set()),
        ("deepseek-r1-distill-qwen-7b", {"DeepSeek", "Qwen"}),
        ("phi3", {"Phi"}),
        ("philosophy", set()),
        ("mixtral-8x7b", {"Mistral"}),
        ("bm25", set()),
        ("lexical", set()),
    ],
)
def test_families_are_recognised_by_whole_words(name: str, families: set[str]) -> None:
    assert families_in(name) == families


def test_systems_and_writers_of_the_family_of_a_judge() -> None:
    assert own_family("reviewed:gpt-4o", ["bm25", "gen-gpt4", "gen-llama"], ["GPT-4"]) == (
        "gpt-4o is of one model family with the system gen-gpt4, the writer of the test bank GPT-4; it may "
        "favour them."
    )
    assert own_family("gpt-4o", ["bm25", "gen-llama"], ["claude-3"]) == ""


def test_a_model_without_a_known_family_is_its_own_family() -> None:
    words = "mine wrote the test bank and graded with it; it may favour its own style."
    assert own_family("mine", ["minerva"], ["mine"]) == words
    assert own_family("lexical", ["bm25"]) == ""
