"""Decoding options: bodies of calls, refusals, records, and sampling that does not depend on batches."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
import torch

from exam_pp.cli.main import cli
from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm.decoding import DECODING, Sampler
from exam_pp.llm_requests import Part, Request
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.prompts import PROMPTS
from tests.llm.asking import LABELS, answers, ask, rate, refused, served, texts
from tests.llm.endpoint_server import always, rating, text_completion
from tests.llm.test_contract import SIMILARITY as SIMILAR

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
SCHEMA = {"title": "A grade", "type": "object", "properties": {"grade": {"type": "integer"}}}
SIMILARITY = {"pipeline": "sentence-similarity", **SIMILAR}
PAPER_003 = {
    "temperature": 0, "top_p": 1.0, "presence_penalty": 0.5, "frequency_penalty": 0.0, "sampling_seed": 42
}  # fmt: skip
"""Decoding of Open RAG Eval."""


@pytest.fixture(autouse=True)
def _without_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


CHAT = {"messages": [{"role": "user", "content": "Rate: a"}]}
PLAIN = {"prompt": "Rate: a"}


@pytest.mark.parametrize(
    ("pipeline", "options", "body"),
    [
        ("openai", {}, CHAT | {"temperature": 0, "max_tokens": 511}),
        ("openai", {"temperature": 0.0}, CHAT | {"temperature": 0, "max_tokens": 511}),
        (
            "openai",
            PAPER_003,
            CHAT
            | {"temperature": 0, "max_tokens": 511, "top_p": 1, "seed": 42}
            | {"presence_penalty": 0.5, "frequency_penalty": 0},
        ),
        (
            "openai",
            {"temperature": 0.7, "max_tokens": 4, "stop": ("\n", "END"), "reasoning_effort": "low"},
            CHAT | {"temperature": 0.7, "max_tokens": 4, "stop": ["\n", "END"], "reasoning_effort": "low"},
        ),
        (
            "openai",
            {"max_tokens": 9000, "thinking_tokens": 100, "response_format": "json"},
            CHAT | {"temperature": 0, "max_tokens": 9100, "response_format": {"type": "json_object"}},
        ),
        (
            "openai",
            {"response_format": "text"},
            CHAT | {"temperature": 0, "max_tokens": 511, "response_format": {"type": "text"}},
        ),
        ("openai-completions", {}, PLAIN | {"temperature": 0, "max_tokens": 511}),
        (
            "openai-completions",
            {**PAPER_003, "temperature": 1.0, "stop": ("\n\n",), "max_tokens": 20},
            PLAIN
            | {"temperature": 1, "max_tokens": 20, "top_p": 1, "seed": 42, "stop": ["\n\n"]}
            | {"presence_penalty": 0.5, "frequency_penalty": 0},
        ),
    ],
)
def test_the_whole_body_of_a_call(pipeline: str, options: dict[str, Any], body: dict[str, Any]) -> None:
    """Options that are not given are not sent."""
    ((reply,), server) = served(rating, [rate("a", (), 511)], pipeline, **options)
    assert reply.error is None
    assert server.bodies == [body | {"model": "some-model"}]
    assert server.paths == ["/v1/chat/completions" if pipeline == "openai" else "/v1/completions"]


def test_a_json_schema_is_sent_whole_and_recorded_as_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"

    def recorded(text: str) -> Any:
        path.write_text(text)
        options = ModelOptions("m", "openai", base_url="http://host/v1", response_format=str(path))
        return load_llm(options).provenance()["response_format"]

    assert recorded(json.dumps(SCHEMA)) == recorded(json.dumps(SCHEMA, indent=1)) != recorded("{}")
    assert recorded(json.dumps(SCHEMA)).startswith("json-schema:")
    _, server = served(rating, [rate("a")], response_format=str(path))
    assert server.bodies[0]["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "A_grade", "schema": SCHEMA, "strict": True}
    }  # fmt: skip


def test_everything_that_is_given_is_recorded() -> None:
    def recorded(**options: Any) -> dict[str, Any]:
        return load_llm(ModelOptions("m", "openai", base_url="http://host/v1", **options)).provenance()

    default = recorded()
    assert not default.keys() & set(DECODING) - {"temperature"}
    assert (default["temperature"], default["max_new_tokens"]) == (0, 4096)
    assert json.dumps(recorded(temperature=0.0)) == json.dumps(default)
    given = recorded(**PAPER_003, max_tokens=9, stop=("x",), reasoning_effort="low", thinking_tokens=7)
    assert given == {key: value for key, value in default.items() if key != "max_new_tokens"} | {
        "top_p": 1, "presence_penalty": 0.5, "frequency_penalty": 0, "sampling_seed": 42, "max_tokens": 9,
        "stop": ["x"], "reasoning_effort": "low", "thinking_tokens": 7,
    }  # fmt: skip
    assert set(DECODING) <= set(DECISIVE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"pipeline": "text2text", "presence_penalty": 0.5},
            r"-M presence_penalty .* openai or .* text2text",
        ),
        ({"pipeline": "text-generation", "stop": ("a",)}, r"-M stop needs .*text-generation"),
        ({"pipeline": "question-answering", "temperature": 1.0}, r"-M temperature .*question-answering"),
        (
            {"pipeline": "openai-completions", "reasoning_effort": "low"},
            r"-M reasoning_effort needs .*pipeline openai,",
        ),
        ({"pipeline": "openai-completions", "thinking_tokens": 5}, r"-M thinking_tokens needs"),
        ({"model": "lexical", "sampling_seed": 1}, r"-M sampling_seed .* the model 'lexical'"),
        ({"model": "fake", "max_tokens": 5}, r"-M max_tokens .* the model 'fake'"),
        ({"pipeline": "text2text", "top_p": 0.5}, r"-M top_p needs -M temperature above 0"),
        ({"pipeline": "text-generation", "sampling_seed": 5}, r"-M sampling_seed needs -M temperature"),
        ({"temperature": 1.0, "engine": "ctranslate2"}, r"needs -M engine=transformers"),
        ({"temperature": 1.0, "compute_type": "int8"}, r"needs -M engine=transformers"),
        ({"temperature": 1.0, "num_beams": 4}, r"beam search"),
        ({"temperature": -1.0}, r"-M temperature must be at least 0, not -1"),
        ({"pipeline": "openai", "top_p": 0.0}, r"-M top_p must be above 0"),
        ({"pipeline": "openai", "stop": ("",)}, r"-M stop must be a text that is not empty"),
        ({"model": "lexical", "base_url": "http://h/v1"}, r"--base-url .*--model-pipeline openai"),
        ({"pipeline": "question-answering", "engine": "ctranslate2"}, "--model-pipeline question-answering"),
        ({"pipeline": "question-answering", "compute_type": "int8"}, "--model-pipeline question-answering"),
        ({"no_answer_at": "first"}, "-M no_answer_at needs --model-pipeline question-answering"),
        ({"device_map": "auto", "engine": "ctranslate2"}, "-M device_map .*-M engine=ctranslate2"),
        ({"choose": True, "model": "lexical"}, "--reply chosen .* the model 'lexical'"),
        ({"choose": True, "pipeline": "question-answering"}, "--model-pipeline"),
        ({"choose": True, "temperature": 0.5}, "-M temperature cannot"),
        ({"choose": True, "max_tokens": 3}, "-M max_tokens cannot"),
        ({"choose": True, "pipeline": "openai", "thinking_tokens": 9}, "-M thinking_tokens cannot"),
        ({"positive_class": "a"}, "-M positive_class needs --model-pipeline text-classification"),
        (
            {"revision": "0123456789abcdef0123456789abcdef01234567", "trust_remote_code": True},
            "--trust-remote-code needs --model-pipeline text-classification",
        ),
        (SIMILARITY | {"temperature": 0.5}, "-M temperature .* cannot be used with sentence-similarity"),
        (SIMILARITY | {"pipeline": "text2text"}, "-M cut_points needs --model-pipeline sentence-similarity"),
        (
            {"pipeline": "openai", "base_url": "http://host/v1", "response_format": "no-such-file"},
            r"'no-such-file' is neither text nor",
        ),
    ],
)
def test_options_that_a_backend_does_not_support_are_refused(options: dict[str, Any], message: str) -> None:
    """The model does not exist, so the message comes before any loading."""
    with pytest.raises(ModelError, match=message) as caught:
        load_llm(ModelOptions(**{"model": "nobody/nothing", **options}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "is not a JSON object")])
def test_a_broken_schema(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text)
    with pytest.raises(ModelError, match=message):
        load_llm(ModelOptions("m", pipeline="openai", base_url="http://host/v1", response_format=str(path)))


@pytest.mark.parametrize(
    ("fixture", "key", "pipeline", "limit"),
    [
        ("checkpoints", "keyed", "text2text", 511),
        ("causal_checkpoints", "chat", "text-generation", 320),
    ],
)
def test_the_longest_reply_of_a_local_model_is_a_limit(
    request: pytest.FixtureRequest, fixture: str, key: str, pipeline: Any, limit: int
) -> None:
    folder = str(request.getfixturevalue(fixture)[key])
    load_llm(ModelOptions(folder, pipeline, max_tokens=limit))
    with pytest.raises(ModelError, match=rf"-M max_tokens={limit + 1} is above .* {limit} tokens"):
        load_llm(ModelOptions(folder, pipeline, max_tokens=limit + 1))


# Completions endpoints


TURNS = (Part("List tides."), Part("Here.", role="assistant"), Part("Again!"))


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (PROMPTS.get(RATING).render({"question": "Why?", "context": "Tides rise  twice.\nBees."}), None),
        (TURNS, "List tides.\n\nHere.\n\nAgain!"),
    ],
    ids=["grading", "repair"],
)
def test_completions_get_the_prompt_of_a_base_model(
    causal_checkpoints: dict[str, Path], parts: Any, text: str | None
) -> None:
    """The text is the prompt that a local checkpoint without a chat template gets."""
    local: Any = load_llm(ModelOptions(str(causal_checkpoints["plain"]), pipeline="text-generation"))
    asked = Request(parts, LABELS, 5, one_line=True)
    ((reply,), server) = served(rating, [asked], "openai-completions")
    (body,) = server.bodies
    (encoded,) = local.encode([asked])
    assert local.provenance()["prompt_format"] == "plain"
    assert body["prompt"] == (text or asked.text) == local._tokenizer.decode(encoded.ids)
    assert (body["logprobs"], body["max_tokens"]) == (20, 5)
    assert reply.text in LABELS
    assert len(reply.label_logprobs) == 6


def test_a_completion_is_cut_after_its_first_line_if_it_grades() -> None:
    script = always(text_completion("\n\n4 \nQuestion: 5"))
    replies, _ = served(script, [rate("a", one_line=True), rate("b")], "openai-completions")
    assert texts(replies) == ["4", "4 \nQuestion: 5"]


def test_completions_refuse_prompts_with_a_system_part() -> None:
    asked = Request((Part("Be strict.", role="system"), Part("Rate.")))
    message, server = refused(rating, [asked], "openai-completions")
    assert re.search("role 'system', .* no chat template", message)
    assert server.bodies == []


# Sampling


def test_samples_have_the_probabilities_of_the_model() -> None:
    """Shares of 20,000 draws, within four standard deviations."""
    logits = torch.tensor([0.1, 2.0, -1.0, 3.0, -torch.inf])
    rows = 20_000
    sampler = Sampler(ModelOptions("m", temperature=2.0, top_p=0.9), [str(row) for row in range(rows)])
    scores = sampler(torch.zeros(rows, 0), logits.expand(rows, -1))
    assert (scores.isfinite().sum(-1) == 1).all()
    counts = scores.argmax(-1).bincount(minlength=5)
    shares = torch.tensor([0.1187, 0.3069, 0.0685, 0.5060, 0.0])  # the softmax of half the logits
    shares[2] = 0  # the others reach 0.9 without it
    expected = shares / shares.sum()
    assert ((counts / rows - expected).abs() <= 4 * (expected * (1 - expected) / rows).sqrt()).all()


SAMPLED = [("checkpoints", "flat", "text2text"), ("causal_checkpoints", "flat", "text-generation")]


GREEDY = dict.fromkeys(["temperature", "sampling_seed", "max_tokens", "prompt_date"])


@pytest.mark.parametrize(
    ("fixture", "key", "options", "recorded"),
    [
        (
            "checkpoints", "keyed", {"engine": "transformers"},
            GREEDY | {"num_beams": 5, "early_stopping": True, "dtype": "float32", "max_new_tokens": 511},
        ),
        (
            "checkpoints", "keyed", {"temperature": 0.5},
            {"engine": "transformers", "num_beams": 1, "temperature": 0.5, "sampling_seed": 0},
        ),
        (
            "causal_checkpoints", "chat", {"pipeline": "text-generation"},
            {"num_beams": 1, "do_sample": False, "prompt_format": "chat", "max_new_tokens": 320, **GREEDY},
        ),
        (
            "causal_checkpoints", "plain",
            {"pipeline": "text-generation", "temperature": 0.5, "max_tokens": 9},
            {"do_sample": True, "max_tokens": 9, "max_new_tokens": None, "prompt_format": "plain"},
        ),
    ],
    ids=["seq2seq", "seq2seq sampled", "causal", "causal sampled"],
)  # fmt: skip
def test_local_models_record_their_decoding(
    request: pytest.FixtureRequest, fixture: str, key: str, options: Any, recorded: dict[str, Any]
) -> None:
    """None: not recorded."""
    folder = request.getfixturevalue(fixture)[key]
    facts = load_llm(ModelOptions(str(folder), **options)).provenance()
    assert {name: facts.get(name) for name in recorded} == recorded
    assert len(facts["checkpoint_hash"]) == 16


def test_likelihoods_are_not_sampled(checkpoints: dict[str, Path], prompts: list[str]) -> None:
    asked = [Request((Part(text),), LABELS, 12) for text in prompts[:4]]
    greedy = ModelOptions(str(checkpoints["flat"]), num_beams=1, engine="transformers")
    sampled = ModelOptions(str(checkpoints["flat"]), temperature=1.5)
    for a, b in zip(ask(greedy, asked), ask(sampled, asked), strict=True):
        assert a.label_logprobs == pytest.approx(b.label_logprobs, abs=1e-4)


@pytest.mark.parametrize(("fixture", "key", "pipeline"), SAMPLED)
def test_max_tokens_limits_the_replies_of_local_models(
    request: pytest.FixtureRequest, prompts: list[str], fixture: str, key: str, pipeline: str
) -> None:
    folder = str(request.getfixturevalue(fixture)[key])
    asked = [Request((Part(text),), (), 60) for text in prompts[:4]]
    limited = ask(ModelOptions(folder, pipeline=pipeline, num_beams=1, max_tokens=3), asked)
    llm = load_llm(ModelOptions(folder, pipeline=pipeline, num_beams=1))
    assert limited == answers(llm, [replace(one, max_new_tokens=3) for one in asked])
    assert limited != answers(llm, asked)


def test_greedy_contradicts_a_temperature() -> None:
    with pytest.raises(click.UsageError, match="-M greedy=true"):
        cli.main(
            ["grade", "--plan", "--model", "m", "-M", "greedy=true", "-M", "temperature=1"],
            standalone_mode=False,
        )
