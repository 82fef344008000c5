"""All commands, killed at a sample of their file system calls, leave outputs whole or absent."""

from __future__ import annotations

import shutil
from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest

from scripts.reliability.kills import Functions, Strace, attack, kills, writing_commands
from tests.reliability.test_kills import RENAME

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_half_outputs_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself: a temporary file that is the output is half written."""
    from exam_pp.store import files

    def create(target: Path) -> object:
        return target, target.open("wb")

    monkeypatch.setattr(files, "create_part", create)
    result = attack(RENAME, tmp_path, Functions(), SIGKILL, 40)
    assert any("half an output" in problem for problem in result.problems)


@pytest.mark.timeout(1200)
def test_a_sample_of_calls_of_all_commands() -> None:
    tool = Strace() if shutil.which("strace") else Functions()
    results = [result for _, _, result in kills([SIGKILL, SIGTERM], writing_commands(), tool, most=2)]
    assert [problem for result in results for problem in result.problems] == []
    assert sum(result.points for result in results) > 250
