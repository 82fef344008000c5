"""Ratings by choice, likelihoods at the number of a reply, and replies that end at their number."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm_requests import LabelSearch, Part, Request
from tests.llm.asking import ENGINES, LABELS, ask, rate, refused, served, texts
from tests.llm.endpoint_server import always, by_text, completion, failure, refusing, text_completion
from tests.llm.small_models import byte_tokenizer, rendered, save_llama
from tests.llm.test_causal import beginning, load

SENTENCES = [
    "The coverage is 4: clear.", "4", "- 5: all of it is there.", "2 because some is missing.",
    "I would rate this 1/5 since it is short.", "nothing", "Rating: 3", "0",
]  # fmt: skip


def find_digit(reply: str) -> tuple[int, int] | None:
    match = re.search(r"\d", reply)
    return match.span() if match else None


SEARCH = LabelSearch("first digit", find_digit)
CUT = LabelSearch("first digit", find_digit, lambda reply: re.search(r"\d.", reply) is not None)


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory, texts: list[str], prompts: list[str]) -> Path:
    """A chat model whose replies are sentences with a number."""
    folder = tmp_path_factory.mktemp("talker")
    tokenizer = byte_tokenizer([*texts, *SENTENCES], chat=True)
    save_llama(folder, tokenizer, prompts[: len(SENTENCES)], SENTENCES)
    return folder


def requests_for(prompts: Sequence[str], labels: tuple[str, ...] = LABELS, **more: Any) -> list[Request]:
    return [Request((Part(prompt),), labels, 24, **more) for prompt in prompts]


def options(folder: Path, engine: Any = "transformers", **more: Any) -> ModelOptions:
    return ModelOptions(str(folder), pipeline="text-generation", engine=engine, **more)


@pytest.mark.parametrize("labels", [tuple(str(n) for n in range(11)), ("not at all", "partly", "4")])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_choice_is_the_likeliest_label(
    talker: Path, prompts: list[str], engine: str, labels: tuple[str, ...]
) -> None:
    model, tokenizer = load(talker)
    prompts = prompts[: len(SENTENCES)]
    replies = ask(options(talker, engine, choose=True), requests_for(prompts, labels))
    for prompt, reply in zip(prompts, replies, strict=True):
        ids = rendered(tokenizer, prompt)
        begins = {label: beginning(model, tokenizer, ids, label) for label in labels}
        expected = [
            p - sum(begins[other] for other in labels if other != label and other.startswith(label))
            for label, p in begins.items()
        ]
        assert reply.definition == "choice"
        assert [math.exp(p) for p in reply.label_logprobs] == pytest.approx(expected, abs=1e-4)
        assert reply.text == labels[max(range(len(labels)), key=reply.label_logprobs.__getitem__)]
    assert replies[1].text == "4"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_choice_of_a_seq2seq_model_is_the_likeliest_whole_reply(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any
) -> None:
    model, requests = ModelOptions(str(checkpoints["keyed"]), engine=engine), requests_for(prompts[:12])
    free = ask(replace(model, engine="transformers"), requests)
    replies = ask(replace(model, choose=True), requests)
    for reply, other in zip(replies, free, strict=True):
        best = max(range(6), key=other.label_logprobs.__getitem__)
        likelihood = math.exp(other.label_logprobs[best])
        assert math.exp(reply.label_logprobs[best]) == pytest.approx(likelihood, abs=1e-4)
    same = [reply.text for reply, other in zip(replies, free, strict=True) if other.text in LABELS]
    assert same == [reply.text for reply in free if reply.text in LABELS]
    assert len(same) > 5


@pytest.mark.parametrize("pipeline", ["text2text", "text-generation"])
def test_a_choice_is_recorded_instead_of_the_decoding(
    checkpoints: dict[str, Path], talker: Path, pipeline: str
) -> None:
    folder = talker if pipeline == "text-generation" else checkpoints["keyed"]
    model = ModelOptions(str(folder), pipeline=pipeline, engine="transformers", choose=True)
    recorded = load_llm(model).provenance()
    assert recorded["choose"] is True
    assert not {"num_beams", "do_sample", "max_new_tokens", "early_stopping"} & recorded.keys()


@pytest.mark.parametrize("engine", ENGINES)
def test_likelihoods_are_those_after_the_words_before_the_number(
    talker: Path, prompts: list[str], engine: str
) -> None:
    model, tokenizer = load(talker)
    prompts = prompts[: len(SENTENCES)]
    replies = ask(options(talker, engine), requests_for(prompts, search=SEARCH))
    assert texts(replies) == SENTENCES
    for prompt, sentence, reply in zip(prompts, SENTENCES, replies, strict=True):
        span = find_digit(sentence)
        if span is None:
            assert reply.label_logprobs == ()
            continue
        assert reply.definition == "number"
        words = tokenizer(sentence, add_special_tokens=False)["input_ids"]
        pieces = [tokenizer.decode(words[: at + 1]) for at in range(len(words))]
        at = next(at for at, text in enumerate(pieces) if len(text) > span[0])
        number = sentence[slice(*span)]
        before = tokenizer.decode(words[at]).partition(number)[0]
        context = [*rendered(tokenizer, prompt), *words[:at]]
        expected = [beginning(model, tokenizer, context, before + label) for label in LABELS]
        assert [math.exp(p) for p in reply.label_logprobs] == pytest.approx(expected, abs=1e-4)
        assert int(number) == max(range(6), key=reply.label_logprobs.__getitem__)


@pytest.mark.parametrize("engine", ENGINES)
def test_replies_end_at_their_number(talker: Path, prompts: list[str], engine: str) -> None:
    replies = ask(options(talker, engine), requests_for(prompts[: len(SENTENCES)], search=CUT))
    shorter = [len(reply.text) < len(sentence) for reply, sentence in zip(replies, SENTENCES, strict=True)]
    assert all(sentence.startswith(reply.text) for reply, sentence in zip(replies, SENTENCES, strict=True))
    assert [find_digit(reply.text) for reply in replies] == [find_digit(text) for text in SENTENCES]
    assert [index for index in (0, 2, 3, 4) if shorter[index]] == [0, 2, 3, 4]


def test_the_key_of_a_request_depends_on_a_search_that_cuts() -> None:
    plain, searched, cut = (
        Request((Part("a"),), LABELS, search=search).key() for search in (None, SEARCH, CUT)
    )
    assert plain == searched != cut


ANSWERS = [("openai", completion), ("openai-completions", text_completion)]


@pytest.mark.parametrize(("pipeline", "answer"), ANSWERS)
def test_an_endpoint_that_limits_replies_to_labels(pipeline: str, answer: Any) -> None:
    replies, server = served(always(answer("4")), [rate("a", LABELS)], pipeline, choose=True)
    assert texts(replies) == ["4"]
    (body,) = server.bodies
    assert body["structured_outputs"] == {"choice": list(LABELS)}
    assert body["guided_choice"] == list(LABELS)
    assert body["max_tokens"] == 16


def test_an_endpoint_with_likelihoods_only() -> None:
    refusal = failure(400, "Unrecognized request argument supplied: structured_outputs")
    likelihoods = by_text(
        {
            "words": completion("The answer", {"The": -0.1, "3": -3.0, " 5": -2.5}),
            "none": completion("The answer", {"The": -0.1, "A": -3.0}),
        }
    )
    asked = [rate("words", LABELS), rate("none", LABELS)]
    script = refusing({"structured_outputs": refusal}, likelihoods)
    (words, none), server = served(script, asked, choose=True, concurrency=1)
    assert len(server.bodies) == 3  # the refused argument is sent once
    assert (words.text, words.definition) == ("5", "choice")
    assert "lists no label" in (none.error or "")


def test_an_endpoint_that_supports_no_choice_is_refused() -> None:
    message, _ = refused(always(completion("The answer is 4.")), [rate("a", LABELS)], choose=True)
    assert re.search(r"supports neither likelihoods .* --reply chosen cannot be used", message)


def test_likelihoods_of_an_endpoint_stand_at_the_number_of_the_reply() -> None:
    tokens = [("The ", {"The ": -0.1}), ("rating", {"rating": -0.1}), (": ", {": ": -0.1})]
    scores = {label: math.log(p) for label, p in zip(LABELS, (0.01, 0.02, 0.02, 0.15, 0.6, 0.2), strict=True)}
    content = [
        {"token": token, "logprob": 0.0, "top_logprobs": [{"token": t, "logprob": p} for t, p in top.items()]}
        for token, top in [*tokens, ("4", scores), (".", {".": -0.1})]
    ]
    status, body, headers = completion("The rating: 4.")
    body["choices"][0]["logprobs"] = {"content": content}
    ((reply,), _) = served(always((status, body, headers)), [rate("a", LABELS, search=SEARCH)])
    assert reply.definition == "number"
    assert [round(math.exp(p), 4) for p in reply.label_logprobs] == [0.01, 0.02, 0.02, 0.15, 0.6, 0.2]
