"""Page of ``exam-pp review-games`` as a single HTML file, on which people compare answers blind."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.phases.review.review_games import GamesMaterial
from exam_pp.reports.review.page import SHARED_SCRIPTS, block, page_of

SCRIPTS = (
    *SHARED_SCRIPTS,
    "games_data.js",
    "games_work.js",
    "games_view.js",
    "games_keys.js",
    "games_main.js",
)
"""The files of the page's script, in the order in which they are joined."""


def render_games(material: GamesMaterial) -> str:
    """The HTML of the page; the games of each query are a block of their own."""
    return page_of("exam-pp review-games", SCRIPTS, ("style.css", "games.css"), _blocks(material))


def _blocks(material: GamesMaterial) -> Iterator[str]:
    yield block("head", material.head)
    for index, games in enumerate(material.queries):
        yield block(f"query-{index}", games)
