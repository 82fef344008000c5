"""The benchmark that makes the tables of the model card."""

from __future__ import annotations

import json
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


def test_squad_questions_with_and_without_answers(graders: ModuleType, tmp_path: Path) -> None:
    answerable = {
        "question": "Where?",
        "answers": [{"text": "France", "answer_start": 3}],
        "is_impossible": False,
    }
    impossible = {"question": "Who?", "answers": [], "is_impossible": True}
    paragraphs = [{"context": "In France.", "qas": [answerable, impossible]}]
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}), encoding="utf-8")
    first, second = graders.read_squad(path)
    assert (first.question, first.context, first.answers) == ("Where?", "In France.", ["France"])
    assert second.answers == []


@pytest.mark.integration
def test_missing_data_gives_a_message(repository: Path, tmp_path: Path) -> None:
    script = repository / "scripts" / "bench" / "graders.py"
    done = subprocess.run(
        [sys.executable, str(script), "--shared", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("graders.py: ")
    assert "Traceback" not in done.stderr


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
