"""Masking of API keys and passwords in replies and messages of endpoints."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

MASK = "***"
SHORTEST_SECRET = 6
"""Minimal number of characters of a masked secret: shorter values such as ``x`` occur in normal replies."""

_KEYS = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_WEBHOOK_SECRET")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_PUBLIC_PARAMETERS = {"api-version", "api_version", "version"}
"""Parameters in the query of a URL that are no secrets."""


class Secrets:
    """Secrets, and the forms in which a server may return them.

    The forms are the text itself in any case (as in the name of a host), in whole or in part with
    percent-encoding, with the escapes of JSON or in hexadecimal digits, and Base64 of a text that contains
    the secret, as in Basic authentication.
    """

    def __init__(self, secrets: set[str]) -> None:
        long = sorted((text for text in secrets if len(text) >= SHORTEST_SECRET), key=len, reverse=True)
        forms = [form for secret in long for form in _forms(secret)]
        self._pattern = re.compile("|".join(forms)) if forms else None

    def mask(self, text: str) -> str:
        """Return the text with ``***`` in place of every secret."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def find_secrets(key: str, url: str, environment: Mapping[str, str] = os.environ) -> Secrets:
    """The secrets of an endpoint: keys, passwords of URLs and proxies, and parameters of the URL."""
    secrets = {key, *(environment.get(name, "").strip() for name in _KEYS), *_in_url(url)}
    for name in _PROXIES:
        for proxy in (environment.get(name, ""), environment.get(name.upper(), "")):
            secrets.update(_in_url(proxy))
    return Secrets(secrets)


def _in_url(url: str) -> Iterator[str]:
    """The password or token, and the values of parameters in a URL, also in one that is not valid."""
    before, at, _ = url.rpartition("@")
    if at:
        user, _, password = before.rpartition("://")[2].partition(":")
        yield unquote(password or user)
    try:
        query = urlsplit(url).query
    except ValueError:
        return
    for name, value in parse_qsl(query):
        if name.lower() not in _PUBLIC_PARAMETERS:
            yield value


def _forms(secret: str) -> Iterator[str]:
    """Regular expressions of the forms of a secret."""
    yield "(?i:" + "".join(map(_character, secret)) + ")"
    data = secret.encode()
    yield "(?i:" + data.hex() + ")"
    for offset in range(3):
        # The first and last characters also depend on the bytes around the secret.
        coded = base64.b64encode(bytes(offset) + data).decode().rstrip("=")
        end = len(coded) - ((offset + len(data)) % 3 != 0)
        inner = coded[(0, 2, 3)[offset] : end]
        yield re.escape(inner).replace(r"\+", "[+-]").replace("/", "[/_]") + r"[\w+/-]?"


def _character(char: str) -> str:
    """A regular expression of a character: itself, escaped for JSON, or percent-encoded."""
    percent = "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    return rf"(?:\\?{re.escape(char)}|{percent}|\\u{ord(char):04x})"
