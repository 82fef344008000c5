"""The bundled grader: loads like any checkpoint and gives well-formed replies."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from exam_pp.llm import ModelOptions, load_llm
from exam_pp.prompts import PROMPTS
from exam_pp.requests import Request
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.trec.texts import read_texts

RATING = PROMPTS.get("QuestionSelfRatedUnanswerablePromptWithChoices")
EXTRACTION = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
NUGGET = PROMPTS.get("NuggetSelfRatedPrompt")


@pytest.fixture(scope="module")
def passages(demo_data: Path) -> list[str]:
    lines = (demo_data / "passages.tsv").read_text("utf-8").splitlines()
    ids = {line.split("\t")[0] for line in lines[:: len(lines) // 6]}
    return list(read_texts(demo_data / "passages.tsv", ids).values())


@pytest.fixture(scope="module")
def questions(demo_data: Path) -> list[str]:
    bank = read_bank(demo_data / "questions.jsonl")
    return [entry.text for query in bank for entry in list(query.entries.values())[:2]]


def test_the_checkpoint_is_small_enough_for_a_wheel() -> None:
    folder = Path(str(files("exam_pp") / "bundled"))
    assert (folder / "model.safetensors").is_file()
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 16 * 2**20


@pytest.mark.parametrize("engine", ["transformers", "auto"])
def test_every_rating_is_a_digit_of_the_scale(engine: str, passages: list[str], questions: list[str]) -> None:
    llm = load_llm(ModelOptions("bundled", engine=engine))  # type: ignore[arg-type]
    requests = [
        Request(RATING.render({"question": question, "context": passage}), RATING.labels)
        for question in questions
        for passage in passages
    ]
    requests.append(Request(NUGGET.render({"nugget": "salt speeds up rust", "context": passages[0]})))
    replies = [reply for _, reply in sorted(llm.generate(requests))]
    assert {reply.text for reply in replies} <= set("012345")
    assert len({reply.text for reply in replies}) >= 4
    assert all(len(reply.label_logprobs) == 6 for reply in replies[:-1])


def test_extractions_are_mostly_words_of_the_passage_or_unanswerable(
    passages: list[str], questions: list[str]
) -> None:
    llm = load_llm(ModelOptions("bundled"))
    requests = [
        Request(EXTRACTION.render({"question": question, "context": passage}))
        for question in questions[:8]
        for passage in passages
    ]
    replies = dict(llm.generate(requests))
    answers = {i: reply.text for i, reply in replies.items() if reply.text != "unanswerable"}
    assert answers
    # The model sometimes copies wrongly (its model card says how often), so most words must match, not all.
    shares = [
        len(words(text) & words(requests[i].slot("context") or "")) / len(words(text))
        for i, text in answers.items()
    ]
    assert sum(shares) >= 0.75 * len(shares)


def words(text: str) -> set[str]:
    return set(text.lower().split())
