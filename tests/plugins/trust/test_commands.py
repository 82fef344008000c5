"""Commands that choose their work by the content of their inputs, and options of two sides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.plugins import offered
from tests.cli.test_analyze import folder, shown
from tests.plugins.trust import test_canaries
from tests.test_provenance import files, run

__all__ = ["files", "folder", "shown"]


@pytest.fixture
def games(folder: Path) -> None:
    games = [{"system_a": "x", "system_b": "y", "winner": "A"}]
    sets = [{"llm": llm, "prompt_info": {"prompt_class": "P"}, "games": games} for llm in "mn"]
    (folder / "games.jsonl").write_text(json.dumps({"query_id": "q", "game_sets": sets}) + "\n")


@pytest.mark.usefixtures("games")
@pytest.mark.skipif(not offered("biases of judges"), reason="the plug-in games is deleted")
def test_an_audit_of_games(shown: Callable[[str], str]) -> None:
    assert "Biases of judges" in shown("analyze audit games.jsonl")


def test_graders_by_entry(shown: Callable[[str], str]) -> None:
    assert "Every two graders" in shown("analyze graders graded.jsonl --by entry")


def test_a_system_of_each_side(shown: Callable[[str], str]) -> None:
    assert "y" in shown("gate a.tsv b.tsv --system y --system z --max-drop 0.5 --undecided pass")


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("analyze graders G", "models m, n; prompt P; judgments graded.jsonl; 2 queries"),
        ("analyze graders G --by entry", "models m, n; prompt P; 2 queries"),
    ],
)
def test_reports_name_their_inputs(
    line: str, made: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(line, files)
    assert " ".join(capsys.readouterr().out.split()).endswith(f": {made}.")


with_canaries = test_canaries.files


@pytest.mark.parametrize("more", ["--bank BANK", "--by entry"])
def test_canaries_are_no_graders(with_canaries: test_canaries.Files, tmp_path: Path, more: str) -> None:
    test_canaries.test_outputs_of_other_commands_do_not_change(
        with_canaries, tmp_path, f"analyze graders FILE {more} --format json"
    )


def test_the_report_has_the_agreement_of_the_graders(folder: Path) -> None:
    main(["-q", "evaluate", "report", "graded.jsonl", "-o", "both"])
    assert "Every two graders" in (folder / "both" / "index.html").read_text()
    assert (folder / "both" / "graders.tsv").read_text().startswith("# Every two graders\ngrader\tother")
    main(["-q", "filter", "graded.jsonl", "--grader", "m", "-o", "one.jsonl"])
    main(["-q", "evaluate", "report", "one.jsonl", "-o", "one"])
    assert "grades of another grader" in (folder / "one" / "index.html").read_text()
