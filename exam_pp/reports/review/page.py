"""One HTML file that needs no network: script, style and data inside, and a policy that forbids the rest.

Data are JSON, compressed, in base64: there is no text that could end the element it stands in. The
policy allows exactly this script and this style, by their hashes, and no connection at all.
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

from exam_pp.phases.review.review_table import QueryTable, texts_of_several

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
"""The files of the page's script, in the order in which they are put together."""


def render_page(head: Mapping[str, Any], tables: Sequence[QueryTable]) -> str:
    """The page as text.

    ``head`` and ``tables`` are those of :class:`~exam_pp.phases.review.review_material.ReviewMaterial`; every
    query becomes a block of its own that is decompressed when it is opened.
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
    """All files as one function in strict mode, so that nothing of it is global."""
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
        # Text becomes markup nowhere: the browser refuses innerHTML and its like.
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _source_hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _blocks(head: Mapping[str, Any], tables: Sequence[QueryTable]) -> Iterator[str]:
    systems = head["systems"]
    shared = texts_of_several(tables)
    yield _block("head", head)
    yield _block("texts", list(shared))
    for place, table in enumerate(tables):
        yield _block(f"query-{place}", table.chunk(head["graders"], systems, shared))


def _block(name: str, value: Any) -> str:
    # A type that is no script: browsers keep the text and run nothing.
    return f'<script type="application/gzip" id="{name}">{pack(value)}</script>'


def pack(value: Any) -> str:
    """A JSON value, compressed, in base64; equal values give equal texts."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()
