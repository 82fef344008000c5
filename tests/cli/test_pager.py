"""Which texts go through a pager."""

from __future__ import annotations

import sys

import pytest

from exam_pp.cli.pager import MOST_LINES, paged


@pytest.mark.parametrize(
    ("pager", "lines", "is_paged"),
    [
        ("cat -u", MOST_LINES + 1, True),
        ("cat", MOST_LINES, False),
        ("", MOST_LINES + 1, False),
        ("'", MOST_LINES + 1, False),
        ("no-such-pager -R", MOST_LINES + 1, False),
    ],
)
def test_long_texts_go_through_a_pager_that_exists(
    pager: str, lines: int, is_paged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pager gets a line end of click at the end of the text."""
    shown: list[tuple[bool, str]] = []

    def through_pager(text: str) -> None:
        shown.append((True, f"{text}\n"))

    monkeypatch.setenv("PAGER", pager)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.echo_via_pager", through_pager)
    paged("line\n" * lines, lambda text: shown.append((False, text)))
    assert shown == [(is_paged, "line\n" * lines)]
