"""Ids made of texts, for queries and passages of files without ids."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Mapping
from unicodedata import normalize


def id_of_text(text: str) -> str:
    """A short id that equal texts share, whatever their case, blanks and Unicode form."""
    folded = " ".join(normalize("NFC", text).casefold().split())
    return f"t-{hashlib.sha256(folded.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def ids_by_text(texts: Mapping[str, str]) -> dict[str, str]:
    """Made id of a text to the id of its query, if one query alone has this text and an id of its own."""
    made = {query_id: id_of_text(text) for query_id, text in texts.items() if text}
    counts = Counter(key for query_id, key in made.items() if key != query_id)
    return {key: query_id for query_id, key in made.items() if key != query_id and counts[key] == 1}


def id_by_text(query_id: str, text: str, listed: Container[str], ids: Mapping[str, str]) -> str:
    """The id of the query with this text, for an id that is not listed; ``ids``: :func:`ids_by_text`."""
    return query_id if query_id in listed else ids.get(id_of_text(text), query_id)
