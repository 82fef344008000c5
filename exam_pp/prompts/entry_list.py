"""Reading a list of questions, nuggets or labels from the reply of a model that was asked for a list."""

from __future__ import annotations

import re
import string
from typing import Any

from exam_pp.prompts.near_json import json_pieces, json_values, parsed, strings, unescaped_marks
from exam_pp.prompts.thoughts import without_thoughts

_NUMBER = r"(?:(?:question|nugget|key fact|fact)\s*|[qn])?#?\s*[(（]?\d{1,2}\s*[.):．、）：]\s*"
_MARKED = re.compile(rf"^(?:\*\*)?(?:{_NUMBER}|[-*•–]\s+)\s*(\S.*)$", re.IGNORECASE)
_LEADING_NUMBER = re.compile(rf"^(?:{_NUMBER})(?=\D)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"^(?:(?:question|nugget)_text_\d+|\.\.\.|…)$", re.IGNORECASE)
_TEXT_KEYS = (
    "question_text",
    "nugget_text",
    "question",
    "q",
    "nugget",
    "text",
    "fact",
    "key_fact",
    "content",
)
_NUMBERED_KEY = re.compile(r"^(?:[a-z]+(?:[_ ][a-z]+)*)?[_ ]?\d+$", re.IGNORECASE)
_BOLD = re.compile(r"\*\*(?=\S)([^*]+)\*\*")
_BARE_LIST = re.compile(r"\[\s*([\"'“])")
# Not the one of `List[str]`. Some have a place of their own: they begin a line, or follow a colon.
_LIST = re.compile(r"(?P<place>(?:\A|[\n:=>{])[ \t`*]*)?(?<!\w)(?P<list>\[[^\[\]]*\])")
_REFERENCE = re.compile(r"\[\s*\d+\s*\]")
_LABEL_WORD = re.compile(r"^\W*labels?[\"'*_]*\s*[:=]", re.IGNORECASE)
_MARKS = string.punctuation + string.whitespace + "“”„‟‘’«»"
_DEEPEST = 50
"""How many lists and objects inside each other are looked into: a model that loops opens hundreds."""


def read_entries(reply: str, key: str) -> list[str] | None:
    """The entries that a reply lists, in order, each on one line; None if it holds no list.

    ``key`` is ``"questions"`` or ``"nuggets"``. Read are JSON (in a fence or among other words, with
    trailing commas, braces for brackets, typographic or single quotes, or cut off at the end), lists of
    objects, objects of lists, and numbered or bulleted lines. Numbers, marks and quotes around an entry
    go; the prompt's own placeholders are no entries.
    """
    reply = (without_thoughts(reply) or "").strip()
    for value in json_values(reply):
        if found := _cleaned(_texts(value, key)):
            return found
    # Several answers, one after the other; pieces of a broken one would not be all of it.
    named = [value for value in json_pieces(reply) if isinstance(value, dict) and _named(value, key)]
    for texts in (_texts(named, key), _last_list(reply, key), _slipped(reply, key), _lines(reply)):
        if found := _cleaned(texts):
            return found
    return None


def read_labels(reply: str) -> list[str] | None:
    """The labels that a reply lists, in order, as they stand there; None if it holds no list.

    Read is the last list in brackets, quoted in any way or not at all; without one, numbered or bulleted
    lines. Nothing is left out of the list, so that its length tells whether it can be the asked one.
    """
    reply = (without_thoughts(reply) or "").strip()
    lists = _lists(reply)
    if not lists:
        return _lines(reply) or None
    value = parsed(lists[-1])
    if not isinstance(value, list):  # words without quotes
        value = lists[-1][1:-1].split(",")
    return [_written("null" if item is None else str(item)).strip() for item in value]


def plain_label(text: str) -> str:
    """The first line of a text as a label: lower case, with underscores, without what stands around it."""
    said = unescaped_marks(without_thoughts(text) or "")
    lines = (_LABEL_WORD.sub("", line).strip(_MARKS) for line in said.splitlines() if line[:3] != "```")
    return re.sub(r"[\s-]+", "_", next(filter(None, lines), "").lower())


def _texts(value: Any, key: str, depth: int = 0) -> list[str]:
    """All entries in a value, whatever the nesting."""
    if depth > _DEEPEST:
        return []
    match value:
        case str():
            return [value]
        case list() | tuple():
            return [text for item in value for text in _texts(item, key, depth + 1)]
        case dict():
            named = _named(value, key)
            if isinstance(named, str):
                return named.splitlines()
            if named is not None:
                return _texts(named, key, depth + 1)
            for text_key in _TEXT_KEYS:
                if isinstance(value.get(text_key), str):
                    return [value[text_key]]
            return [
                text
                for name, item in value.items()
                if not isinstance(item, str) or _NUMBERED_KEY.match(str(name))
                for text in _texts(item, key, depth + 1)
            ]
        case _:
            return []


def _written(text: str) -> str:
    r"""The text with surrogates (``\ud83d`` in JSON) replaced, because no file can hold them."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _named(value: dict[Any, Any], key: str) -> Any:
    return next((item for name, item in value.items() if str(name).lower() == key), None)


def _last_list(reply: str, key: str) -> list[str]:
    """The last of several lists, such as the old one and its update; nothing where there are objects."""
    if len(_LIST.findall(reply)) < 2 or "{" in reply:
        return []
    return next((texts for text in reversed(_lists(reply)) if (texts := _texts(parsed(text), key))), [])


def _lists(reply: str) -> list[str]:
    """The lists in brackets that are no references such as ``[1]``.

    Those with a place of their own, where there are any: what stands within a sentence is about the list.
    """
    found = [match for match in _LIST.finditer(reply) if not _REFERENCE.fullmatch(match["list"])]
    placed = [match for match in found if match["place"] is not None]
    return [match["list"] for match in placed or found]


def _slipped(reply: str, key: str) -> list[str]:
    """The complete strings of a list that is not valid: cut off, or with a slip inside.

    A list without a key is Nuggetizer's, whose update replaces the list before it: it must not be cut off.
    """
    quote = '"'
    if opened := re.search(rf'["“]{key}["”]\s*:\s*[\[{{]', reply):
        listed = reply[opened.end() :]
    elif opened := _BARE_LIST.search(reply, 0, end := reply.rfind("]") + 1):
        listed = reply[opened.start() + 1 : end]
        quote = "'" if opened[1] == "'" else quote
    else:
        return []
    return [
        text
        for name, text in strings(listed, quote)
        if name is None or name.lower() in _TEXT_KEYS or _NUMBERED_KEY.match(name)
    ]


def _lines(reply: str) -> list[str]:
    """Numbered or bulleted lines; else lines that are all questions. One alone is no list."""
    lines = [line.strip() for line in unescaped_marks(reply).splitlines()]
    lines = [line for line in lines if line and not line.startswith("```")]
    marked = [match[1] for line in lines if (match := _MARKED.match(line))]
    if len(marked) >= 2:
        return marked
    asked = [line for line in lines if line.endswith(("?", "？"))]
    return asked if len(asked) >= 2 and len(asked) >= len(lines) - 1 else []


def _cleaned(texts: list[str]) -> list[str]:
    lines = [_written(" ".join(text.split())) for text in texts]
    plain = [_clean(_LEADING_NUMBER.sub("", line)) for line in lines]
    found = [(line, words) for line, words in zip(lines, plain, strict=True) if _is_entry(words)]
    # Where only some entries begin with one, a number belongs to the words: "7. Juli", "1. FC Köln".
    numbered = all(_LEADING_NUMBER.match(line) for line, _ in found)
    return [words if numbered or not line[:1].isdigit() else _clean(line) for line, words in found]


def _is_entry(line: str) -> bool:
    return any(c.isalnum() for c in line) and not _PLACEHOLDER.match(line)


def _clean(line: str) -> str:
    """A line without the marks and quotes around it."""
    line = _BOLD.sub(r"\1", line).strip().strip("*").strip().rstrip(",").strip()
    if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'`":
        return line[1:-1].strip()
    return line
