"""Matching of system names that are truncated in one source, such as ``team.run_with_a_lo…``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

V = TypeVar("V")

_CUT = re.compile(r"…|\.\.\.")


def matched_names(ours: Collection[str], theirs: Collection[str]) -> dict[str, str]:
    """Their name to ours, for names that are truncated with ``…`` or ``...`` on one or both sides.

    Two names match if one can be a truncation of the other and the match is unique. Names that occur in
    full on both sides are not returned.
    """
    left = [name for name in ours if name not in theirs]
    right = [name for name in theirs if name not in ours]
    candidates = {name: [candidate for candidate in left if _could_be(name, candidate)] for name in right}
    return {
        name: matches[0]
        for name, matches in candidates.items()
        if len(matches) == 1 and sum(matches[0] in names for names in candidates.values()) == 1
    }


def _could_be(left: str, right: str) -> bool:
    left_parts, right_parts = _CUT.split(left), _CUT.split(right)
    if len(left_parts) > 1 and len(right_parts) > 1:
        return left_parts[0].startswith(right_parts[0]) or right_parts[0].startswith(left_parts[0])
    if len(left_parts) == len(right_parts) == 1:
        return False
    cut, full = (left_parts, right) if len(left_parts) > 1 else (right_parts, left)
    return re.fullmatch(".*".join(map(re.escape, cut)), full, re.DOTALL) is not None


def renamed(values: Mapping[str, V], names: Mapping[str, str]) -> dict[str, V]:
    """The values with their names replaced by ours."""
    return {names.get(name, name): value for name, value in values.items()}
