"""Mistakes in a command line are refused before any work, and wrong files with a message that helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.llm.base import LLM

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
WriteLines = Callable[[str, list[Any]], Path]
Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Refused:
    """Run a command that fails, with ``notes.txt`` as a file of no format; exit code and the last message."""
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("This is a note.\nIt has two lines.\n")
    Path("empty.jsonl").write_text("")

    def call(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return int(stop.value.code or 0), capfd.readouterr().err.strip().rpartition("\n")[2]

    return call


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("-o", "absent/out.txt"), "the folder absent does not exist"),
        (("-o", "."), ". is a folder. Name a file with -o."),
        (("--plot", "absent/plot.svg"), "the folder absent does not exist"),
        (("--plot", "plot.pdf"), "plot.pdf: the name of a figure must end with .svg; other programs"),
        (("--plot", "plot"), "plot: the name of a figure must end with .svg; other programs"),
    ],
)
def test_outputs_are_checked_before_inputs_are_read(
    refused: Refused, option: tuple[str, str], message: str
) -> None:
    code, error = refused("evaluate", "cover", "notes.txt", *option)
    assert code == 1
    assert message in error


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate cover notes.txt --seed 0", "--seed needs --intervals or --significance."),
        ("evaluate qrels notes.txt --method-name tag", "--method-name needs --runs."),
        (
            "analyze correlation notes.txt --official notes.txt -S samples=200",
            "-S samples needs --intervals.",
        ),
        ("analyze sweep notes.txt --official notes.txt -m RR", "--measure needs --runs."),
        (
            "analyze sweep notes.txt --official notes.txt --intervals queries --format published",
            "--intervals is not available with --format published.",
        ),
        ("import --answers notes.txt --top 5", "--top needs --runs or --from car-pages."),
        ("import --runs notes.txt --unit whole", "--unit needs --answers."),
        ("import -o o", "import needs --runs, --answers or --from."),
        ("convert notes.txt --to umbrela", "--to umbrela needs --queries."),
        ("convert notes.txt --to rag24 --measure m", "--measure has no effect on --to rag24."),
        ("generate answers notes.txt -o o --model fake --max-passages 5", "--max-passages needs --passages."),
        (
            "nuggetize notes.txt -o o --queries notes.txt --model fake --grader m --min-judgment all",
            "--grader needs a number as --min-judgment.",
        ),
    ],
)
def test_combinations_of_options_that_cannot_work_are_refused(
    refused: Refused, command: str, message: str
) -> None:
    code, error = refused(*command.split())
    assert (code, error) == (2, f"Error: {message}")


@pytest.mark.parametrize(
    "command",
    ["evaluate qrels notes.txt --runs notes.txt", "evaluate judgments notes.txt --runs notes.txt",
     "evaluate report notes.txt -o out", "analyze sweep notes.txt --official notes.txt"],
)  # fmt: skip
def test_measures_are_checked_before_inputs_are_read(refused: Refused, command: str) -> None:
    assert "No measure named 'nDGC@10'" in refused(*command.split(), "-m", "nDGC@10")[1]


@pytest.mark.parametrize("more", [[], ["--plan"]])
def test_files_that_do_not_fit_are_refused_before_the_model_is_loaded(
    refused: Refused, tiny_passages: Path, tiny_bank: Path, write_jsonl: WriteLines,
    monkeypatch: pytest.MonkeyPatch, more: list[str],
) -> None:  # fmt: skip
    def load(_options: object) -> LLM:
        pytest.fail("the model is loaded")

    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", load)
    item = {"query_id": "x", "question_id": "x/a", "question_text": "What?"}
    other = write_jsonl("other.jsonl", [{"query_id": "x", "query_text": "x", "items": [item]}])
    grade = ["--prompt", RATED, "--model", "fake", "-o", "out.jsonl", *more]
    assert "has no queries with passages." in refused("grade", "empty.jsonl", "--bank", tiny_bank, *grade)[1]
    assert "has no entries for the queries" in refused("grade", tiny_passages, "--bank", other, *grade)[1]


def test_wrong_files_are_named(refused: Refused, tiny_passages: Path) -> None:
    assert "names no measures, so it is not a leaderboard" in refused("evaluate", "nuggets", "notes.txt")[1]
    assert "notes.txt is not a passages file" in refused("analyze", "agreement", "notes.txt")[1]
    assert "empty.jsonl: has no queries, so it gives no order" in refused(
        "merge", tiny_passages, "--passages", "empty.jsonl", "-o", "out.jsonl"
    )[1]  # fmt: skip


def test_json_files_that_are_empty_or_hold_several_values(refused: Refused, tiny_bank: Path) -> None:
    imported = ("bank", "import", "empty.jsonl", "--from", "tqa", "-o", "bank.jsonl")
    assert refused(*imported) == (1, "exam-pp: empty.jsonl: is empty.")
    error = refused("bank", "apply", tiny_bank, tiny_bank, "-o", "new.jsonl")[1]
    assert "has several JSON values, perhaps one per line, but must be a single one (Extra data: " in error


def test_official_ranks_of_other_systems_are_refused(
    refused: Refused, tiny_passages: Path, tiny_bank: Path, tmp_path: Path
) -> None:
    (tmp_path / "ranks.json").write_text('{"other": 1, "another": 2}')
    (tmp_path / "board.tsv").write_text("system\tRR\nbm25\t0.5\n")
    (tmp_path / "board-2.tsv").write_text("system\tRR\nbm25\t0.6\n")
    (tmp_path / "scores.tsv").write_text("system\tRR\nother\t0.6\n")
    compare = ["analyze", "correlation", "board.tsv", "board-2.tsv", "--by", "system"]
    for command in (
        [
            "evaluate",
            "report",
            tiny_passages,
            "--bank",
            tiny_bank,
            "-o",
            "report",
            "--official",
            "ranks.json",
        ],
        [*compare, "--official", "ranks.json"],
        [*compare, "--official", "scores.tsv"],
    ):
        code, error = refused(*command)
        assert code == 1
        assert "have no system in common." in error
    assert not Path("report").exists()


def test_parts_of_an_empty_file_are_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty file is no error, because it may be a shard without queries."""
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    for command in (["filter", "--remove", "grades"], ["sample", "--max-queries", "1"]):
        main([command[0], str(empty), *command[1:], "-o", str(tmp_path / "out.jsonl")])
        assert f"{empty} has no queries." in capsys.readouterr().err
