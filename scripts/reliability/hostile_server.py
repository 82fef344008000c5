"""A server on raw sockets that answers requests with arbitrary bytes."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

Respond = Callable[[socket.socket, str], None]
"""Answers a request on its connection; the text is the whole request."""


def completion(text: str) -> dict[str, Any]:
    """A chat completion."""
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": text}}]}


def response(body: object, status: int = 200, **headers: str) -> bytes:
    """A whole response; the body is bytes, or an object for JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"content-type": "application/json", "content-length": str(len(data)), "connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + data


def constant(data: bytes) -> Respond:
    """Always the same bytes."""
    return lambda connection, _request: connection.sendall(data)


def trickle(data: bytes, pause: float = 0.05) -> Respond:
    """A byte at a time."""

    def respond(connection: socket.socket, _request: str) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(pause)

    return respond


def endless_body(connection: socket.socket, _request: str) -> None:
    """A body in chunks without an end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")


@contextmanager
def hostile_server(respond: Respond) -> Iterator[str]:
    """A running server; yields the address for ``--base-url``."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            respond(connection, _request(connection))

    def accept() -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _request(connection: socket.socket) -> str:
    """Head and body of a request."""
    data = b""
    while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = dict(line.lower().split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:])
    missing = int(lines.get("content-length", "0")) - len(body)
    while missing > 0 and (more := connection.recv(65536)):
        body += more
        missing -= len(more)
    return head.decode("latin-1") + "\n\n" + body.decode()
