"""Nugget scores as AutoNuggetizer writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.phases.analysis.nugget_conditions import compare_conditions, two_conditions
from exam_pp.phases.evaluation.nugget_leaderboard import read_conditions
from tests.conftest import data_error
from tests.phases.analysis.test_nugget_conditions import ALONE, both_graders
from tests.phases.evaluation.test_nugget_scores import Run, bank, graded, run

__all__ = ["bank", "both_graders", "graded", "run"]


def test_metrics_of_autonuggetizer(run: Run, graded: Path, bank: Path, tmp_path: Path) -> None:
    path = tmp_path / "full.jsonl"
    command = ("evaluate", "nuggets", graded, "--bank", bank, "--format", "nuggetizer", "-o", path)
    run(*command, "--system", "full")
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert [line["qid"] for line in lines] == ["q1", "q2", "all"]
    assert list(lines[0]) == [
        "qid", "strict_vital_score", "vital_score", "strict_weighted_score", "weighted_score",
        "strict_all_score", "all_score",
    ]  # fmt: skip
    assert lines[2]["vital_score"] == (0.75 + 1) / 2
    assert read_conditions([path])[0].means("V") == {"full": (0.75 + 1) / 2}
    with pytest.raises(SystemExit):
        run(*command)


def test_folders_of_metrics_are_conditions(both_graders: tuple[Path, Path], tmp_path: Path) -> None:
    """AutoNuggetizer's metrics files do not name the run, so a file is a run and a folder a condition."""
    graded, bank = both_graders
    for name, model in (("auto", "judge"), ("manual", "human:ann")):
        (tmp_path / name).mkdir()
        for system in "abc":
            main(
                ["evaluate", "nuggets", str(graded), "--bank", str(bank),
                 "--grader", model, "--system", system,
                 "--format", "nuggetizer", "-o", str(tmp_path / name / f"{system}.jsonl")]
            )  # fmt: skip
    folders = [tmp_path / "auto", tmp_path / "manual"]
    direct = compare_conditions(*two_conditions(read_conditions([graded], [bank], rules=ALONE))).metrics
    agreement = read_conditions(folders)

    assert [condition.name for condition in agreement] == ["auto", "manual"]
    assert compare_conditions(*two_conditions(agreement)).metrics == direct
    with pytest.raises(SystemExit):
        main(["evaluate", "nuggets", str(folders[0]), "-o", str(folders[0] / "a.jsonl")])
    (folders[0] / "a.json").write_bytes((folders[0] / "a.jsonl").read_bytes())
    with pytest.raises(DataError, match=r"a\.jsonl: .*'a'.* a\.json;"):
        read_conditions(folders)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: .*scores"):
        read_conditions([tmp_path / "empty"])


def test_a_topic_with_two_values(tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    file.write_text("".join(f'{{"qid": "1", "all_score": {score}}}\n' for score in (0.5, 0.5, 0.6)))
    with data_error(file, 3, about="'m' has two values of 'A' for the query '1'."):
        read_conditions([file])
