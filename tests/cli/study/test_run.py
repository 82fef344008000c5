"""``exam-pp run``: a whole study in one command, its judge, its file, and what is done again."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError, MissingExtraError, ModelError
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm.lexical import LexicalLLM
from exam_pp.llm_requests import Completion
from exam_pp.phases.evaluation.own_measures import OwnMeasure
from exam_pp.store.locks import Lock
from exam_pp.studies.inputs import StudyFile as Study
from exam_pp.studies.inputs import read_study, write_study
from tests.llm.endpoint_server import serve

QUERIES = {"q1": "why is the sky blue", "q2": "why do cats purr", "q3": "how do bees dance"}
TEXTS = {
    "blue": "The sky is blue because air scatters blue light more than red light.",
    "purr": "Cats purr when muscles of the throat move, to calm themselves.",
    "bees": "Bees dance to show other bees the direction and distance of flowers.",
    "noise": "A train leaves the station at noon.",
}
QUESTIONS = {
    "q1": ["Why does air make the sky blue?", "What light does air scatter?"],
    "q2": ["Why do cats purr?", "Which muscles move when cats purr?"],
    "q3": ["What does the dance of bees show?", "How far are the flowers?"],
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs, of which one is better, with all files of a study, in the working folder."""
    monkeypatch.setattr("exam_pp.llm.packaged_e5.e5_problem", lambda: MissingExtraError("The model e5", "e5"))
    runs = tmp_path / "runs"
    runs.mkdir()
    for system, ranked in {"good": ["blue", "purr", "bees"], "bad": ["noise", "noise", "noise"]}.items():
        lines = [f"{q} Q0 {p} 1 1.0 {system}" for q, p in zip(QUERIES, ranked, strict=True)]
        (runs / f"{system}.run").write_text("\n".join(lines) + "\n")
    Path("texts.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in TEXTS.items()))
    Path("queries.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in QUERIES.items()))
    write_bank(QUESTIONS)
    for system in ("rag", "other"):
        answers = [
            {"query_id": query, "system": system, "text": text}
            for query, text in zip(QUERIES, TEXTS.values(), strict=False)
        ]
        Path(f"{system}.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    return tmp_path


def write_bank(questions: dict[str, list[str]], column: str = "query_id", kind: str = "question") -> None:
    rows = [f"{query},{kind},{text}" for query, texts in questions.items() for text in texts]
    Path("bank.csv").write_text(f"{column},kind,text\n" + "\n".join(rows) + "\n")


WORDS = "run --runs runs --texts texts.tsv --queries queries.tsv --bank bank.csv -o study"


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    main(command.split())
    return capsys.readouterr().out


def refusal(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main(shlex.split(command))
    return capsys.readouterr().err


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a study but for the journals, in which replies may have another order."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and ".journal" not in file.name]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_one_command_from_files_to_the_verdict(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(WORDS, capsys)

    commands = [line.split()[2] for line in out.splitlines() if line.startswith("$ exam-pp ")]
    assert commands == ["bank", "import", "validate", "grade", "evaluate", "evaluate"]
    assert "3 queries are too few to show any difference" in out
    assert "good" in out
    assert "exam-pp run study --edits edits.json" in out
    assert (files / "study" / "report" / "index.html").is_file()
    assert (files / "study" / "study.toml").read_text() == (
        'runs = ["../runs"]\ntexts = ["../texts.tsv"]\nqueries = "../queries.tsv"\nbank = ["../bank.csv"]\n'
        'model = "lexical"\n'
    )


def test_a_bank_may_have_ids_in_its_column_of_queries(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bank({**QUESTIONS, "q 9": ["Who?"]}, "query")
    run(WORDS, capsys)
    lines = map(json.loads, (files / "study" / "bank.jsonl").read_text().splitlines())
    assert {line["query_id"]: line["query_text"] for line in lines} == QUERIES | {"q 9": "q 9"}
    main(["bank", "import", "bank.csv", "--queries", "queries.tsv", "-o", "again.jsonl"])
    assert "1 query of the bank is not in queries.tsv: q 9" in capsys.readouterr().err


def test_names_with_blanks(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"guide/a b.txt#1": TEXTS["blue"], "User manual.pdf p. 3": TEXTS["noise"]}
    ranked = {"app v1": "guide/a b.txt#1", "app v2": "User manual.pdf p. 3"}
    rows = "".join(f"topic 1,{passage},1,{system}\n" for system, passage in ranked.items())
    Path("runs.csv").write_text(f"query_id,passage_id,rank,system\n{rows}")
    Path("texts.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in texts.items()))
    Path("queries.tsv").write_text("topic 1\twhy is the sky blue\n")
    write_bank({"topic 1": QUESTIONS["q1"]})
    main(WORDS.replace("--runs runs", "--runs runs.csv").split())
    shown = capsys.readouterr()
    assert "app v1" in shown.out
    assert shown.err.count("TREC files have '_' in place of blanks in ids.") == 1
    labels = (files / "study" / "report" / "rubric.qrels").read_text().splitlines()
    assert [line.split()[:3] for line in labels] == [
        ["topic_1", "0", "guide/a_b.txt#1"], ["topic_1", "0", "User_manual.pdf_p._3"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("bank", "rows", "expected"),
    [
        ("q01", "q1,A,x", "ids differ in zeros at the front: q1 in the systems, q01 in the bank"),
        ("q1", "q1,a b,x\nq1,a_b,x", "The system ids 'a b' and 'a_b' are the same in TREC files"),
    ],
)
@pytest.mark.parametrize("kind", ["question", "nugget"])
def test_what_is_wrong_is_known_before_the_judge_is_asked(
    files: Path, bank: str, rows: str, expected: str, kind: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(LexicalLLM, "generate", lambda *_: pytest.fail("the judge is asked"))
    write_bank({bank: ["Why does air make the sky blue?"]}, kind=kind)
    Path("answers.csv").write_text(f"query_id,system,answer\n{rows}\n")
    assert expected in refusal("run --answers answers.csv --bank bank.csv -o study", capsys)
    assert expected in (files / "study" / "checks.txt").read_text()


def test_options_that_failed_are_not_kept(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = run(WORDS, capsys)
    rating = {"query_id": "q1", "paragraph_id": "none", "entry_id": "q1/e", "rating": 5}
    Path("edits.json").write_text(json.dumps({"format": "exam_pp.edits.v1", "ratings": [rating]}))
    refusal("run study/study.toml --edits edits.json", capsys)
    assert run("run study/study.toml", capsys).rpartition("\nNext:")[2] == first.rpartition("\nNext:")[2]


def test_a_bank_may_name_queries_by_their_texts(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = run(WORDS, capsys)
    write_bank({QUERIES[query]: texts for query, texts in QUESTIONS.items()})
    assert run(WORDS.replace("-o study", "-o by-text"), capsys).replace("by-text", "study") == first


@pytest.mark.parametrize(
    ("runs_here", "options", "judge"),
    [
        (True, "", "e5"),
        (False, "", "lexical"),
        (True, "--prompt-class QuestionSelfRatedPrompt", "lexical"),
        (True, "--model random", "random"),
    ],
)
def test_the_default_judge_of_questions(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs_here: bool,
    options: str, judge: str,
) -> None:  # fmt: skip
    problem = None if runs_here else ModelError("This machine is too old.")
    monkeypatch.setattr("exam_pp.llm.packaged_e5.e5_problem", lambda: problem)
    monkeypatch.setattr("exam_pp.llm.packaged_e5.load_e5", lambda _options: LexicalLLM())
    main([*WORDS.split(), *options.split()])
    assert f'model = "{judge}"' in (files / "study" / "study.toml").read_text()
    said = "This machine is too old. The judge is lexical." in capsys.readouterr().err
    assert said == (not runs_here)


def test_e5_judges_questions_and_facts(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("exam_pp.llm.packaged_e5.e5_problem", lambda: None)
    monkeypatch.setattr("exam_pp.llm.packaged_e5.load_e5", lambda _options: LexicalLLM())
    Path("nuggets.csv").write_text("query_id,nugget\nq1,air scatters blue light\n")
    main([*WORDS.replace("--bank bank.csv", "--bank bank.csv --bank nuggets.csv").split()])
    shown = capsys.readouterr()
    assert "judges the rest" not in shown.err
    for number in (1, 2):
        assert f"--bank study/bank-{number}.jsonl --model e5" in shown.out


def test_the_printed_commands_take_over(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands alone, in a new folder, give the same files."""
    lines = [line[len("$ exam-pp ") :] for line in run(WORDS, capsys).splitlines() if line.startswith("$ ")]
    before = contents(files / "study")
    shutil.rmtree(files / "study")
    (files / "study").mkdir()
    for line in lines:
        main(line.split())
    after = contents(files / "study")
    assert {name: before[name] for name in after} == after
    assert before.keys() - after.keys() == {"steps.json", "study.toml"}


def test_only_what_changed_is_done_again(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(WORDS, capsys)

    def again(command: str) -> list[str]:
        """The steps that are done again."""
        main(command.split())
        return re.findall(r"(Bank|Import|Check|Grade|Report): study/", capsys.readouterr().err)

    assert again("run study/study.toml") == []
    write_bank(QUESTIONS | {"q3": [*QUESTIONS["q3"], "Do bees dance at night?"]})
    assert again("run study/study.toml") == ["Bank", "Check", "Grade", "Report"]
    changed = (files / "runs" / "bad.run").read_text().replace("q3 Q0 noise", "q3 Q0 bees")
    (files / "runs" / "bad.run").write_text(changed)
    assert again("run -o study") == ["Import", "Check", "Grade", "Report"]


def test_runs_are_graded_against_questions_and_nuggets(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict is that of the first bank; the report has both."""
    Path("nuggets.csv").write_text("query_id,nugget\nq1,air scatters blue light\n")
    out = run(WORDS.replace("--bank bank.csv", "--bank bank.csv --bank nuggets.csv"), capsys)
    assert "$ exam-pp evaluate cover study/graded.jsonl.gz --bank study/bank-1.jsonl" in out
    assert "3 queries are too few to show any difference" in out
    assert "bank-2.jsonl" in (files / "study" / "report" / "index.html").read_text()


def test_a_study_may_declare_its_measure(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("nuggets.csv").write_text(
        "query_id,nugget,weight\nq1,air scatters blue light,3\nq1,green cheese,1\n"
    )
    Path("study").mkdir()
    Path("study/study.toml").write_text('[[measure]]\nname = "Mine"\ncredit = {support = 1}\n')
    out = run("run study --answers rag.jsonl --bank nuggets.csv --model lexical", capsys)
    assert "exam-pp evaluate nuggets study/assigned.jsonl.gz --bank study/bank.jsonl" in out
    assert "--measure-file study/measures.toml" in out
    assert re.search(r"^Run ID +Mine\b", out, re.MULTILINE)
    assert "Mine" in Path("study/report-nuggets/nuggets.tsv").read_text()
    assert '[[measure]]\nname = "Mine"' in Path("study/study.toml").read_text()


def test_answers_are_compared_with_reference_answers(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        {"query_id": query, "query_text": text, "info": {"prompt_target": "references"},
         "items": [{"query_id": query, "nugget_id": f"{query}/reference", "nugget_text": TEXTS["blue"]}]}
        for query, text in QUERIES.items()
    ]  # fmt: skip
    Path("bank.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    words = "run --answers rag.jsonl --bank bank.jsonl -o study --model"
    assert "a wrong answer has most words of the right one" in refusal(f"{words} lexical", capsys)
    with monkeypatch.context() as patched:
        patched.setattr(FakeLLM, "reply", lambda _self, _request: Completion("I like it."))
        message = refusal(f"{words.replace('study', 'unread')} fake", capsys)
    assert "unread/assigned.jsonl.gz has a grade, because no reply could be read: see why with" in message
    out = run(f"{words} fake", capsys)
    assert "--prompt reference --model fake" in out
    assert re.search(r"^Run ID +Supported .*Contradicted", out, re.MULTILINE)


def test_the_judge_of_a_study_does_not_change(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(f"{WORDS} --model random", capsys)
    assert "was graded by random: leave out --model" in refusal(f"{WORDS} --model lexical", capsys)
    assert "grade study/passages.jsonl.gz" in run("run -o study", capsys)
    assert 'model = "random"' in (files / "study" / "study.toml").read_text()


def test_a_study_file_round_trip(tmp_path: Path) -> None:
    study = Study(
        runs=["runs", 'odd "name" ü\t.run'], queries="irds:nfcorpus/test", top=5, games=True, bank=["b"],
        model="gpt-4o", model_pipeline="openai",
        settings={"temperature": 0.5, "stop": ["\n"], "response_format": "schema.json"},
        measure=[OwnMeasure(name="Mine", credit={"met": 1, "partly_met": 0.25}, words={"*": 2})],
    )  # fmt: skip
    (tmp_path / "study").mkdir()
    write_study(study, tmp_path / "study" / "study.toml")
    assert read_study(Path("study/study.toml"), {}) == study


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('texts = ["/etc/passwd"]', "texts: '/etc/passwd' is neither below the folder"),
        ('texts = ["../../../etc/passwd"]', "name it again with --texts."),
        ('prompt_file = ["../../x.toml"]', "name it again with --prompt-file."),
        ('rnus = ["runs"]', "rnus: is unknown; did you mean 'runs'?"),
        ('runs = "runs"', "runs: "),
        ("top = 0", "top: "),
        ('model = "m"\nbase_url = "http://evil.example/v1"', "only this file names this server"),
        ('model = "m"\n[settings]\ntrust_remote_code = true', "would run code of the model"),
        ('model = "m"\n[settings]\nno_such = 1', "no_such: is unknown"),
        ("runs = [", "is not valid TOML"),
        ('[[measure]]\nname = "Mine"', "measure.1.credit: "),
        ('[[measure]]\nname = "V"\ncredit = {support = 1}', "the name V is that of a measure of exam_pp"),
        ('[[measure]]\nname = "Mine"\ncredit = {good = 1}', "no label named 'good'."),
        (f"{'.'.join('a' * 20_000)} = 1", "line 1: has a key of more than 20 parts."),
        (f"[settings]\nstop = {'[' * 100_000}", "is not valid TOML"),
        (
            'model_pipeline = "openai"\nbase_url = "http://evil.example/v1"',
            "only this file names this server",
        ),
        ('base_url = "http://localhost.:8000/v1"', "only this file names this server"),
        ('base_url = "http://me:secret@localhost:8000/v1"', "must not contain credentials"),
        ('base_url = ""', "must be a URL such as"),
        ('[settings]\nbase_url = "http://evil.example/v1"', "only this file names this server"),
        ('[settings]\nresponse_format = "/etc/passwd"', "name it again with -M response_format."),
        ('[settings]\nresponse_format = "../secret.json"', "name it again with -M response_format."),
        ('[settings]\nresponse_format = "link.json"', "name it again with -M response_format."),
        ('[settings]\napi_key = "sk"', "is not read from files"),
        ('edits = ["link.json"]', "name it again with --edits."),
        ('edits = ["deep/../link.json"]', "name it again with --edits."),
        ('official = "irds:x/../../secret.json"', "name it again with --official."),
    ],
)
@pytest.mark.parametrize("given", [{}, {"model": "gpt-4o", "base_url": "http://localhost:8000/v1"}])
def test_a_study_file_of_others_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, problem: str, given: dict[str, str]
) -> None:
    """Whatever is missing in it, and whatever is typed beside it."""
    folder = tmp_path / "work"
    (folder / "below" / "deeper").mkdir(parents=True)
    (folder / "deep").symlink_to("below/deeper")  # deep/../link.json is no link, if links are followed first
    (folder / "below" / "link.json").write_text("{}")
    (tmp_path / "secret.json").write_text("{}")
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    monkeypatch.chdir(folder)
    Path("study.toml").write_text(line + "\n")
    with pytest.raises(DataError) as error:
        read_study(Path("study.toml"), given)
    assert problem in str(error.value)


JUDGE = "--model gpt-4o --model-pipeline openai"


@pytest.mark.parametrize("recorded", [False, True])
def test_a_server_of_a_study_file_gets_nothing_unless_it_is_typed(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recorded: bool
) -> None:
    """Neither of the file that is named, nor of the one in the folder of -o."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-victim")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr("exam_pp.llm.transport.default_url", lambda: "http://127.0.0.1:1/v1")
    inputs = (
        'runs = ["../runs"]\ntexts = ["../texts.tsv"]\nqueries = "../queries.tsv"\nbank = ["../bank.csv"]\n'
    )
    with serve() as server:
        named = f'{inputs}base_url = "{server.url}"\n[settings]\nresponse_format = "schema.json"\n'
        for folder in ("own", "other"):
            Path(folder).mkdir()
            Path(folder, "schema.json").write_text(json.dumps({"title": folder}))
        Path("own/study.toml").write_text(inputs if recorded else named)
        Path("other/study.toml").write_text(named if recorded else inputs)
        words = f"run own/study.toml -o other {JUDGE}"
        assert f"name the server again: --base-url {server.url}" in refusal(words, capsys)
        assert not server.bodies
        again = run(f"{words} --base-url {server.url}", capsys)
        schemas = [body.get("response_format") for body in server.bodies]
        assert server.bodies
        if recorded:
            assert set(map(str, schemas)) == {"None"}  # the settings belong to the judge that was not typed
        else:
            assert {schema["json_schema"]["name"] for schema in schemas if schema} == {"own"}
        count = len(server.bodies)
        printed = again.rpartition("Add systems or change the bank: exam-pp ")[2]
        assert "Rubric-Cover" in run(printed, capsys)
        assert len(server.bodies) == count


def test_the_command_at_the_end_works(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It types what the study file may not name: inputs outside, which are neither in its folder nor here."""
    Path("here").mkdir()
    Path("texts.tsv").rename("my texts.tsv")
    with chdir("here"):
        words = ["run", "--runs", "../runs", "--texts", "../my texts.tsv", "--bank", "../bank.csv"]
        main([*words, "--queries", "../queries.tsv", "-o", "a study"])
        out = capsys.readouterr().out
        printed = out.rpartition("Add systems or change the bank: ")[2]
        assert shlex.split(printed) == ["exam-pp", "run", "a study", "--outside"]
        main(shlex.split(printed)[1:])
        assert capsys.readouterr().out == out


def test_grades_of_a_system_do_not_depend_on_the_others(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone, with another system, in shards, and after another system was added: the same bytes."""
    lines = [
        {"query_id": query, "system": "other", "text": f"{TEXTS['bees']} Light is red. {text}"}
        for query, text in QUERIES.items()
    ]
    Path("other.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    rows = [f"{query},nugget,{text}" for query, texts in QUESTIONS.items() for text in texts]
    Path("nuggets.csv").write_text("query_id,kind,text\n" + "\n".join(rows) + "\n")

    def of_rag(*paths: str) -> list[bytes]:
        """The passages of the system, with their grades."""
        lines = [line for path in paths for line in gzip.decompress(Path(path).read_bytes()).splitlines()]
        passages = [json.dumps(passage).encode() for line in lines for passage in json.loads(line)[1]]
        return [passage for passage in passages if b'"method": "rag"' in passage]

    judge = "--queries queries.tsv --bank nuggets.csv --model lexical"
    run(f"run --answers rag.jsonl {judge} -o study", capsys)
    alone = of_rag("study/assigned.jsonl.gz")
    assert len(alone) == 3
    run(f"run --answers rag.jsonl --answers other.jsonl {judge} -o both", capsys)
    assert of_rag("both/assigned.jsonl.gz") == alone
    run("run study --answers other.jsonl", capsys)
    assert of_rag("study/assigned.jsonl.gz") == alone
    for shard in ("1/2", "2/2"):
        main(
            f"grade both/answers.jsonl.gz --bank both/bank.jsonl --model lexical -o part-{shard[0]}.gz "
            f"--prompt nugget-assignment-pointwise --shard {shard}".split()
        )
    assert sorted(of_rag("part-1.gz", "part-2.gz")) == sorted(alone)


def test_options_add_replace_and_remove_systems(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder is a study, and a pattern of the shell names several files."""
    main(
        [
            "run",
            "--answers",
            "rag.jsonl",
            "other.jsonl",
            "--queries",
            "queries.tsv",
            "--bank",
            "bank.csv",
            "-o",
            "study",
        ]
    )
    assert "rag" in capsys.readouterr().out

    third = Path("rag.jsonl").read_text().replace('"rag"', '"third"')
    Path("third.jsonl").write_text(third)
    assert "third" in run("run study --answers third.jsonl", capsys)
    assert read_study(Path("study/study.toml"), {}).answers == ["rag.jsonl", "other.jsonl", "third.jsonl"]

    Path("new.jsonl").write_text(third)
    main(["run", "study", "--answers", "new.jsonl"])
    assert "third of third.jsonl is replaced." in capsys.readouterr().err
    main(["run", "study", "--without", "rag", "--without", "other"])
    assert read_study(Path("study/study.toml"), {}).answers == ["new.jsonl"]

    Path("two.jsonl").write_text(third + third.replace('"third"', '"fourth"'))
    run("run study --without third --answers two.jsonl", capsys)
    for words, problem in {"fourth": "has other systems beside fourth", "none": "no system none"}.items():
        assert problem in refusal(f"run study --without {words}", capsys)


def test_a_folder_of_runs_loses_the_run_that_is_replaced(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(WORDS, capsys)
    Path("later").mkdir()
    Path("later/bad.run").write_text("q1 Q0 blue 1 1.0 bad\n")
    run("run study --runs later/bad.run", capsys)
    assert read_study(Path("study/study.toml"), {}).runs == ["runs/good.run", "later/bad.run"]


def test_a_local_model_is_found_again_from_everywhere(
    files: Path, t5_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(t5_folder, "m")
    first = run(f"{WORDS} --model m", capsys)
    assert 'model = "../m"' in Path("study/study.toml").read_text()
    for model in ("./m", "m", str(Path("m").absolute())):
        again = run(f"run study --model {model}", capsys)
        assert again.rpartition("\nNext:")[2] == first.rpartition("\nNext:")[2]
    with chdir("study"):
        main(["run", ".", "--outside"])


def test_a_study_harms_no_file_outside_and_no_input(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study").mkdir()
    Path("mine.txt").write_text("mine")
    Path("study/checks.txt").symlink_to("../mine.txt")
    assert "study/checks.txt is a link" in refusal(WORDS, capsys)
    assert Path("mine.txt").read_text() == "mine"
    Path("study/checks.txt").unlink()
    Path("study/report").symlink_to("..")
    assert "study/report is a link" in refusal(WORDS, capsys)
    Path("study/report").unlink()
    Path("study/report").mkdir()
    for name in ("study.toml", "steps.json", "replies-1.journal", "report/review.html"):
        link = Path("study", name)
        link.unlink(missing_ok=True)
        link.symlink_to(Path("mine.txt").resolve())
        Path("mine.txt").write_text("")
        assert f"study/{name} is a link" in refusal(WORDS, capsys)
        assert Path("mine.txt").read_text() == ""
        link.unlink()
    Path("new").mkdir()
    Path("rag.jsonl").rename("new/graded.jsonl.gz")
    assert "is an input" in refusal("run --answers new/graded.jsonl.gz --bank bank.csv -o new", capsys)


def test_a_passages_file_is_graded_and_a_graded_one_has_its_verdict(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(WORDS, capsys)
    verdict = first[first.index("Rubric-Cover\n") : first.index("\nNext:")]
    words = "run --passages study/passages.jsonl.gz --bank bank.csv --queries queries.tsv -o new"
    assert verdict in run(f"{words} --model lexical", capsys)
    assert verdict in run("run --passages study/graded.jsonl.gz --bank study/bank.jsonl -o known", capsys)
    assert "but 3 queries are too few" in run("run --passages study/graded.jsonl.gz -o bare", capsys)


def test_repair_and_split_lines_are_kept(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Repeated lines, and passages without a text, stop a study without --repair."""
    Path("texts.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in [*TEXTS.items()][1:]))
    bank = Path("bank.csv").read_text()
    Path("bank.csv").write_text(bank + bank.splitlines()[1] + "\n" + 'q1,question,"Why?\n- Since when?"\n')
    assert "--repair" in refusal(WORDS, capsys)
    first = run(f"{WORDS} --repair --split-lines", capsys)
    assert "bank.csv --queries queries.tsv --split-lines --repair -o study/bank.jsonl" in first
    assert "Since when?" in Path("study/bank.jsonl").read_text()
    assert "repair = true" in Path("study/study.toml").read_text()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (
            "--answers rag.jsonl --bank other.jsonl",
            "--bank and --answers look swapped.",
        ),
        (
            "--answers rag.jsonl --bank nuggets.csv --model own --model-pipeline sentence-similarity",
            "own grades questions only: name another judge with --model, such as lexical.",
        ),
        (
            "--answers rag.jsonl --bank criteria.jsonl --model e5",
            "a warning against a mistake has the words of the mistake: name a language model with --model.",
        ),
    ],
)
def test_inputs_of_another_kind(
    files: Path, capsys: pytest.CaptureFixture[str], words: str, answer: str
) -> None:
    Path("nuggets.csv").write_text("query_id,nugget\nq1,air scatters blue light\n")
    mistake = {"query_id": "q1", "nugget_id": "q1/a", "nugget_text": "Says green.", "weight": -1}
    criteria = {"query_id": "q1", "info": {"prompt_target": "criteria"}, "items": [mistake]}
    Path("criteria.jsonl").write_text(json.dumps(criteria) + "\n")
    assert answer in refusal(f"run {words} -o new", capsys)


def test_names_that_look_like_options(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rag.jsonl").rename("-rag.jsonl")
    out = run("run --answers=-rag.jsonl --queries queries.tsv --bank bank.csv -o ./-study", capsys)
    for line in out.splitlines():
        if line.startswith("$ exam-pp "):
            main(shlex.split(line)[2:])
    main(shlex.split(out.rpartition("change the bank: exam-pp ")[2]))


def test_inputs_that_nuggets_do_not_use_are_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bank(QUESTIONS, kind="nugget")
    command = "run --answers rag.jsonl --runs runs --texts texts.tsv --bank bank.csv -o study"
    main(command.split())
    err = capsys.readouterr().err
    assert "Not used: runs, texts.tsv. A bank of nuggets is for answers alone." in err


def test_one_run_at_a_time(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(WORDS, capsys)
    lock = Lock.take(Path("study/.study.lock"), "")
    assert "study is in use by another run or by `exam-pp serve`: wait for it, or end it." in refusal(
        "run study", capsys
    )
    lock.release()
    run("run study", capsys)


def test_a_file_that_never_ends_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(WORDS, capsys)
    for name in ("steps.json", "study.toml", "graded.jsonl.gz"):
        path = files / "study" / name
        kept = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        assert f"study/{name}: is not a regular file." in refusal("run -o study", capsys)
        path.unlink()
        path.write_bytes(kept)
    os.mkfifo("pipe")
    for option in ("official", "edits", "prompt-file"):
        assert "pipe: is not a regular file." in refusal(f"run study/study.toml --{option} pipe", capsys)
