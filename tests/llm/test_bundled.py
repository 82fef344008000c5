"""The bundled grader: loads like any checkpoint and gives well-formed replies."""

from __future__ import annotations

import math
from importlib.resources import files
from pathlib import Path

import pytest

from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm.baselines import UNANSWERABLE, sentences
from exam_pp.llm.bundled import BundledLLM, rating_request
from exam_pp.llm_requests import Part, Request
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.trec.texts import read_texts

RATING = PROMPTS.get("QuestionSelfRatedUnanswerablePromptWithChoices")
EXTRACTION = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
NUGGET = PROMPTS.get("NuggetSelfRatedPrompt")
UMBRELA = PROMPTS.get("GradedRelevance")


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


@pytest.mark.slow
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


def extractions(questions: list[str], passages: list[str]) -> list[Request]:
    return [
        Request(EXTRACTION.render({"question": question, "context": passage}))
        for question in questions
        for passage in passages
    ]


@pytest.mark.slow
def test_every_extraction_is_a_sentence_of_the_passage_or_unanswerable(
    passages: list[str], questions: list[str]
) -> None:
    requests = extractions(questions, passages)
    replies = dict(load_llm(ModelOptions("bundled")).generate(requests))
    answers = {i: reply.text for i, reply in replies.items() if reply.text != UNANSWERABLE}
    assert 0 < len(answers) < len(requests)
    assert all(answer in sentences(requests[i].slot("context") or "") for i, answer in answers.items())


def test_the_answer_is_the_sentence_with_the_highest_rating(passages: list[str]) -> None:
    """Salt and rust: of three sentences, only the second answers the question."""
    fitting = "Road salt makes steel rust faster."
    context = f"The museum opens at nine. {fitting} Its café sells coffee."
    llm = load_llm(ModelOptions("bundled"))
    (reply,) = llm.generate(extractions(["What makes steel rust faster?"], [context]))
    assert reply[1].text == fitting
    (reply,) = llm.generate(extractions(["What makes steel rust faster?"], ["The museum opens at nine."]))
    assert reply[1].text == UNANSWERABLE


@pytest.mark.slow
def test_replies_from_ratings_do_not_depend_on_the_batch(passages: list[str], questions: list[str]) -> None:
    llm = load_llm(ModelOptions("bundled"))
    pairs = [(question, passage) for question in questions[:3] for passage in passages]
    requests = [
        *extractions(questions[:3], passages),
        *(Request(UMBRELA.render({"query": q, "context": p}), UMBRELA.labels) for q, p in pairs),
        *(Request(RATING.render({"question": q, "context": p})) for q, p in pairs),
    ]
    together = dict(llm.generate(requests))
    alone = dict(llm.generate(requests, [[index] for index in range(len(requests))]))
    assert {i: reply.text for i, reply in together.items()} == {i: reply.text for i, reply in alone.items()}
    groups = {
        tuple(sorted({index // (3 * len(passages)) for index in batch})) for batch in llm.batches(requests)
    }
    assert groups == {(0,), (1,), (2,)}, "batches do not mix extractions, other scales and ratings"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GradedRelevance", "Thomas"])
def test_other_scales_are_made_from_ratings(name: str, passages: list[str], questions: list[str]) -> None:
    prompt = PROMPTS.get(name)
    llm = load_llm(ModelOptions("bundled"))
    pairs = [(question, passage) for question in questions for passage in passages]
    labels = dict(
        llm.generate([Request(prompt.render({"query": q, "context": p}), prompt.labels) for q, p in pairs])
    )
    ratings = dict(
        llm.generate([Request(RATING.render({"question": q, "context": p}), RATING.labels) for q, p in pairs])
    )
    assert {reply.text for reply in labels.values()} == set(prompt.labels)
    for index, reply in labels.items():
        expected = expectation(ratings[index].label_logprobs) * (len(prompt.labels) - 1) / 5
        assert expectation(reply.label_logprobs) == pytest.approx(expected, abs=1e-4)
        assert int(reply.text) == round(expected)


def expectation(logprobs: tuple[float, ...]) -> float:
    weights = [math.exp(value) for value in logprobs]
    return sum(label * weight for label, weight in enumerate(weights)) / sum(weights)


@pytest.mark.parametrize(("slot", "prompt"), [("question", RATING), ("query", RATING), ("nugget", NUGGET)])
def test_rating_prompts_have_the_tokens_of_the_published_prompts(slot: str, prompt: Prompt) -> None:
    """The short instructions of the module stand for the published ones."""
    llm = load_llm(ModelOptions("bundled"))
    assert isinstance(llm, BundledLLM)
    entry = {"nugget" if slot == "nugget" else "question": "who sells 3 maps?"}
    published = Request(prompt.render({**entry, "context": "He sold maps."}))
    short = rating_request(slot, "who sells 3 maps?", "He sold maps.")
    assert [e.ids for e in llm.encode([published])] == [e.ids for e in llm.encode([short])]


def test_a_question_that_is_too_long_is_an_error_and_a_long_sentence_is_cut() -> None:
    llm = load_llm(ModelOptions("bundled"))
    long, cut = extractions(["why " * 600], ["It rains."]) + extractions(["why?"], ["rain " * 900])
    replies = dict(llm.generate([long, cut]))
    assert replies[0].error is not None
    assert "longer than" in replies[0].error
    assert replies[1].error is None
    assert replies[1].tokens_cut > 0


def test_a_prompt_without_an_entry_and_a_passage_is_asked_as_it_is() -> None:
    llm = load_llm(ModelOptions("bundled"))
    assert isinstance(llm, BundledLLM)
    texts = ["Write a question about salt.", "Write a question about rust and salt."]
    short, long = llm.encode([Request((Part(text),)) for text in texts])
    assert len(short.ids) < len(long.ids)
    assert short.ids[:4] == long.ids[:4]
