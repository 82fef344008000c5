"""Facets of queries: which bank entries belong to which."""

from __future__ import annotations

from collections.abc import Iterable

from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.test_bank import TestBank


def entries_of_facets(queries: Iterable[GradedQuery], bank: TestBank | None) -> dict[str, dict[str, int]]:
    """For every query its facets, as ``query/facet``, with the mask of their entries.

    The facet of an entry is the one that the bank names, else the middle of its id, ``query/facet/md5``.
    Entries without a facet are in none.
    """
    named = {
        item.entry_id: item.facet_id or line.facet_id
        for line in (bank.lines if bank else ())
        for item in line.items
    }
    found: dict[str, dict[str, int]] = {}
    for query in queries:
        masks = found.setdefault(query.query_id, {})
        for entry_id, position in query.entries.items():
            facet = named.get(entry_id) or _facet_of_id(entry_id, query.query_id)
            if facet:
                key = f"{query.query_id}/{facet}"
                masks[key] = masks.get(key, 0) | 1 << position
    return found


def _facet_of_id(entry_id: str, query_id: str) -> str:
    rest = entry_id.removeprefix(f"{query_id}/")
    return rest.rpartition("/")[0] if rest != entry_id else ""
