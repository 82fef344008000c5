"""Data of review pages, read without a browser."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

BLOCK = re.compile(r'<script type="application/gzip" id="([^"]+)">([A-Za-z0-9+/=]*)</script>')


def blocks(page: str) -> dict[str, Any]:
    """Block name to value, for the data of a page."""
    return {name: json.loads(gzip.decompress(b64decode(data))) for name, data in BLOCK.findall(page)}


def ratings(page: str, query: int = 0, grader: int = 0) -> dict[str, list[int | None]]:
    """Passage id to a grader's ratings of the entries, in order."""
    data = blocks(page)
    chunk, entries = data[f"query-{query}"], len(data["head"]["queries"][query]["entries"])
    column = chunk["grades"][grader].get("rating", [None] * entries * len(chunk["ids"]))
    return {key: column[i * entries : (i + 1) * entries] for i, key in enumerate(chunk["ids"])}


def edits_of(
    page: str, ratings: Mapping[tuple[str, str, str], int] | int, reviewer: str = "ana"
) -> dict[str, Any]:
    """The edits that a page saves for ratings by query, passage and entry; a number rates all pairs."""
    head, keys = blocks(page)["head"], keys_of(page)
    if isinstance(ratings, int):
        ratings = dict.fromkeys(keys, ratings)
    return {
        "format": "exam_pp.edits.v1", "reviewer": reviewer, "graded_sha256": head["graded"]["sha256"],
        "bank_sha256": head["bank"] and head["bank"]["sha256"],
        "ratings": [
            {"query_id": q, "passage_id": p, "id": e, "rating": rating, "key": keys[q, p, e]}
            for (q, p, e), rating in ratings.items()
        ],
    }  # fmt: skip


def keys_of(page: str) -> dict[tuple[str, str, str], str]:
    """The key of the content of each pair."""
    data, keys = blocks(page), {}
    for index, query in enumerate(data["head"]["queries"]):
        chunk = data[f"query-{index}"]
        for passage_id, of_passage in zip(chunk["ids"], chunk["keys"]["passages"], strict=True):
            for entry_id, of_entry in chunk["keys"]["entries"].items():
                keys[query["id"], passage_id, entry_id] = f"{of_entry}:{of_passage}"
    return keys
