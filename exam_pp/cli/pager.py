"""Paging of long texts on a terminal with ``$PAGER``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import click

MOST_LINES = 200
"""Longest text that is shown without a pager, in lines."""


def paged(parts: Iterable[str], write: Callable[[Iterable[str]], object]) -> None:
    """Show a long text in a pager, and write a short one.

    Parts are made as the reader needs them. A text is only written if ``PAGER`` is empty or not a program, if
    standard input is not a terminal, and on a terminal that cannot scroll (``TERM=dumb``).
    """
    unread = iter(parts)
    first: list[str] = []
    lines = 0
    if _has_pager():
        for part in unread:
            first.append(part)
            lines += part.count("\n")
            if lines > MOST_LINES:
                click.echo_via_pager(_without_last_line_end(chain(first, unread)))
                return
    write(chain(first, unread))


def _without_last_line_end(parts: Iterable[str]) -> Iterator[str]:
    """The parts without the line end that click itself adds."""
    last = ""
    for part in parts:
        yield last
        last = part
    yield last.removesuffix("\n")


def _has_pager() -> bool:
    if sys.stdin is None or not sys.stdin.isatty() or os.environ.get("TERM") in {"dumb", "emacs"}:
        return False
    try:
        program, *_ = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:  # empty, or an unbalanced quote
        return False
    return shutil.which(program) is not None
