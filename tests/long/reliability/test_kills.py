"""All commands, killed at a sample of their file system calls, leave outputs whole or absent."""

from __future__ import annotations

import shutil
from signal import SIGKILL, SIGTERM

import pytest

from scripts.reliability.kills import Functions, Strace, kills, writing_commands

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.mark.timeout(1200)
def test_a_sample_of_calls_of_all_commands() -> None:
    tool = Strace() if shutil.which("strace") else Functions()
    results = [result for _, _, result in kills([SIGKILL, SIGTERM], writing_commands(), tool, most=2)]
    assert [problem for result in results for problem in result.problems] == []
    assert sum(result.points for result in results) > 250
