"""Assignment of bank entries to the facets of queries."""

from __future__ import annotations

from collections.abc import Iterable

from exam_pp.banks import TestBank
from exam_pp.metrics.grade_masks import GradedQuery


def entries_of_facets(queries: Iterable[GradedQuery], bank: TestBank | None) -> dict[str, dict[str, int]]:
    """Query id to facet (``query/facet``) to the bit mask of the positions of the facet's entries.

    The facet of an entry is that in the bank, else the middle part of its id, ``query/facet/md5``.
    Entries without a facet are skipped.
    """
    facet_of_entry = {
        item.entry_id: item.facet_id or line.facet_id
        for line in (bank.lines if bank else ())
        for item in line.items
    }
    facets: dict[str, dict[str, int]] = {}
    for query in queries:
        masks = facets.setdefault(query.query_id, {})
        for entry_id, position in query.entries.items():
            facet = facet_of_entry.get(entry_id) or _facet_of_id(entry_id, query.query_id)
            if facet:
                key = f"{query.query_id}/{facet}"
                masks[key] = masks.get(key, 0) | 1 << position
    return facets


def _facet_of_id(entry_id: str, query_id: str) -> str:
    rest = entry_id.removeprefix(f"{query_id}/")
    return rest.rpartition("/")[0] if rest != entry_id else ""
