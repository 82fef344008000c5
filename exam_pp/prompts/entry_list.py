"""Reading a list of questions, nuggets or labels from the reply of a model that was asked for a list."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Iterator
from typing import Any

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[a-zA-Z0-9]*\s*\n?(.*?)```", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[\]}])")
_COMMENT = re.compile(r"^\s*(?://|#).*$", re.MULTILINE)
# A quote ends a string only where a list could go on: models forget to escape quotes.
_STRING = re.compile(r'"((?:[^"\\\n]|\\.|"(?![ \t]*(?:[,\]}\n]|\Z)))*)"')
_NUMBER = r"(?:(?:question|nugget|key fact|fact)\s*|[qn])?#?\s*\(?\d{1,2}\s*[.):]\s*"
_MARKED = re.compile(rf"^\s*(?:\*\*)?(?:{_NUMBER}|[-*•–]\s+)(?:\*\*)?\s*(\S.*?)\s*$", re.IGNORECASE)
_LEADING_NUMBER = re.compile(rf"^(?:{_NUMBER})(?=\D)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"^(?:(?:question|nugget)_text_\d+|\.\.\.|…)$", re.IGNORECASE)
_TEXT_KEYS = ("question_text", "nugget_text", "question", "nugget", "text", "fact", "key_fact", "content")
_NUMBERED_KEY = re.compile(r"^(?:[a-z]+(?:[_ ][a-z]+)*)?[_ ]?\d+$", re.IGNORECASE)
_QUOTES = str.maketrans("“”„‟", '""""')
_LIST = re.compile(r"\[[^\[\]]*\]")
_LABEL_WORD = re.compile(r"^\W*labels?\s*[:=]", re.IGNORECASE)


def read_entries(reply: str, key: str) -> list[str] | None:
    """The entries that a reply lists, in order, each on one line; None if it holds no list.

    ``key`` is ``"questions"`` or ``"nuggets"``. Read are JSON (in a fence or among other words, with
    trailing commas, braces for brackets, typographic or single quotes, or cut off at the end), lists of
    objects, objects of lists, and numbered or bulleted lines. Numbers, marks and quotes around an entry
    go; the prompt's own placeholders are no entries.
    """
    reply = _THOUGHTS.sub("", reply).strip()
    for text in _json_texts(reply):
        value = _parsed(text)
        if value is not None and (found := _cleaned(_texts(value, key))):
            return found
    if found := _cleaned(_cut_off(reply, key)):
        return found
    return _cleaned(_lines(reply)) or None


def read_labels(reply: str) -> list[str] | None:
    """The labels that a reply lists, in order, as they stand there; None if it holds no list.

    Read is the last list in brackets, quoted in any way or not at all; without one, numbered or bulleted
    lines. Nothing is left out of the list, so that its length tells whether it can be the asked one.
    """
    reply = _THOUGHTS.sub("", reply)
    lists = _LIST.findall(reply)
    if not lists:
        return _lines(reply) or None
    value = _parsed(lists[-1])
    if not isinstance(value, list):  # words without quotes
        value = lists[-1][1:-1].split(",")
    return [item.strip() if isinstance(item, str) else json.dumps(item) for item in value]


def plain_label(text: str) -> str:
    """The first line of a text as a label: lower case, with underscores, without what stands around it."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = _LABEL_WORD.sub("", line).strip(string.punctuation + string.whitespace + "“”„‟‘’«»")
    return re.sub(r"[\s-]+", "_", line.lower())


def _json_texts(reply: str) -> Iterator[str]:
    """Where JSON may stand: in a fence, or from the first bracket to the last one."""
    for text in (*_FENCE.findall(reply), reply):
        spans = [(text.find(opening), text.rfind(closing)) for opening, closing in ("{}", "[]")]
        yield from (text[start : end + 1] for start, end in sorted(spans) if 0 <= start < end)


def _parsed(text: str) -> Any:
    """The value of nearly-JSON, or None."""
    plain = _TRAILING_COMMA.sub(r"\1", _COMMENT.sub("", text.translate(_QUOTES)))
    for candidate in (text, plain):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    for candidate in (_ordered(plain), plain):  # single quotes, and braces around a plain list
        try:
            return ast.literal_eval(candidate)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return None


def _ordered(text: str) -> str:
    """Braces around a plain list as brackets: Python reads a set, which would lose the order."""
    return re.sub(r"\{((?:[^{}:'\"]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')*)\}(?!\s*:)", r"[\1]", text)


def _texts(value: Any, key: str) -> list[str]:
    """All entries in a value, whatever the nesting."""
    match value:
        case str():
            return [value]
        case list() | tuple():
            return [text for item in value for text in _texts(item, key)]
        case dict():
            named = next((item for name, item in value.items() if str(name).lower() == key), None)
            if isinstance(named, str):
                return named.splitlines()
            if named is not None:
                return _texts(named, key)
            for text_key in _TEXT_KEYS:
                if isinstance(value.get(text_key), str):
                    return [value[text_key]]
            return [
                text
                for name, item in value.items()
                if not isinstance(item, str) or _NUMBERED_KEY.match(str(name))
                for text in _texts(item, key)
            ]
        case _:
            return []


def _cut_off(reply: str, key: str) -> list[str]:
    """The complete strings of a JSON list that was opened and is not valid: cut off, or a slip inside."""
    opened = re.search(rf'["“]{key}["”]\s*:\s*[\[{{]', reply)
    if opened is None:
        return []
    return [_unescaped(text) for text in _STRING.findall(reply[opened.end() :].translate(_QUOTES))]


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def _lines(reply: str) -> list[str]:
    """Numbered or bulleted lines; else lines that are all questions. One alone is no list."""
    lines = [line for line in reply.splitlines() if line.strip() and not line.strip().startswith("```")]
    marked = [match[1] for line in lines if (match := _MARKED.match(line))]
    if len(marked) >= 2:
        return marked
    asked = [line for line in lines if line.rstrip().endswith("?")]
    return asked if len(asked) >= 2 and len(asked) >= len(lines) - 1 else []


def _cleaned(texts: list[str]) -> list[str]:
    found = []
    for text in texts:
        line = " ".join(text.split())
        line = _LEADING_NUMBER.sub("", line).strip()
        line = line.strip("*").strip().rstrip(",").strip()
        if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'`":
            line = line[1:-1].strip()
        if any(c.isalnum() for c in line) and not _PLACEHOLDER.match(line):
            found.append(line)
    return found
