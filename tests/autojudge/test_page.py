"""docs/how-to/autojudge.md: its example gives the shown numbers, and its table has all settings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nltk
import pytest

from exam_pp.autojudge.settings import INJECTED, Settings
from exam_pp.metrics.correlation import tau_ap
from tests.autojudge.test_same_numbers import tied_above

PAGE = "docs/how-to/autojudge.md"
PROGRAMS = {
    "python": "",
    "exam-pp": "-m exam_pp",
    "auto-judge": "-m autojudge_base.cli",
    "auto-judge-evaluate": "-m autojudge_evaluate",
}


@pytest.fixture(scope="session")
def page(repository: Path) -> str:
    return (repository / PAGE).read_text(encoding="utf-8")


def table(page: str, title: str) -> list[list[str]]:
    """The rows of the first table whose header begins with ``title``."""
    text = page.partition(f"\n| {title} |")[2].partition("\n\n")[0]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_the_table_has_all_settings_with_their_defaults(page: str) -> None:
    rows = {row[0]: row[1] for row in table(page, "setting")}
    fields = {name: field for name, field in Settings.model_fields.items() if name not in INJECTED}
    assert list(rows) == list(fields)
    for name, field in fields.items():
        if field.default not in (None, {}):
            assert rows[name] == str(field.default).replace("False", "false")


@pytest.mark.integration
def test_the_example_gives_the_shown_numbers(page: str, repository: Path, tmp_path: Path) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)
    for name in ("scripts", "data"):
        (tmp_path / name).symlink_to(repository / name)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, arguments in PROGRAMS.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(repository), os.environ.get("PYTHONPATH")))),
        "NLTK_DATA": str(nltk.data.path[0]),
    }
    done = subprocess.run(
        ["bash", "-e", "-c", block],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for shown in re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL):
        assert shown in done.stdout

    truth = means(tmp_path / "demo" / "truth.txt")["nDCG@10"]
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in table(page, "measure | τ-AP")}
    for measure, by_run in means(tmp_path / "out" / "default.eval.txt").items():
        scores, official = [by_run[run] for run in truth], list(truth.values())
        forward, backward = tau_ap(scores, official), tau_ap(official, scores)
        ties = tied_above(scores, official) + tied_above(official, scores)
        assert forward is not None
        assert backward is not None
        numbers = [forward, backward, ties, (forward + backward - ties) / 2]
        assert rows[measure] == pytest.approx([*numbers, numbers[-1]], abs=0.0006)


def means(path: Path) -> dict[str, dict[str, float]]:
    """Measure to run to mean."""
    by_measure: dict[str, dict[str, float]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        run, topic, measure, value = line.split("\t")
        if topic == "all":
            by_measure.setdefault(measure, {})[run] = float(value)
    return by_measure


def test_ready_workflow_files_are_those_of_the_page(page: str) -> None:
    from exam_pp.autojudge import WORKFLOWS

    assert {row[0] for row in table(page, "file | model")} == {file.name for file in WORKFLOWS.glob("*.yml")}
