"""Fuzzing with damaged inputs: 2,000 cases; `python -m scripts.reliability.fuzz` tries more."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from scripts.reliability.fuzz import Outcome, fuzz, run_case
from scripts.reliability.good_files import GOOD, Target, targets
from scripts.reliability.mutations import MUTATIONS


def described(problems: list[Outcome]) -> str:
    return "\n".join(f"{p.command} ({p.file}, {p.mutation}): {p.problem}" for p in problems)


@pytest.mark.parametrize("target", targets(), ids=lambda target: f"{target.command} [{target.file}]")
def test_the_good_files_are_valid(target: Target, tmp_path: Path) -> None:
    outcome = run_case(tmp_path / "case", target, "none", GOOD[target.file].encode())
    assert (outcome.code, outcome.problem) == (0, ""), outcome.message


@pytest.mark.timeout(1200)
def test_damaged_files() -> None:
    result = fuzz(2_000, seed=1)
    assert not result.problems, described(result.problems)
    assert result.refused.total() > 600, "the damage does something"
    assert set(result.cases) == set(MUTATIONS)


def test_files_of_other_kinds(tmp_path: Path) -> None:
    """Any file in place of the right one: a sentence, or an output if it fits, never a traceback."""
    cases = [(target, name) for target in targets() for name in GOOD if name != target.file]
    for target, name in Random(1).sample(cases, 1_000):
        outcome = run_case(tmp_path / "case", target, "none", GOOD[name].encode())
        assert not re.search(r" at \S+\.py:\d+", outcome.problem), (target.command, name, outcome.problem)


def test_lost_passages_and_changed_inputs_are_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def forgetful(arguments: list[str]) -> None:
        lines = Path("graded.jsonl").read_text().splitlines()
        Path("out").write_text(lines[0] + "\n")

    def careless(arguments: list[str]) -> None:
        Path("graded.jsonl").write_text("")

    target = Target("graded.jsonl", "merge {} -o out", keeps=True)
    for command, problem in ((forgetful, "lost: "), (careless, "inputs were changed: ['graded.jsonl']")):
        monkeypatch.setattr("scripts.reliability.fuzz.exam_pp", command)
        outcome = run_case(tmp_path / "case", target, "none", GOOD["graded.jsonl"].encode())
        assert outcome.problem.startswith(problem)
