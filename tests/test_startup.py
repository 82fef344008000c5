"""`exam-pp --help` is fast because it imports nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

HEAVY = (
    "torch", "transformers", "scipy", "numpy", "duckdb", "pandas", "matplotlib", "ir_measures", "nltk",
    "ctranslate2", "openai",
)  # fmt: skip

PROBE = f"""
import sys
from exam_pp.cli.main import cli
cli.main(args={{arguments!r}}, prog_name="exam-pp", standalone_mode=False)
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def test_help_imports_nothing_heavy() -> None:
    done = run(sys.executable, "-c", PROBE.format(arguments=["--help"]))
    assert "Commands" in done.stdout
    assert done.stderr.strip() == "[]"


def test_version_imports_nothing_heavy() -> None:
    done = run(sys.executable, "-c", PROBE.format(arguments=["--version"]))
    assert done.stderr.strip() == "[]"


def test_help_is_fast() -> None:
    """Below 0.3 s on a quiet machine; on a busy one only a gross slowdown fails the test."""
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        run(sys.executable, "-m", "exam_pp", "--help")
        seconds.append(time.perf_counter() - start)
        if seconds[-1] < 0.3:
            return
    if min(seconds) < 1.0:
        pytest.skip(f"the machine is busy: best of five took {min(seconds):.2f} s")
    pytest.fail(f"exam-pp --help takes {min(seconds):.2f} s")
