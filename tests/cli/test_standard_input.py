"""Every kind of input may be ``-``: the output is that of a file, or one sentence says why not."""

from __future__ import annotations

import gzip
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from exam_pp.cli.main import cli, main
from exam_pp.cli.options import InputPath
from scripts.command_tree import kinds_of
from scripts.reliability.good_files import RATED, lay_out
from tests.cli.test_outputs import path_type
from tests.conftest import without_times

SET = "--grader model --grades type=question"
ASK = "--model fake"
COMMANDS = (
    "import --runs runs/a.run --texts texts.tsv --qrels qrels.txt --queries queries.tsv -o out",
    "import --answers answers.jsonl -o out",
    "import --answers ragelo_answers.csv -o out",
    "import --from car-pages pages.jsonl -o out",
    "import --from candidates candidates.jsonl -o out",
    "import --from nuggetizer-assignments assignments.jsonl --passages answers-passages.jsonl "
    "--bank nuggets-bank.jsonl -o out",
    "import --from umbrela umbrela.jsonl --passages graded.jsonl --queries queries.tsv -o out",
    "convert topics.xml --to queries-json -o out",
    "convert official.tsv --to official-json -o out",
    "convert open_rag_eval.csv --to rag24 -o out",
    "convert runs/a.run --to run -o out",
    "merge graded.jsonl --passages other.jsonl -o out",
    "merge all.games.jsonl --passages all.games.jsonl -o out",
    "split graded.jsonl -n 2 -o out",
    "sample graded.jsonl --max-passages 1 --by judgment=equal -o out",
    "canaries add graded.jsonl --queries queries.tsv -o out",
    f"generate questions queries.jsonl {ASK} --facets title --prompt-file questions.toml -o out",
    f"nuggetize graded.jsonl --queries queries.tsv {ASK} --prompt-file creation.toml -o out",
    "bank import bank.csv --from csv --bank bank.jsonl -o out",
    "bank import nuggets.jsonl --from nuggetizer -o out",
    "bank import squad.json --from squad2 -o out",
    "bank import tqa.json --from tqa -o out",
    "bank import genq.json --from genq -o out",
    "bank import autojudge.json --from autojudge -o out",
    "bank apply bank.jsonl bank_edits.json --force -o out",
    f"grade passages.jsonl --bank bank.jsonl {ASK} --prompt-file prompt.toml --queries queries.tsv -o out",
    f"grade passages.jsonl --bank bank.jsonl --model lexical --prompt {RATED} -o out",
    "grade-panel passages.jsonl --config panel.toml --bank bank.jsonl --queries queries.tsv -o out",
    f"reread graded.jsonl --bank bank.jsonl --prompt-file prompt.toml {SET} -o out",
    f"verify grading graded.jsonl --bank bank.jsonl {SET} -o out",
    f"review graded.jsonl --bank bank.jsonl --pairs pairs.json --force {SET} -o out",
    "apply answers-passages.jsonl ratings.csv --reviewer ann -o out",
    "apply graded.jsonl ratings.json --prompt-file prompt.toml --bank bank.jsonl --force -o out",
    "apply compared.jsonl decisions.json --games judged-games.jsonl --queries queries.tsv -o out",
    f"evaluate cover graded.jsonl --bank bank.jsonl --queries queries.json --official official.json {SET} "
    "-o out",
    f"evaluate qrels graded.jsonl --bank bank.jsonl --queries queries.json --runs runs/a.run {SET} "
    "--official official.json --fill-holes qrels.txt -o out",
    "evaluate judgments qrels.txt --runs runs/a.run -o out",
    f"grade cited.jsonl --queries queries.tsv --prompt-file criteria.toml {ASK} -o out",
    "evaluate nuggets assigned.jsonl --bank nuggets-bank.jsonl --queries queries.json --run-types types.tsv "
    "-o out",
    f"evaluate report graded.jsonl --bank bank.jsonl --runs runs/a.run --official official.json {SET} "
    "--qrels qrels.txt -o out",
    "analyze correlation board.tsv --official official.json -o out",
    "analyze audit all.games.jsonl --families families.toml -o out",
    f"analyze audit graded.jsonl --bank bank.jsonl {SET} -o out",
    "analyze graders all.games.jsonl -o out",
    "query graded.jsonl 'SELECT count(*) FROM grades' -o out",
    "query graded.jsonl --bank bank.jsonl --queries queries.tsv --scores eval.txt --runs runs/a.run "
    "--save out",
    "validate answers.jsonl -o out",
)

ASSIGN = "--prompt NuggetAssignmentPointwise --model random"
SETUP = f"""
filter graded.jsonl --remove grades -o passages.jsonl
grade passages.jsonl --queries queries.tsv --prompt GradedRelevance --model fake -o umbrela-graded.jsonl
convert umbrela-graded.jsonl --to umbrela --queries queries.tsv -o umbrela.jsonl
import --answers answers.jsonl --unit whole -o answers-passages.jsonl
bank import nuggets.jsonl --from nuggetizer -o nuggets-bank.jsonl
grade answers-passages.jsonl --bank nuggets-bank.jsonl {ASSIGN} -o assigned.jsonl
convert assigned.jsonl --to nuggetizer-assignments --bank nuggets-bank.jsonl -o assignments.jsonl
show prompt QuestionGenerationDL --format toml -o questions.toml
show prompt NuggetCreation --format toml -o creation.toml
"""

NO_NAME = "exam-pp: standard input: has no file name, which names the system of a run."
REFUSED = {
    "--runs": NO_NAME,
    "runs": NO_NAME,
    "--from candidates": NO_NAME,
    "convert runs/a.run": NO_NAME,
    "convert open_rag_eval.csv": "exam-pp: Open RAG Eval takes the name of the system from the file;",
}
"""Inputs that cannot be standard input, and why."""
NO_REPLIES = "exam-pp: The model 'fake' wrote no "


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files that :data:`COMMANDS` name."""
    path = tmp_path_factory.mktemp("inputs")
    lay_out(path)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(path)
        for command in SETUP.strip().splitlines():
            main(["-q", *shlex.split(command)])
    (path / "ratings.csv").write_text("query_id,system,accuracy\nq1,one,2\nq1,two,1\n")
    (path / "types.tsv").write_text("one\tRAG\ntwo\tAG\nthree\tAG\n")
    return path


def command_of(words: list[str]) -> tuple[str, click.Command]:
    """The name of a command, and the command; its arguments remain in ``words``."""
    command: click.Command = cli
    name = ""
    while isinstance(command, click.Group):
        word = words.pop(0)
        member = command.get_command(click.Context(command), word)
        assert member is not None
        command, name = member, f"{name} {word}".strip()
    if words[0] in kinds_of(command):
        words.pop(0)
    return name, command


def inputs_of(command: click.Command) -> list[click.Parameter]:
    outputs = {"output", "journal", "status_file", "trace"}
    return [
        param
        for param in command.params
        if isinstance(path_type(param), click.Path)
        and (
            isinstance(path_type(param), InputPath)
            or (param.name in {"files", "arguments"} and param.name not in outputs)
        )
    ]


def cases() -> Iterator[tuple[str, str, int]]:
    """Command, input, and the position of its file in the command."""
    for line in COMMANDS:
        words = shlex.split(line)
        rest = words.copy()
        _, command = command_of(rest)
        first = len(words) - len(rest)
        options = {name.partition(" ")[0]: param for param in command.params for name in param.opts}
        inputs = inputs_of(command)
        arguments = [param for param in inputs if isinstance(param, click.Argument)]
        kinds = [
            choice
            for param in command.params
            if param.name == "kind"
            for choice in getattr(param.type, "choices", ())
        ]
        first += words[first] in kinds
        for position in range(first, len(words)):
            before = options.get(words[position - 1]) if position > first else None
            if isinstance(before, click.Option) and before.nargs == 2:
                continue
            two_before = options.get(words[position - 2]) if position > first + 1 else None
            if isinstance(two_before, click.Option) and two_before.nargs == 2:
                yield line, two_before.opts[-1] + f" {words[position - 1]}", position
            elif isinstance(before, click.Option) and not before.is_flag:
                if before in inputs:
                    yield line, before.opts[-1], position
            elif not words[position].startswith("-") and words[position] != "SELECT count(*) FROM grades":
                assert arguments, (line, words[position])
                param = arguments[0] if arguments[0].nargs == -1 else arguments.pop(0)
                yield line, str(param.name), position


CASES = list(cases())


def result(
    words: list[str], data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, dict[str, bytes]]:
    """Exit code, standard error, and the files that a command writes, which are then deleted."""
    before = set(Path().rglob("*"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    code = 0
    try:
        main(["-q", *words])
    except SystemExit as stop:
        code = int(stop.code or 0)
    shown = capsys.readouterr()
    files = {}
    assert shown.out == ""
    for path in sorted(set(Path().rglob("*")) - before, reverse=True):
        if path.is_file():
            files[str(path)] = path.read_bytes()
            path.unlink()
        else:
            path.rmdir()
    return code, without_times(shown.err), files


def contents(files: dict[str, bytes], file: str) -> list[str]:
    """The unzipped texts of files, without databases; names of the input and lines of tables are dashes."""
    texts = []
    for path, content in files.items():
        unzipped = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        if b"DUCK" in content[:12] or content.startswith(b"\x89PNG") or path.endswith(".journal"):
            continue
        # The tables of a review page are compressed, with the name of the input.
        text = re.sub(r"<script.*?</script>", "", unzipped.decode(), flags=re.DOTALL)
        for name in (file, file.partition(".")[0]):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "-", text)
        texts.append(re.sub(r"[-\s]+", "-", text))
    return texts


@pytest.mark.parametrize(
    ("line", "name", "position"), CASES, ids=[f"{n}-{w.split()[0]}-{p}" for w, n, p in CASES]
)
def test_an_input_from_standard_input(
    line: str,
    name: str,
    position: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    words = shlex.split(line)
    file = words[position]
    expected = result(words, b"", monkeypatch, capsys)
    assert expected[0] == 0 or expected[1].startswith(NO_REPLIES), expected[1]
    from_input = [*words[:position], "-", *words[position + 1 :]]
    code, err, files = result(from_input, (folder / file).read_bytes(), monkeypatch, capsys)
    refusals = [
        text
        for key, text in REFUSED.items()
        if key == name or (line.startswith(f"{key} ") and name == "source")
    ]
    if refusals:
        assert code == 1
        assert err.startswith(refusals[0])
        assert err.count("\n") == 1
        assert files == {}
        return
    assert (code, err) == (expected[0], expected[1].replace(file, "-"))
    if not line.startswith("split"):  # standard input has no name, so the parts have another one
        assert sorted(files) == sorted(expected[2])
    assert contents(files, file) == contents(expected[2], file)


@pytest.mark.parametrize("command", ["merge - -", "grade - --bank - --model fake", "diff - -"])
def test_standard_input_is_one_input(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "-o", "out"])
    assert stop.value.code == 2
    assert "standard input (-) can only be one of the inputs." in capsys.readouterr().err


@pytest.mark.parametrize("command", ["merge - -o out.jsonl", "verify grading -", "validate -"])
def test_a_closed_standard_input_is_one_sentence(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", None)  # as Python starts after `<&-`
    with pytest.raises(SystemExit) as stop:
        main(shlex.split(command))
    assert stop.value.code == 1
    shown = capsys.readouterr()
    assert "is closed" in shown.err + shown.out
