"""Short forms of long names and ids on HTML pages, distinct within a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

_LONGEST = 23
"""Characters of a name that is shown in full."""
_START = 14
"""Minimum number of characters of a short form."""
_END = 4
"""A name is shown in full if its short form would leave out at most this many characters."""

_WORD = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.:/%+@#=~-]{{{_LONGEST},}}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ID = re.compile(r"[0-9_:/#=]")


def is_class_name(word: str) -> bool:
    """Whether a word consists of at least four capitalised words, as the names of prompt classes do."""
    return word.isalnum() and len(_HUMP.findall(word)) >= 3


def long_names(text: str) -> Iterator[re.Match[str]]:
    """Yield the long names and ids in a text: words of letters without signs or digits are not names."""
    for match in _WORD.finditer(text):
        if is_class_name(match[0]) or _ID.search(match[0]):
            yield match


def short_forms(texts: Iterable[str]) -> dict[str, int]:
    """The number of characters that are shown of each long name in these texts.

    The start of a name ends between two words of a class name, and no two names have the same start.
    """
    names = {match[0] for text in texts for match in long_names(text)}
    return {name: _shown(name, names - {name}) for name in names}


def shortened(texts: Iterable[str]) -> list[str]:
    """The texts with an ellipsis in place of the end of each long name."""
    texts = list(texts)
    forms = short_forms(texts)
    for name, shown in forms.items():
        if shown < len(name):
            texts = [text.replace(name, f"{name[:shown]}…") for text in texts]
    return texts


def _shown(name: str, others: Collection[str]) -> int:
    ends = (
        [match.start() for match in _HUMP.finditer(name)]
        if is_class_name(name)
        else range(_START, len(name) - _END)
    )
    for end in ends:
        if _START <= end < len(name) - _END and not any(o.startswith(name[:end]) for o in others):
            return end
    return len(name)
