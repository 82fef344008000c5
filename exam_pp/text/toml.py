"""TOML of prompt files, settings files and study files."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from exam_pp.errors import DataError

MOST_PARTS = 20
"""Highest number of parts of a dotted key: the time of the parser grows with its square."""

_PART = r"""[ \t]*+(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_DOTTED = rf"(?:{_PART}\.)"
# Prose in a text may look like a key, but neither ends with = or ] nor goes on for a thousand words.
_LONG_KEY = re.compile(
    rf"(?:^|[{{,])[ \t]*+\[{{0,2}}+(?:{_DOTTED}{{1000}}|{_DOTTED}{{{MOST_PARTS},}}+{_PART}[=\]])",
    re.MULTILINE | re.ASCII,
)


def parse_toml(text: str, file: str, problem: str = "is not valid TOML") -> dict[str, Any]:
    """The values of a TOML text; raises :class:`DataError`, which names ``file`` and the ``problem``."""
    if (key := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, key.start()) + 1
        raise DataError(f"has a key of more than {MOST_PARTS} parts.", file=file, line=line)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for integers of more than 4,300 digits
        raise DataError(f"{problem}: {error}.", file=file) from error
