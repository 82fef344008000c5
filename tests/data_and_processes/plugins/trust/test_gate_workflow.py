"""The workflow for GitHub Actions in docs/how-to/trust.md: valid YAML, and commands that work locally."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from exam_pp.cli.main import main

SUMMARY = '>> "$GITHUB_STEP_SUMMARY"'


@pytest.fixture(scope="module")
def workflow(repository: Path) -> dict[Any, Any]:
    page = (repository / "docs" / "how-to" / "trust.md").read_text(encoding="utf-8")
    (block,) = [
        text for text in re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL) if "exam-pp gate" in text
    ]
    content: dict[Any, Any] = yaml.safe_load(block)
    return content


@pytest.fixture
def folder(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder ``gate`` of the workflow, from the demo."""
    (tmp_path / "gate").mkdir()
    for name in ("passages.tsv", "questions.jsonl"):
        shutil.copy(repository / "data" / "demo" / name, tmp_path / "gate")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_steps(workflow: dict[Any, Any], run: Path) -> int:
    """Run the commands of exam-pp on a run, as the two best passages of each query; returns the exit code."""
    lines = [line for line in run.read_text().splitlines() if int(line.split()[3]) <= 2]
    Path("new.run").write_text("\n".join(lines) + "\n")
    scripts = "\n".join(step.get("run", "") for step in workflow["jobs"]["gate"]["steps"])
    try:
        for line in scripts.replace("\\\n", " ").splitlines():
            if line.startswith("[ -f "):
                subprocess.run(["sh", "-c", line], check=True)
            elif line.startswith("exam-pp "):
                main(["-q", *shlex.split(line.removesuffix(SUMMARY))[1:]])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_the_commands_of_the_workflow_work(
    workflow: dict[Any, Any],
    folder: Path,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first run writes the baseline; the same system then passes, undecided; random passages do not."""
    runs = repository / "data" / "demo" / "runs"
    assert run_steps(workflow, runs / "rerank.run") == 1  # there is no baseline yet
    shutil.move(folder / "new.tsv", folder / "gate" / "baseline.tsv")
    capsys.readouterr()

    assert run_steps(workflow, runs / "rerank.run") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "# Gate: passed, but undecided\n\nPassed on the measured drop (0), but 20 queries are too few"
    )
    assert run_steps(workflow, runs / "random.run") in {4, 5}
    assert "| Cover(min_grade=4)@10 | 20 |" in capsys.readouterr().out
