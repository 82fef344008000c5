"""Reading lists of questions, nuggets or labels from the replies of models."""

from __future__ import annotations

import re
import string
from itertools import islice
from typing import Any

from exam_pp.prompts.markup import without_thinking
from exam_pp.prompts.near_json import (
    MAX_TRIES,
    complete_strings,
    json_pieces,
    json_values,
    parse_near_json,
    remove_escapes,
)

# Possessive quantifiers keep the search linear in replies with thousands of spaces.
_NUMBER = r"(?:(?:question|nugget|key fact|fact)\s*+|[qn])?+#?+\s*+[(（]?\d{1,2}\s*+[.):．、）：]\s*"
_MARKED = re.compile(rf"^(?:\*\*)?(?:{_NUMBER}|[-*•–]\s+)\s*(\S.*)$", re.IGNORECASE)
_LEADING_NUMBER = re.compile(rf"^(?:{_NUMBER})(?=\D)", re.IGNORECASE)
# A label before an entry: "Question:", "**Nugget 3:**", "Key fact 2 -".
_LABEL = re.compile(
    r"^[\s*_#>•-]*+(?:(?:question|nugget|key fact|fact)(?:\s*+text)?|q)"
    r"(?:[*_\s]*+:|\s*+#?\d{1,2}[*_\s]*+(?:[:.)]|[–—-](?=\s)))[\s*_]*(?=\S)",
    re.IGNORECASE,
)
# Numbered prose: "1. ... 2. ... 3. ..." on one line.
_INNER_NUMBER = re.compile(r"(?<!\S)[(（]?(\d{1,2})[.)、．）]\s+(?=\S)")
_PLACEHOLDER = re.compile(
    r"^(?:(?:question|nugget)_text_\d+|\.\.\.|…|[-*•–\s]*\d{1,2}[.):]|.*[:：])$", re.IGNORECASE
)
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
# Not the brackets of `List[str]`. The group `place` matches if the list begins a line or follows a colon.
_LIST = re.compile(r"(?P<place>(?:\A|[\n:=>{])[ \t`*]*)?(?<!\w)(?P<list>\[[^\[\]]*\])")
_REFERENCE = re.compile(r"\[\s*\d+\s*\]")
_LABEL_WORD = re.compile(r"^\W*labels?[\"'*_]*\s*[:=]", re.IGNORECASE)
_MARKS = string.punctuation + string.whitespace + "“”„‟‘’«»"
_MAX_WORDS = 12
"""Maximum length of a nugget that is a line without a mark; longer lines are prose."""

_MAX_DEPTH = 50
"""Maximum nesting of lists and objects: a model that repeats itself opens hundreds."""


def read_entries(reply: str, key: str) -> list[str] | None:
    """Read the entries that a reply lists, in order, each as one line; None if it contains no list.

    ``key`` is ``"questions"`` or ``"nuggets"``. The list may be JSON (in a fence or within text, with
    trailing commas, braces for brackets, typographic or single quotes, or cut off at the end), a list of
    objects, an object of lists, or numbered or bulleted lines. Numbers, marks and quotes around an entry
    are removed; the prompt's own placeholders are skipped.
    """
    reply = (without_thinking(reply) or "").strip()
    for value in json_values(reply):
        if entries := _cleaned(_texts(value, key)):
            return entries
    # Several complete objects in a row; objects without the key may be fragments of a broken reply.
    named = [value for value in json_pieces(reply) if isinstance(value, dict) and _named(value, key)]
    labelled = _labelled(reply)
    lines = _complete(labelled if len(labelled) > 1 else _lines(reply))
    for texts in (_texts(named, key), _last_list(reply, key), _broken_list(reply, key), lines):
        if entries := _cleaned(texts):
            return entries
    for texts in (labelled, _numbered_prose(reply), _paragraphs(reply, key)):
        if entries := _cleaned(texts):
            return entries
    return None


def read_labels(reply: str) -> list[str] | None:
    """Read the labels that a reply lists, in order and unchanged; None if it contains no list.

    The list is the last one in brackets, with any or no quotes, or else the numbered or bulleted lines. No
    item is dropped, so that the caller can compare the length of the list with the requested length.
    """
    reply = (without_thinking(reply) or "").strip()
    lists = _lists(reply)
    if not lists:
        return _lines(reply) or None
    value = parse_near_json(lists[-1])
    if not isinstance(value, list):  # the labels have no quotes
        value = lists[-1][1:-1].split(",")
    return [_encodable("null" if item is None else str(item)).strip() for item in value]


def plain_label(text: str) -> str:
    """The first line of a text as a label: lower case, with underscores, without surrounding marks."""
    plain = remove_escapes(without_thinking(text) or "")
    lines = (_LABEL_WORD.sub("", line).strip(_MARKS) for line in plain.splitlines() if line[:3] != "```")
    return re.sub(r"[\s-]+", "_", next(filter(None, lines), "").lower())


def _texts(value: Any, key: str, depth: int = 0) -> list[str]:
    """All entries in a nested value."""
    if depth > _MAX_DEPTH:
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


def _encodable(text: str) -> str:
    r"""Replace lone surrogates, such as ``\ud83d`` in JSON, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _named(value: dict[Any, Any], key: str) -> Any:
    """The value of a key, ignoring its case; None if the key is missing."""
    return next((item for name, item in value.items() if str(name).lower() == key), None)


def _last_list(reply: str, key: str) -> list[str]:
    """The last of several lists, such as an old list and its update; empty if the reply has objects."""
    if len(_LIST.findall(reply)) < 2 or "{" in reply:
        return []
    last = islice(reversed(_lists(reply)), MAX_TRIES)
    return next((texts for text in last if (texts := _texts(parse_near_json(text), key))), [])


def _lists(reply: str) -> list[str]:
    """The bracketed lists of a reply, without references such as ``[1]``.

    If any list begins a line or follows a colon, lists within sentences are ignored.
    """
    matches = [match for match in _LIST.finditer(reply) if not _REFERENCE.fullmatch(match["list"])]
    placed = [match for match in matches if match["place"] is not None]
    return [match["list"] for match in placed or matches]


def _broken_list(reply: str, key: str) -> list[str]:
    """The complete strings of an invalid list, which is cut off or contains a mistake.

    A list without a key must not be cut off: it is a Nuggetizer list, which replaces the list before.
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
        for name, text in complete_strings(listed, quote)
        if name is None or name.lower() in _TEXT_KEYS or _NUMBERED_KEY.match(name)
    ]


def _lines(reply: str) -> list[str]:
    """At least two numbered or bulleted lines, else at least two questions on separate lines."""
    lines = [line.strip() for line in remove_escapes(reply).splitlines()]
    lines = [line for line in lines if line and not line.startswith("```")]
    marked = [match[1] for line in lines if (match := _MARKED.match(line))]
    if len(marked) >= 2:
        return marked
    questions = [line for line in lines if line.endswith(("?", "？"))]
    return questions if len(questions) >= 2 and len(questions) >= len(lines) - 1 else []


def _complete(texts: list[str]) -> list[str]:
    """The texts without the last one if it is cut off.

    It is cut off if all others are questions, or if it is the beginning of another text: small models repeat
    themselves until the limit of the reply.
    """
    *others, last = texts or [""]
    open_end = len(others) > 1 and all(map(_is_question, others)) and not _is_question(last)
    repeated = any(text != last and text.startswith(last) for text in others)
    return others if open_end or repeated else texts


def _is_question(text: str) -> bool:
    return text.rstrip("\"'”*_ ").endswith(("?", "？"))


def _labelled(reply: str) -> list[str]:
    """The lines that begin with a label such as ``Question:``."""
    return [line for line in map(str.strip, remove_escapes(reply).splitlines()) if _LABEL.match(line)]


def _numbered_prose(reply: str) -> list[str]:
    """At least two items of a paragraph that are numbered 1, 2, 3 ..."""
    for line in remove_escapes(reply).splitlines():
        starts: list[re.Match[str]] = []
        for match in _INNER_NUMBER.finditer(line):
            if int(match[1]) == len(starts) + 1:
                starts.append(match)
        if len(starts) >= 2:
            ends = [match.start() for match in starts[1:]] + [len(line)]
            return [line[match.end() : end] for match, end in zip(starts, ends, strict=True)]
    return []


def _paragraphs(reply: str, key: str) -> list[str]:
    """At least two lines that are questions or short enough for nuggets, if most lines are."""
    if "{" in reply or "[" in reply:  # a broken list
        return []
    lines = [line.strip() for line in remove_escapes(reply).splitlines()]
    lines = [line for line in lines if line and not line.startswith("```")]
    if key == "questions":
        items = [line for line in lines if _is_question(line)]
    else:
        items = [line for line in lines if len(line.split()) <= _MAX_WORDS and not line.endswith(":")]
    return items if len(items) >= 2 and 2 * len(items) > len(lines) else []


def _cleaned(texts: list[str]) -> list[str]:
    """The texts that are entries, each as one line without list number, marks and quotes."""
    lines = [_encodable(" ".join(text.split())) for text in texts]
    plain = [_clean(_LABEL.sub("", _LEADING_NUMBER.sub("", line))) for line in lines]
    entries = [(line, entry) for line, entry in zip(lines, plain, strict=True) if _is_entry(entry)]
    # If only some entries begin with a number, it belongs to the text: "7. Juli", "1. FC Köln".
    numbered = all(_LEADING_NUMBER.match(line) for line, _ in entries)
    return [entry if numbered or not line[:1].isdigit() else _clean(line) for line, entry in entries]


def _is_entry(line: str) -> bool:
    return any(c.isalnum() for c in line) and not _PLACEHOLDER.match(line)


def _clean(line: str) -> str:
    """Remove the marks and quotes around a line."""
    line = _BOLD.sub(r"\1", line).strip().strip("*").strip().rstrip(",").strip()
    if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'`":
        return line[1:-1].strip()
    return line
