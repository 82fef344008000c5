"""Paging of long texts on a terminal with ``$PAGER``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable

import click

MOST_LINES = 200
"""Longest text that is shown without a pager, in lines."""


def paged(text: str, write: Callable[[str], object]) -> None:
    """Show a long text in a pager, and write a short one.

    A text is only written if ``PAGER`` is empty or not a program, if standard input is not a terminal, and on
    a terminal that cannot scroll (``TERM=dumb``).
    """
    if text.count("\n") > MOST_LINES and _has_pager():
        click.echo_via_pager(text.removesuffix("\n"))  # click adds a line end
    else:
        write(text)


def _has_pager() -> bool:
    if sys.stdin is None or not sys.stdin.isatty() or os.environ.get("TERM") in {"dumb", "emacs"}:
        return False
    try:
        program, *_ = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:  # empty, or an unbalanced quote
        return False
    return shutil.which(program) is not None
