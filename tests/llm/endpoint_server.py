"""A local OpenAI-compatible server with faults on demand."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any, dict[str, str]]
"""Status, body (bytes, or an object for JSON), further headers."""

Script = Callable[[dict[str, Any], int], Answer]


def completion(
    text: str | None, logprobs: dict[str, float] | None = None, finish: str = "stop", **message: str
) -> Answer:
    """A chat completion; ``logprobs`` are the alternatives of the first token, the reply's own first."""
    choice: dict[str, Any] = {
        "index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}
    }  # fmt: skip
    if logprobs is not None:
        tokens = [{"token": token, "logprob": value, "bytes": None} for token, value in logprobs.items()]
        choice["logprobs"] = {"content": [{**tokens[0], "top_logprobs": tokens}]}
    return 200, {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}, {}


def text_completion(
    text: str | None, logprobs: dict[str, float] | None = None, finish: str = "stop"
) -> Answer:
    """A completion of plain text; ``logprobs`` are the alternatives of its first token, its own first."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": finish, "text": text, "logprobs": None}
    if logprobs is not None:
        first = next(iter(logprobs))
        choice["logprobs"] = {
            "tokens": [first], "token_logprobs": [logprobs[first]], "top_logprobs": [logprobs],
            "text_offset": [0],
        }  # fmt: skip
    return 200, {"id": "c", "object": "text_completion", "created": 0, "model": "m", "choices": [choice]}, {}


def failure(status: int, message: str, **headers: str) -> Answer:
    """An error in the format of OpenAI."""
    return status, {"error": {"message": message, "type": "t", "code": None, "param": None}}, headers


def prompt_of(body: dict[str, Any]) -> str:
    """The text of a call, which is that of its last message."""
    return str(body["prompt"] if "prompt" in body else body["messages"][-1]["content"])


def rating(body: dict[str, Any], _count: int = 0) -> Answer:
    """A rating that depends only on the prompt."""
    text = str(sum(prompt_of(body).encode()) % 6)
    rest = {str(label): -9.0 - label for label in range(6) if str(label) != text}
    answer = text_completion if "prompt" in body else completion
    return answer(text, {text: -0.01, **rest} if body.get("logprobs") else None)


class Server:
    """The state of the server; ``script`` gets the body of a call and the number of calls with its prompt."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answered: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.active = self.most_active = 0
        self.lock = threading.Lock()
        self.piece = 0  # bytes of the body that are sent before each pause; 0 for no pauses
        self.url, self.port = "", 0

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        prompt = json.dumps(body["messages"] if "messages" in body else body["prompt"])
        with self.lock:
            self.bodies.append(body)
            self.headers.append(headers)
            self.seen[prompt] += 1
            count = self.seen[prompt]
            self.active += 1
            self.most_active = max(self.most_active, self.active)
        answer = self.script(body, count)
        with self.lock:
            self.active -= 1
            self.answered[prompt] += answer[0] == 200
        return answer


def always(answer: Answer) -> Script:
    return lambda *_: answer


def at_first(answer: Answer, times: int = 1) -> Script:
    """A script with this answer to the first calls with a prompt, and ratings to later ones."""
    return lambda body, count: answer if count <= times else rating(body)


def by_text(answers: Mapping[str, Answer], other: Script = rating) -> Script:
    """A script with the answer to the first key that the prompt contains."""

    def script(body: dict[str, Any], count: int) -> Answer:
        found = next((answer for key, answer in answers.items() if key in prompt_of(body)), None)
        return other(body, count) if found is None else found

    return script


def refusing(answers: Mapping[str, Answer], other: Script = rating) -> Script:
    """A script with the answer to the first key that is an argument of the call."""
    return lambda body, count: next((a for key, a in answers.items() if key in body), other(body, count))


@contextmanager
def serve(script: Script = rating, port: int = 0) -> Iterator[Server]:
    """A running server; its address is ``url``. Its end closes all connections."""
    state = Server(script)
    connections: set[socket.socket] = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            connections.add(self.connection)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            state.paths.append(self.path)
            status, value, headers = state.answer(body, {k.lower(): v for k, v in self.headers.items()})
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            try:
                self.send_response(status)
                for name, text in {"content-type": "application/json", **headers}.items():
                    self.send_header(name.replace("_", "-"), text)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                for at in range(0, len(data), state.piece or len(data) or 1):
                    self.wfile.write(data[at : at + (state.piece or len(data))])
                    time.sleep(0.05 if state.piece else 0)
            except OSError:  # the client has closed the connection
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        allow_reuse_address = True
        request_queue_size = 64

        def handle_error(self, *_: Any) -> None:
            pass

    server = Quiet(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    state.port = server.server_port
    state.url = f"http://127.0.0.1:{state.port}/v1"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        for connection in connections:
            with suppress(OSError):  # the client has closed it
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()
