"""Tolerant parser for JSON and Python literals in replies: within text, with mistakes, or cut off."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from warnings import catch_warnings

_FENCE = re.compile(r"```[a-zA-Z0-9]*+\s*+(.*?)```", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[\]}])")
# Without the comma, Python would join the two strings.
_MISSING_COMMA = re.compile(r"([\"'])(\s+)(?=\1)")
_COMMENT = re.compile(r"^[^\S\n]*(?://|#).*$", re.MULTILINE)
_IN_BRACES = re.compile(r"\{((?:[^{}:'\"]|\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')*+)")
_AFTER_LIST = re.compile(r"\}(?!\s*:)")
_QUOTES = str.maketrans("“”„‟", '""""')
# Escapes of Markdown, which are invalid in JSON and Python.
_ESCAPED_MARK = re.compile(r"(?<!\\)\\([_*\[\](){}<>#&$%~`.!?+-])")
_BRACKET = re.compile(r"[\[{]")
MAX_TRIES = 100
"""Number of brackets at which parsing is tried: text has few, but a broken reply may have very many."""
_MAX_SCANS = 10
"""How often each character of a reply may be scanned on average, in search of lists in braces."""


def json_values(reply: str) -> Iterator[Any]:
    """Yield candidates for the JSON value of a reply: from the fenced blocks, then from the whole text.

    The values of several fenced blocks are yielded as one list.
    """
    if fenced := [value for text in _FENCE.findall(reply) for value in _spans(text)[:1]]:
        yield fenced if len(fenced) > 1 else fenced[0]
    yield from _spans(reply)


def json_pieces(reply: str) -> Iterator[Any]:
    """Yield the valid JSON lists and objects of a reply in order; any text may be between them."""
    decoder = json.JSONDecoder(strict=False)
    position = 0
    for _ in range(MAX_TRIES):
        bracket = _BRACKET.search(reply, position)
        if bracket is None:
            return
        try:
            value, position = decoder.raw_decode(reply, bracket.start())
            yield value
        except (ValueError, RecursionError):
            position = bracket.end()


def parse_near_json(text: str) -> Any:
    """Parse nearly valid JSON or a Python literal; None if that fails."""
    plain = remove_escapes(_COMMENT.sub("", text.translate(_QUOTES)))
    plain = _TRAILING_COMMA.sub(r"\1", plain)
    plain = _MISSING_COMMA.sub(r"\1,\2", plain)
    for candidate in (text, plain):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    for candidate in (_with_square_brackets(plain), plain):  # a set would lose the order
        try:
            with catch_warnings(action="ignore"):  # SyntaxWarnings for "4or 5" and "\\d" in a reply
                return ast.literal_eval(candidate)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return None


def _with_square_brackets(text: str) -> str:
    """The text with square brackets in place of braces around lists.

    A search from an opening brace may reach the end of the text in vain. Their sum is limited, because a
    broken reply may have very many braces; all later ones are unchanged.
    """
    parts: list[str] = []
    position = start = scanned = 0
    while scanned <= _MAX_SCANS * len(text) and (start := text.find("{", start)) >= 0:
        inside = _IN_BRACES.match(text, start)
        end = start + 1 if inside is None else inside.end()
        if inside is not None and _AFTER_LIST.match(text, end):
            parts += [text[position:start], "[", inside[1], "]"]
            position = end = end + 1
            start = end
            continue
        # An open quotation mark is searched to the end.
        scanned += (len(text) if text[end : end + 1] in {"'", '"'} else end) - start
        start += 1
    return "".join([*parts, text[position:]])


def remove_escapes(text: str) -> str:
    r"""Remove the backslashes of Markdown escapes (``not\_support``)."""
    return _ESCAPED_MARK.sub(r"\1", text)


def complete_strings(text: str, quote: str) -> Iterator[tuple[str | None, str]]:
    """Yield the complete strings of an invalid JSON list, each with the key before it or None.

    ``quote`` is the quotation mark around strings. Models forget to escape it inside a string, so a quotation
    mark ends the string only if a list could continue after it.
    """
    text = text.translate(_QUOTES)
    pattern = _string(quote)
    key: str | None = None
    position = 0
    while (start := text.find(quote, position)) >= 0:
        if "}" in text[position:start]:
            key = None
        match = pattern.match(text, start)
        if match is None:  # cut off, or not closed on its line
            line_end = text.find("\n", start)
            if line_end < 0:
                return
            position = line_end
        elif match["colon"]:
            key, position = _unescaped(match[1]), match.end()
        else:
            yield key, _unescaped(match[1])
            position = match.end()


@lru_cache(maxsize=2)
def _string(quote: str) -> re.Pattern[str]:
    ends = rf"[ \t]*(?:[,\]}}\n]|\Z|:\s*[{quote}\[{{\d])|[ \t]+{quote}"
    return re.compile(
        rf"{quote}((?:[^{quote}\\\n]|\\.|{quote}(?!{ends}))*+){quote}(?P<colon>\s*:(?=\s*[{quote}\[{{\d]))?"
    )


def _spans(text: str) -> list[Any]:
    """Parse the text from the first to the last bracket, for braces and for square brackets."""
    spans = [(text.find(opening), text.rfind(closing)) for opening, closing in ("{}", "[]")]
    values = [parse_near_json(text[start : end + 1]) for start, end in sorted(spans) if 0 <= start < end]
    return [value for value in values if value is not None]


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text.replace("\\'", "'")
