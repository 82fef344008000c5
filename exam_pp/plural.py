"""Numbers with their nouns, for messages: one query, two queries."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun: ``1 query``, ``2 queries``.

    ``many`` is the other form where it is not the last word that changes, as in ``set of grades`` or with
    a verb: ``query has``, ``queries have``.
    """
    if count != 1:
        one = many or (f"{one[:-1]}ies" if _ends_in_consonant_y(one) else f"{one}s")
    return f"{count} {one}"


def _ends_in_consonant_y(noun: str) -> bool:
    return noun.endswith("y") and noun[-2:-1] not in "aeiou"
