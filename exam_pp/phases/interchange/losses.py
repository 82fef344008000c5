"""What a conversion leaves out: counted where it happens, told once at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

EMPTY: tuple[Any, ...] = (None, "", [], {})
"""Values of a key that say no more than its absence."""


class Losses:
    """Counts of what another format has no room for."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, what: str, count: int = 1) -> None:
        """Note that ``count`` things of a kind, a plural such as ``ratings``, are left out."""
        if count:
            self._counts[what] += count

    def keys(self, values: Mapping[str, Any] | None, known: Iterable[str] = ()) -> None:
        """Note every key that is not known and says something, by its name."""
        for key in (values or {}).keys() - set(known):
            self.add(f"values of {key!r}", (values or {})[key] not in EMPTY)

    @property
    def counts(self) -> dict[str, int]:
        """What was left out, and how often; sorted by name."""
        return dict(sorted(self._counts.items()))

    def __bool__(self) -> bool:
        return bool(self._counts)

    def lines(self) -> Iterator[str]:
        """One sentence for people; nothing if nothing was lost."""
        if self._counts:
            listed = ", ".join(f"{what} ({count})" for what, count in sorted(self._counts.items()))
            yield f"Left out, since the format has no place for it: {listed}."
