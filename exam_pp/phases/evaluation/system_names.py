"""Names of systems that one side shortened: ``team.run_with_a_lo…`` is the run that begins so."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

V = TypeVar("V")

_CUT = re.compile(r"…|\.\.\.")


def matched_names(ours: Collection[str], theirs: Collection[str]) -> dict[str, str]:
    """Their name to ours, for names that are cut with ``…`` on one side or both.

    Two names match if one could be the other cut, and no other name could be meant. Names that both
    sides have in full are not listed.
    """
    left = [name for name in ours if name not in theirs]
    right = [name for name in theirs if name not in ours]
    candidates = {name: [other for other in left if _could_be(name, other)] for name in right}
    return {
        name: others[0]
        for name, others in candidates.items()
        if len(others) == 1 and sum(others[0] in found for found in candidates.values()) == 1
    }


def _could_be(one: str, other: str) -> bool:
    parts, others = _CUT.split(one), _CUT.split(other)
    if len(parts) > 1 and len(others) > 1:
        return parts[0].startswith(others[0]) or others[0].startswith(parts[0])
    if len(parts) == len(others) == 1:
        return False
    cut, full = (parts, other) if len(parts) > 1 else (others, one)
    return re.fullmatch(".*".join(map(re.escape, cut)), full, re.DOTALL) is not None


def renamed(values: Mapping[str, V], names: Mapping[str, str]) -> dict[str, V]:
    """The values under our names."""
    return {names.get(name, name): value for name, value in values.items()}
