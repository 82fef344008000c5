"""Decoding options: bodies of calls, refusals, records, and sampling that does not depend on batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
import torch

from exam_pp.cli.main import main
from exam_pp.errors import ModelError
from exam_pp.llm import LLM, ModelOptions, load_llm
from exam_pp.llm.decoding import DECODING, Sampler
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.prompts import PROMPTS
from tests.llm.endpoint_server import Server, completion, failure, rating, serve, text_completion

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
LABELS = tuple("012345")
SCHEMA = {"title": "A grade", "type": "object", "properties": {"grade": {"type": "integer"}}}
PAPER_003 = {
    "temperature": 0, "top_p": 1.0, "presence_penalty": 0.5, "frequency_penalty": 0.0, "sampling_seed": 42
}  # fmt: skip
"""Decoding of Open RAG Eval."""


@pytest.fixture(autouse=True)
def _without_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def ask(llm: LLM, requests: list[Request], batches: Any = None) -> list[Completion]:
    replies = dict(llm.generate(requests, batches))
    return [replies[index] for index in sorted(replies)]


def endpoint(server: Server, pipeline: str = "openai", **options: Any) -> LLM:
    return load_llm(ModelOptions("m", pipeline=pipeline, base_url=server.url, **options))


def request(text: str, labels: tuple[str, ...] = (), **options: Any) -> Request:
    return Request((Part("Rate: "), Part(text, "context", may_be_cut=True)), labels, **options)


CHAT = {"model": "m", "messages": [{"role": "user", "content": "Rate: a"}]}
PLAIN = {"model": "m", "prompt": "Rate: a"}


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
    with serve() as server:
        (reply,) = ask(endpoint(server, pipeline, **options), [request("a")])
        assert reply.error is None
        assert server.bodies == [body]
        assert server.paths == ["/v1/chat/completions" if pipeline == "openai" else "/v1/completions"]


def test_a_json_schema_is_sent_whole_and_recorded_as_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    with serve() as server:
        llm = endpoint(server, response_format=str(path))
        ask(llm, [request("a")])
        (body,) = server.bodies
        recorded = llm.provenance()["response_format"]
        path.write_text(json.dumps(SCHEMA, indent=1))
        assert endpoint(server, response_format=str(path)).provenance()["response_format"] == recorded
        path.write_text("{}")
        assert endpoint(server, response_format=str(path)).provenance()["response_format"] != recorded
    assert body["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "A_grade", "schema": SCHEMA, "strict": True}
    }  # fmt: skip
    assert recorded.startswith("json-schema:")


def test_everything_that_is_given_is_recorded() -> None:
    with serve() as server:
        default = endpoint(server).provenance()
        assert not default.keys() & set(DECODING) - {"temperature"}
        assert (default["temperature"], default["max_new_tokens"]) == (0, 4096)
        assert json.dumps(endpoint(server, temperature=0.0).provenance()) == json.dumps(default)
        options: dict[str, Any] = {**PAPER_003, "max_tokens": 9, "stop": ("x",), "reasoning_effort": "low"}
        given = endpoint(server, **options).provenance()
    assert given == {key: value for key, value in default.items() if key != "max_new_tokens"} | {
        "top_p": 1, "presence_penalty": 0.5, "frequency_penalty": 0, "sampling_seed": 42, "max_tokens": 9,
        "stop": ["x"], "reasoning_effort": "low",
    }  # fmt: skip
    assert set(DECODING) <= set(DECISIVE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pipeline": "text2text", "presence_penalty": 0.5}, r"-M presence_penalty .* text2text.* openai or"),
        ({"pipeline": "text-generation", "stop": ("a",)}, r"-M stop cannot .*text-generation"),
        ({"pipeline": "question-answering", "temperature": 1.0}, r"-M temperature .*question-answering"),
        (
            {"pipeline": "openai-completions", "reasoning_effort": "low"},
            r"-M reasoning_effort .*needs openai",
        ),
        ({"pipeline": "openai-completions", "thinking_tokens": 5}, r"-M thinking_tokens needs"),
        ({"model": "lexical", "sampling_seed": 1}, r"-M sampling_seed cannot .*'lexical'"),
        ({"model": "fake", "max_tokens": 5}, r"-M max_tokens cannot .*'fake'"),
        ({"pipeline": "text2text", "top_p": 0.5}, r"-M top_p needs -M temperature above 0"),
        ({"pipeline": "text-generation", "sampling_seed": 5}, r"-M sampling_seed needs -M temperature"),
        ({"temperature": 1.0, "engine": "ctranslate2"}, r"needs -M engine=transformers"),
        ({"temperature": 1.0, "compute_type": "int8"}, r"needs -M engine=transformers"),
        ({"temperature": 1.0, "num_beams": 4}, r"beam search"),
        ({"temperature": -1.0}, r"-M temperature must be at least 0, not -1"),
        ({"pipeline": "openai", "top_p": 0.0}, r"-M top_p must be above 0"),
        ({"pipeline": "openai", "stop": ("",)}, r"-M stop must be a text that is not empty"),
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


def test_the_longest_reply_of_a_local_model_is_a_limit(
    checkpoints: dict[str, Path], causal_checkpoints: dict[str, Path]
) -> None:
    for folder, pipeline, limit in (
        (checkpoints["keyed"], "text2text", 511),
        (causal_checkpoints["chat"], "text-generation", 320),
    ):
        with pytest.raises(ModelError, match=rf"-M max_tokens=600 is above .* {limit} tokens"):
            load_llm(ModelOptions(str(folder), pipeline=pipeline, max_tokens=600))
        load_llm(ModelOptions(str(folder), pipeline=pipeline, max_tokens=limit))


# Completions endpoints


def test_completions_get_the_prompt_of_a_base_model(causal_checkpoints: dict[str, Path]) -> None:
    """The text is the prompt that a local checkpoint without a chat template gets."""
    local: Any = load_llm(ModelOptions(str(causal_checkpoints["plain"]), pipeline="text-generation"))
    question = {"question": "Why?", "context": "Tides rise  twice.\nBees dance."}
    asked = Request(PROMPTS.get(RATING).render(question), LABELS, 5, one_line=True)
    with serve() as server:
        (reply,) = ask(endpoint(server, "openai-completions"), [asked])
        (body,) = server.bodies
    (encoded,) = local.encode([asked])
    assert local.provenance()["prompt_format"] == "plain"
    assert body["prompt"] == asked.text == local._tokenizer.decode(encoded.ids)
    assert (body["logprobs"], body["max_tokens"]) == (20, 5)
    assert reply.text in LABELS
    assert len(reply.label_logprobs) == 6


def test_a_completion_is_cut_after_its_first_line_if_it_grades() -> None:
    with serve(lambda _body, _count: text_completion("\n\n4 \nQuestion: 5")) as server:
        llm = endpoint(server, "openai-completions")
        graded, free = ask(llm, [request("a", one_line=True), request("b")])
    assert (graded.text, free.text) == ("4", "4 \nQuestion: 5")


def test_completions_refuse_prompts_with_a_system_part() -> None:
    with serve() as server:
        parts = (Part("Be strict.", role="system"), Part("Rate."))
        with pytest.raises(ModelError, match=r"role 'system', .* no chat template"):
            ask(endpoint(server, "openai-completions"), [Request(parts)])
        assert server.bodies == []


def test_a_repair_is_plain_text(causal_checkpoints: dict[str, Path], tmp_path: Path) -> None:
    """Banks can be generated with completions, as published with ``gpt-3.5-turbo-instruct``."""
    (tmp_path / "queries.tsv").write_text("q1\tocean tides\n")
    output = tmp_path / "bank.jsonl"

    def behave(body: dict[str, Any], _count: int) -> Any:
        repaired = "Here they are" in body["prompt"]
        return text_completion('{"questions": ["Why do tides rise?"]}' if repaired else "Here they are: ...")

    with serve(behave) as server:
        main(["-q", "generate", "questions", str(tmp_path / "queries.tsv"), "-o", str(output), "--model", "m",
              "--model-pipeline", "openai-completions", "--base-url", server.url,
              "-S", "top-ups=0"])  # fmt: skip
        first, again = (body["prompt"] for body in server.bodies)
    assert again.startswith(f"{first}\n\nHere they are: ...\n\n")
    assert "Why do tides rise?" in output.read_text()

    local: Any = load_llm(ModelOptions(str(causal_checkpoints["plain"]), pipeline="text-generation"))
    turns = (Part("List tides."), Part("Here.", role="assistant"), Part("Again!"))
    (encoded,) = local.encode([Request(turns)])
    assert local._tokenizer.decode(encoded.ids) == "List tides.\n\nHere.\n\nAgain!"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (completion("4"), "has no text"),
        ((200, {"choices": []}, {}), "the reply is not a completion"),
        (text_completion("", finish="length"), "has no text"),
    ],
)
def test_faulty_completions(answer: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_pp.llm.retries.FIRST_DELAY", 0.0)
    monkeypatch.setattr("exam_pp.llm.retries.LONGEST_DELAY", 0.0)
    with serve(lambda _body, _count: answer) as server:
        (reply,) = ask(endpoint(server, "openai-completions"), [request("a")])
    assert reason in (reply.error or "")


def test_completions_without_likelihoods() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        return failure(400, "logprobs is not supported") if "logprobs" in body else rating(body)

    with serve(behave) as server:
        replies = ask(endpoint(server, "openai-completions"), [request("a", LABELS), request("b", LABELS)])
    assert all(reply.error is None and reply.label_logprobs == () for reply in replies)


# Sampling


def test_samples_have_the_probabilities_of_the_model() -> None:
    """Shares of 20,000 draws, within four standard deviations."""
    options = ModelOptions("m", temperature=2.0, top_p=0.9)
    logits = torch.tensor([0.1, 2.0, -1.0, 3.0, -torch.inf])
    rows = 20_000
    sampler = Sampler(options, [str(row) for row in range(rows)])
    scores = sampler(torch.zeros(rows, 0), logits.expand(rows, -1))
    assert (scores.isfinite().sum(-1) == 1).all()
    counts = scores.argmax(-1).bincount(minlength=5)
    shares = torch.tensor([0.1187, 0.3069, 0.0685, 0.5060, 0.0])  # the softmax of half the logits
    shares[2] = 0  # the others reach 0.9 without it
    expected = shares / shares.sum()
    error = (counts / rows - expected).abs()
    assert (error <= 4 * (expected * (1 - expected) / rows).sqrt()).all()


SAMPLED = [("checkpoints", "flat", "text2text"), ("causal_checkpoints", "flat", "text-generation")]


@pytest.mark.slow
@pytest.mark.parametrize(("fixture", "key", "pipeline"), SAMPLED)
def test_samples_depend_on_seed_and_request_only(
    request: pytest.FixtureRequest, prompts: list[str], fixture: str, key: str, pipeline: str
) -> None:
    folder = str(request.getfixturevalue(fixture)[key])
    asked = [Request((Part(text, "context", may_be_cut=True),), (), 52) for text in prompts[:5]]

    def replies(seed: int | None, batches: Any = None, **options: Any) -> list[str]:
        model = ModelOptions(folder, pipeline=pipeline, temperature=0.8, sampling_seed=seed, **options)
        return [reply.text for reply in ask(load_llm(model), asked, batches)]

    first = replies(7)
    assert replies(7, [[index] for index in range(5)]) == first
    assert replies(7, [[4, 0, 2], [3, 1]]) == first
    assert replies(8) != first
    assert replies(None) == replies(0)
    greedy = load_llm(ModelOptions(folder, pipeline=pipeline, num_beams=1))
    likeliest = [reply.text for reply in ask(greedy, asked)]
    assert first != likeliest
    assert replies(7, top_p=1e-6) == likeliest


def test_sampling_is_recorded(checkpoints: dict[str, Path], causal_checkpoints: dict[str, Path]) -> None:
    seq2seq = ModelOptions(str(checkpoints["keyed"]), temperature=0.5)
    recorded = load_llm(seq2seq).provenance()
    assert (recorded["engine"], recorded["num_beams"]) == ("transformers", 1)
    assert (recorded["temperature"], recorded["sampling_seed"]) == (0.5, 0)
    folder = str(causal_checkpoints["chat"])
    causal = ModelOptions(folder, pipeline="text-generation", temperature=0.5, max_tokens=9)
    recorded = load_llm(causal).provenance()
    assert (recorded["do_sample"], recorded["max_tokens"]) == (True, 9)
    assert "max_new_tokens" not in recorded
    default = load_llm(ModelOptions(folder, pipeline="text-generation")).provenance()
    assert not default.keys() & set(DECODING)
    assert default["do_sample"] is False


def test_likelihoods_are_not_sampled(checkpoints: dict[str, Path], prompts: list[str]) -> None:
    asked = [Request((Part(text),), LABELS, 12) for text in prompts[:4]]
    greedy = ModelOptions(str(checkpoints["flat"]), num_beams=1, engine="transformers")
    sampled = ModelOptions(str(checkpoints["flat"]), temperature=1.5)
    for a, b in zip(ask(load_llm(greedy), asked), ask(load_llm(sampled), asked), strict=True):
        assert a.label_logprobs == pytest.approx(b.label_logprobs, abs=1e-4)


@pytest.mark.parametrize(("fixture", "key", "pipeline"), SAMPLED)
def test_max_tokens_limits_the_replies_of_local_models(
    request: pytest.FixtureRequest, prompts: list[str], fixture: str, key: str, pipeline: str
) -> None:
    folder = str(request.getfixturevalue(fixture)[key])
    asked = [Request((Part(text),), (), 60) for text in prompts[:4]]
    limited = load_llm(ModelOptions(folder, pipeline=pipeline, num_beams=1, max_tokens=3))
    short = load_llm(ModelOptions(folder, pipeline=pipeline, num_beams=1))
    same = [Request(request.parts, (), 3) for request in asked]
    assert ask(limited, asked) == ask(short, same)
    assert ask(limited, asked) != ask(short, asked)


# Commands


def grade_command(passages: Path, bank: Path, output: Path, *options: str) -> dict[str, Any]:
    main(["-q", "grade", str(passages), "-o", str(output), "--bank", str(bank), "--prompt", RATING,
          "--model", "m", *options])  # fmt: skip
    grades: dict[str, Any] = json.loads(output.read_text().splitlines()[0])[1][0]["exam_grades"][-1]
    return grades


def test_the_doctor_and_plans_run_with_decoding_options(
    checkpoints: dict[str, Path], tiny_passages: Path, tiny_bank: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    sampled = ["--model", str(checkpoints["keyed"]), "-M", "temperature=0.7", "-M", "max_tokens=4"]
    main(["grade", "--plan", *sampled])
    assert "sampling_seed" in capsys.readouterr().out
    output = tmp_path / "out.jsonl"
    main(["grade", str(tiny_passages), "-o", str(output), "--bank", str(tiny_bank), "--prompt", RATING,
          *sampled, "--plan"])  # fmt: skip
    assert not output.exists()


def test_a_local_model_refuses_penalties_in_one_sentence(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        grade_command(tiny_passages, tiny_bank, tmp_path / "out.jsonl", "-M", "presence_penalty=0.5")
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("exam-pp:")]
    assert lines == [
        "exam-pp: -M presence_penalty cannot be used with --model-pipeline text2text; it needs openai or "
        "openai-completions."
    ]


def test_greedy_contradicts_a_temperature() -> None:
    from exam_pp.cli.main import cli

    with pytest.raises(click.UsageError, match="-M greedy=true"):
        cli.main(
            ["grade", "--plan", "--model", "m", "-M", "greedy=true", "-M", "temperature=1"],
            standalone_mode=False,
        )
