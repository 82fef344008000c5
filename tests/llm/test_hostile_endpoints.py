"""Endpoints with odd bodies and headers, redirects, and keys in replies."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import logging
import random
import threading
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("openai")

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm, retries, transport
from exam_pp.llm.endpoint import in_threads
from exam_pp.llm.masking import Secrets, find_secrets
from exam_pp.llm_requests import Part, Request
from tests.llm.asking import LABELS, answers, rate, refused, served, texts
from tests.llm.endpoint_server import (
    Answer,
    Server,
    always,
    at_first,
    completion,
    failure,
    prompt_of,
    rating,
    serve,
    text_completion,
)

SECRET = "sk-very/secret+key"


@pytest.fixture(autouse=True)
def _one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "ATTEMPTS", 1)
    monkeypatch.setattr(retries, "GIVE_UP_AFTER", 10**6)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


# Odd bodies and headers

KEYS = st.sampled_from(
    ["choices", "message", "content", "text", "logprobs", "tokens", "top_logprobs", "token", "logprob",
     "finish_reason", "reasoning", "error", "code", "detail", "a"]
)  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.sampled_from(["", "4", " 4", "\ud800", "\0", "<think>", "length", "content_filter"])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)
SCORES = {"4": -0.1, "5": -2.5, "0": -9.0}
VALID = [completion("4", SCORES)[1], text_completion("4", SCORES)[1], failure(500, "busy")[1]]


@st.composite
def bodies(draw: st.DrawFn) -> Any:
    """A JSON value, or a valid body in which a value is replaced or removed."""
    if draw(st.booleans()):
        return draw(VALUES)
    body = copy.deepcopy(draw(st.sampled_from(VALID)))
    places: list[tuple[Any, Any]] = list(_places(body))
    container, key = draw(st.sampled_from(places))
    if draw(st.booleans()):
        container[key] = draw(VALUES)
    else:
        del container[key]
    return body


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value, with each of its keys or positions."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)


HEADER_VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40) | st.sampled_from(
    ["gzip", "br", "gzip, gzip", "-1", "nan", "1e400", "-inf", "9" * 400, "chunked", "text/x; charset=hex",
     "Mon, 01 Jan 2024 00:00:00 +99999999999999999999", "Fri, 99 Foo 0000 99:99:99 GMT",
     "a=b; Max-Age=" + "9" * 99]
)  # fmt: skip
HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "content-encoding", "content-type", "set-cookie", "x-request-id",
                     "x-should-retry", "date", "link", "transfer-encoding"]),
    HEADER_VALUES, max_size=2,
)  # fmt: skip
ANSWERS = st.tuples(st.sampled_from([200, 200, 200, 204, 301, 400, 429, 500]), bodies(), HEADERS)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
@given(odd=st.lists(ANSWERS, min_size=1, max_size=30))
@settings(max_examples=6)
def test_an_odd_response_is_a_reply_or_the_failure_of_its_request(
    server: Server, pipeline: Any, odd: list[tuple[int, Any, dict[str, str]]]
) -> None:
    """No response ends the run, and the reason of a failure is one line."""

    def behave(body: dict[str, Any], _count: int) -> Any:
        return odd[int(prompt_of(body))] if prompt_of(body).isdigit() else rating(body)

    server.script = behave
    llm: Any = load_llm(ModelOptions("m", pipeline, base_url=server.url, concurrency=4))
    (good,) = answers(llm, [rate("good")])
    assert good.error is None
    llm._transport._timeout = 1.0  # some headers announce more than the body
    replies = answers(llm, [Request((Part(str(n)),), LABELS, 7) for n in range(len(odd))])
    assert len(replies) == len(odd)
    for reply in replies:
        assert (reply.error is None) or (not reply.text and "\n" not in reply.error)
        json.dumps(reply.text).encode()
        reply.text.encode()


@given(st.text() | HEADER_VALUES | st.floats().map(str))
def test_the_delay_of_a_server_is_a_bounded_number(value: str) -> None:
    delay = transport.retry_after(value)
    assert delay is None or 0 <= delay <= transport.LONGEST_RETRY_AFTER


def test_the_delay_may_be_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "time", lambda: 1_000_000.0)
    assert transport.retry_after(formatdate(1_000_100, usegmt=True)) == 100
    assert transport.retry_after(formatdate(999_000, usegmt=True)) == 0


# Sizes


@given(
    st.lists(st.binary(max_size=300), max_size=6),
    st.sampled_from(["", "gzip", "deflate"]),
    st.integers(0, 900),
)
def test_a_body_is_unpacked_up_to_its_limit(chunks: list[bytes], encoding: str, limit: int) -> None:
    data = b"".join(chunks)
    packed = {"": data, "gzip": gzip.compress(data), "deflate": zlib.compress(data)}[encoding]
    pieces = [packed[at : at + 50] for at in range(0, len(packed), 50)]
    if max(len(data), len(packed)) <= limit:
        assert b"".join(transport.decoded(pieces, encoding, limit / 1e6)) == data
    else:
        with pytest.raises(transport.BadReplyError, match="-M max_reply_mb"):
            list(transport.decoded(pieces, encoding, limit / 1e6))


def test_a_gzip_bomb_is_never_unpacked_as_a_whole() -> None:
    bomb = gzip.compress(bytes(30_000_000))
    sizes: list[int] = []
    with pytest.raises(transport.BadReplyError):
        sizes.extend(map(len, transport.decoded([bomb], "gzip", 0.1)))
    assert sum(sizes) <= 100_000


def test_nested_json_is_refused_without_counting_brackets_in_texts() -> None:
    text = '[{"' * 1000
    assert transport.parse_body(json.dumps({"a": [text]}).encode()) == {"a": [text]}
    for deep in (b"[" * 65 + b"]" * 65, b'{"a":' * 100_000):
        with pytest.raises(transport.BadReplyError, match="64 nested"):
            transport.parse_body(deep)


@pytest.mark.parametrize("end", [b"", b"\\"])
def test_a_body_that_ends_within_a_string_is_read_in_linear_time(end: bytes) -> None:
    """A quadratic search takes hours."""
    with pytest.raises(transport.BadReplyError, match="not JSON"):
        transport.parse_body(b'{"' + rb"\"" * 2_000_000 + end)


# Redirects


def redirect(target: str, status: int = 307) -> Any:
    return status, {}, {"location": f"{target}/chat/completions?token=abc"}


def test_a_key_in_the_name_of_a_host_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRETabc")
    message, _ = refused(always(redirect("http://sk-SECRETabc.example")), [rate("a")])
    assert "to http://***.example: " in message


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_server_stops_the_run(status: int) -> None:
    with serve() as other:
        message, _ = refused(always(redirect(other.url, status)), [rate("a")])
        address = other.url.removesuffix("/v1")
    assert f"redirects requests to {address}: name that server with --base-url" in message
    assert not other.bodies


def test_a_redirect_within_the_server_is_followed() -> None:
    replies, server = served(at_first((307, {}, {"location": "/v2/chat/completions"})), [rate("a")])
    assert replies[0].text in LABELS
    assert server.paths == ["/v1/chat/completions", "/v2/chat/completions"]


@pytest.mark.parametrize(
    ("first", "target", "is_followed"),
    [
        ("https://host", "http://host", False),
        ("https://host:8443", "http://host:8443", False),
        ("https://host", "http://host:443", False),
        ("http://host:443", "https://host", True),
        ("http://host", "https://host", True),
        ("http://host", "https://HOST:443", True),
        ("http://host:8000", "https://host", False),
    ],
)
def test_a_redirect_never_loses_tls(first: str, target: str, is_followed: bool) -> None:
    checks = transport.Transport(ModelOptions("m", base_url=f"{first}/v1"))
    request = SimpleNamespace(url=f"{target}/v1/again")
    with nullcontext() if is_followed else pytest.raises(transport.RedirectError, match=f"^{target}$"):
        checks._check_server(request)


# Secrets

PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=60)


@given(PRINTABLE, st.text(max_size=5), st.text(max_size=5), st.randoms(use_true_random=False))
def test_every_form_of_a_secret_is_masked(
    secret: str, before: str, after: str, chance: random.Random
) -> None:
    mixed = "".join(c if chance.random() < 0.5 else f"%{ord(c):02X}" for c in secret)
    around = f"{before}{secret}{after}".encode("utf-8", "surrogatepass")
    lower = "".join(f"%{ord(c):02x}" for c in secret)
    forms = {
        secret, quote(secret, safe=""), lower, mixed, secret.encode().hex(), json.dumps(secret)[1:-1],
        f"http://{secret}.example".lower(),
    }  # fmt: skip
    for form in forms:
        assert form not in Secrets({secret}).mask(f"{before} {form} {after}")
        assert "***" in Secrets({secret}).mask(form)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        coded = encode(around).decode()
        masked = Secrets({secret}).mask(coded)
        assert "***" in masked
        assert coded not in masked


def test_secrets_come_from_keys_urls_and_proxies() -> None:
    environment = {
        "OPENAI_API_KEY": "key-of-the-environment",
        "HTTPS_PROXY": "http://name:proxy%20password@proxy:80",
        "all_proxy": "socks5://proxy-token@proxy",
    }
    secrets = find_secrets("the-key", "http://host/v1?api-version=2024-06-01&sig=signature", environment)
    secret = ["the-key", "key-of-the-environment", "proxy password", "proxy-token", "signature"]
    assert secrets.mask(" ".join(secret)) == " ".join(["***"] * 5)
    assert secrets.mask("2024-06-01, name, host") == "2024-06-01, name, host"
    assert find_secrets("EMPTY", "http://host?k=4", {}).mask("4 EMPTY") == "4 EMPTY"


def test_a_returned_key_is_masked_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    basic = base64.b64encode(f"user:{SECRET}".encode()).decode()
    reply = completion(f"4 Authorization: Bearer {SECRET}, Basic {basic}", SCORES)
    replies, _ = served(always(reply), [rate(str(n), LABELS) for n in range(5)])
    assert {*texts(replies)} == {"4 Authorization: Bearer ***, Basic dXNlcjp***="}
    (warning,) = (record for record in caplog.records if record.levelno > logging.INFO)
    assert warning.levelno == logging.WARNING
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "url", ["http://user:hunter22@host/v1", "user:hunter22@host/v1", "ftp://h/?k=hunter22"]
)
def test_an_invalid_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ModelError, match="--base-url") as caught:
        load_llm(ModelOptions("m", "openai", base_url=url))
    assert "hunter22" not in str(caught.value)


# Likelihoods


@pytest.mark.parametrize(
    ("pipeline", "choose", "answer"),
    [("openai", False, completion("4")), ("openai-completions", True, text_completion("4"))],
)
def test_ignored_likelihoods_are_reported_once(
    caplog: pytest.LogCaptureFixture, pipeline: str, choose: bool, answer: Answer
) -> None:
    """`transformers serve` ignores `logprobs`."""
    asked = [rate("free text"), *(rate(str(n), LABELS) for n in range(3))]
    replies, _ = served(always(answer), asked, pipeline, choose=choose)
    assert {(reply.text, reply.label_logprobs) for reply in replies} == {("4", ())}
    (record,) = (record for record in caplog.records if record.levelno > logging.INFO)
    assert "ignores the request for likelihoods (logprobs)" in record.message


# Threads


def test_an_error_of_a_thread_is_raised_and_does_not_wait_for_others() -> None:
    never = threading.Event()

    def work(number: int) -> int:
        if number == 2:
            raise ModelError("no")
        if number == 1:
            never.wait()
        return number

    with pytest.raises(ModelError, match="no"):
        list(in_threads(work, iter([0, 1, 2]), 3))
    never.set()
    assert sorted(in_threads(lambda n: n * n, iter(range(50)), 4)) == [(n, n * n) for n in range(50)]
