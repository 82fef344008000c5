"""Broken input: one sentence with file, line and field, exit code 1, no output, inputs untouched.

The tables are in tests/broken_files/. A case replaces some of the good files below (`files`; null
removes one), may damage one (`truncate`, `corrupt`: a file is gzipped and cut off, or scrambled), and
runs a command. `error` is what the last line on standard error must be after `exam-pp: `, or after
`Error: ` for the exit code of wrong usage, 2.
"""

from __future__ import annotations

import gzip
import json
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from scripts.command_tree import is_here
from tests.conftest import PASSAGES

GOOD = {
    "graded.jsonl": "".join(json.dumps(line) + "\n" for line in PASSAGES),
    "bank.jsonl": json.dumps(
        {
            "query_id": "q1",
            "test_collection": "c",
            "query_text": "a query",
            "items": [{"query_id": "q1", "question_id": "q1/a", "question_text": "What?"}],
        }
    )
    + "\n",
    "queries.tsv": "q1\ta query\n007\tanother\n",
    "texts.tsv": "p1\tText of p1.\np2\tText of p2.\n",
    "qrels.txt": "q1 0 p1 3\nq1 0 p2 0\n",
    "runs/a.run": "q1 Q0 p1 1 2.0 a\nq1 Q0 p2 2 1.0 a\n",
    "runs/b.run": "q1 Q0 p2 1 2.0 b\nq1 Q0 p1 2 1.0 b\n",
    "board.tsv": "system\tnDCG@10\na\t0.9\nb\t0.5\n",
    "edits.json": '{"format": "exam_pp.edits.v1", "bank": []}\n',
    "official.json": '{"a": 1, "b": 2}\n',
}

COMMANDS = {
    "import": "import --runs runs --texts texts.tsv --qrels qrels.txt --queries queries.tsv -o out.jsonl.gz",
    "grade": "grade graded.jsonl -o out.jsonl.gz --bank bank.jsonl --model fake "
    "--prompt QuestionSelfRatedUnanswerablePromptWithChoices",
    "generate": "generate questions queries.tsv -o out.jsonl --model fake",
    "apply": "bank apply bank.jsonl edits.json -o out.jsonl",
    "verify": "verify grading graded.jsonl -o out.txt",
    "cover": "evaluate cover graded.jsonl --bank bank.jsonl -o out.tsv",
    "qrels": "evaluate qrels graded.jsonl -o out.qrels",
    "qrels-runs": "evaluate qrels graded.jsonl --runs runs -o out.tsv",
    "judgments": "evaluate judgments qrels.txt --runs runs -o out.tsv",
    "correlation": "analyze correlation board.tsv --official official.json -o out.txt",
}


CASES: list[dict[str, Any]] = [
    case
    for table in sorted((Path(__file__).parent / "broken_files").glob("*.json"))
    for case in json.loads(table.read_text(encoding="utf-8"))
    if is_here(case["command"]) or case["command"] in COMMANDS
]


def lay_out(folder: Path, case: dict[str, Any]) -> None:
    for name, content in (GOOD | case.get("files", {})).items():
        if content is None:
            continue
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(content), encoding="utf-8", newline="")
    if name := case.get("truncate") or case.get("corrupt"):
        data = bytearray(gzip.compress((folder / name).read_bytes()))
        if "corrupt" in case:
            data[len(data) // 2] ^= 0xFF
        (folder / name).write_bytes(data if "corrupt" in case else data[:-12])


def _with_options(command: str, options: str) -> list[str]:
    """The words of a command, in which the options replace those of the same name."""
    words, more = shlex.split(command), shlex.split(options)
    for name in words[:]:
        if name in more and name in ("-o", "--model"):
            position = words.index(name)
            del words[position : position + 2]
    return words + more


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_broken_file(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if case["name"] == "grade: no such checkpoint":
        pytest.importorskip("torch")
    lay_out(tmp_path, case)
    before = snapshot(tmp_path)
    command = case["command"]
    with pytest.raises(SystemExit) as stop:
        main(_with_options(COMMANDS.get(command, command), case.get("options", "")))
    out, err = capsys.readouterr()
    prefix = "Error: " if case.get("exit") == 2 else "exam-pp: "
    last = err.rstrip("\n").split("\n")[-1]
    assert last.startswith(prefix), err
    message = last.removeprefix(prefix)
    if "..." in case["error"]:
        start, end = case["error"].split("...")
        assert message.startswith(start)
        assert message.endswith(end)
    else:
        assert message == case["error"]
    assert stop.value.code == case.get("exit", 1)
    assert out == ""
    assert snapshot(tmp_path) == before, "no output left behind, inputs untouched"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_good_files_are_good(command: str, tmp_path: Path) -> None:
    """The cases are meaningful only if the undamaged files are valid."""
    lay_out(tmp_path, {})
    with suppress(SystemExit):
        main(shlex.split(COMMANDS[command]))
    assert list(tmp_path.glob("out.*"))
