"""``exam-pp serve`` in a process of its own, for browser tests and screenshots."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


class Served:
    """A running server; ``address`` is that of its page."""

    def __init__(self, study: Path, *words: str) -> None:
        self.study = study
        self.words = ("serve", str(study), "--no-open", "--outside", *words)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "exam_pp", *self.words],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if found := re.match(r"Open (\S+)", line):
                self.address = found[1]
                return
        raise AssertionError(self.said)

    @property
    def log(self) -> list[str]:
        """The lines of the log after the first one."""
        return (self.study / "live/log.jsonl").read_text(encoding="utf-8").splitlines()[1:]

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        assert self.process.stdout is not None
        code = self.process.wait(30)
        self.process.stdout.close()
        return code
