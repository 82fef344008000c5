"""Calls that are refused: exit code and message, no output, inputs untouched.

The table is tests/cli/refusals.json: calls, their exit code, and a part of their message.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.llm.base import LLM
from exam_pp.store.edits import FORMAT
from scripts.reliability.good_files import GOOD, RATED, lay_out

TABLE: dict[str, list[Any]] = json.loads(Path(__file__).with_name("refusals.json").read_text("utf-8"))
ROWS = [pytest.param(*row, id=row[0]) for rows in TABLE.values() for row in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The good files, and files of other kinds."""
    folder = tmp_path_factory.mktemp("refusals")
    lay_out(folder)
    (folder / "folder").mkdir()
    mixed = json.loads(GOOD["ratings.json"]) | json.loads(GOOD["decisions.json"]) | {"format": FORMAT}
    for name, content in {
        "notes.txt": "This is a note.\nIt has two lines.\n",
        "empty.jsonl": "",
        "edits.json": "{}",
        "ranks.json": '{"x": 1, "y": 2}',
        "passages.tsv": "p1\tone\n",
        "mixed.json": json.dumps(mixed),
        "unknown.jsonl": GOOD["bank.jsonl"].replace("q1/", "q1/x").replace("007/", "007/x"),
    }.items():
        (folder / name).write_text(content)
    return folder


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize(("call", "code", "message"), ROWS)
def test_refused(
    call: str, code: int, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    before = files(folder)
    with pytest.raises(SystemExit) as stop:
        main(shlex.split(call))
    out, err = capfd.readouterr()
    assert message in " ".join(err.split())
    assert (stop.value.code, out) == (code, "")
    assert files(folder) == before


@pytest.mark.parametrize("more", [[], ["--plan"]])
def test_files_that_do_not_fit_are_refused_before_the_model_is_loaded(
    more: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def load(_options: object) -> LLM:
        pytest.fail("the model is loaded")

    monkeypatch.chdir(folder)
    for module in ("phases.grading.grading_run", "cli.grading.plan"):
        monkeypatch.setattr(f"exam_pp.{module}.load_llm", load)
    Path("none.jsonl").write_text(GOOD["bank.jsonl"].replace("q1", "x").replace("007", "y"))
    for words in ("empty.jsonl --bank bank.jsonl", "graded.jsonl --bank none.jsonl"):
        with pytest.raises(SystemExit):
            main(["grade", *words.split(), "--prompt", RATED, "--model", "fake", "-o", "out.jsonl", *more])
    err = capfd.readouterr().err
    assert "has no queries with passages." in err
    assert "has no entries for the queries" in err


def test_data_do_not_flood_a_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(SystemExit):
        main(["import", "--runs", "runs", "--texts", "texts.tsv"])
    assert "is data, not for a terminal: name a file with -o passages.jsonl.gz." in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["filter empty.jsonl --remove grades", "sample empty.jsonl --max-queries 1"]
)
def test_parts_of_an_empty_file_are_warned_of(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty file is no error, because it may be a shard without queries."""
    monkeypatch.chdir(folder)
    main([*command.split(), "-o", "/dev/null"])
    assert "empty.jsonl has no queries." in capsys.readouterr().err
