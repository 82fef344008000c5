"""Reports on a terminal: fitted to its width, unlike in files and pipes.

Also outputs and messages without standard output or standard error.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from exam_pp.cli.main import main

EXAM_PP = (sys.executable, "-m", "exam_pp")


def on_terminal(*arguments: str, columns: int = 80) -> str:
    """What a command writes to a terminal, without the carriage returns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment["TERM"] = "xterm"
    with subprocess.Popen(
        [*EXAM_PP, *arguments], stdin=follower, stdout=follower, stderr=follower, env=environment
    ) as process:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65536):
                shown += part
        except OSError:  # the process has closed the terminal
            pass
    os.close(leader)
    assert process.returncode == 0, shown.decode()
    return shown.decode().replace("\r\n", "\n")


def test_a_table_is_as_wide_as_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", "models"])
    piped = capsys.readouterr().out
    narrow = on_terminal("list", "models", columns=80)
    assert max(map(len, piped.splitlines())) > 100
    assert max(map(len, narrow.splitlines())) <= 80
    assert sorted("".join(narrow.split()).replace("-", "")) == sorted("".join(piped.split()).replace("-", ""))
    assert "11135332352" in narrow
    assert on_terminal("list", "models", columns=200) == piped


@pytest.mark.parametrize(
    ("command", "closed", "code", "message"),
    [
        ("bank show BANK --only counts -o out", "2>&-", 0, ""),
        ("bank show BANK --only counts -o out", ">&-", 0, ""),
        ("bank show no-file --only counts -o out", "<&- >&- 2>&-", 1, ""),
        (
            "bank show BANK --only counts",
            ">&-",
            1,
            "exam-pp: Standard output is closed. Name a file with -o.\n",
        ),
        ("--version", ">&-", 1, "exam-pp: Standard output is closed.\n"),
    ],
)
def test_closed_standard_streams(
    command: str, closed: str, code: int, message: str, tmp_path: Path, demo_data: Path
) -> None:
    words = command.replace("BANK", str(demo_data / "questions.jsonl")).split()
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *EXAM_PP, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", message)
    assert (tmp_path / "out").exists() == (code == 0)
