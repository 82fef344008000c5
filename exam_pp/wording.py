"""Parts of messages: numbers with their nouns, shortened lists, one line without terminal commands."""

from __future__ import annotations

import re
from collections.abc import Sequence

LISTED = 5
"""So many names stand in a message; ``...`` is for the others."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: ``1 query``, ``2 queries``.

    ``plural`` is the plural where it is not the last word that changes, as in ``set of grades`` or with
    a verb: ``query has``, ``queries have``.
    """
    if count != 1:
        singular = plural or (f"{singular[:-1]}ies" if _ends_in_consonant_y(singular) else f"{singular}s")
    return f"{count} {singular}"


def _ends_in_consonant_y(noun: str) -> bool:
    return noun.endswith("y") and noun[-2:-1] not in "aeiou"


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """The first five names, and ``...`` for any more."""
    return separator.join([*names[:LISTED], *(["..."] if len(names) > LISTED else [])])


def in_one_line(text: str) -> str:
    """A message in which ids and keys of files cannot begin a line, or command the terminal."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)
