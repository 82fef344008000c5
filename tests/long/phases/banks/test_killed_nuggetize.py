"""Killed runs of nuggetize."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

from exam_pp.store.passages.journal import journal_path
from tests.phases.banks.test_nuggetize import import_passages

KILLED = """
import os, signal, sys
from exam_pp.cli.main import main
from exam_pp.llm import fake
answer = fake.lexical_reply
fake.FakeLLM.batch_size = 2
last = int(sys.argv[2])
def killed(request):
    global last
    with open(sys.argv[1], "a") as calls:
        calls.write(".")
    last -= 1
    if last == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(request)
fake.lexical_reply = killed
main(sys.argv[3:])
"""


def test_killed_runs_continue(demo_data: Path, tmp_path: Path) -> None:
    """After kill -9 at random calls, finished batches are not repeated, and the bank is the same."""
    passages = import_passages(demo_data, tmp_path)
    whole, bank, calls = tmp_path / "whole.jsonl", tmp_path / "bank.jsonl", tmp_path / "calls"

    def nuggetize(output: Path, counted: Path, last: int = 0) -> int:
        """The exit code of a run that is killed in this call of the model, or never."""
        arguments = ("nuggetize", passages, "-o", output, "--queries", demo_data / "queries.jsonl")
        command = map(str, [sys.executable, "-c", KILLED, counted, last, "-q", *arguments, "--model", "fake"])
        return subprocess.run([*command], check=False).returncode

    assert nuggetize(whole, tmp_path / "all") == 0
    needed = (tmp_path / "all").stat().st_size
    chance = random.Random(3)
    for _ in range(3):
        assert nuggetize(bank, calls, chance.randint(3, 8)) == -signal.SIGKILL
    assert nuggetize(bank, calls) == 0
    assert bank.read_bytes() == whole.read_bytes()
    assert not journal_path(bank).exists()
    assert needed <= calls.stat().st_size <= needed + 3 * 2
