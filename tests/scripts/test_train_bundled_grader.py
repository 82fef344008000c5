"""The training script writes a checkpoint that the package can load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm.base import LLM
from exam_pp.llm_requests import Part, Request


@pytest.mark.slow
def test_a_short_training_ends_and_continues(repository: Path, tmp_path: Path) -> None:
    def train(*more: str) -> LLM:
        command = [sys.executable, "scripts/train_bundled_grader.py", "--smoke", "--threads", "1"]
        subprocess.run(
            [*command, "--work-dir", tmp_path / "work", "--out", tmp_path / "made", *more],
            cwd=repository,
            check=True,
            capture_output=True,
        )
        return load_llm(ModelOptions(str(tmp_path / "made"), engine="transformers"))

    request = Request((Part("Question: why? Context: "), Part("Because.", "context", may_be_cut=True)))
    llm = train()
    first = (tmp_path / "made" / "model.safetensors").read_bytes()
    assert dict(llm.generate([request]))[0].error is None
    train("--resume")  # all steps of the saved state are done
    assert (tmp_path / "made" / "model.safetensors").read_bytes() == first
    train("--start", str(tmp_path / "made"))
    assert (tmp_path / "made" / "model.safetensors").read_bytes() != first
