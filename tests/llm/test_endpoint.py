"""The endpoint backend against a local server with faults."""

from __future__ import annotations

import logging
import math
import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm, retries, transport
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles, grade_file
from exam_pp.prompts import PROMPTS
from exam_pp.store.passages.graded_file import read_passages
from tests.llm.endpoint_server import completion, failure, rating, serve, slow

LABELS = tuple("012345")
SECRET = "sk-very-secret-key"
RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(retries, "LONGEST_DELAY", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def options(url: str, **more: Any) -> ModelOptions:
    return ModelOptions("some-model", pipeline="openai", base_url=url, **more)


def request(text: str, labels: tuple[str, ...] = ()) -> Request:
    return Request((Part("Rate: "), Part(text, "context", may_be_cut=True)), labels, max_new_tokens=7)


def ask(url: str, requests: list[Request], **more: Any) -> list[Completion]:
    replies = dict(load_llm(options(url, **more)).generate(requests))
    return [replies[index] for index in range(len(requests))]


def test_the_body_of_a_call() -> None:
    with serve() as server:
        parts = (Part("Be strict.", role="system"), Part("Rate: "), Part("tides\0é \ud800", "context"))
        (reply,) = ask(server.url, [Request(parts, LABELS, 7)])
        assert reply.text in LABELS
        (body,) = server.bodies
        assert body["messages"] == [
            {"role": "system", "content": "Be strict."},
            {"role": "user", "content": "Rate: tides\0é ?"},
        ]
        assert (body["model"], body["temperature"], body["max_tokens"]) == ("some-model", 0, 7)
        assert server.headers[0]["authorization"] == f"Bearer {SECRET}"


def test_thinking_tokens_are_added_to_the_limit() -> None:
    with serve() as server:
        ask(server.url, [request("a")], thinking_tokens=2000)
        assert server.bodies[0]["max_tokens"] == 2007
        assert load_llm(options(server.url, thinking_tokens=2000)).provenance()["thinking_tokens"] == 2000
        assert "thinking_tokens" not in load_llm(options(server.url)).provenance()


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
    with serve(lambda _body, _count: answer) as server:
        (reply,) = ask(server.url, [request("a")], thinking_tokens=20)
    assert reply.text == text
    assert (reply.error is None) == bool(text)


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with serve() as server:
        assert ask(server.url, [request("a")])[0].error is None
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        load_llm(ModelOptions("m", pipeline="openai"))
    with pytest.raises(ModelError, match="--base-url"):
        load_llm(options("localhost:8000"))


def test_calls_are_made_in_parallel_up_to_the_limit() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        time.sleep(0.05)
        return rating(body)

    with serve(behave) as server:
        ask(server.url, [request(str(number)) for number in range(30)], concurrency=5)
        assert 3 <= server.most_active <= 5


def test_label_likelihoods_come_from_the_first_token() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
        match body["messages"][0]["content"].removeprefix("Rate: "):
            case "all":
                scores = {"4": math.log(0.5), " 4": math.log(0.1), "5": math.log(0.3)}
                rest = {str(label): math.log(0.025) for label in range(4)}
                return completion("4", scores | rest)
            case "unlisted but negligible":
                return completion("4", {"4": math.log(0.9998), "5": math.log(0.0001)})
            case "unlisted":
                return completion("4", {"4": math.log(0.6), "5": math.log(0.2)})
            case "not a number":
                return completion("4", {"4": math.nan, "5": -1.0})
            case "more than certain":
                return completion("4", {"4": 800.0})
            case "text":
                return completion("The answer", {"The": -0.5, "4": -1.0})
            case _:
                return completion("4")

    with serve(behave) as server:
        names = [
            "all",
            "unlisted but negligible",
            "unlisted",
            "not a number",
            "text",
            "none",
            "more than certain",
        ]
        replies = ask(server.url, [request(name, LABELS) for name in names])
    probabilities = [[round(math.exp(logprob), 4) for logprob in reply.label_logprobs] for reply in replies]
    assert probabilities == [
        [0.025, 0.025, 0.025, 0.025, 0.6, 0.3], [0, 0, 0, 0, 0.9998, 0.0001], [], [], [], [],
        [0, 0, 0, 0, 1, 0],
    ]  # fmt: skip


def test_a_server_without_likelihoods_is_called_without_them() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        return failure(400, "logprobs is not supported") if "logprobs" in body else rating(body)

    with serve(behave) as server:
        replies = ask(server.url, [request(str(n), LABELS) for n in range(5)], concurrency=1)
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
    refused = ["max_tokens", "temperature", "seed", "top_logprobs"]

    def behave(body: dict[str, Any], _count: int) -> Any:
        return next((refusal(style, name) for name in refused if name in body), None) or rating(body)

    with serve(behave) as server:
        llm = load_llm(options(server.url, sampling_seed=3, top_p=0.5, concurrency=8))
        replies = dict(llm.generate([request(str(n), LABELS) for n in range(40)]))
    assert all(reply.error is None for reply in replies.values())
    assert {reply.not_sent for reply in replies.values()} == {("sampling_seed", "temperature")}
    assert len(server.bodies) <= 40 + 8 * len(refused)
    body = server.bodies[-1]
    assert (body["max_completion_tokens"], body["top_p"]) == (7, 0.5)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == len({*warnings}) == len(refused)


def test_grades_and_the_journal_record_settings_that_were_not_sent(
    tmp_path: Path, write_jsonl: Callable[..., Path]
) -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        return refusal("azure", "temperature") if "temperature" in body else rating(body)

    output, journal = tmp_path / "graded.jsonl", tmp_path / "journal"
    calls: list[int] = []
    with serve(behave) as server:
        passages = write_jsonl("passages.jsonl", [["q", [{"paragraph_id": "p", "text": "Water boils."}]]])
        question = {"query_id": "q", "question_id": "q/e", "question_text": "What boils?"}
        entry = {"query_id": "q", "test_collection": "t", "query_text": "water", "items": [question]}
        files = GradeFiles(passages, output, write_jsonl("bank.jsonl", [entry]), journal)
        for _ in range(2):  # the second time, the reply comes from the journal
            grade_file(files, options(server.url), GradeOptions([PROMPTS.get(RATING)]))
            calls.append(len(server.bodies))
            (recorded,) = {
                repr(grades.model_options)
                for query in read_passages(output) for passage in query.passages
                for grades in passage.rubric_grades or []
            }  # fmt: skip
            assert "'not_sent': ['temperature']" in recorded
            assert "'temperature': 0" not in recorded
            output.unlink()
    assert calls == [2, 2]


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
def test_a_refusal_that_names_a_needed_argument_has_the_setting_as_its_remedy(pipeline: str) -> None:
    with serve(lambda _body, _count: refusal("azure", "stop")) as server:
        model = ModelOptions("m", pipeline, base_url=server.url, stop=("END",))
        with pytest.raises(ModelError, match=r"'stop' is not supported.* and -M stop\.$"):
            list(load_llm(model).generate([request("a")]))
        assert len(server.bodies) == 2


def test_a_long_prompt_is_no_reason_to_rename_the_limit() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        if "long" in body["messages"][0]["content"]:
            return failure(400, "'max_tokens' or 'max_completion_tokens' is too large: 7")
        return rating(body)

    with serve(behave) as server:
        long, short = ask(server.url, [request("long"), request("short")], concurrency=1)
        assert "max_tokens" in server.bodies[-1]
    assert "is too large: 7): change or leave out -M max_tokens" in (long.error or "")
    assert short.error is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (failure(401, f"Incorrect API key provided: {SECRET}"), "401.*environment variable"),
        (failure(403, "no access"), "403"),
        (failure(404, "The model `some-model` does not exist"), "404.*--base-url"),
        (failure(501, "Unsupported method"), "501.*--base-url does not have this interface"),
    ],
)
def test_permanent_failures_stop_the_run_with_one_sentence(answer: Any, message: str) -> None:
    with serve(lambda _body, _count: answer) as server:
        with pytest.raises(ModelError, match=message) as caught:
            ask(server.url, [request(str(number)) for number in range(40)], concurrency=4)
        assert len(server.bodies) <= 8
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (failure(500, f"boom {SECRET}"), "status 500 (boom ***)"),
        (failure(429, "slow down"), "status 429 (slow down)"),
        ((200, b"<html>not an API</html>", {}), "not a chat completion"),
        ((200, {"choices": []}, {}), "not a chat completion"),
        (
            (200, {"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}, {}),
            "not a chat completion",
        ),
        ((200, b"", {}), "not a chat completion"),
        ((200, [1, 2], {}), "not a chat completion"),
        ((200, b"<html>", {"content_type": "text/html"}), "not a chat completion"),
    ],
)
def test_a_request_that_fails_in_all_attempts_is_an_error_of_its_completion(answer: Any, reason: str) -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        return answer if "bad" in body["messages"][0]["content"] else rating(body)

    with serve(behave) as server:
        first, bad, last = ask(server.url, [request("good"), request("bad"), request("also good")])
        assert sum(server.seen.values()) == 2 + retries.ATTEMPTS
    assert reason in (bad.error or "")
    assert SECRET not in (bad.error or "")
    assert (first.error, last.error) == (None, None)


def test_refused_requests_and_empty_replies_are_not_repeated() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        if "long" in body["messages"][0]["content"]:
            return failure(400, "maximum context length is 2048 tokens.")
        return completion(None)

    with serve(behave) as server:
        long, empty = ask(server.url, [request("long"), request("empty")], concurrency=1)
        assert len(server.bodies) == 3  # after the first refusal, a short request
    assert "status 400 (maximum context length is 2048 tokens)" in (long.error or "")
    assert "has no text" in (empty.error or "")


def test_timeouts_are_retried() -> None:
    def behave(body: dict[str, Any], count: int) -> Any:
        return slow(1.0, body) if count == 1 else rating(body)

    with serve(behave) as server:
        (reply,) = ask(server.url, [request("a")], timeout=0.3)
    assert reply.text in LABELS


@pytest.mark.slow
def test_the_timeout_covers_the_whole_body() -> None:
    with serve() as server:
        server.piece = 4
        with pytest.raises(ModelError, match=r"every request .*no reply within 0\.2 s"):
            ask(server.url, [request("a")], timeout=0.2)
        assert sum(server.seen.values()) == retries.ATTEMPTS + 1  # and a short request


@pytest.mark.parametrize(
    ("text", "finish"),
    [("", "length"), (" \n", "length"), ("", "content_filter"), ("The pas", "content_filter")],
)
def test_replies_that_are_cut_off_before_an_answer_are_errors(text: str, finish: str) -> None:
    with serve(lambda _body, _count: completion(text, finish=finish)) as server:
        (reply,) = ask(server.url, [request("a")])
    assert reply == Completion(error=f"the endpoint's reply has no text (finish reason: {finish})")


def test_a_long_and_an_empty_reply_are_replies() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        long = "long" in body["messages"][0]["content"]
        return completion("It says 4 and", finish="length") if long else completion("")

    with serve(behave) as server:
        assert ask(server.url, [request("long"), request("b")]) == [Completion("It says 4 and"), Completion()]


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ALL_PROXY", "ftp://user:password@host"), ("SSL_CERT_FILE", "/there/is/no/such/file")],
)
def test_proxies_and_certificates_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with serve() as server, pytest.raises(ModelError, match=r"ALL_PROXY, SSL_CERT_FILE") as caught:
        ask(server.url, [request("a")])
    assert "password" not in str(caught.value)


def test_retry_after_is_respected() -> None:
    times: list[float] = []

    def behave(body: dict[str, Any], count: int) -> Any:
        times.append(time.monotonic())
        return failure(429, "slow down", retry_after="0.6") if count == 1 else rating(body)

    with serve(behave) as server:
        ask(server.url, [request("a")])
    assert times[1] - times[0] >= 0.6


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 503, 529])
def test_temporary_failures_are_retried(status: int) -> None:
    def behave(body: dict[str, Any], count: int) -> Any:
        return failure(status, "not now") if count < 3 else rating(body)

    with serve(behave) as server:
        (reply,) = ask(server.url, [request("a")])
    assert reply.error is None


def test_an_exceeded_quota_stops_the_run() -> None:
    error = {"message": "You exceeded your current quota.", "type": "t", "code": "insufficient_quota"}
    with serve(lambda _body, _count: (429, {"error": error}, {})) as server:
        with pytest.raises(ModelError, match=r"429 \(You exceeded your current quota\)"):
            ask(server.url, [request("a")])
        assert len(server.bodies) == 1


def test_the_delay_that_a_server_may_request_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LONGEST_RETRY_AFTER", 0.1)

    def behave(body: dict[str, Any], count: int) -> Any:
        return failure(429, "slow down", retry_after="3600") if count == 1 else rating(body)

    with serve(behave) as server:
        began = time.monotonic()
        (reply,) = ask(server.url, [request("a")])
    assert reply.error is None
    assert time.monotonic() - began < 60


def test_an_unreachable_server() -> None:
    with serve() as server:
        url = server.url
    with pytest.raises(ModelError, match=r"reached .*server"):
        ask(url, [request("a")])


@pytest.mark.parametrize("url", ["http://localhost:99999/v1", "http://localhost:abc/v1", "http://:80/v1"])
def test_an_invalid_base_url(url: str) -> None:
    with pytest.raises(ModelError, match="--base-url must be"):
        load_llm(options(url))


@pytest.mark.parametrize("answered_before", [0, 3])
@pytest.mark.parametrize("answer", [failure(400, "maximum context length is 2048 tokens"), completion(None)])
def test_a_passage_that_is_refused_for_every_entry_does_not_stop_the_run(
    answer: Any, answered_before: int
) -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        return answer if "long" in body["messages"][0]["content"] else rating(body)

    def entry(number: int, passage: str) -> Request:
        return Request((Part(f"Question {number}. "), Part(passage, "context", may_be_cut=True)), (), 7)

    requests = [entry(n, "short") for n in range(answered_before)]
    requests += [entry(n, "long " * 9) for n in range(50)] + [entry(60, "short")]
    with serve(behave) as server:
        replies = ask(server.url, requests)
    assert [reply.error is None for reply in replies] == [True] * answered_before + [False] * 50 + [True]


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
@pytest.mark.parametrize(
    "reason", ["max_tokens is not supported", "Server is pinned to 'm@main'; requested 'some-model'."]
)
def test_an_endpoint_that_refuses_all_requests_stops_the_run(pipeline: str, reason: str) -> None:
    """`transformers serve` refuses the name of another model with status 400."""
    with serve(lambda _body, _count: (400, {"detail": reason}, {})) as server:
        model = ModelOptions("some-model", pipeline, base_url=server.url, concurrency=2)
        with pytest.raises(
            ModelError, match=rf"every request .*{re.escape(reason[:-1])}.*--model some-model"
        ):
            list(load_llm(model).generate([request(str(number)) for number in range(3)]))
        assert len(server.bodies) <= 6  # two requests, possibly again with max_completion_tokens, and probes


def test_an_endpoint_that_refuses_all_passages_stops_the_run() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        asks = "Rate: " in body["messages"][0]["content"]
        return failure(400, "the context has 8 tokens") if asks else completion("1")

    with serve(behave) as server:
        with pytest.raises(ModelError, match=r"\b20\b.*the context has 8 tokens"):
            ask(server.url, [request(str(number)) for number in range(500)], concurrency=2)
        assert len(server.bodies) <= 25


def test_a_refusal_is_no_reason_to_stop_if_the_server_is_busy() -> None:
    def behave(body: dict[str, Any], _count: int) -> Any:
        match body["messages"][0]["content"].removeprefix("Rate: "):
            case "long":
                return failure(400, "too long")
            case "short":
                return rating(body)
        return failure(503, "no workers")

    with serve(behave) as server:
        long, short = ask(server.url, [request("long"), request("short")], concurrency=1)
    assert "400 (too long)" in (long.error or "")
    assert short.error is None


def test_a_broken_connection_is_retried() -> None:
    def behave(body: dict[str, Any], count: int) -> Any:
        return (200, b"no gzip", {"content_encoding": "gzip"}) if count == 1 else rating(body)

    with serve(behave) as server:
        assert all(reply.error is None for reply in ask(server.url, [request("a"), request("b")]))


@pytest.mark.slow
def test_an_endpoint_that_dies_stops_the_run() -> None:
    alive = threading.Event()
    alive.set()

    def behave(body: dict[str, Any], _count: int) -> Any:
        return rating(body) if alive.is_set() else failure(503, "no workers")

    with serve(behave) as server:
        llm = load_llm(options(server.url, concurrency=2))
        replies = llm.generate([request(str(number)) for number in range(500)])
        got = [next(replies) for _ in range(30)]
        alive.clear()
        with pytest.raises(ModelError, match=r"\b20\b.*no workers"):
            got.extend(replies)
    assert 30 <= sum(reply.error is None for _, reply in got) <= 40


@pytest.mark.parametrize("limit", [0.0, 30.0])
def test_a_run_waits_for_a_server_that_is_restarted(limit: float) -> None:
    """No pair is left ungraded: a server that stays away stops the run, and one that returns is used."""
    requests = [request(str(number)) for number in range(18)]
    with serve() as server:
        llm: Any = load_llm(options(server.url, concurrency=2))
        replies = llm.generate(requests)
        got = [next(replies) for _ in range(6)]
        port = server.port
    llm._retries.timeout = limit or 0.2
    if not limit:
        with pytest.raises(ModelError, match=r"reachable for 0\.2 s \(-M timeout; .*repeat the command"):
            got.extend(replies)
        assert len(got) < 18
    else:
        with ExitStack() as stack:
            back = threading.Timer(0.5, lambda: stack.enter_context(serve(port=port)))
            back.start()
            got.extend(replies)
            back.join()
        assert sorted(index for index, _ in got) == list(range(18))
    assert all(reply.error is None for _, reply in got)


def test_the_key_is_never_logged_or_written(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serve(lambda _b, _c: failure(500, SECRET)) as server:
        with pytest.raises(ModelError, match=r"--base-url .*credentials") as caught:
            load_llm(options(server.url.replace("//", "//user:hunter2@")))
        llm = load_llm(options(f"{server.url}?key=hunter2"))
        with pytest.raises(ModelError, match=r"every request .*status 500") as failed:
            list(llm.generate([request("a")]))
        assert llm.provenance()["base_url"] == server.url
    output = f"{caught.value} {llm.provenance()} {failed.value} {llm!r} {caplog.text}"
    assert SECRET not in output
    assert "hunter2" not in output


def test_the_key_is_stripped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{SECRET}\n")
    with serve(lambda body, count: failure(500, SECRET) if count == 1 else rating(body)) as server:
        assert ask(server.url, [request("a")])[0].error is None
        assert server.headers[0]["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("key", ["sk-sécret", "sk-\nsecret", "sk-\x01secret"])
def test_an_invalid_key_is_not_quoted(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelError, match=r"OPENAI_API_KEY .*characters") as caught:
        load_llm(options("http://localhost:1/v1"))
    assert key not in str(caught.value)
    assert "cret" not in str(caught.value)


def faulty(chance: random.Random, lock: threading.Lock) -> Callable[[dict[str, Any], int], Any]:
    """A script with 10 % status 500, 5 % late replies, and bursts of status 429."""
    calls = 0

    def behave(body: dict[str, Any], _count: int) -> Any:
        nonlocal calls
        with lock:
            calls += 1
            number, draw = calls, chance.random()
        if number % 60 >= 50:
            return failure(429, "slow down", retry_after="0.05")
        if draw < 0.10:
            return failure(500, "boom")
        if draw < 0.15:
            return slow(0.8, body)
        return rating(body)

    return behave


@pytest.mark.slow
def test_grading_with_a_faulty_server(write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path) -> None:
    """All pairs are graded once, and the grades equal those of a server without faults."""
    data: dict[str, Any] = {"paragraph_data": {"judgments": [], "rankings": []}}
    queries = [
        [f"q{q}", [{"paragraph_id": f"q{q}p{p}", "text": f"Text {p} of {q}."} | data for p in range(8)]]
        for q in range(5)
    ]
    bank = [
        {"query_id": f"q{q}", "test_collection": "tiny", "query_text": f"query {q}", "items": [
            {"query_id": f"q{q}", "question_id": f"q{q}/{e}", "question_text": f"What is {e}?"}
            for e in range(5)
        ]}
        for q in range(5)
    ]  # fmt: skip
    passages, entries = write_jsonl("passages.jsonl", queries), write_jsonl("bank.jsonl", bank)
    grading = GradeOptions(prompts=[PROMPTS.get(RATING)])
    results = []
    for name, script in (("faulty", faulty(random.Random(3), threading.Lock())), ("sound", rating)):
        with serve(script) as server:
            output = tmp_path / f"{name}.jsonl"
            model = options(server.url, timeout=0.4, concurrency=12)
            summary = grade_file(GradeFiles(passages, output, entries), model, grading)
            assert (summary.graded, summary.ungraded, summary.asked) == (200, 0, 200)
            assert len(server.seen) == 200
            if name == "faulty":
                assert sum(server.seen.values()) > 230
            graded = {}
            for query in read_passages(output):
                for passage in query.passages:
                    (grades,) = passage.rubric_grades or []
                    graded[passage.passage_id] = list(grades.self_ratings or [])
                    assert len(graded[passage.passage_id]) == 5
            results.append(graded)
    assert results[0] == results[1]
