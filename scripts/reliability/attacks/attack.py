"""An attack: an attempt to damage inputs, to read secrets, or to end a command with a traceback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Attack:
    """An attack, the required outcome, and the function that tries it.

    Attributes:
        name: What is attempted, as a cell of a Markdown table.
        outcome: What must happen, as a cell of a Markdown table.
        run: Tries the attack in an empty folder; returns the problem, or "" if the outcome is as required.
    """

    name: str
    outcome: str
    run: Callable[[Path], str]
