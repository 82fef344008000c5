"""``exam-pp apply`` sees from the files of decisions what they hold."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.store.edits import FORMAT
from scripts.reliability.good_files import lay_out


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    ratings = json.loads(Path("ratings.json").read_text())["ratings"]
    games = json.loads(Path("decisions.json").read_text())["games"]
    Path("mixed.json").write_text(json.dumps({"format": FORMAT, "ratings": ratings, "games": games}))
    return tmp_path


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ("graded.jsonl ratings.json --force", '"human:ana"'),
        ("cited.jsonl ratings.csv --reviewer ann", '"criteria_grades"'),
        ("compared.jsonl decisions.json --games judged-games.jsonl", '"game_sets"'),
    ],
)
def test_the_output_is_that_of_the_kind(line: str, content: str) -> None:
    main(["-q", "apply", *shlex.split(line), "-o", "out.jsonl"])
    assert content in Path("out.jsonl").read_text()


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("cited.jsonl ratings.csv", 2, "is no edits file, and a spreadsheet needs --reviewer NAME."),
        ("cited.jsonl ratings.csv --reviewer ann --force", 2, "--force needs edits of ratings."),
        ("cited.jsonl ratings.csv --reviewer ann --seed 1", 2, "--seed needs decisions on games."),
        ("graded.jsonl ratings.json --max-rating 3", 2, "--max-rating needs a spreadsheet of ratings."),
        ("compared.jsonl decisions.json --bank bank.jsonl", 2, "--bank needs edits of ratings."),
        ("compared.jsonl decisions.json --prompt X", 2, "--prompt needs ratings."),
        (
            "graded.jsonl ratings.json decisions.json", 1,
            "ratings.json has edits of ratings, but decisions.json has decisions on games: apply one kind",
        ),
        (
            "graded.jsonl mixed.json", 1,
            "mixed.json has edits of ratings, but mixed.json has decisions on games: apply one kind",
        ),
        ("graded.jsonl bank.jsonl", 1, "bank.jsonl"),
    ],
)  # fmt: skip
def test_options_and_files_of_another_kind_are_refused(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["apply", *shlex.split(line), "-o", "out.jsonl"])
    assert stop.value.code == code
    assert message in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
