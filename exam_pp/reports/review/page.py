"""Review page as a single HTML file with script, style and data, which needs no network.

Data are compressed JSON in base64, so no text of a file can close the element that holds it. The content
security policy allows only this script and this style, by their hashes, and no connections.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

from exam_pp.phases.review.review_table import QueryTable, shared_texts

SCRIPTS = (
    "dom.js",
    "data.js",
    "work.js",
    "blind.js",
    "plots.js",
    "overview.js",
    "bank.js",
    "query.js",
    "grid.js",
    "passage.js",
    "changes.js",
    "keys.js",
    "main.js",
)
"""The files of the page's script, in the order in which they are joined."""


def render_page(head: Mapping[str, Any], tables: Sequence[QueryTable]) -> str:
    """The HTML of the page.

    ``head`` and ``tables`` come from :class:`~exam_pp.phases.review.review_material.ReviewMaterial`. Every
    query is a separate block, which the page decompresses when the query is opened.
    """
    style, script = _read("style.css"), _script()
    return Template(_read("template.html")).substitute(
        policy=_policy(script, style),
        style=style,
        script=script,
        data="\n".join(_blocks(head, tables)),
    )


def _read(name: str) -> str:
    return (files("exam_pp.reports.review") / "assets" / name).read_text(encoding="utf-8")


def _script() -> str:
    """All script files inside one function in strict mode, so that no name is global."""
    parts = "\n".join(_read(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _policy(script: str, style: str) -> str:
    directives = {
        "default-src": "'none'",
        "script-src": _source_hash(script),
        "style-src": _source_hash(style),
        "connect-src": "'none'",
        "img-src": "'none'",
        "form-action": "'none'",
        "base-uri": "'none'",
        # The browser refuses innerHTML and similar, so text never becomes markup.
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _source_hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _blocks(head: Mapping[str, Any], tables: Sequence[QueryTable]) -> Iterator[str]:
    systems = head["systems"]
    shared = shared_texts(tables)
    yield _block("head", head)
    yield _block("texts", list(shared))
    for index, table in enumerate(tables):
        yield _block(f"query-{index}", table.chunk(head["graders"], systems, shared))


def _block(name: str, value: Any) -> str:
    # Browsers do not run a script element whose type is not a script type.
    return f'<script type="application/gzip" id="{name}">{pack(value)}</script>'


def pack(value: Any) -> str:
    """Compress a JSON value with gzip and encode it in base64; equal values give equal texts."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()
