"""Mistakes that newcomers make, each answered in one sentence with the right call."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from tests.conftest import PASSAGES

RECOMMENDED = "QuestionSelfRatedUnanswerablePromptWithChoices"
Answer = tuple[int, str]

MISTAKES = [
    # A command that does not exist
    ("evaluate leaderboard graded.jsonl", "No such command 'leaderboard'. Use `exam-pp evaluate cover`."),
    ("score graded.jsonl", "No such command 'score'. Use `exam-pp evaluate cover`."),
    ("cover graded.jsonl", "No such command 'cover'. Use `exam-pp evaluate cover`."),
    ("report graded.jsonl", "No such command 'report'. Use `exam-pp evaluate report`."),
    ("export graded.jsonl", "No such command 'export'. Use `exam-pp convert`."),
    ("evaluations cover graded.jsonl", "No such command 'evaluations'. Did you mean 'evaluate'?"),
    ("evaluate graded.jsonl", "graded.jsonl is a file; `exam-pp evaluate` needs a command before it: cover,"),
    ("graded.jsonl", "graded.jsonl is a file; `exam-pp` needs a command before it: `exam-pp --help` lists"),
    ("version", "No such command 'version'. Use `exam-pp --version`."),
    ("--install-completion", 'Completion needs a line in the start file of the shell, in bash: eval "$(_EX'),
    # A word that does not exist
    (f"show {RECOMMENDED}", f"{RECOMMENDED} is a prompt: use `exam-pp show prompt {RECOMMENDED}`."),
    ("show prompts", "`exam-pp show` cannot be followed by 'prompts'. Did you mean 'prompt'?"),
    ("list model", "`exam-pp list` cannot be followed by 'model'. Did you mean 'models'?"),
    ("verify grids graded.jsonl", "`exam-pp verify` cannot be followed by 'grids'. Did you mean 'grid'?"),
    ("verify graded.jsonl", "`exam-pp verify` needs a word before graded.jsonl: one of grading, grid,"),
    # An option that does not exist, or without its value
    ("evaluate cover graded.jsonl -m nDCG@10", "No such option '-m'. It is an option of `exam-pp evaluate q"),
    ("evaluate cover graded.jsonl --min-grades 3", "No such option '--min-grades'. Did you mean --min-grad"),
    ("evaluate cover graded.jsonl --model lexical", "No such option '--model'. Use --grader."),
    ("evaluate cover graded.jsonl --questions q", "No such option '--questions'. Use --bank."),
    (
        "evaluate judgments --qrels qrels.txt",
        "No such option '--qrels'. GRADED|QRELS is named without an option.",
    ),
    ("import --run runs -o out.gz", "No such option '--run'. Did you mean --runs?"),
    ("import --runs runs --topics t -o out.gz", "No such option '--topics'. Use --queries."),
    ("evaluate cover graded.jsonl --intervals", "--intervals needs a value: one of queries."),
    ("evaluate cover graded.jsonl --format", "--format needs a value: one of text, tsv, json, md, html,"),
    ("evaluate cover graded.jsonl --format HTML", "--format cannot be followed by 'HTML'. Did you mean 'ht"),
    ("generate questions queries.jsonl -o out.gz", "Missing option --model: Hugging Face model, check"),
    ("bank import bank.csv", "Missing option -o / --output: Test bank to write."),
    # Files: a wrong order, ending, kind or name
    ("import runs passages.tsv", "`exam-pp import` takes no files without an option, but no runs, passages."),
    (
        "grade graded.jsonl bank.jsonl -o out.gz --model lexical",
        "`exam-pp grade` takes PASSAGES without an o",
    ),
    (
        "import --runs run --texts passages.tsv -o out.gz",
        "run: cannot be read (No such file or directory). D",
    ),
    ("import --runs 'runs/*.run' -o out.gz", "runs/*.run: cannot be read (No such file or directory). It is"),
    (
        "import --runs runs --passages passages.tsv -o out.gz",
        "--passages needs --from umbrela; the texts of r",
    ),
    (
        "evaluate cover graded.jsonl.gz",
        "graded.jsonl.gz: cannot be read (No such file or directory). Did you",
    ),
    (
        "apply edits.json graded.jsonl -o out.gz",
        "The passages come first: exam-pp apply graded.jsonl edits.j",
    ),
    (
        "evaluate cover graded.jsonl -o x.csv",
        "`exam-pp evaluate cover` cannot write x.csv as csv: choose ano",
    ),
    (
        "evaluate cover graded.jsonl -o x.pdf",
        "`exam-pp evaluate cover` cannot write x.pdf as pdf: choose ano",
    ),
    (
        "evaluate report graded.jsonl -o report.html",
        "Invalid value for '-o' / '--output': report.html has th",
    ),
    (
        "evaluate nuggets graded.jsonl --bank bank.jsonl",
        "A nugget score needs a bank of nuggets, but the ban",
    ),
    (
        "evaluate cover graded.jsonl --bank other.jsonl",
        "No entry of other.jsonl has a grade in graded.jsonl:",
    ),
    (
        "evaluate cover bank.jsonl",
        "bank.jsonl, line 1: is not a line of a passages file, [query id, [passages",
    ),
    (
        "evaluate cover graded.jsonl --bank bank.csv",
        "bank.csv, line 1: is not a line of a test bank, which i",
    ),
    (
        "grade empty.jsonl --bank bank.jsonl --model lexical -o out.gz",
        "empty.jsonl: has no queries with pass",
    ),
    # Names of models and prompts
    (
        "grade graded.jsonl --bank bank.jsonl --model gpt-4o -o out.gz",
        "'gpt-4o' is a model of OpenAI: add --",
    ),
    (
        "grade graded.jsonl --bank bank.jsonl --model flan-t5-large -o out.gz",
        "No model named 'flan-t5-large'.",
    ),
    (
        "grade graded.jsonl --bank bank.jsonl --model Lexical -o out.gz",
        "No model named 'Lexical'. Did you mea",
    ),
    ("show prompt QuestionSelfRated", "No prompt named 'QuestionSelfRated'. Did you mean 'self-rated'?"),
]
"""A call, and the beginning of the last line of its message."""


@pytest.fixture
def files(tmp_path: Path) -> None:
    """The files that the calls name."""
    bank = {
        "query_id": "q1",
        "query_text": "one",
        "items": [{"query_id": "q1", "question_id": "q1/a", "question_text": "a?"}],
    }
    other = bank | {"items": [{"query_id": "q1", "question_id": "q1/other", "question_text": "b?"}]}
    (tmp_path / "graded.jsonl").write_text("".join(json.dumps(line) + "\n" for line in PASSAGES))
    (tmp_path / "bank.jsonl").write_text(json.dumps(bank) + "\n")
    (tmp_path / "other.jsonl").write_text(json.dumps(other) + "\n")
    (tmp_path / "bank.csv").write_text("query_id,question\nq1,a?\n")
    (tmp_path / "passages.tsv").write_text("p1\tone\n")
    (tmp_path / "qrels.txt").write_text("q1 0 p1 1\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q1", "query_text": "one"}')
    (tmp_path / "edits.json").write_text("{}")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.run").write_text("q1 Q0 p1 1 2.0 a\n")


@pytest.fixture
def answer(files: None, capfd: pytest.CaptureFixture[str]) -> Callable[[str], Answer]:
    """Run a call; returns its exit code, and the last line of its message without its prefix."""

    def run(call: str) -> Answer:
        with pytest.raises(SystemExit) as stop:
            main(shlex.split(call))
        last = capfd.readouterr().err.strip().rpartition("\n")[2]
        return int(stop.value.code or 0), last.removeprefix("Error: ").removeprefix("exam-pp: ")

    return run


@pytest.mark.parametrize(("call", "start"), MISTAKES, ids=[call for call, _ in MISTAKES])
def test_mistakes_get_the_right_call(answer: Callable[[str], Answer], call: str, start: str) -> None:
    code, message = answer(call)
    assert code in (1, 2)
    assert message.startswith(start)


def test_the_table_is_long() -> None:
    assert len(MISTAKES) >= 45


def test_data_do_not_flood_a_terminal(
    answer: Callable[[str], Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    code, message = answer("import --runs runs --texts passages.tsv")
    assert (code, message) == (
        2,
        "The output is data, not for a terminal: name a file with -o passages.jsonl.gz.",
    )


def test_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["help", "grade"])
    assert capsys.readouterr().out.startswith("Usage: exam-pp grade ")
