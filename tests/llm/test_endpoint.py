"""The endpoint backend against a local server with faults."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm, retries
from exam_pp.llm.retries import AttemptError, RequestOutcome, Retries
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles, grade_file
from exam_pp.prompts import PROMPTS
from tests.llm.asking import LABELS, ask, rate, refused, served
from tests.llm.endpoint_server import (
    always,
    at_first,
    by_text,
    completion,
    failure,
    rating,
    refusing,
    serve,
)

SECRET = "sk-very-secret-key"
RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
MANY = [rate(str(number)) for number in range(40)]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(retries, "LONGEST_DELAY", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def options(url: str, **more: Any) -> ModelOptions:
    return ModelOptions("some-model", pipeline="openai", base_url=url, **more)


def test_messages_and_key_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{SECRET}\n")
    parts = (Part("Be strict.", role="system"), Part("Rate: "), Part("tides\0é \ud800", "context"))
    _, server = served(rating, [Request(parts)])
    assert server.bodies[0]["messages"] == [
        {"role": "system", "content": "Be strict."},
        {"role": "user", "content": "Rate: tides\0é ?"},
    ]
    assert server.headers[0]["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (completion("It may be 4 or", finish="length"), "<think>It may be 4 or"),
        (completion("4", finish="length", reasoning_content="It may be 4."), "4"),
        (completion("4", finish="length", reasoning="It may be 4."), "4"),
        (completion("It may be 4.</think>\n4", finish="length"), "It may be 4.</think>\n4"),
        (completion("<think>It may be", finish="length"), "<think>It may be"),
        (completion("4"), "4"),
        (completion("", reasoning_content="It may be 4."), ""),
    ],
)
def test_thinking_text_is_not_read_as_a_reply(answer: Any, text: str) -> None:
    """Some servers return thinking text in the reply, possibly without its opening tag."""
    ((reply,), _) = served(always(answer), [rate("a")], thinking_tokens=20)
    assert (reply.text, reply.error is None) == (text, bool(text))


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert served(rating, [rate("a")])[0][0].error is None
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        load_llm(ModelOptions("m", pipeline="openai"))


@pytest.mark.parametrize(
    "url", ["localhost:8000", "http://localhost:99999/v1", "http://localhost:abc/v1", "http://:80/v1"]
)
def test_an_invalid_base_url(url: str) -> None:
    with pytest.raises(ModelError, match="--base-url must be"):
        load_llm(options(url))


def test_calls_are_made_in_parallel_up_to_the_limit() -> None:
    together = threading.Barrier(5)  # each call waits for four others

    def behave(body: dict[str, Any], _count: int) -> Any:
        together.wait()
        return rating(body)

    _, server = served(behave, MANY, concurrency=5, timeout=600)
    assert server.most_active == 5


SCORES = {str(label): math.log(0.025) for label in range(4)}


@pytest.mark.parametrize(
    ("scores", "probabilities"),
    [
        (
            {"4": math.log(0.5), " 4": math.log(0.1), "5": math.log(0.3), **SCORES},
            [0.025, 0.025, 0.025, 0.025, 0.6, 0.3],
        ),
        ({"4": math.log(0.9998), "5": math.log(0.0001)}, [0, 0, 0, 0, 0.9998, 0.0001]),
        ({"4": math.log(0.6), "5": math.log(0.2)}, []),
        ({"4": math.nan, "5": -1.0}, []),
        ({"4": 800.0}, [0, 0, 0, 0, 1, 0]),
        ({"The": -0.5, "4": -1.0}, []),
        (None, []),
    ],
    ids=["all", "unlisted but negligible", "unlisted", "not a number", "more than certain", "text", "none"],
)
def test_label_likelihoods_come_from_the_first_token(scores: Any, probabilities: list[float]) -> None:
    ((reply,), server) = served(always(completion("4", scores)), [rate("a", LABELS)])
    assert (server.bodies[0]["logprobs"], server.bodies[0]["top_logprobs"]) == (True, 20)
    assert [round(math.exp(logprob), 4) for logprob in reply.label_logprobs] == probabilities


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
def test_a_server_without_likelihoods_is_called_without_them(pipeline: str) -> None:
    script = refusing({"logprobs": failure(400, "logprobs is not supported")})
    asked = [rate(str(n), LABELS) for n in range(5)]
    replies, server = served(script, asked, pipeline, concurrency=1)
    assert len(server.bodies) == 6
    assert all(reply.error is None and reply.label_logprobs == () for reply in replies)


def refusal(style: str, name: str) -> Any:
    """The refusal of an argument by different servers."""
    if style == "detail":
        return 422, {"detail": [{"loc": ["body", name], "msg": "extra fields not permitted"}]}, {}
    error = {
        "azure": {"message": f"Unsupported value: '{name}' is not supported. Use 'max_completion_tokens'."},
        "vllm": {"message": f"[{{'type': 'extra_forbidden', 'loc': ('body', '{name}')}}]"},
        "param": {"message": "This argument cannot be used.", "param": name},
    }[style]
    return 400, {"error": error}, {}


@pytest.mark.parametrize("style", ["azure", "vllm", "param", "detail"])
def test_requests_do_without_arguments_that_the_server_refuses(
    style: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Requests that are under way at once warn once, and the grades record what was not sent."""
    names = ["max_tokens", "temperature", "seed", "top_logprobs"]
    script = refusing({name: refusal(style, name) for name in names})
    asked = [rate(str(n), LABELS) for n in range(40)]
    replies, server = served(script, asked, sampling_seed=3, top_p=0.5, concurrency=8)
    assert all(reply.error is None for reply in replies)
    assert {reply.not_sent for reply in replies} == {("sampling_seed", "temperature")}
    assert len(server.bodies) <= 40 + 8 * len(names)
    body = server.bodies[-1]
    assert (body["max_completion_tokens"], body["top_p"]) == (7, 0.5)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == len({*warnings}) == len(names)


def study(write_jsonl: Callable[..., Path], queries: int, passages: int, entries: int) -> tuple[Path, Path]:
    """Files of passages and of a bank."""
    lines = [
        [f"q{q}", [{"paragraph_id": f"q{q}p{p}", "text": f"Text {p} of {q}."} for p in range(passages)]]
        for q in range(queries)
    ]
    bank = [
        {"query_id": f"q{q}", "test_collection": "tiny", "query_text": f"query {q}", "items": [
            {"query_id": f"q{q}", "question_id": f"q{q}/{e}", "question_text": f"What is {e}?"}
            for e in range(entries)
        ]}
        for q in range(queries)
    ]  # fmt: skip
    return write_jsonl("passages.jsonl", lines), write_jsonl("bank.jsonl", bank)


def test_grades_and_the_journal_record_settings_that_were_not_sent(
    tmp_path: Path, write_jsonl: Callable[..., Path]
) -> None:
    passages, bank = study(write_jsonl, 1, 1, 1)
    grading = GradeOptions([PROMPTS.get(RATING)])
    with serve(refusing({"temperature": refusal("azure", "temperature")})) as server:
        for name in ("sent", "from the journal"):
            files = GradeFiles(passages, tmp_path / name, bank, tmp_path / "journal")
            grade_file(files, options(server.url), grading)
            assert len(server.bodies) == 2
            recorded = files.output.read_text()
            assert '"not_sent":["temperature"]' in recorded
            assert '"temperature":0' not in recorded


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
def test_a_refusal_that_names_a_needed_argument_has_the_setting_as_its_remedy(pipeline: str) -> None:
    message, server = refused(always(refusal("azure", "stop")), [rate("a")], pipeline, stop=("END",))
    assert re.search(r"'stop' is not supported.* and -M stop\.$", message)
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 7",
            "is too large: 7): change or leave out -M max_tokens",
        ),
        ("maximum context length is 2048 tokens.", "status 400 (maximum context length is 2048 tokens)"),
    ],
)
def test_a_refused_prompt_is_not_repeated_and_changes_no_other_request(problem: str, error: str) -> None:
    script = by_text({"long": failure(400, problem), "empty": completion(None)})
    asked = [rate("long"), rate("empty"), rate("short")]
    (long, empty, short), server = served(script, asked, concurrency=1)
    assert error in (long.error or "")
    assert "has no text" in (empty.error or "")
    assert short.error is None
    assert max(server.seen[prompt] for prompt in server.seen if "empty" in prompt) == 1
    assert len(server.seen) == 4  # with a request that every model can answer
    assert "max_tokens" in server.bodies[-1]


QUOTA = {"message": "You exceeded your current quota.", "type": "t", "code": "insufficient_quota"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (failure(401, f"Incorrect API key provided: {SECRET}"), "401.*environment variable"),
        (failure(403, "no access"), "403"),
        (failure(404, "The model `some-model` does not exist"), "404.*--base-url"),
        (failure(501, "Unsupported method"), "501.*--base-url does not have this interface"),
        ((429, {"error": QUOTA}, {}), r"429 \(You exceeded your current quota\)"),
    ],
)
def test_permanent_failures_stop_the_run_with_one_sentence(answer: Any, message: str) -> None:
    text, server = refused(always(answer), MANY, concurrency=4)
    assert re.search(message, text)
    assert SECRET not in text
    assert len(server.bodies) <= 8


NO_COMPLETION = "not a chat completion"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (failure(500, f"boom {SECRET}"), "status 500 (boom ***)"),
        (failure(429, "slow down"), "status 429 (slow down)"),
        ((200, b"<html>not an API</html>", {}), NO_COMPLETION),
        ((200, {"choices": []}, {}), NO_COMPLETION),
        ((200, {"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}, {}), NO_COMPLETION),
        ((200, b"", {}), NO_COMPLETION),
        ((200, [1, 2], {}), NO_COMPLETION),
    ],
)
def test_a_request_that_fails_in_all_attempts_is_an_error_of_its_completion(answer: Any, reason: str) -> None:
    (first, bad, last), server = served(
        by_text({"bad": answer}), [rate("good"), rate("bad"), rate("also good")]
    )
    assert server.seen.total() == 2 + retries.ATTEMPTS
    assert reason in (bad.error or "")
    assert SECRET not in (bad.error or "")
    assert (first.error, last.error) == (None, None)


@pytest.mark.parametrize("piece", [0, 4], ids=["no reply", "a slow body"])
def test_the_timeout_covers_the_whole_body(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(retries, "ATTEMPTS", 2)
    end = threading.Event()

    def behave(body: dict[str, Any], _count: int) -> Any:
        return rating(body) if piece or end.wait() else None

    with serve(behave) as server:
        server.piece = piece
        with pytest.raises(ModelError, match=r"every request .*no reply within 0\.2 s"):
            ask(options(server.url, timeout=0.2), [rate("a")])
        end.set()
    assert server.seen.total() == 3  # with a short request


@pytest.mark.parametrize(
    ("text", "finish", "error"),
    [
        ("", "length", True), (" \n", "length", True), ("", "content_filter", True),
        ("The pas", "content_filter", True), ("It says 4 and", "length", False), ("", "stop", False),
    ],
)  # fmt: skip
def test_replies_that_are_cut_off_before_an_answer_are_errors(text: str, finish: str, error: bool) -> None:
    ((reply,), _) = served(always(completion(text, finish=finish)), [rate("a")])
    problem = f"the endpoint's reply has no text (finish reason: {finish})"
    assert reply == (Completion(error=problem) if error else Completion(text))


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ALL_PROXY", "ftp://user:password@host"), ("SSL_CERT_FILE", "/there/is/no/such/file")],
)
def test_proxies_and_certificates_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    message, _ = refused(rating, [rate("a")])
    assert "ALL_PROXY, SSL_CERT_FILE" in message
    assert "password" not in message


class Pauses(threading.Event):
    """An event that records how long it would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0.0)
        return False


@pytest.mark.parametrize("asked", [None, 3.0])
def test_pauses_between_attempts_double_and_are_at_least_those_that_the_server_asks_for(
    monkeypatch: pytest.MonkeyPatch, asked: float | None
) -> None:
    monkeypatch.undo()
    pauses = Pauses()

    def attempt() -> Completion:
        raise AttemptError("busy", asked)

    outcome = Retries(ModelError, 60, 1).reply(attempt, lambda _reason: None, pauses)
    assert (outcome.completion.error or "").endswith("failed 8 times; the last failure: busy")
    usual = [0.5, 1, 2, 4, 8, 16, 30]
    assert len(pauses.seconds) == len(usual)
    for pause, seconds in zip(pauses.seconds, usual, strict=True):
        assert max(asked or 0.0, 0.75 * seconds) <= pause <= max(asked or 0.0, 1.25 * seconds)


def test_the_header_of_a_server_is_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float | None] = []

    def once(_retries: Retries, attempt: Callable[[], Completion], *_: Any) -> RequestOutcome:
        with pytest.raises(AttemptError) as failed:
            attempt()
        delays.append(failed.value.delay)
        return RequestOutcome(Completion())

    monkeypatch.setattr(Retries, "reply", once)
    served(always(failure(429, "slow down", retry_after="0.6")), [rate("a")])
    assert delays == [0.6]


@pytest.mark.parametrize(
    "answer",
    [
        *(failure(status, "not now") for status in (408, 409, 425, 429, 500, 503, 529)),
        (200, b"no gzip", {"content_encoding": "gzip"}),
    ],
    ids=lambda answer: str(answer[0]),
)
def test_temporary_failures_are_retried(answer: Any) -> None:
    ((reply,), _) = served(at_first(answer, 2), [rate("a")])
    assert reply.error is None


def test_an_unreachable_server() -> None:
    with serve() as server:
        url = server.url
    with pytest.raises(ModelError, match=r"reached .*server"):
        ask(options(url), [rate("a")])


@pytest.mark.parametrize("answered_before", [0, 3])
@pytest.mark.parametrize("answer", [failure(400, "maximum context length is 2048 tokens"), completion(None)])
def test_a_passage_that_is_refused_for_every_entry_does_not_stop_the_run(
    answer: Any, answered_before: int
) -> None:
    def entry(number: int, passage: str) -> Request:
        return Request((Part(f"Question {number}. "), Part(passage, "context", may_be_cut=True)), (), 7)

    asked = [entry(n, "short") for n in range(answered_before)]
    asked += [entry(n, "long " * 9) for n in range(50)] + [entry(60, "short")]
    replies, _ = served(by_text({"long": answer}), asked)
    assert [reply.error is None for reply in replies] == [True] * answered_before + [False] * 50 + [True]


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
@pytest.mark.parametrize(
    "reason", ["max_tokens is not supported", "Server is pinned to 'm@main'; requested 'some-model'."]
)
def test_an_endpoint_that_refuses_all_requests_stops_the_run(pipeline: str, reason: str) -> None:
    """`transformers serve` refuses the name of another model with status 400."""
    message, server = refused(always((400, {"detail": reason}, {})), MANY[:3], pipeline, concurrency=2)
    assert re.search(rf"every request .*{re.escape(reason[:-1])}.*--model some-model", message)
    assert len(server.bodies) <= 6  # two requests, possibly again with max_completion_tokens, and probes


def test_an_endpoint_that_refuses_all_passages_stops_the_run() -> None:
    script = by_text({"Rate: ": failure(400, "the context has 8 tokens")}, always(completion("1")))
    message, server = refused(script, MANY, concurrency=2)
    assert re.search(r"\b20\b.*the context has 8 tokens", message)
    assert len(server.bodies) <= 25


def test_a_refusal_is_no_reason_to_stop_if_the_server_is_busy() -> None:
    short = {"Rate: long": failure(400, "too long"), "Rate: short": completion("4")}
    script = by_text(short, always(failure(503, "no workers")))
    (refusal, reply), _ = served(script, [rate("long"), rate("short")], concurrency=1)
    assert "400 (too long)" in (refusal.error or "")
    assert reply.error is None


def test_an_endpoint_that_dies_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "ATTEMPTS", 2)
    with serve() as server:
        replies = load_llm(options(server.url, concurrency=2)).generate(MANY)
        got = [next(replies) for _ in range(10)]
        server.script = always(failure(503, "no workers"))
        with pytest.raises(ModelError, match=r"\b20\b.*no workers"):
            got.extend(replies)
    assert 10 <= sum(reply.error is None for _, reply in got) <= 20


@pytest.mark.parametrize("limit", [0.0, 600.0], ids=["it stays away", "it returns"])
def test_a_run_waits_for_a_server_that_is_restarted(monkeypatch: pytest.MonkeyPatch, limit: float) -> None:
    """No pair is left ungraded: a server that stays away stops the run, and one that returns is used."""
    with serve() as server:
        llm: Any = load_llm(options(server.url, concurrency=2))
        replies = llm.generate(MANY)
        got = [next(replies) for _ in range(6)]
    llm._retries.timeout = limit
    if not limit:
        with pytest.raises(ModelError, match=r"reachable for 0 s \(-M timeout; .*repeat the command"):
            got.extend(replies)
        assert len(got) < len(MANY)
    else:
        patience = Retries._patience
        first = threading.Lock()

        def restarting(self: Retries, reason: str) -> float:
            if first.acquire(blocking=False):
                stack.enter_context(serve(port=server.port))
            return patience(self, reason)

        with ExitStack() as stack:
            monkeypatch.setattr(Retries, "_patience", restarting)
            got.extend(replies)
        assert sorted(index for index, _ in got) == list(range(len(MANY)))
    assert all(reply.error is None for _, reply in got)


def test_the_key_is_never_logged_or_written(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serve(always(failure(500, SECRET))) as server:
        llm = load_llm(options(f"{server.url}?key=hunter2"))
        with pytest.raises(ModelError, match=r"every request .*status 500") as failed:
            list(llm.generate([rate("a")]))
        assert llm.provenance()["base_url"] == server.url
    output = f"{llm.provenance()} {failed.value} {llm!r} {caplog.text}"
    assert SECRET not in output
    assert "hunter2" not in output


@pytest.mark.parametrize("key", ["sk-sécret", "sk-\nsecret", "sk-\x01secret"])
def test_an_invalid_key_is_not_quoted(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelError, match=r"OPENAI_API_KEY .*characters") as caught:
        load_llm(options("http://localhost:1/v1"))
    assert "cret" not in str(caught.value)
