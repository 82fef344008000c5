"""HTTP client of endpoints: limits of size and time for replies, checks of redirects, addresses and keys."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from email.utils import parsedate_to_datetime
from itertools import accumulate
from time import monotonic, time
from typing import Any
from urllib.parse import urlsplit

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.masking import MASK, find_secrets

KEY = "OPENAI_API_KEY"
LONGEST_RETRY_AFTER = 300.0
"""Maximal delay in seconds that a server may request with Retry-After."""

DEEPEST_REPLY = 64
"""Maximal number of JSON lists and objects within each other; replies have about ten."""

_MEGABYTE = 1_000_000
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, or the rest of a body that ends within it: a search from each later quote would be quadratic."""
_BRACKETS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - _BRACKETS.keys())
_PORTS = {"http": 80, "https": 443}


class BadReplyError(Exception):
    """A response without a usable reply; the text is the reason."""


class StatusError(BadReplyError):
    """A response with the status of an error.

    ``param``: The argument that is refused, if the server names it. ``delay``: Seconds after which the server
    asks to try again; None if it does not say so.
    """

    def __init__(self, response: Any) -> None:
        body = _error_body(response.content)
        details = body["error"] if isinstance(body.get("error"), dict) else {}
        super().__init__(message_of(body) or response.reason_phrase or "unknown reason")
        self.status: int = response.status_code
        self.code, self.param = details.get("code"), details.get("param")
        self.delay = retry_after(response.headers.get("retry-after"))


class RedirectError(BadReplyError):
    """A redirect to a server that must not get the passages; the text is its address."""


class Transport:
    """The HTTP client of an endpoint, and the checks of all its requests and responses.

    ``secrets`` masks keys and passwords. Redirects to other servers are refused.
    """

    def __init__(self, options: ModelOptions) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError("An endpoint", "openai") from error
        self.openai = openai
        self.url = options.base_url or default_url()
        check_url(self.url)
        self._key = read_key()
        self.is_openai = urlsplit(self.url).hostname == "api.openai.com"
        if self.is_openai and not self._key:
            raise ModelError(f"--base-url is missing. To use api.openai.com, set {KEY}.")
        self.secrets = find_secrets(self._key, self.url)
        for library in ("httpx", "httpx2"):  # these log every call with its whole URL
            logging.getLogger(library).setLevel(logging.WARNING)
        self._timeout = options.timeout
        self._max_mb = options.max_reply_mb
        self._attempt = threading.local()

    def client(self, stopped: threading.Event) -> Any:
        """A client whose calls end with an error soon after the event is set; raises ModelError."""
        hooks: Any = {"request": [self._check_server, self._bound(stopped)], "response": [self._read]}
        try:
            return self.openai.OpenAI(
                base_url=self.url,
                # Local servers often need no key, but the client requires a value.
                api_key=self._key or "none",
                timeout=self._timeout,
                max_retries=0,
                http_client=self.openai.DefaultHttpxClient(
                    event_hooks=hooks, headers={"accept-encoding": "gzip"}
                ),
            )
        except (ImportError, ValueError, OSError) as error:
            # The text of a ValueError contains the proxy's address, which may include a password.
            reason = (
                "an address is not valid" if isinstance(error, ValueError) else " ".join(str(error).split())
            )
            raise ModelError(
                "The proxies or certificates of the environment cannot be used (HTTP_PROXY, HTTPS_PROXY, "
                f"ALL_PROXY, SSL_CERT_FILE ...): {self.secrets.mask(reason).rstrip('.')}."
            ) from error

    def _check_server(self, request: Any) -> None:
        """Raise RedirectError if a request, after a redirect, would go to another server, or lose TLS."""
        url = str(request.url)
        parts = urlsplit(url)
        loses_tls = urlsplit(self.url).scheme == "https" and parts.scheme != "https"
        if loses_tls or _server(url) != _server(self.url):
            raise RedirectError(self.secrets.mask(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"))

    def begin(self) -> None:
        """Begin an attempt of this thread, which ends with an error after the timeout."""
        self._attempt.end = monotonic() + self._timeout

    def _bound(self, stopped: threading.Event) -> Callable[[Any], None]:
        """A function that applies the timeout to the whole exchange of a request.

        The client's own timeout starts again with every byte of headers or body.
        """

        def trace(event: str, details: Any) -> None:
            if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
                stream = details["return_value"]
                read = stream.read

                def read_in_time(max_bytes: int, timeout: float | None = None) -> Any:
                    left = self._attempt.end - monotonic()
                    if left <= 0 or stopped.is_set():
                        raise TimeoutError
                    return read(max_bytes, timeout=min(left, timeout or left))

                stream.read = read_in_time

        def add(request: Any) -> None:
            request.extensions["trace"] = trace

        return add

    def _read(self, response: Any) -> None:
        """Read the whole body of a response within the limits; raises :class:`StatusError` for errors."""
        raw = response.iter_raw
        encoding = response.headers.pop("content-encoding", "").strip().lower()
        response.iter_raw = lambda _size=None: decoded(raw(), encoding, self._max_mb)
        response.read()
        if not (response.is_success or response.has_redirect_location):
            raise StatusError(response)


def decoded(chunks: Iterable[bytes], encoding: str, max_mb: float) -> Iterator[bytes]:
    """Yield the body of a response, unpacked step by step."""
    limit = int(max_mb * _MEGABYTE)
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise BadReplyError("the reply is compressed in another way than gzip")
    packed = encoding not in ("", "identity")
    unpacker = zlib.decompressobj(wbits=47)
    sizes = [0, 0]

    def checked(data: bytes, kind: int) -> bytes:
        sizes[kind] += len(data)
        if sizes[kind] > limit:
            raise BadReplyError(f"the reply has more than {max_mb:g} MB (-M max_reply_mb)")
        return data

    try:
        for chunk in chunks:
            rest = checked(chunk, 0)
            if not packed:
                yield rest
            while packed and rest and not unpacker.eof:
                yield checked(unpacker.decompress(rest, limit + 1 - sizes[1]), 1)
                rest = unpacker.unconsumed_tail
    except zlib.error:
        raise BadReplyError("the compressed reply is damaged") from None
    if packed and sizes[0] and not unpacker.eof:
        raise BadReplyError("the compressed reply is damaged")


def parse_body(data: bytes) -> Any:
    """The JSON value of a body."""
    brackets = _STRING.sub(b"", data).translate(None, _NO_BRACKETS)
    if max(accumulate(map(_BRACKETS.__getitem__, brackets)), default=0) > DEEPEST_REPLY:
        raise BadReplyError(f"it has more than {DEEPEST_REPLY} nested lists and objects")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise BadReplyError("it is not JSON") from None


def message_of(body: dict[str, Any]) -> str:
    """What the body of an error says; empty if it says nothing."""
    inner, detail = body.get("error"), body.get("detail")
    texts = (inner.get("message") if isinstance(inner, dict) else inner, body.get("message"), detail)
    found = next((text for text in texts if isinstance(text, str) and text), None)
    # FastAPI: a list with a place for each problem
    return (found or (json.dumps(detail) if detail else "")).rstrip(".")


def _error_body(data: bytes) -> dict[str, Any]:
    """The body of a response with an error; empty if it is not a JSON object."""
    try:
        body = parse_body(data)
    except BadReplyError:
        return {}
    return body if isinstance(body, dict) else {}


def retry_after(value: str | None) -> float | None:
    """Seconds from a Retry-After header, which is a number or a date; None if missing or invalid."""
    if value is None:
        return None
    value = value[:100]
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (ValueError, TypeError, IndexError, OverflowError, OSError):
            return None
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER)  # max() in this order turns NaN into 0


def _server(url: str) -> tuple[str, int]:
    """Host and port of a URL. A redirect from http to https on the same host stays on the server."""
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    return (parts.hostname or "").lower(), 443 if port == 80 and parts.scheme == "http" else port


def default_url() -> str:
    """The URL of the endpoint without ``--base-url``."""
    return os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"


def is_same_server(url: object, other: object) -> bool:
    """Whether two values are URLs with the same host and port, and both or neither encrypt."""
    try:
        servers = {(urlsplit(each).scheme, *_server(each)) for each in (str(url), str(other))}
    except ValueError:  # a port is not valid
        return False
    return len(servers) == 1


def address(url: str) -> str:
    """A URL without user, password and parameters, which may be keys."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check_url(url: str) -> None:
    """Raise ModelError if the address of an endpoint is not valid, or contains a password."""
    if "@" in re.split("[/?#]", url.partition("://")[2] or url, maxsplit=1)[0]:
        raise ModelError(f"--base-url must not contain credentials; set the key in {KEY}.")
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not valid
        is_valid = False
    if not is_valid:
        shown = url.partition("?")[0]
        raise ModelError(f"--base-url must be a URL such as http://localhost:8000/v1, not {shown!r}.")


def read_key() -> str:
    """The stripped key, empty if the variable is not set.

    Raises :class:`ModelError` for characters that a header cannot contain, because the client's error would
    quote the key.
    """
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"The key in {KEY} contains characters that are not allowed in a key; set it again.")
    return key
