"""Ratings by choice, likelihoods at the number of a reply, and replies that end at their number."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm_requests import LabelSearch, Part, Request
from tests.llm.endpoint_server import completion, failure, serve, text_completion
from tests.llm.small_models import byte_tokenizer, rendered, save_llama
from tests.llm.test_causal import beginning, load

LABELS = tuple("012345")
ENGINES = [
    "transformers",
    pytest.param(
        "ctranslate2",
        marks=pytest.mark.skipif(not importlib.util.find_spec("ctranslate2"), reason="the fast extra"),
    ),
]
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


@pytest.mark.parametrize("labels", [LABELS, tuple(str(n) for n in range(11)), ("not at all", "partly", "4")])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_choice_is_the_likeliest_label(
    talker: Path, prompts: list[str], engine: str, labels: tuple[str, ...]
) -> None:
    model, tokenizer = load(talker)
    prompts = prompts[: len(SENTENCES)]
    llm = load_llm(options(talker, engine, choose=True))
    replies = dict(llm.generate(requests_for(prompts, labels)))
    for index, prompt in enumerate(prompts):
        ids = rendered(tokenizer, prompt)
        begins = {label: beginning(model, tokenizer, ids, label) for label in labels}
        expected = [
            p - sum(begins[other] for other in labels if other != label and other.startswith(label))
            for label, p in begins.items()
        ]
        reply = replies[index]
        assert reply.definition == "choice"
        assert [math.exp(p) for p in reply.label_logprobs] == pytest.approx(expected, abs=1e-4)
        assert reply.text == labels[max(range(len(labels)), key=reply.label_logprobs.__getitem__)]
    assert replies[1].text == "4" if "4" in labels else True


@pytest.mark.parametrize("engine", ENGINES)
def test_the_choice_of_a_seq2seq_model_is_the_likeliest_whole_reply(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any
) -> None:
    requests = requests_for(prompts)
    free = dict(load_llm(ModelOptions(str(checkpoints["keyed"]), engine="transformers")).generate(requests))
    llm = load_llm(ModelOptions(str(checkpoints["keyed"]), engine=engine, choose=True))
    replies = dict(llm.generate(requests))
    for index in range(len(requests)):
        logprobs = free[index].label_logprobs
        best = max(range(6), key=logprobs.__getitem__)
        assert math.exp(replies[index].label_logprobs[best]) == pytest.approx(
            math.exp(logprobs[best]), abs=1e-4
        )
        if sorted(logprobs)[-1] - sorted(logprobs)[-2] > 1e-3:
            assert replies[index].text == LABELS[best]
    digits = [free[i].text for i in range(len(requests)) if free[i].text in LABELS]
    assert len(digits) > 5
    assert [replies[i].text for i in range(len(requests)) if free[i].text in LABELS] == digits


@pytest.mark.parametrize("pipeline", ["text2text", "text-generation"])
def test_a_choice_is_recorded_instead_of_the_decoding(
    checkpoints: dict[str, Path], talker: Path, pipeline: str
) -> None:
    folder = talker if pipeline == "text-generation" else checkpoints["keyed"]
    recorded = load_llm(
        ModelOptions(str(folder), pipeline=pipeline, engine="transformers", choose=True)
    ).provenance()
    assert recorded["choose"] is True
    assert not {"num_beams", "do_sample", "max_new_tokens", "early_stopping"} & recorded.keys()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model": "lexical"}, "its own rules"),
        ({"pipeline": "question-answering"}, "--model-pipeline"),
        ({"temperature": 0.5}, "-M temperature cannot"),
        ({"max_tokens": 3}, "-M max_tokens cannot"),
        ({"pipeline": "openai", "thinking_tokens": 9}, "-M thinking_tokens cannot"),
    ],
)
def test_options_that_a_choice_cannot_fulfil(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_llm(ModelOptions(**{"model": "m", "choose": True, **more}))


@pytest.mark.parametrize("engine", ENGINES)
def test_likelihoods_are_those_after_the_words_before_the_number(
    talker: Path, prompts: list[str], engine: str
) -> None:
    model, tokenizer = load(talker)
    prompts = prompts[: len(SENTENCES)]
    replies = dict(load_llm(options(talker, engine)).generate(requests_for(prompts, search=SEARCH)))
    assert [replies[index].text for index in range(len(prompts))] == SENTENCES
    for index, prompt in enumerate(prompts):
        span = find_digit(SENTENCES[index])
        if span is None:
            assert replies[index].label_logprobs == ()
            continue
        assert replies[index].definition == "number"
        words = tokenizer(SENTENCES[index], add_special_tokens=False)["input_ids"]
        pieces = [tokenizer.decode(words[: at + 1]) for at in range(len(words))]
        at = next(at for at, text in enumerate(pieces) if len(text) > span[0])
        number = SENTENCES[index][slice(*span)]
        before = tokenizer.decode(words[at]).partition(number)[0]
        context = [*rendered(tokenizer, prompt), *words[:at]]
        expected = [beginning(model, tokenizer, context, before + label) for label in LABELS]
        assert [math.exp(p) for p in replies[index].label_logprobs] == pytest.approx(expected, abs=1e-4)
        assert int(number) == max(range(6), key=replies[index].label_logprobs.__getitem__)


@pytest.mark.parametrize("engine", ENGINES)
def test_replies_end_at_their_number(talker: Path, prompts: list[str], engine: str) -> None:
    llm = load_llm(options(talker, engine))
    replies = dict(llm.generate(requests_for(prompts[: len(SENTENCES)], search=CUT)))
    for index, sentence in enumerate(SENTENCES):
        text = replies[index].text
        assert sentence.startswith(text)
        assert find_digit(text) == find_digit(sentence)
    shorter = [replies[index].text for index in (0, 2, 3, 4)]
    assert all(len(text) < len(SENTENCES[at]) for at, text in zip((0, 2, 3, 4), shorter, strict=True))


def test_complete_rows_leave_the_batch(
    talker: Path, prompts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    llm: Any = load_llm(options(talker, batch_tokens=100_000))
    rows: list[int] = []
    forward = llm._model.forward

    def count(*args: Any, **values: Any) -> Any:
        rows.append(len(values["input_ids"]))
        return forward(*args, **values)

    monkeypatch.setattr(llm, "_parameters", llm._parameters)
    monkeypatch.setattr(llm._model, "forward", count)
    replies = dict(llm.generate(requests_for(prompts[: len(SENTENCES)], ())))
    assert [replies[index].text for index in range(len(SENTENCES))] == SENTENCES
    assert rows == sorted(rows, reverse=True)
    assert rows[0] == len(SENTENCES)
    assert rows[-1] < 3


def test_the_key_of_a_request_depends_on_a_search_that_cuts() -> None:
    plain, searched, cut = (
        Request((Part("a"),), LABELS, search=search).key() for search in (None, SEARCH, CUT)
    )
    assert plain == searched != cut


def ask(url: str, texts: Sequence[str], pipeline: str = "openai") -> list[Any]:
    llm = load_llm(ModelOptions("m", pipeline=pipeline, base_url=url, choose=True, concurrency=1))
    replies = dict(llm.generate([Request((Part(text),), LABELS) for text in texts]))
    return [replies[index] for index in range(len(texts))]


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
def test_an_endpoint_that_limits_replies_to_labels(pipeline: str) -> None:
    answer = completion if pipeline == "openai" else text_completion

    def behave(body: dict[str, Any], _count: int) -> Any:
        assert body["structured_outputs"] == {"choice": list(LABELS)}
        assert body["guided_choice"] == list(LABELS)
        assert body["max_tokens"] <= 16
        return answer("4")

    with serve(behave) as server:
        assert [reply.text for reply in ask(server.url, ["a", "b"], pipeline)] == ["4", "4"]


def test_an_endpoint_with_likelihoods_only() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        if "structured_outputs" in body:
            return failure(400, "Unrecognized request argument supplied: structured_outputs")
        likeliest = {"The": -0.1, "3": -3.0, " 5": -2.5} if "words" in str(body) else {"The": -0.1, "A": -3.0}
        return completion("The answer", likeliest)

    with serve(behave) as server:
        words, none = ask(server.url, ["words", "none"])
        assert len(server.bodies) == 3  # the refused argument is sent once
    assert (words.text, words.definition) == ("5", "choice")
    assert "lists no label" in (none.error or "")


def test_an_endpoint_that_supports_no_choice_is_refused() -> None:
    with (
        serve(lambda _body, _count: completion("The answer is 4.")) as server,
        pytest.raises(ModelError, match=r"supports neither likelihoods .* --reply chosen cannot be used"),
    ):
        ask(server.url, ["a"])


def test_likelihoods_of_an_endpoint_stand_at_the_number_of_the_reply() -> None:
    tokens = [("The ", {"The ": -0.1}), ("rating", {"rating": -0.1}), (": ", {": ": -0.1})]
    scores = {label: math.log(p) for label, p in zip(LABELS, (0.01, 0.02, 0.02, 0.15, 0.6, 0.2), strict=True)}
    content = [
        {"token": token, "logprob": 0.0, "top_logprobs": [{"token": t, "logprob": p} for t, p in top.items()]}
        for token, top in [*tokens, ("4", scores), (".", {".": -0.1})]
    ]
    status, body, headers = completion("The rating: 4.")
    body["choices"][0]["logprobs"] = {"content": content}
    with serve(lambda *_: (status, body, headers)) as server:
        llm = load_llm(ModelOptions("m", pipeline="openai", base_url=server.url))
        ((_, reply),) = llm.generate([Request((Part("a"),), LABELS, search=SEARCH)])
    assert reply.definition == "number"
    assert [round(math.exp(p), 4) for p in reply.label_logprobs] == [0.01, 0.02, 0.02, 0.15, 0.6, 0.2]
