"""Matching of system names that are truncated in one source, such as ``team.run_with_a_lo…``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

V = TypeVar("V")

_CUT = re.compile(r"…|\.\.\.")


def matched_names(left: Collection[str], right: Collection[str]) -> dict[str, str]:
    """Map names of ``right`` to names of ``left`` where either is truncated with ``…`` or ``...``.

    Two names match if one can be a truncation of the other and the match is unique. Names that are equal on
    both sides are not in the result.
    """
    only_left = [name for name in left if name not in right]
    only_right = [name for name in right if name not in left]
    candidates = {name: [match for match in only_left if _could_be(name, match)] for name in only_right}
    return {
        name: matches[0]
        for name, matches in candidates.items()
        if len(matches) == 1 and sum(matches[0] in names for names in candidates.values()) == 1
    }


def _could_be(left: str, right: str) -> bool:
    """Whether one of the names can be a truncation of the other; False if neither is truncated."""
    left_parts, right_parts = _CUT.split(left), _CUT.split(right)
    if len(left_parts) > 1 and len(right_parts) > 1:
        return left_parts[0].startswith(right_parts[0]) or right_parts[0].startswith(left_parts[0])
    if len(left_parts) == len(right_parts) == 1:
        return False
    cut, full = (left_parts, right) if len(left_parts) > 1 else (right_parts, left)
    return re.fullmatch(".*".join(map(re.escape, cut)), full, re.DOTALL) is not None


def renamed(values: Mapping[str, V], names: Mapping[str, str]) -> dict[str, V]:
    """The values with their keys replaced by ``names``; other keys are kept."""
    return {names.get(name, name): value for name, value in values.items()}
