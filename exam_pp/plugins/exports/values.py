"""Values in exports: records in documents, places by their paths, and the texts of messages and passages."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from io import StringIO
from tokenize import STRING, TokenError, generate_tokens
from typing import Any

from exam_pp.store.csv_cells import plain_name
from exam_pp.store.parsing import lists_of
from exam_pp.store.tables import unless_missing

Path = tuple[str, ...]
"""The keys of a value, from the record down."""

QUESTION = (
    "question", "query", "userinput", "userquery", "input", "prompt", "message", "messages", "content",
    "text", "value", "chatinput",
)  # fmt: skip
ANSWER = (
    "answer", "response", "output", "completion", "result", "generatedanswer", "reply", "message", "messages",
    "content", "text", "value", "choices", "expectedoutput", "expectedanswer", "reference",
)  # fmt: skip
_PASSAGE = (
    "text", "content", "pagecontent", "contents", "segment", "passage", "context", "chunk", "body", "value",
    "node", "document", "doc",
)  # fmt: skip
_ID = (
    "id|id_|doc_id|docid|document_id|passage_id|chunk_id|segment_id|node_id|pid|node.id_|node.id|document.id|"
    "metadata.id|metadata.doc_id|metadata.document_id"
)
_SAID_BY = ("role", "speaker", "type")
_ROLES = {QUESTION: ("user", "human"), ANSWER: ("assistant", "agent", "ai", "model", "bot")}
"""Who says a question, or an answer, in a list of messages."""
_SPEAKERS = frozenset(name for roles in _ROLES.values() for name in roles)

_plain = cache(plain_name)


def rows_of(value: Any) -> list[dict[str, Any]]:
    """The rows of columns that are lists, or objects by index, as data frames write them; else empty."""
    columns = {key: _column(of) for key, of in value.items()} if isinstance(value, dict) else {}
    is_table = len(columns) > 1 and len({len(of) for of in columns.values()}) == 1
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=False) if is_table]


def _column(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values()) if all(key.isdecimal() for key in value) else []
    are_cells = isinstance(value, list) and not any(isinstance(cell, dict) for cell in value)
    return value if are_cells else []


def unfolded(value: Any) -> Any:
    """A value whose keys such as ``inputs.question`` are objects in each other, unless they have a value."""
    if isinstance(value, list):
        return list(map(unfolded, value))
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, inner in sorted(value.items(), key=lambda item: "." in item[0]):
        first, _, rest = key.partition(".")
        place = result.setdefault(first, {}) if rest else None
        if isinstance(place, dict):
            place[rest] = inner
        else:
            result[key] = dict(inner) if isinstance(inner, dict) else inner
    return {key: unfolded(inner) for key, inner in result.items()}


def located(record: Any, places: str) -> Iterator[tuple[Any, Path]]:
    """The values at the places that a record has, each with its keys."""
    for place in filter(None, places.split("|")):
        yield from _at(record, place.split("."), ())


def _at(value: Any, steps: Sequence[str], path: Path) -> Iterator[tuple[Any, Path]]:
    if not steps:
        yield value, path
        return
    inner = parsed(value)
    longest = 1 if steps[0] == "^" else len(steps)
    for length in range(longest, 0, -1) if isinstance(inner, dict) else ():
        name = _plain(".".join(steps[:length]))
        if (key := next((key for key in inner if _plain(key) == name), None)) is not None:
            yield from _at(inner[key], steps[length:], (*path, key))
            return


def parsed(value: Any) -> Any:
    """A text that is a list or an object in JSON, or as Python or numpy print it, as this; else the value."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    with suppress(ValueError, RecursionError):
        return json.loads(value)
    words: list[str] = []
    with suppress(ValueError, SyntaxError, TokenError, RecursionError, MemoryError):
        was_text = False
        for token in generate_tokens(StringIO(value.strip()).readline):
            words += [",", token.string] if was_text and token.type == STRING else [token.string]
            was_text = token.type == STRING or (was_text and not token.string.strip())  # numpy has no commas
        return literal_eval(" ".join(words))
    return value


def text_of(value: Any, names: tuple[str, ...], path: Path, used: set[Path]) -> str:
    """The text of a value: of a message, or of the first of ``names`` that an object has; else empty.

    ``used`` gets the keys of the text.
    """
    inner = parsed(value)
    text = ""
    if isinstance(inner, dict):
        keys = {_plain(key): key for key in reversed(inner)}
        texts_by_key = (key for key, item in inner.items() if isinstance(item, str) and names in _ROLES)
        only = [key for key in texts_by_key if _plain(key) != "error"]
        order = [*(keys[name] for name in names if name in keys), *(only if len(only) == 1 else [])]
        texts = (text_of(inner[key], names, (*path, key), used) for key in order)
        text = next(filter(None, texts), "")
    elif isinstance(inner, list) and inner and all(isinstance(item, dict) for item in inner):
        used.add(path)
        by = [item for item in inner if _speaker(item) in _ROLES.get(names, ())]
        said = by[-1:] or (inner if _SPEAKERS.isdisjoint(map(_speaker, inner)) else [])  # not the other one's
        text = "\n".join(filter(None, (text_of(item, names, path, used) for item in said)))
    if text or not isinstance(value, str | int | float):
        return text
    used.add(path)
    return unless_missing(str(value).strip())


def _speaker(item: dict[str, Any]) -> str:
    return str(next(filter(None, map(item.get, _SAID_BY)), "")).lower()


def other_messages(value: Any) -> int:
    """The number of messages of a conversation beside its last question."""
    lists = lists_of(parsed(value))
    return max((len(each) for each in lists if not _SPEAKERS.isdisjoint(map(_speaker, each))), default=1) - 1


def passages_of(value: Any, path: Path, used: set[Path], separator: str) -> list[tuple[str, str]]:
    """Pairs of an id and a text, of a list of texts or objects; the id is empty if a passage has none."""
    inner = parsed(value)
    if isinstance(inner, dict) and inner and all(key.isdecimal() for key in inner):
        inner = list(inner.values())  # as OpenTelemetry numbers the keys of a list
    if isinstance(inner, str) and separator:
        inner = inner.split(separator)
    pairs = []
    for item in inner if isinstance(inner, list) else [inner]:
        key, place = next(((str(key), place) for key, place in located(item, _ID) if key), ("", ()))
        used.update([(*path, *place)] if place else [])
        pairs.append((key, text_of(item, _PASSAGE, path, used)))
    return [(key, text) for key, text in pairs if text]
