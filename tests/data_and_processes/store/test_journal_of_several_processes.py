"""Runs of several processes that open the same reply journal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_run_that_starts_while_another_ends_loses_no_replies(tmp_path: Path) -> None:
    """Each of many runs opens the journal, or gets the error that another run uses it."""
    script = (
        "import sys, pathlib\n"
        "from exam_pp.errors import ExamError, OutputError\n"
        "from exam_pp.llm_requests import Completion\n"
        "from exam_pp.store.passages.journal import Journal\n"
        "path, refused = pathlib.Path(sys.argv[1]), 0\n"
        "for number in range(60):\n"
        "    try:\n"
        "        with Journal(path) as journal:\n"
        "            assert len(journal) == 0\n"
        "            journal.add({str(number): Completion('reply ' * 50)})\n"
        "            assert path.exists() and len(journal) == 1\n"
        "            journal.remove()\n"
        "    except OutputError as error:\n"
        "        assert 'in use' in str(error), error\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "j")], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    assert [run.communicate(timeout=600)[1] for run in runs] == [b""] * 3
    assert not list(tmp_path.iterdir())
