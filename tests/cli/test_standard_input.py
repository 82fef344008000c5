"""Every input of every command may be ``-``: the output is that of a file, or one sentence says why not."""

from __future__ import annotations

import gzip
import io
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from exam_pp.cli.main import cli, main
from exam_pp.cli.options import InputPath
from exam_pp.store.passages.graded_file import read_passages
from scripts.command_tree import commands
from scripts.reliability.good_files import RATED, lay_out
from tests.conftest import without_times

SET = "--grader model --prompt-type question"
ASK = "--model fake"
COMMANDS = (
    "import --runs runs/a.run --texts texts.tsv --qrels qrels.txt --queries queries.tsv -o out",
    "import --answers answers.jsonl -o out",
    "import --answers ragelo_answers.csv -o out",
    "import --pages pages.jsonl -o out",
    "import --candidates candidates.jsonl -o out",
    "import --assignments assignments.jsonl --passages answers-passages.jsonl --bank nuggets-bank.jsonl "
    "-o out",
    "import --umbrela umbrela.jsonl --passages graded.jsonl --queries queries.tsv -o out",
    "export runs graded.jsonl -o out",
    "export answers answers-passages.jsonl --queries queries.tsv --to rag24 -o out",
    "export assignments assigned.jsonl --bank nuggets-bank.jsonl -o out",
    "export umbrela umbrela-graded.jsonl --queries queries.tsv -o out",
    f"export games graded.jsonl --bank bank.jsonl --queries queries.json {SET} -o out",
    "export games eval.txt -o out",
    "export candidates graded.jsonl --system a --queries queries.tsv -o out",
    "convert graded.jsonl --to run -o out",
    "convert qrels.txt --to qrels -o out",
    "convert topics.xml --to queries-json -o out",
    "convert official.tsv --to official-json -o out",
    "convert bank.csv --to bank -o out",
    "convert open_rag_eval.csv --to rag24 -o out",
    "convert runs/a.run --to run -o out",
    "convert answers.jsonl --to open-rag-eval --contexts graded.jsonl --queries queries.tsv -o out",
    "fuse runs/a.run runs/b.run -o out",
    "merge graded.jsonl --like other.jsonl -o out",
    "merge all.games.jsonl --like all.games.jsonl -o out",
    "filter all.games.jsonl --queries queries.tsv -o out",
    "rename all.games.jsonl --system a=z -o out",
    "strip all.games.jsonl --remove texts -o out",
    "convert all.games.jsonl --to ragelo-games -o out",
    "split graded.jsonl -n 2 -o out",
    "split graded.jsonl --by-query -o out",
    "sample graded.jsonl --max-queries 1 -o out",
    "sample graded.jsonl --max-passages 1 --by-judgment equal -o out",
    "sample queries.jsonl --by query_id=q1:1 -o out",
    "filter graded.jsonl --queries queries.tsv -o out",
    "canaries graded.jsonl --bank bank.jsonl -o out",
    "canaries graded.jsonl --queries queries.tsv -o out",
    f"canary-report canaried.jsonl {SET} -o out",
    "rename graded.jsonl --system a=z -o out",
    "strip graded.jsonl --remove texts -o out",
    f"generate questions queries.jsonl {ASK} -o out",
    f"generate nuggets queries.jsonl {ASK} -o out",
    f"generate questions queries.jsonl {ASK} --no-facets --prompt-file questions.toml -o out",
    f"generate nuggets queries.jsonl {ASK} --no-facets --prompt-file nuggets.toml -o out",
    f"generate queries passages.jsonl {ASK} --example-queries queries.tsv --pool queries.jsonl "
    "--prompt-file query.toml -o out",
    f"generate answers queries.jsonl {ASK} --contexts passages.jsonl --prompt-file answers.toml -o out",
    f"nuggetize graded.jsonl --queries queries.tsv {ASK} --prompt-file creation.toml -o out",
    "bank import bank.csv --from csv --base bank.jsonl -o out",
    "bank import nuggets.jsonl --from nuggetizer -o out",
    "bank import squad.json --from squad2 -o out",
    "bank import tqa.json --from tqa -o out",
    "bank import genq.json --from genq -o out",
    "bank import autojudge.json --from autojudge -o out",
    "bank export bank.jsonl --to csv -o out",
    "bank show bank.jsonl -o out",
    "bank stats bank.jsonl -o out",
    "bank lint bank.jsonl -o out",
    "bank diff bank.jsonl other-bank.jsonl -o out",
    "bank merge bank.jsonl other-bank.jsonl -o out",
    "bank apply bank.jsonl bank_edits.json --force -o out",
    "bank split bank.jsonl --secret 0.5 -o out --secret-output out2",
    f"bank importance bank.jsonl --queries queries.tsv {ASK} --prompt-file importance.toml -o out",
    f"bank clinic graded.jsonl --bank bank.jsonl --closed-book closed.jsonl {SET} -o out",
    f"bank closed-book bank.jsonl {ASK} --prompt-class {RATED} -o out",
    f"bank closed-book bank.jsonl {ASK} --prompt-file prompt.toml -o out",
    f"grade passages.jsonl --bank bank.jsonl {ASK} --prompt-file prompt.toml --queries queries.tsv -o out",
    f"grade passages.jsonl --bank bank.jsonl --model lexical --prompt-class {RATED} -o out",
    f"grade passages.jsonl --bank bank.jsonl {ASK} --prompt-class {RATED} --shard 1/2 -o out",
    f"grade passages.jsonl --bank bank.jsonl {ASK} --prompt-class {RATED} -o out",
    "grade-panel passages.jsonl --panel panel.toml --bank bank.jsonl --queries queries.tsv -o out",
    f"consensus graded.jsonl --prompt-class {RATED} -o out",
    f"verify-answers extracted.jsonl --bank bank.jsonl {ASK} --prompt-file verification.toml -o out",
    f"reread graded.jsonl --bank bank.jsonl --prompt-file prompt.toml {SET} -o out",
    "show prompt --prompt-file prompt.toml -o out",
    *(
        f"verify {report} graded.jsonl --bank bank.jsonl {SET} -o out"
        for report in ("grading", "grid", "uncovered", "spurious", "disagreements", "unparsed", "sample")
    ),
    f"review graded.jsonl --bank bank.jsonl --prompt-file prompt.toml {SET} -o out",
    f"review graded.jsonl --bank bank.jsonl --pairs pairs.json --force {SET} -o out",
    f"verify sample graded.jsonl --bank bank.jsonl --pairs pairs.json --force {SET} -o out",
    f"sample-pairs graded.jsonl --bank bank.jsonl --budget 3 {SET} -o out",
    "apply-ratings answers-passages.jsonl ratings.csv --reviewer ann -o out",
    "apply-edits graded.jsonl ratings.json --prompt-file prompt.toml --bank bank.jsonl --force -o out",
    "review-games compared.jsonl --queries queries.tsv --games judged-games.jsonl -o out",
    "apply-games compared.jsonl decisions.json --games judged-games.jsonl --queries queries.tsv -o out",
    f"evaluate cover graded.jsonl --bank bank.jsonl --queries queries.json --official official.json {SET} "
    "-o out",
    "evaluate corrected graded.jsonl --bank bank.jsonl --pairs pairs.json --queries queries.json "
    "--reviewer human:ana -o out",
    f"evaluate qrels graded.jsonl --bank bank.jsonl --queries queries.json --runs runs/a.run {SET} "
    "--official official.json --fill-holes qrels.txt -o out",
    "evaluate answered attempted.jsonl --queries queries.json --official official-answers.json -o out",
    "evaluate judgments graded.jsonl --queries queries.json --runs runs/a.run -o out",
    "evaluate judgments qrels.txt --runs runs/a.run -o out",
    f"grade-citations cited.jsonl {ASK} --prompt-file support.toml -o out",
    f"grade-answers cited.jsonl --queries queries.tsv --criteria criteria.toml {ASK} -o out",
    f"score-answers cited.jsonl {ASK} --prompt-file claim.toml -o out",
    f"compare answers-passages.jsonl --queries queries.tsv --games games.jsonl {ASK} --prompt-file pair.toml "
    "-o out",
    f"tournament answers-passages.jsonl --queries queries.tsv {ASK} --prompt-file pair.toml -o out",
    "tournament --queries ragelo_queries.csv --answers ragelo_answers.csv --documents ragelo_documents.csv "
    f"{ASK} -o out",
    "verify citations cited.jsonl -o out",
    "manifest show board.tsv.manifest.json -o out",
    "manifest diff board.tsv.manifest.json board.tsv.manifest.json -o out",
    "evaluate citations cited.jsonl --queries queries.json --official official.json -o out",
    "evaluate criteria cited.jsonl --queries queries.json --official official.json -o out",
    "evaluate factual-consistency scored.jsonl --queries queries.json --official official.json -o out",
    "evaluate nuggets assigned.jsonl --bank nuggets-bank.jsonl --queries queries.json --run-types types.tsv "
    "-o out",
    f"evaluate report graded.jsonl --bank bank.jsonl --runs runs/a.run --official official.json {SET} "
    "--qrels qrels.txt -o out",
    "evaluate consistency repeated.jsonl --scores repeated-scores.jsonl --queries queries.json "
    "--official repeated.json -o out",
    "evaluate rag repeated.jsonl --queries queries.json --bank nuggets-bank.jsonl --config rag.toml -o out",
    "evaluate elo rated-games.jsonl --official rated-games.json --families families.toml -o out",
    f"evaluate elo graded.jsonl --from-grades --bank bank.jsonl --queries queries.json {SET} -o out",
    "analyze correlation board.tsv --official official.json -o out",
    "analyze compare board.tsv eval.txt --official official.json -o out",
    "analyze distributions eval.txt -o out",
    "analyze biases graded-games.jsonl --families families.toml -o out",
    f"analyze audit graded.jsonl --bank bank.jsonl --families families.toml --games graded-games.jsonl "
    f"--qrels qrels.txt --official official.json {SET} -o out",
    "analyze sweep graded.jsonl --official official.json --bank bank.jsonl --queries queries.json "
    "--runs runs/a.run -o out",
    f"analyze agreement graded.jsonl --qrels qrels.txt --bank bank.jsonl {SET} -o out",
    "analyze agreement qrels.txt --qrels other-qrels.txt -o out",
    "analyze graders graded.jsonl --bank bank.jsonl --prompt-type question -o out",
    "analyze panel graded.jsonl --bank bank.jsonl -o out",
    "analyze verdicts judge-games.jsonl human-games.jsonl -o out",
    "analyze paired rated.jsonl -o out",
    "analyze nuggets assigned.jsonl assigned-too.jsonl --bank nuggets-bank.jsonl --queries queries.json "
    "--run-types types.tsv -o out",
    "gate eval.txt after.txt --system one --system-after two --max-drop 1 -o out",
    f"diff graded.jsonl other.jsonl --bank bank.jsonl --bank-after other-bank.jsonl {SET} -o out",
    "query graded.jsonl 'SELECT count(*) FROM grades' -o out",
    "query --bank bank.jsonl --queries queries.tsv --scores eval.txt --runs runs/a.run --sql-file sql.txt "
    "-o out",
    "db graded.jsonl --bank bank.jsonl --queries queries.tsv --scores eval.txt --runs runs/a.run -o out",
    "validate graded.jsonl --bank bank.jsonl -o out",
    "validate games.jsonl --passages answers-passages.jsonl -o out",
    "validate qrels.txt -o out",
    "validate answers.jsonl -o out",
)

ASSIGN = "--prompt-class NuggetAssignmentPointwise --model random"
EXTRACT = "QuestionCompleteConciseUnanswerablePromptWithChoices"
SETUP = f"""
canaries graded.jsonl --bank bank.jsonl -o canaried.jsonl
strip graded.jsonl --remove grades -o passages.jsonl
grade passages.jsonl --queries queries.tsv --prompt-class GradedRelevance --model fake -o umbrela-graded.jsonl
export umbrela umbrela-graded.jsonl --queries queries.tsv -o umbrela.jsonl
export games graded.jsonl {SET} -o graded-games.jsonl
import --answers answers.jsonl --unit whole -o answers-passages.jsonl
bank import nuggets.jsonl --from nuggetizer -o nuggets-bank.jsonl
grade answers-passages.jsonl --bank nuggets-bank.jsonl {ASSIGN} -o assigned.jsonl
grade answers-passages.jsonl --queries queries.json --prompt-class AnswerAttempt {ASK} -o attempted.jsonl
rename assigned.jsonl --grader random=other -o assigned-too.jsonl
export assignments assigned.jsonl --bank nuggets-bank.jsonl --grader random -o assignments.jsonl
grade graded.jsonl --bank bank.jsonl --prompt-class {EXTRACT} {ASK} -o extracted.jsonl
bank closed-book bank.jsonl --model fake --prompt-class {RATED} -o closed-book.jsonl
rename closed-book.jsonl --grader fake=model -o closed.jsonl
bank split bank.jsonl --secret 0.5 -o rest.jsonl --secret-output other-bank.jsonl
score-answers cited.jsonl {ASK} -o scored.jsonl
compare answers-passages.jsonl --queries queries.tsv {ASK} -o games.jsonl
show prompt PairwiseChoice --as-file -o pair.toml
show prompt RAGEloCriteria --as-file -o criteria.toml
show prompt CitationSupport --as-file -o support.toml
show prompt FactualConsistency --as-file -o claim.toml
show prompt QuestionGenerationDL --as-file -o questions.toml
show prompt QueryGenerationFewShot --as-file -o query.toml
show prompt AnswerDirectCited --as-file -o answers.toml
show prompt NuggetGenerationDL --as-file -o nuggets.toml
show prompt NuggetCreation --as-file -o creation.toml
show prompt NuggetImportance --as-file -o importance.toml
show prompt QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2 --as-file -o verification.toml
"""

NO_NAME = "exam-pp: standard input: has no file name, which names the system of a run."
REFUSED = {
    "--runs": NO_NAME,
    "runs": NO_NAME,
    "--candidates": NO_NAME,
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
    (path / "repeated.csv").write_text(
        "query_id,query,query_run,passage_id,passage,generated_answer\n"
        "q1,What?,1,[1],It is wet.,It is wet [1].\nq1,What?,2,[1],It is wet.,It is dry [1].\n"
    )
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(path)
        main(["-q", "import", "--answers", "repeated.csv", "--unit", "sentence", "-o", "repeated.jsonl"])
    (path / "ratings.csv").write_text("query_id,system,accuracy\nq1,one,2\nq1,two,1\n")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(path)
        main([
            "-q", "apply-ratings", "answers-passages.jsonl", "ratings.csv", "--reviewer", "ann",
            "-o", "rated.jsonl",
        ])  # fmt: skip
    for name, judge in (("judge-games.jsonl", "gpt"), ("human-games.jsonl", "human:ann")):
        game = {"system_a": "one", "system_b": "two", "winner": "A"}
        (path / name).write_text(
            json.dumps({"query_id": "q1", "game_sets": [{"llm": judge, "games": [game]}]}) + "\n"
        )
    scores = [{"system": f"repeated-run-{n}", "query_id": "q1", "metric": "V", "value": n} for n in (1, 2)]
    (path / "repeated-scores.jsonl").write_text("".join(f"{json.dumps(score)}\n" for score in scores))
    (path / "repeated.json").write_text('{"repeated": 1}')
    (path / "families.toml").write_text('[one]\nmodels = ["mod*"]\nsystems = ["a"]\n')
    games = [{"system_a": "one", "system_b": "two", "winner": winner} for winner in "AC"]
    (path / "rated-games.jsonl").write_text(
        json.dumps({"query_id": "q1", "game_sets": [{"llm": "model", "games": games}]}) + "\n"
    )
    (path / "rated-games.json").write_text('{"one": 1, "two": 2}')
    (path / "rag.toml").write_text('[model]\nmodel = "fake"\n')
    systems = {
        e.method for q in read_passages(path / "attempted.jsonl") for p in q.passages for e in p.rankings
    }
    (path / "official-answers.json").write_text(json.dumps(dict.fromkeys(systems, 1)))
    (path / "types.tsv").write_text("one\tRAG\ntwo\tAG\nthree\tAG\n")
    (path / "after.txt").write_bytes((path / "eval.txt").read_bytes())
    (path / "other-qrels.txt").write_text("q1 0 p1 2\nq1 0 p2 1\n")
    (path / "sql.txt").write_text("SELECT count(*) FROM bank, queries, scores, runs\n")
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
    return name, command


def inputs_of(command: click.Command) -> list[click.Parameter]:
    outputs = {"output", "journal", "status_file", "trace"}
    return [
        param
        for param in command.params
        if isinstance(param.type, click.Path)
        and (
            isinstance(param.type, InputPath)
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
        options = {name: param for param in command.params for name in param.opts}
        inputs = inputs_of(command)
        arguments = [param for param in inputs if isinstance(param, click.Argument)]
        for position in range(first, len(words)):
            before = options.get(words[position - 1]) if position > first else None
            if isinstance(before, click.Option) and not before.is_flag:
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
    files = {"standard output": shown.out.encode()} if words[0] == "tournament" else {}
    assert files or shown.out == ""
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


def test_every_input_of_every_command_is_tested() -> None:
    inputs = {
        (path, param.opts[-1]) for path, command in commands(cli).items() for param in inputs_of(command)
    }
    tested = {(command_of(shlex.split(line))[0], name) for line, name, _ in CASES}
    assert inputs - tested == set()


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
