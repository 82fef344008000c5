"""Parts of messages: counts with nouns, shortened lists, text without control characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

MAX_LISTED = 5
"""Maximum number of names in a message; ``...`` stands for further names."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Format a number with its noun: ``1 query``, ``2 queries``.

    Args:
        count: The number.
        singular: The noun.
        plural: The plural, if it is irregular or of several words: ``sets of grades``, ``queries have``.
    """
    if count != 1:
        singular = plural or (f"{singular[:-1]}ies" if _ends_in_consonant_y(singular) else f"{singular}s")
    return f"{count} {singular}"


def _ends_in_consonant_y(noun: str) -> bool:
    return noun.endswith("y") and noun[-2:-1] not in "aeiou"


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """Join the first five names, with ``...`` for further names."""
    return separator.join([*names[:MAX_LISTED], *(["..."] if len(names) > MAX_LISTED else [])])


def no_query(source: object, query_id: str, known: Iterable[str]) -> str:
    """The message for a query id that a file lacks, with a similar id, such as one with leading zeros."""
    ids = sorted(known)
    similar = [name for name in ids if name.lstrip("0") == query_id.lstrip("0")]
    similar += get_close_matches(query_id, ids, n=1)
    hint = f" Did you mean {similar[0]!r}?" if similar else ""
    return f"{source} has no query {query_id!r}.{hint}"


def in_one_line(text: str) -> str:
    """Escape line ends, control characters and bytes that are not UTF-8, which would break a message."""
    return _CONTROLS.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    byte = ord(match[0]) - 0xDC00  # Python's stand-ins for undecodable bytes of names are U+DC80 to U+DCFF
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else ascii(match[0])[1:-1]


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates, which stand for bytes of names that are not UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
