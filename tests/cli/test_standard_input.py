"""Every kind of input may be a pipe or ``-``: the output is that of a file, or one sentence says why not."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from scripts.command_tree import is_here
from scripts.reliability.good_files import lay_out
from tests.conftest import without_times

COMMANDS = """
import --runs !runs/a.run --texts <texts.tsv --qrels <qrels.txt --queries <queries.tsv
import --answers <answers.jsonl
import --answers <ragelo_answers.csv
import --from car-pages <pages.jsonl
import --from candidates !candidates.jsonl
import --from nuggetizer-assignments <assignments.jsonl --passages <answers-passages.jsonl --bank \\
    <nuggets-bank.jsonl
import --from umbrela <umbrela.jsonl --passages <graded.jsonl --queries <queries.tsv
convert <topics.xml --to queries-json
convert <official.tsv --to official-json
convert !open_rag_eval.csv --from open-rag-eval --to rag24
convert !runs/a.run --to run
merge <graded.jsonl --passages <other.jsonl
merge <all.games.jsonl --passages <all.games.jsonl
split <graded.jsonl -n 2
sample <graded.jsonl --max-passages 1 --by judgment=equal
canaries add <graded.jsonl --queries <queries.tsv
generate questions <queries.jsonl --model fake --facets title --prompt-file <questions.toml
nuggetize <graded.jsonl --queries <queries.tsv --model fake --prompt-file <creation.toml
bank import <bank.csv --from csv --bank <bank.jsonl
bank import <nuggets.jsonl --from nuggetizer
bank import <squad.json --from squad2
bank import <tqa.json --from tqa
bank import <genq.json --from genq
bank import <autojudge.json --from autojudge
bank apply <bank.jsonl <bank_edits.json --force
grade <passages.jsonl --bank <bank.jsonl --model fake --prompt-file <prompt.toml --queries <queries.tsv
grade <passages.jsonl --bank <bank.jsonl --model lexical --prompt self-rated
grade-panel <passages.jsonl --config <panel.toml --bank <bank.jsonl --queries <queries.tsv
reread <graded.jsonl --bank <bank.jsonl --prompt-file <prompt.toml --grader model --grades type=question
verify grading <graded.jsonl --bank <bank.jsonl --grader model --grades type=question
review <graded.jsonl --bank <bank.jsonl --pairs <pairs.json --force --grader model --grades \\
    type=question
apply <answers-passages.jsonl <ratings.csv --reviewer ann
apply <graded.jsonl <ratings.json --prompt-file <prompt.toml --bank <bank.jsonl --force
apply <compared.jsonl <decisions.json --games <judged-games.jsonl --queries <queries.tsv
evaluate cover <graded.jsonl --bank <bank.jsonl --queries <queries.json --official <official.json \\
    --grader model --grades type=question
evaluate qrels <graded.jsonl --bank <bank.jsonl --queries <queries.json --runs !runs/a.run --grader \\
    model --grades type=question --official <official.json --fill-holes <qrels.txt
evaluate judgments <qrels.txt --runs !runs/a.run
grade <cited.jsonl --queries <queries.tsv --prompt-file <criteria.toml --model fake
evaluate nuggets <assigned.jsonl --bank <nuggets-bank.jsonl --queries <queries.json --run-types \\
    <types.tsv
evaluate report <graded.jsonl --bank <bank.jsonl --runs !runs/a.run --official <official.json --grader \\
    model --grades type=question --qrels <qrels.txt
analyze correlation <board.tsv --official <official.json
analyze audit <all.games.jsonl --families <families.toml
analyze audit <graded.jsonl --bank <bank.jsonl --grader model --grades type=question
query <graded.jsonl 'SELECT count(*) FROM grades'
query <graded.jsonl --bank <bank.jsonl --queries <queries.tsv --scores <eval.txt --runs !runs/a.run \\
    --save out
validate <answers.jsonl
grade <passages.jsonl --bank <bank.jsonl --model lexical --prompt self-rated --shard 1/2
compare <reasoned.jsonl --queries <queries.tsv --model fake --evidence both --min-judgment 1
consensus <graded.jsonl
sample <graded.jsonl --max-queries 1
sample-pairs <graded.jsonl --bank <bank.jsonl --count 2 --grader model --grades type=question
diff <graded.jsonl <other.jsonl --grader model --grades type=question
analyze distributions <rated.jsonl --grader m
evaluate elo <eval.txt --by F1 --elo tournaments=3 -S samples=100
evaluate rag <cited.jsonl --queries <queries.tsv --bank <nuggets-bank.jsonl --model lexical
"""
"""Commands whose inputs begin with ``<``, or with ``!`` if their file needs a name."""

ASSIGN = "--prompt NuggetAssignmentPointwise --model random"
SETUP = f"""
filter graded.jsonl --remove grades -o passages.jsonl
import --answers answers.jsonl --unit whole -o answers-passages.jsonl
bank import nuggets.csv --from csv -o nuggets-bank.jsonl
grade answers-passages.jsonl --bank nuggets-bank.jsonl {ASSIGN} -o assigned.jsonl
convert assigned.jsonl --to nuggetizer-assignments --bank nuggets-bank.jsonl -o assignments.jsonl
show prompt QuestionGenerationDL --format toml -o questions.toml
show prompt NuggetCreation --format toml -o creation.toml
"""

LINES = [line for line in COMMANDS.replace("\\\n", "").strip().splitlines() if is_here(line)]
CASES = [
    (shlex.split(line), position)
    for line in LINES
    for position, word in enumerate(shlex.split(line))
    if word[0] in "<!"
]
NO_REPLIES = "exam-pp: The model 'fake' wrote no "
Outputs = tuple[int, str, dict[str, bytes]]
Run = Callable[[tuple[str, ...], bytes], Outputs]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files that :data:`COMMANDS` name."""
    path = tmp_path_factory.mktemp("inputs")
    lay_out(path)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(path)
        Path("nuggets.csv").write_text("query_id,nugget,importance\nq1,It rises.,vital\n")
        for command in filter(is_here, SETUP.strip().splitlines()):
            main(["-q", *shlex.split(command)])
    (path / "ratings.csv").write_text("query_id,system,accuracy\nq1,one,2\nq1,two,1\n")
    row = {"model": "gpt", "query": "a query", "passage": "Text of p1: yeast rises.", "judgment": 2}
    (path / "umbrela.jsonl").write_text(f"{json.dumps(row)}\n")
    (path / "types.tsv").write_text("one\tRAG\ntwo\tAG\nthree\tAG\n")
    return path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command with some standard input; its exit code, messages and files, which are then deleted."""
    monkeypatch.chdir(folder)

    def call(words: tuple[str, ...], data: bytes) -> Outputs:
        before = set(Path().rglob("*"))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
        code = 0
        try:
            main(["-q", *words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capsys.readouterr()
        assert shown.out == ""
        files = {}
        for path in sorted(set(Path().rglob("*")) - before, reverse=True):
            if path.is_file():
                files[str(path)] = path.read_bytes()
                path.unlink()
            else:
                path.rmdir()
        return code, without_times(shown.err), files

    return call


EXPECTED: dict[tuple[str, ...], Outputs] = {}
"""The outputs of commands with files."""


def contents(files: dict[str, bytes], file: str) -> list[str]:
    """The unzipped texts of files, without databases; names of the input and lines of tables are dashes.

    So are digests of the outputs of steps, which may have the name of the input.
    """
    texts = []
    for path, content in files.items():
        unzipped = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        if b"DUCK" in content[:12] or content.startswith(b"\x89PNG") or path.endswith(".journal"):
            continue
        # The tables of a review page are compressed, with the name of the input.
        text = re.sub(r"<script.*?</script>|\b[0-9a-f]{64}\b", "", unzipped.decode(), flags=re.DOTALL)
        for name in (file, file.partition(".")[0]):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "-", text)
        texts.append(re.sub(r"[-\s]+", "-", text))
    return texts


@pytest.mark.parametrize(("line", "position"), CASES, ids=[f"{w[p]}-{w[0]}-{w[1]}" for w, p in CASES])
def test_an_input_from_standard_input(line: list[str], position: int, folder: Path, run: Run) -> None:
    words = [word.lstrip("<!") for word in line]
    words += [] if "--save" in line else ["-o", "out"]
    file = words[position]
    from_input = (*words[:position], "-", *words[position + 1 :])
    code, err, files = run(from_input, (folder / file).read_bytes())
    if line[position].startswith("!"):
        assert (code, err.count("\n"), files) == (1, 1, {})
        assert re.match("exam-pp: standard input: has no file name", err)
        return
    if tuple(words) not in EXPECTED:
        EXPECTED[tuple(words)] = run(tuple(words), b"")
    expected = EXPECTED[tuple(words)]
    assert expected[0] == 0 or expected[1].startswith(NO_REPLIES), expected[1]
    assert (code, err) == (expected[0], expected[1].replace(file, "-"))
    if words[0] != "split":  # standard input has no name, so the parts have another one
        assert sorted(files) == sorted(expected[2])
    assert contents(files, file) == contents(expected[2], file)


@pytest.mark.parametrize("line", LINES)
def test_all_inputs_from_pipes(line: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with ``<(zcat FILE)``, but with the names of the files, so that outputs are equal."""
    words = [word.lstrip("<!") for word in shlex.split(line)]
    words += [] if "--save" in line else ["-o", "out"]
    expected = EXPECTED.get(tuple(words)) or run(tuple(words), b"")
    inputs = [Path(word.lstrip("<!")) for word in shlex.split(line) if word[0] in "<!"]
    before = {path: path.read_bytes() for path in inputs}
    monkeypatch.setattr("exam_pp.store.inputs._streams", {})
    for path, content in before.items():
        path.unlink()
        os.mkfifo(path)
        threading.Thread(target=_feed, args=(path, content), daemon=True).start()
    try:
        code, err, files = run(tuple(words), b"")
    finally:
        for path, content in before.items():
            path.unlink()
            path.write_bytes(content)
    assert (code, err) == expected[:2]
    if words[0] != "split":  # the parts are not named after a pipe
        assert sorted(files) == sorted(expected[2])
    assert contents(files, "-") == contents(expected[2], "-")


def _feed(pipe: Path, content: bytes) -> None:
    with suppress(BrokenPipeError):  # an error ends a command before it has read all
        pipe.write_bytes(content)


@pytest.mark.parametrize("command", ["merge - -o out.jsonl", "verify grading -", "validate -"])
def test_a_closed_standard_input_is_one_sentence(
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", None)  # as Python starts after `<&-`
    with pytest.raises(SystemExit) as stop:
        main(shlex.split(command))
    assert stop.value.code == 1
    shown = capsys.readouterr()
    assert "is closed" in shown.err + shown.out
