"""The benchmark that makes the tables of the model card."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def graders(repository: Path) -> ModuleType:
    """The script as a module."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("bench_graders", repository / "scripts" / "bench" / "graders.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_token_f1_is_that_of_squad(graders: ModuleType) -> None:
    """Normalisation and F1 as in the official evaluate-v2.0.py; values computed by hand."""
    assert graders.token_f1("The Normans.", "normans") == 1
    assert graders.token_f1("in the 10th century", "10th and 11th centuries") == pytest.approx(2 / 7)
    assert graders.token_f1("France", "Spain") == 0
    assert graders.token_f1("", "Spain") == 0


@pytest.mark.slow
def test_tables_on_a_small_sample(repository: Path, shared_data: Path) -> None:
    script = repository / "scripts" / "bench" / "graders.py"
    done = subprocess.run(
        [sys.executable, str(script), "--models", "constant", "--sample", "3", "--shared", str(shared_data)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    constant = next(line for line in done.stdout.splitlines() if line.startswith("| constant"))
    cells = [cell.strip() for cell in constant.strip("|").split("|")]
    assert cells[:4] == ["constant", "–", "0.000", "0.500"]
