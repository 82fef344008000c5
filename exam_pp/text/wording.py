"""Parts of messages: counts with nouns, shortened lists, text without control characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

MAX_LISTED = 5
"""Maximum number of names in a message; ``...`` stands for further names."""

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters with the property Bidi_Control of Unicode, which change the order of others on the screen."""
_CONTROLS = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")
_NOT_FOR_TERMINALS = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML 1.0, section 2.2, forbids, so that no reader opens the file."""


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Format a number with its noun: ``1 query``, ``2 queries``."""
    if count != 1:
        singular = plural or (f"{singular[:-1]}ies" if _ends_in_consonant_y(singular) else f"{singular}s")
    return f"{count} {singular}"


def _ends_in_consonant_y(noun: str) -> bool:
    return noun.endswith("y") and noun[-2:-1] not in "aeiou"


def noted(count: int, text: str, singular: str, plural: str | None = None) -> Iterator[str]:
    """The line of a summary with a counted noun in place of ``{}``; no line for 0."""
    if count:
        yield text.replace("{}", counted(count, singular, plural), 1)


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """Join the first five names, with ``...`` for further names."""
    return separator.join([*names[:MAX_LISTED], *(["..."] if len(names) > MAX_LISTED else [])])


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that a misspelt name resembles most; None if it resembles none of them.

    ``cutoff``: Lowest similarity, from 0 to 1.
    """
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, begins: bool = True) -> str:
    """``Did you mean 'NAME'?`` with the nearest known name, or ``otherwise`` if no name is near.

    ``begins``: Whether the hint begins a sentence.
    """
    close = closest(name, known)
    return f"{'Did' if begins else 'did'} you mean {close!r}?" if close else otherwise


def no_query(source: object, query_id: str, known: Iterable[str]) -> str:
    """The message for a query id that a file lacks, with a similar id, such as one with leading zeros."""
    ids = sorted(known)
    similar = [name for name in ids if name.lstrip("0") == query_id.lstrip("0")]
    hint = did_you_mean(query_id, ids) if not similar else f"Did you mean {similar[0]!r}?"
    return f"{source} has no query {query_id!r}. {hint}".rstrip()


def in_one_line(text: str) -> str:
    """Escape line ends, control characters and bytes that are not UTF-8, which would break a message.

    So are characters that reverse the order of the following text.
    """
    return _CONTROLS.sub(_escape, text)


def printable(text: str) -> str:
    """Replace control characters except line ends and tabs, and those of the text direction, by U+FFFD.

    Passages and names can contain them; they would clear or overwrite a terminal, or show a text reversed.
    """
    return _NOT_FOR_TERMINALS.sub("\ufffd", text)


def for_xml(text: str) -> str:
    """Replace characters that SVG and other XML cannot contain by U+FFFD."""
    return _NOT_IN_XML.sub("\ufffd", text)


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
