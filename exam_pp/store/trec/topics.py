"""Parsing TREC topics: the old ``<top>`` format with unclosed tags, and XML."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from exam_pp.errors import DataError

_TAG = re.compile(r"<(?:(top|topic)\b([^<>]*)|/(top|topic))>", re.IGNORECASE)
_ELEMENT = re.compile(r"<(\w+)\b[^<>]*>([^<]*)")
_NUMBER_ATTRIBUTE = re.compile(r"""\b(?:number|id|num)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_LABEL = re.compile(r"^(?:number|topic|title)\s*:\s*", re.IGNORECASE)
_NUMBER_TAGS = ("num", "number", "id")
_TEXT_TAGS = ("title", "query", "question", "text", "desc", "description")


def parse_topics(text: str, file: str | Path) -> list[tuple[str, str]]:
    """Return number and title (or query, question, description) of each topic, in file order.

    XML is parsed by the same rules as the old format, because many topics files follow neither exactly.
    Raises :class:`DataError` for topics without a number, and for files without topics.
    """
    topics = []
    for position, (attributes, body) in enumerate(_topics(text), 1):
        attribute = _NUMBER_ATTRIBUTE.search(attributes)
        number = attribute[1] if attribute else _field(body, _NUMBER_TAGS)
        if not number:
            raise DataError(f"topic {position} has no number.", file=str(file))
        topics.append((number.strip(), _field(body, _TEXT_TAGS)))
    if not topics:
        raise DataError("has no <top> or <topic> elements.", file=str(file))
    return topics


def unused_fields(text: str) -> Counter[str]:
    """Count the topics with a field that :func:`parse_topics` ignores, such as a narrative, by tag."""
    unused: Counter[str] = Counter()
    for _, body in _topics(text):
        filled = {tag.lower(): None for tag, content in _ELEMENT.findall(body) if content.strip()}
        used = next((tag for tag in _TEXT_TAGS if tag in filled), None)
        unused.update(tag for tag in filled if tag not in (used, *_NUMBER_TAGS))
    return unused


def _topics(text: str) -> Iterator[tuple[str, str]]:
    """Yield attributes and content of each topic: from a start tag to the next end tag of the same name."""
    tags = list(_TAG.finditer(text))
    last_end = {tag[3].lower(): tag.start() for tag in tags if tag[3]}
    start: re.Match[str] | None = None
    for tag in tags:
        if start is None:
            if tag[1] and tag.start() < last_end.get(tag[1].lower(), 0):
                start = tag
        elif tag[3] and tag[3].lower() == start[1].lower():
            yield start[2], text[start.end() : tag.start()]
            start = None


def _field(body: str, tags: tuple[str, ...]) -> str:
    """Return the first content of one of the tags, up to the next tag; empty if no tag occurs."""
    for tag in tags:
        match = re.search(rf"<{tag}\b[^<>]*>([^<]*)", body, re.IGNORECASE)
        if match and (content := " ".join(html.unescape(match[1]).split())):
            return _LABEL.sub("", content)
    return ""
