"""Attacks by endpoints: bodies, headers, secrets, redirects, signals, lists in replies."""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch
from urllib.parse import quote

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm, retries
from exam_pp.prompts import near_json
from exam_pp.prompts.entry_list import read_entries
from exam_pp.requests import Part, Request
from scripts.reliability.attacks.attack import Attack
from scripts.reliability.hostile_server import (
    Respond,
    completion,
    constant,
    endless_body,
    hostile_server,
    response,
    trickle,
)

_KEY = "sk-SECRET/123+x"
_RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
_DEADLINE = 20.0
"""Seconds after which a process counts as not stopped: more than a busy machine needs, less than a retry."""

_BODIES: tuple[object, ...] = (
    {"choices": {}},
    {"choices": [[]]},
    {"choices": [{"message": []}]},
    {"choices": [{"message": {"content": {"text": "4"}}}]},
    {"choices": [{"message": {"content": 1.5}}]},
    b'{"choices": [{"message": {"content": ' + b"9" * 5000 + b"}}]}",
    b"[" * 100_000,
    b'{"error":' * 50_000,
    b"\xff\xfe\x00",
    b"null",
)
_HEADERS = (
    {"retry_after": "Mon, 01 Jan 2024 00:00:00 +99999999999999999999"},
    {"retry_after": "-inf"},
    {"retry_after": "Mon, 32 Jan 99999999 99:99:99"},
    {"content_encoding": "br"},
    {"content_encoding": "gzip, gzip"},
    {"content_type": "text/html; charset=hex"},
    {"location": "http://[::1"},
    {"content_length": "-1"},
)


def _problems(respond: Respond, expected: str, *, timeout: float = 10.0, max_mb: float = 1.0) -> str:
    """The problem of a request to a server with these responses; "" if it fails in one sentence."""
    with (
        hostile_server(respond) as url,
        patch.multiple(retries, ATTEMPTS=2, FIRST_DELAY=0.0),
        patch.dict(os.environ, {"OPENAI_API_KEY": _KEY}),
    ):
        llm = load_llm(
            ModelOptions("m", "openai", base_url=url, timeout=timeout, max_reply_mb=max_mb, concurrency=1)
        )
        try:
            ((_, reply),) = llm.generate([Request((Part("a"),), tuple("012345"))])
            message = reply.error or "no error"
        except ModelError as error:
            message = str(error)
        except Exception as error:  # noqa: BLE001 - any other exception is a problem
            return f"{type(error).__name__}: {error}"
    return "" if expected in message and _KEY not in message and "\n" not in message else message


def _first(problems: Iterable[str]) -> str:
    return next(filter(None, problems), "")


def _odd_bodies(_folder: Path) -> str:
    return _first(
        _problems(constant(response(body)), "the reply is not a chat completion") for body in _BODIES
    )


def _odd_headers(_folder: Path) -> str:
    body = completion("4")
    return _first(
        _problems(constant(response(body, status, **headers)), "")
        for headers in _HEADERS
        for status in (200, 301, 429)
        if status != 429 or "retry_after" in headers
    )


def _large_bodies(_folder: Path) -> str:
    bomb = gzip.compress(bytes(20_000_000))
    nested = response(gzip.compress(bomb), content_encoding="gzip, gzip")
    return _first(
        [
            _problems(endless_body, "more than 1 MB (--max-reply-mb)"),
            _problems(constant(response(bomb, content_encoding="gzip")), "more than 1 MB (--max-reply-mb)"),
            _problems(constant(response(bomb, 500, content_encoding="gzip")), "more than 1 MB"),
            _problems(constant(nested), "compressed in another way than gzip"),
            _problems(constant(response(bomb[:100], content_encoding="gzip")), "is damaged"),
            _problems(constant(response(completion("4" * 200_000))), "more than 100,000 characters"),
        ]
    )


def _trickles(_folder: Path) -> str:
    whole = response(completion("4"))
    head = whole.index(b"\r\n\r\n") + 4

    def slow_body(connection: socket.socket, request: str) -> None:
        connection.sendall(whole[:head])
        trickle(whole[head:])(connection, request)

    expected = "no reply within 0.3 s (--timeout)"
    continues = trickle(b"HTTP/1.1 100 Continue\r\n\r\n" * 20, 0.01)
    return _first(_problems(kind, expected, timeout=0.3) for kind in (slow_body, trickle(whole), continues))


def _redirects(_folder: Path) -> str:
    seen: list[str] = []

    def other(connection: socket.socket, request: str) -> None:
        seen.append(request)
        connection.sendall(response(completion("4")))

    with hostile_server(other) as url:
        redirect = constant(response(b"", 307, location=f"{url}/{_KEY.upper()}?key={_KEY}"))
        problem = _problems(redirect, "redirects requests to http://127.0.0.1:")
    return problem or ("the other server got a request" if seen else "")


def _grade(folder: Path, url: str, *options: str) -> subprocess.Popen[str]:
    """A grading in a process of its own."""
    passages, bank = folder / "passages.jsonl", folder / "bank.jsonl"
    texts = [{"paragraph_id": f"p{number}", "text": f"Tide {number}."} for number in range(3)]
    passages.write_text(json.dumps(["q1", texts]) + "\n")
    question = {"query_id": "q1", "question_id": "e1", "question_text": "What makes tides?"}
    entries = {"query_id": "q1", "test_collection": "t", "query_text": "tides", "items": [question]}
    bank.write_text(json.dumps(entries) + "\n")
    command = [sys.executable, "-m", "exam_pp", "grade", str(passages),
               "-o", str(folder / "out.jsonl"), "--bank", str(bank), "--prompt-class",
               _RATING, "--model", "m", "--model-pipeline", "openai", "--base-url", url,
               "--status", str(folder / "status.json"), *options]  # fmt: skip
    environment = os.environ | {"OPENAI_API_KEY": _KEY}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def _echoed_key(folder: Path) -> str:
    """The server returns the request's header, also in Base64 and percent-encoded."""
    forms = [
        _KEY,
        quote(_KEY, safe=""),
        base64.b64encode(f"user:{_KEY}".encode()).decode(),
        _KEY.encode().hex(),
        _KEY.swapcase(),
    ]
    reply = completion("You sent: Bearer " + " ".join(forms) + ". 4")
    with hostile_server(constant(response(reply))) as url:
        process = _grade(folder, url, "--keep-journal", "-v")
        _, errors = process.communicate()
    if process.returncode:
        return errors
    written = errors + "".join(path.read_text(errors="replace") for path in folder.iterdir())
    found = [form for form in forms if form in written]
    if found or written.count("You sent: Bearer ***") == 0:
        return f"written: {found}"
    count = errors.count("returned the key")
    return "" if count == 1 else f"{count} warnings"


def _signal(folder: Path, respond: Respond, number: signal.Signals, code: int) -> str:
    """A signal while a grading waits for this server."""
    asked: list[str] = []

    def noted(connection: socket.socket, request: str) -> None:
        asked.append(request)
        respond(connection, request)

    with hostile_server(noted) as url:
        process = _grade(folder, url, "--timeout", "300")
        while not asked and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=_DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return f"alive {_DEADLINE:g} s after {number.name}"
    sentence = errors.strip().splitlines()[-1]
    kept = "all replies so far are kept" in sentence
    return "" if process.returncode == code and kept else f"exit code {process.returncode}: {sentence}"


def _signals(folder: Path) -> str:
    busy = constant(response({"error": {"message": "busy"}}, 429, retry_after="300"))
    trickles = trickle(response(completion("4")), 1.0)
    return _signal(folder, busy, signal.SIGTERM, 143) or _signal(folder, trickles, signal.SIGINT, 130)


class CountingPattern:
    """The pattern for lists in braces, which counts the characters that it scans."""

    def __init__(self) -> None:
        self.pattern = near_json._IN_BRACES
        self.scanned = 0

    def match(self, text: str, start: int) -> object:
        """Match at a position."""
        found = self.pattern.match(text, start)
        self.scanned += len(text) - start if found is None else found.end() - start
        return found


def scanned_characters(reply: str) -> int:
    """Number of characters that the search for lists in braces scans in a reply."""
    pattern = CountingPattern()
    with patch.object(near_json, "_IN_BRACES", pattern):
        read_entries(reply, "questions")
    return pattern.scanned


def _broken_lists(_folder: Path) -> str:
    unit = "[{\"]\\'"
    costs = [scanned_characters((unit * size)[:size]) for size in (10_000, 20_000, 40_000, 80_000)]
    linear = all(after <= 2.5 * before for before, after in pairwise(costs))
    return "" if linear else f"characters scanned for doubled lengths: {costs}"


ATTACKS: tuple[Attack, ...] = (
    Attack("bodies of an endpoint with odd or deeply nested JSON", "one sentence", _odd_bodies),
    Attack("odd headers of an endpoint (Retry-After, encodings, lengths)", "one sentence", _odd_headers),
    Attack(
        "endless bodies, gzip bombs, replies of 200,000 characters",
        "the request fails with one sentence after at most `--max-reply-mb`", _large_bodies,
    ),
    Attack("headers and bodies that trickle in", "the request fails after `--timeout`", _trickles),
    Attack(
        "an endpoint that redirects to another server",
        "one sentence, and that server gets no request", _redirects,
    ),
    Attack(
        "an endpoint that returns the key in its replies, also encoded",
        "no file and no message has it; one warning", _echoed_key,
    ),
    Attack("SIGTERM and Ctrl-C while an endpoint is busy or slow", "the command ends at once", _signals),
    Attack("replies with 80,000 brackets and quotes instead of a list", "read in linear time", _broken_lists),
)  # fmt: skip
