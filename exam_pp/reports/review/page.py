"""Review page as a single HTML file with script, style and data, which needs no network.

Data are compressed JSON in base64, so no text of a file can close the element that holds it. The content
security policy allows only this script and this style, by their hashes, and no connections.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from string import Template
from types import MappingProxyType
from typing import Any

from exam_pp.phases.review.review_table import QueryTable, shared_texts
from exam_pp.rendering.page_parts import COMMON_STYLE, ELEMENTS_SCRIPT, asset, content_policy, joined_script

review_asset = partial(asset, package="exam_pp.reports.review")
"""The text of a file of the review page, of which pages of plug-ins may use some."""

SHARED_SCRIPTS = ("dom.js", "blocks.js", "files.js", "themes.js", "saving.js")
"""The files that the scripts of the review page and of the page of games share."""

SCRIPTS = (
    *SHARED_SCRIPTS,
    "data.js",
    "mistakes.js",
    "work.js",
    "blind.js",
    "plots.js",
    "standings.js",
    "fair.js",
    "overview.js",
    "bank.js",
    "sides.js",
    "query.js",
    "grid.js",
    "passage.js",
    "citations.js",
    "changes.js",
    "keys.js",
    "main.js",
)
"""The files of the page's script after :data:`ELEMENTS_SCRIPT`, in the order in which they are joined."""


def render_page(head: Mapping[str, Any], tables: Sequence[QueryTable]) -> str:
    """The HTML of the page.

    ``head`` and ``tables`` come from :class:`~exam_pp.phases.review.review_material.ReviewMaterial`. Every
    query is a separate block, which the page decompresses when the query is opened.
    """
    return page_of("Review", map(review_asset, SCRIPTS), [review_asset("style.css")], _blocks(head, tables))


def page_of(
    title: str,
    scripts: Iterable[str],
    styles: Iterable[str],
    blocks: Iterable[str],
    directives: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The HTML of a page.

    ``scripts`` and ``styles``: The texts of their parts, in the order in which they are joined.
    ``directives``: Further ones of the content security policy.
    """
    style = "\n".join([asset(COMMON_STYLE), *styles])
    script = joined_script([asset(ELEMENTS_SCRIPT), *scripts])
    return Template(review_asset("template.html")).substitute(
        title=title,
        policy=content_policy(script, style, directives),
        style=style,
        script=script,
        data="\n".join(blocks),
    )


def _blocks(head: Mapping[str, Any], tables: Sequence[QueryTable]) -> Iterator[str]:
    systems = head["systems"]
    shared = shared_texts(tables)
    yield block("head", head)
    yield block("texts", list(shared))
    for index, table in enumerate(tables):
        yield block(f"query-{index}", table.chunk(head["graders"], systems, shared))


def block(name: str, value: Any) -> str:
    """A compressed JSON value that the script of the page finds by its name."""
    # Browsers do not run a script element whose type is not a script type.
    return f'<script type="application/gzip" id="{name}">{pack(value)}</script>'


def pack(value: Any) -> str:
    """Compress a JSON value with gzip and encode it in base64; equal values give equal texts."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Level 9 takes twice the time for half a per cent less.
    return b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode()
