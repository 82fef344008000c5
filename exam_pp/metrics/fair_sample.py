"""Fair samples of the entries of a query, in an order that depends on ids and seed alone."""

from __future__ import annotations

from collections.abc import Iterable

from exam_pp.pair_sample import draw


def sample_order(query_id: str, entry_ids: Iterable[str], seed: int = 0) -> list[str]:
    """The entries of a query in the random order in which people rate them."""
    return sorted(entry_ids, key=lambda entry_id: draw(seed, "fair sample", query_id, entry_id))
