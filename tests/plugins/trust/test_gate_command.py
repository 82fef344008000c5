"""The command ``gate``: exit codes, formats, and refused options."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from exam_pp.cli.main import main


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Scores of five versions of a system on sixteen queries."""
    versions = {
        "base": (0.5, 0.6, 0.7, 0.4), "same": (0.5, 0.6, 0.7, 0.4), "bad": (0.1, 0.21, 0.35, 0.02),
        "noisy": (0.9, 0.15, 0.7, 0.4), "worse": (0.9, 0.1, 0.7, 0.1),
    }  # fmt: skip
    for name, values in versions.items():
        rows = (f"{name}\tq{n}\tnDCG@10\t{value}" for n, value in enumerate(values * 4))
        (tmp_path / f"{name}.tsv").write_text("\n".join(["system\tquery\tmeasure\tvalue", *rows]) + "\n")
    return tmp_path


FAIL = ("--undecided", "fail")


def run(*words: str) -> int:
    try:
        main(["-q", "gate", *words])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.mark.parametrize(
    ("new", "options", "code"),
    [
        ("same", "", 0), ("bad", "", 4), ("noisy", "", 0), ("worse", "", 5),
        ("worse", "--undecided pass", 0), ("noisy", "--undecided fail", 5),
        ("bad", "--undecided pass", 4), ("bad", "--worst-drop 0.2", 1), ("base", "", 1),
        ("other", "", 1), ("same", "-S confidence=1", 2), ("same", "--worst-drop 0", 2),
        ("same", "--undecided fail", 5), ("same", "--undecided fail --worst-drop 0.1", 0),
    ],
)  # fmt: skip
def test_exit_codes(files: Path, new: str, options: str, code: int) -> None:
    """4 for a shown drop, 5 if undecided and not passed, 1 and 2 for errors as in all commands."""
    del files
    undecided = [] if "--undecided" in options else ["--undecided", "estimate"]
    assert run("base.tsv", f"{new}.tsv", "--max-drop", "0.02", *undecided, *options.split()) == code


def test_a_failed_gate_writes_its_report(files: Path) -> None:
    assert run("base.tsv", "bad.tsv", "--max-drop", "0.02", *FAIL, "--format", "md", "-o", "summary.md") == 4
    text = (files / "summary.md").read_text()
    assert text.startswith("# Gate: failed\n\nFailed: bad against base, nDCG@10 drops by 0.3800")
    assert run("base.tsv", "bad.tsv", "--max-drop", "0.02", *FAIL, "--format", "json", "-o", "gate.json") == 4
    (row,) = json.loads((files / "gate.json").read_text())["tables"][0]["rows"]
    assert (row["measure"], row["outcome"], row["queries"]) == ("nDCG@10", "failed", 16)


def test_a_plan_before_and_after_a_pilot(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    rows = [
        f"{system}\tq{n}\tRR\t{value:.3f}" for system in "ab" for n, value in enumerate(rng.random(20) * 0.2)
    ]
    (files / "pilot.tsv").write_text("\n".join(["system\tquery\tmeasure\tvalue", *rows]) + "\n")
    assert run("--plan", "-S", "systems=5") == 0
    assert "takes about 217 queries" in capsys.readouterr().out
    assert run("--plan", "pilot.tsv", "-S", "difference=0.1") == 0
    assert "by how scores vary here" in capsys.readouterr().out
    assert run("--plan", "pilot.tsv", "-m", "other") == 1
    assert "choose one measure with -m" in capsys.readouterr().err
