"""Looking into review pages without a browser."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from typing import Any

BLOCK = re.compile(r'<script type="application/gzip" id="([^"]+)">([A-Za-z0-9+/=]*)</script>')


def blocks(page: str) -> dict[str, Any]:
    """Name to value of the data inside a page."""
    return {name: json.loads(gzip.decompress(b64decode(data))) for name, data in BLOCK.findall(page)}


def ratings(page: str, query: int = 0, grader: int = 0) -> dict[str, list[int | None]]:
    """Passage id to a grader's ratings, entry by entry."""
    found = blocks(page)
    chunk, entries = found[f"query-{query}"], len(found["head"]["queries"][query]["entries"])
    column = chunk["grades"][grader].get("rating", [None] * entries * len(chunk["ids"]))
    return {key: column[i * entries : (i + 1) * entries] for i, key in enumerate(chunk["ids"])}
