"""TREC topics: the old ``<top>`` files with tags that are never closed, and XML."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from exam_pp.errors import DataError

_TOPIC = re.compile(r"<(top|topic)\b([^>]*)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_ELEMENT = re.compile(r"<(\w+)\b[^>]*>([^<]*)")
_NUMBER_ATTRIBUTE = re.compile(r"""\b(?:number|id|num)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_LABEL = re.compile(r"^(?:number|topic|title)\s*:\s*", re.IGNORECASE)
_NUMBER_TAGS = ("num", "number", "id")
_TEXT_TAGS = ("title", "query", "question", "text", "desc", "description")


def parse_topics(text: str, file: str | Path) -> list[tuple[str, str]]:
    """Topic number and title (else query, question, description), in file order.

    XML is read by the same rules as the old files, as many topics files are neither. Raises
    :class:`DataError` for topics without a number, and for files without topics.
    """
    topics = []
    for position, (attributes, body) in enumerate(_topics(text), 1):
        given = _NUMBER_ATTRIBUTE.search(attributes)
        number = given[1] if given else _field(body, _NUMBER_TAGS)
        if not number:
            raise DataError(f"topic {position} has no number.", file=str(file))
        topics.append((number.strip(), _field(body, _TEXT_TAGS)))
    if not topics:
        raise DataError("holds no <top> and no <topic>.", file=str(file))
    return topics


def unused_fields(text: str) -> Counter[str]:
    """How many topics have a field that :func:`parse_topics` passes over, such as a narrative, by its tag."""
    unused: Counter[str] = Counter()
    for _, body in _topics(text):
        filled = {tag.lower(): None for tag, words in _ELEMENT.findall(body) if words.strip()}
        used = next((tag for tag in _TEXT_TAGS if tag in filled), None)
        unused.update(tag for tag in filled if tag not in (used, *_NUMBER_TAGS))
    return unused


def _topics(text: str) -> Iterator[tuple[str, str]]:
    """Attributes and content of each topic."""
    return ((match[2], match[3]) for match in _TOPIC.finditer(text))


def _field(body: str, tags: tuple[str, ...]) -> str:
    """The content of the first of the tags that has one; it ends where any tag begins."""
    for tag in tags:
        found = re.search(rf"<{tag}\b[^>]*>([^<]*)", body, re.IGNORECASE)
        if found and (words := " ".join(html.unescape(found[1]).split())):
            return _LABEL.sub("", words)
    return ""
