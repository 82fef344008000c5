"""Commands that are killed at any of their file system calls leave outputs whole or absent."""

from __future__ import annotations

from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals

import pytest

from scripts.reliability.kills import Functions, attack

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

RENAME = "filter graded.jsonl --rename system=a=z -o out"


@pytest.mark.parametrize("sent", [SIGKILL, SIGTERM])
def test_a_command_that_is_stopped_at_some_calls(sent: Signals, tmp_path: Path) -> None:
    result = attack(RENAME, tmp_path, Functions(), sent, 3)
    assert (result.problems, result.missed) == ([], 0)
    assert result.points == 3
