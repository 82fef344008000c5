"""The workflow for answers in docs/coming-from/applications.md: valid YAML, commands that work locally."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from exam_pp.cli.main import main

FACTS = {f"Question {number}?": f"The lake has {number} degrees" for number in range(10, 30)}


@pytest.fixture
def commands(repository: Path) -> list[str]:
    """The commands of exam-pp in the workflow."""
    page = (repository / "docs" / "coming-from" / "applications.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    steps: list[dict[str, Any]] = yaml.safe_load(block)["jobs"]["gate"]["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    return [line for line in lines if line.startswith("exam-pp ")]


def run(commands: list[str], answers: list[str]) -> int:
    """Run the commands on answers in the form of DeepEval; returns the exit code."""
    cases = [{"input": key, "actual_output": text} for key, text in zip(FACTS, answers, strict=True)]
    Path("new.json").write_text(json.dumps(cases), encoding="utf-8")
    try:
        for command in commands:
            main(["-q", *shlex.split(command)[1:]])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_the_commands_of_the_workflow_work(
    commands: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run writes the baseline; the same answers then pass, and wrong ones fail."""
    monkeypatch.chdir(tmp_path)
    Path("gate").mkdir()
    rows = "".join(f"{key},{text}\n" for key, text in FACTS.items())
    Path("gate/facts.csv").write_text(f"query,nugget\n{rows}", encoding="utf-8")
    good = [f"{text} in May." for text in FACTS.values()]
    assert run(commands, good) == 1  # there is no baseline yet
    Path("new.tsv").rename("gate/baseline.tsv")
    assert run(commands, good) == 0
    assert run(commands, ["I do not know."] * len(FACTS)) == 4
