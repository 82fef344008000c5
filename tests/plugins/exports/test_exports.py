"""Exports of tools as answers and as banks of references: layouts, joining by text, and refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.formats.base import known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Request
from exam_pp.phases.interchange.answer_units import read_any_answers
from exam_pp.phases.validation.validate import validate
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answers import Answer
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.keys import id_of_text
from tests.conftest import data_error, written
from tests.plugins.exports.made_up import (
    ANSWERS,
    CONTEXTS,
    DATA_SETS,
    EXPORTS,
    QUESTIONS,
    REFERENCES,
    WITHOUT_CONTEXTS,
    WITHOUT_REFERENCES,
)

QUERIES = "query_id,query_text\n" + "".join(
    f"b{number},{text.upper()}\n" for number, text in enumerate(QUESTIONS, 1)
)


def run(*words: object) -> None:
    main([str(word) for word in words])


def export(name: str, folder: Path) -> Path:
    _, text = EXPORTS[name]
    return written(folder / f"{name}.{'json' if text[0] in '[{' else 'csv'}", text)


def answers_of(path: Path) -> tuple[list[Answer], dict[str, int]]:
    dropped = DroppedFields()
    return list(read_any_answers(path, dropped)), dropped.counts


@pytest.mark.parametrize("name", EXPORTS)
def test_every_tool_gives_the_same_answers(name: str, tmp_path: Path) -> None:
    path = export(name, tmp_path)
    answers, dropped = answers_of(path)
    form = known_format(path)
    assert form is not None
    assert form.name == EXPORTS[name][0]
    assert [answer.query_text for answer in answers] == list(QUESTIONS)
    assert [" ".join(part.text for part in answer.parts) for answer in answers] == list(ANSWERS)
    if name not in WITHOUT_CONTEXTS:
        assert [tuple(text for _, text in answer.texts) for answer in answers] == list(CONTEXTS)
        assert [len(answer.references) for answer in answers] == [2, 1]
    assert ("reference answers (--bank reads them)" in dropped) == (name not in WITHOUT_REFERENCES)
    assert {answer.system for answer in answers} <= {name, "lakebot"}


@pytest.mark.parametrize("name", [name for name in EXPORTS if name not in WITHOUT_REFERENCES])
def test_references_are_a_bank_with_one_entry_a_query(name: str, tmp_path: Path) -> None:
    path, queries = export(name, tmp_path), written(tmp_path / "queries.csv", QUERIES)
    run("bank", "import", path, "--queries", queries, "-o", tmp_path / "bank.jsonl")
    bank = read_bank(tmp_path / "bank.jsonl")
    assert bank.has_references
    entries = {query.query_text: [item.text for item in query.items] for query in bank.lines}
    assert entries == {text: [reference] for text, reference in zip(QUESTIONS, REFERENCES, strict=True)}
    if name.startswith("ragas"):
        assert list(bank.queries) == ["b1", "b2"]


@pytest.mark.parametrize("name", DATA_SETS)
def test_data_sets_are_banks_and_queries(name: str, tmp_path: Path) -> None:
    text = DATA_SETS[name]
    path = written(tmp_path / f"{name}.{'json' if text[0] == '{' else 'csv'}", text)
    run("bank", "import", path, "-o", tmp_path / "bank.jsonl")
    bank = read_bank(tmp_path / "bank.jsonl")
    assert bank.has_references
    assert [[item.text for item in query.items] for query in bank.lines] == [[each] for each in REFERENCES]
    assert [name for _, name, _ in validate([path]).files] == ["references"]
    assert list(read_query_texts(path).values()) == list(QUESTIONS)
    with data_error(path, about="--answers looks like --bank"):
        answers_of(path)


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_are_queries(name: str, tmp_path: Path) -> None:
    """Answers of one export are joined to the questions of another."""
    run("import", "--answers", export("table", tmp_path), "--queries", export(name, tmp_path), "-o",
        tmp_path / "p.jsonl")  # fmt: skip
    assert [query.query_text for query in read_passages(tmp_path / "p.jsonl")] == list(QUESTIONS)


def test_answers_are_joined_by_the_text_of_their_query(tmp_path: Path) -> None:
    """A file of queries gives the ids, whatever the case; contexts are what the system retrieved."""
    path, queries = export("ragas-csv", tmp_path), written(tmp_path / "queries.csv", QUERIES)
    run("import", "--answers", path, "--queries", queries, "-o", tmp_path / "p.jsonl")
    first, second = read_passages(tmp_path / "p.jsonl")
    assert (first.query_id, second.query_id) == ("b1", "b2")
    ranked = [(p.text, r.rank, r.role) for p in first.passages for r in p.rankings]
    assert ranked == [
        (CONTEXTS[0][0], 1, "retrieved"), (CONTEXTS[0][1], 2, "retrieved"), (ANSWERS[0], 1, "answer"),
    ]  # fmt: skip


def test_exports_with_and_without_ids_meet(tmp_path: Path) -> None:
    """Ids of one tool count for the questions of another, in any order of the files."""
    paths = [export(name, tmp_path) for name in ("ragas-csv", "ragchecker", "phoenix")]
    for order in (paths, paths[::-1]):
        words = [word for path in order for word in ("--answers", path)]
        run("import", *words, "-o", tmp_path / "p.jsonl")
        assert [query.query_id for query in read_passages(tmp_path / "p.jsonl")] == ["c0", "c1"]
    assert not validate(paths).number("warning")


def test_ids_of_texts_are_short_and_stable() -> None:
    assert id_of_text("Is  it\nopen?") == id_of_text("is it OPEN? ") == "t-1558b5f1f5"
    assert id_of_text("Cafe\u0301") == id_of_text("CAF\u00c9") != id_of_text("cafe")


def test_run_joins_a_bank_that_names_queries_by_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command reads the export and the bank; every dropped field is named once."""
    bank = f"query,nugget\n{QUESTIONS[0].lower()},It has 14 degrees\n{QUESTIONS[1]},The harbour office\n"
    words = ["--answers", export("deepeval", tmp_path), "--bank", written(tmp_path / "bank.csv", bank)]
    run("run", *words, "--model", "lexical", "-o", tmp_path / "study")
    printed = capsys.readouterr()
    assert "deepeval scores" in printed.out
    assert printed.err.count("'tools_called'") == 1
    assert "2 pairs graded" in printed.err  # the contexts are no answers
    answered = list(read_passages(tmp_path / "study" / "assigned.jsonl.gz"))
    assert [query.query_id for query in answered] == [QUESTIONS[0].lower(), QUESTIONS[1]]


def test_validate_names_dropped_fields(tmp_path: Path) -> None:
    (file,) = validate([export("ragchecker", tmp_path)]).files
    assert file[1:] == (
        "ragchecker",
        "2 answers; Not used: field 'metrics' (1), field 'response_claims' (2), "
        "reference answers (--bank reads them) (2).",
    )


@pytest.mark.parametrize("name", EXPORTS)
def test_every_dropped_field_is_named_once(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``import``, ``run`` and ``validate`` say the same, with the keys of the tool."""
    path = export(name, tmp_path)
    sentence = validate([path]).files[0][2].partition("; ")[2]
    assert bool(sentence) == bool(answers_of(path)[1])
    run("import", "--answers", path, "-o", tmp_path / "p.jsonl")
    bank = written(tmp_path / "bank.csv", f"query,nugget\n{QUESTIONS[0]},It has 14 degrees\n")
    run("run", "--answers", path, "--bank", bank, "--model", "lexical", "-o", tmp_path / "s")
    printed = capsys.readouterr().err
    assert printed.count("Not used: ") == 2 * bool(sentence)
    fields = re.findall(r"field '.+?' \(\d+\)", sentence)
    assert [printed.count(field) for field in fields] == [2] * len(fields)


def test_failed_calls_are_missing_answers(tmp_path: Path) -> None:
    """Neither the error nor the question is the answer."""
    value = json.loads(EXPORTS["promptfoo"][1])
    value["results"]["results"][1]["response"] = {"error": "timeout"}
    log = json.loads(EXPORTS["inspect-ai"][1])
    failed = log["samples"][1]
    failed |= {"output": {"model": "lakebot", "completion": "", "choices": []}, "messages": failed["input"]}
    for document in (value, log):
        answers, dropped = answers_of(written(tmp_path / "a.json", json.dumps(document)))
        assert [len(answer.parts) for answer in answers] == [1, 0]
    assert dropped["other messages of conversations"] == 2  # those of the system


def test_earlier_turns_are_counted(tmp_path: Path) -> None:
    _, dropped = answers_of(export("mt-rag", tmp_path))
    assert dropped["other messages of conversations"] == 4


def test_systems_of_promptfoo_and_epochs_of_inspect(tmp_path: Path) -> None:
    """Prompts of a provider are systems; epochs are repeats; the same answer twice counts once."""
    value = json.loads(EXPORTS["promptfoo"][1])
    (first, second) = value["results"]["results"]
    value["results"]["results"].append({**first, "promptIdx": 1, "response": {"output": "Cold."}})
    answers, _ = answers_of(written(tmp_path / "p.json", json.dumps(value)))
    assert [answer.system for answer in answers] == ["lakebot", "lakebot", "lakebot-2"]
    value["results"]["results"][2]["provider"] = {"id": "other"}
    answers, _ = answers_of(written(tmp_path / "p.json", json.dumps(value)))
    assert [answer.system for answer in answers] == ["lakebot", "lakebot", "other"]
    value["results"]["results"][2]["provider"] = first["provider"]
    log = json.loads(EXPORTS["inspect-ai"][1])
    log["samples"].append({**log["samples"][0], "epoch": 2})
    answers, _ = answers_of(written(tmp_path / "log.json", json.dumps(log)))
    assert [(answer.query_id, answer.repeat) for answer in answers] == [("0", 1), ("1", 1), ("0", 2)]
    value["results"]["results"] = [first, second, first]
    answers, dropped = answers_of(written(tmp_path / "p.json", json.dumps(value)))
    assert (len(answers), dropped["copies of answers"]) == (2, 1)


def test_passages_of_one_document_have_ids_of_their_own(tmp_path: Path) -> None:
    value = json.loads(EXPORTS["ragchecker"][1])
    for context in value["results"][0]["retrieved_context"]:
        context["doc_id"] = "lake.md"
    (first, _), _ = answers_of(written(tmp_path / "r.json", json.dumps(value)))
    assert first.references == ("lake.md", f"lake.md#{id_of_text(CONTEXTS[0][1])}")


@pytest.mark.parametrize("missing", ["nan", "None", "", "NaN"])
def test_missing_answers_are_empty(missing: str, tmp_path: Path) -> None:
    table = f"question,answer\n{QUESTIONS[0]},{missing}\n{QUESTIONS[1]},Yes.\n"
    answers, _ = answers_of(written(tmp_path / "a.csv", table))
    assert [len(answer.parts) for answer in answers] == [0, 1]
    with_ids = written(tmp_path / "b.csv", f"query_id,system,answer\nq,a,{missing}\nq,b,Yes.\n")
    assert [len(answer.parts) for answer in answers_of(with_ids)[0]] == [0, 1]


NESTED = {
    "run": "x",
    "data": {"items": [{"input": "Warm?", "output": {"answer": {"text": "Yes."}}, "docs": ["It is warm."]}]},
}


def test_unknown_json_is_refused_with_a_proposal_that_works(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", json.dumps(NESTED, indent=1))
    columns = "query_text=input,text=output.answer.text,contexts=docs"
    with data_error(path, about=f"add --columns {columns}"):
        answers_of(path)
    run("import", "--answers", path, "--columns", columns, "-o", tmp_path / "p.jsonl")
    (query,) = read_passages(tmp_path / "p.jsonl")
    assert [passage.text for passage in query.passages] == ["It is warm.", "Yes."]


def test_tables_with_other_headers_need_columns(tmp_path: Path) -> None:
    unknown = written(tmp_path / "b.csv", "\ufeffsep=;\n;Thema;Reaktion\n0;Warm?;Ja.\n")
    with data_error(unknown, line=1, about="The header has Thema, Reaktion"):
        answers_of(unknown)
    path = written(tmp_path / "a.csv", "\ufeffsep=;\n;Frage;Antwort\n0;Warm?;Ja.\n")
    with data_error(path, about="add --columns query_text=Frage,text=Antwort"):
        answers_of(path)
    columns = "answers:query_text=Frage,text=Antwort,bank:query_text=Thema"
    run("import", "--answers", path, "--columns", columns, "-o", tmp_path / "p.jsonl")
    (query,) = read_passages(tmp_path / "p.jsonl")
    assert (query.query_text, query.passages[0].text) == ("Warm?", "Ja.")


@pytest.mark.parametrize(
    ("value", "about"),
    [
        ([{"user_input": "Warm?", "response": None, "reference": "yes"}], "no answers of a system"),
        ([{"input": "", "actual_output": "Yes."}], "has no question"),
        (
            [{"input": "Warm?", "actual_output": text} for text in ("Yes.", "No.")],
            "'Warm.' twice",
        ),
    ],
)
def test_refusals(value: Any, about: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", json.dumps(value))
    with pytest.raises(DataError, match=about):
        answers_of(path)


def test_swapped_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank = written(tmp_path / "bank.csv", "query_id,nugget\nq,Warm.\nq,Cold.\n")
    with data_error(bank, about="--answers looks like --bank"):
        answers_of(bank)
    answers, spans = export("table", tmp_path), export("phoenix", tmp_path)
    with pytest.raises(SystemExit):
        run("run", "--answers", answers, "--bank", spans, "-o", tmp_path / "s")
    assert "--bank and --answers look swapped" in capsys.readouterr().err


def test_rows_of_tools_in_python() -> None:
    rows = [json.loads(line) for line in EXPORTS["ragas-0.2"][1].splitlines()]
    study = exam_pp.study(bank=[{"query": QUESTIONS[0], "question": "How warm?"}], answers=rows)
    (query,) = study.passages
    assert [passage.text for passage in query.passages] == [*CONTEXTS[0], ANSWERS[0]]
    by_references = exam_pp.study(bank=rows, answers=rows).bank
    assert [item.text for line in by_references.lines for item in line.items] == list(REFERENCES)


ASKED = [
    {
        "user_input": "How warm is the lake?",
        "response": "About 14 degrees.",
        "reference": "14 degrees in May.",
    },
    {
        "user_input": "Is it deep?",
        "response": "I cannot answer this.",
        "reference": "The guide does not say.",
    },
    {"user_input": "Who swims?", "response": "Ducks.", "reference": "nan"},
]
REFUSED = "The guide does not say."


def test_correct_refusals_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The prompt shows a reference without an answer as any other; an answer that says so has its facts."""
    asked: list[str] = []

    def reply(request: Request) -> str:
        asked.append(request.text)
        return "support" if REFUSED in request.text and "I cannot answer" in request.text else "not_support"

    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: FakeLLM(reply))
    path = written(tmp_path / "bot.json", json.dumps(ASKED))
    model = ["--model", "gpt", "--model-pipeline", "openai"]
    run("run", "--answers", path, "--bank", path, *model, "-o", tmp_path / "s")
    assert len(asked) == 2  # a question without a reference has no entry
    assert "If the reference says that there is no answer, an answer that says so" in asked[0]
    assert "bot scores 50 % with 2 queries" in capsys.readouterr().out


@pytest.mark.parametrize("judge", ["lexical", "e5"])
def test_only_readers_compare_references(
    judge: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "bot.json", json.dumps(ASKED))
    for words in (
        ["run", "--answers", path, "--bank", path, "-o", tmp_path / "s"],
        ["nuggetize", tmp_path / "bank.jsonl", "--from", "references", "-o", tmp_path / "facts.jsonl"],
    ):
        run("bank", "import", path, "-o", tmp_path / "bank.jsonl")
        with pytest.raises(SystemExit):
            run(*words, "--model", judge)
        assert re.search("a wrong answer has most words|only compares texts", capsys.readouterr().err)


def test_facts_of_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference that says that there is no answer has no facts, and is one itself."""

    def reply(request: Request) -> str:
        if request.slot("length") is None:
            return '["vital"]'
        return "[]" if REFUSED in request.text else '["14 degrees"]'

    monkeypatch.setattr("exam_pp.phases.banks.generate.load_llm", lambda _options: FakeLLM(reply))
    path = written(tmp_path / "bot.json", json.dumps(ASKED))
    run("bank", "import", path, "-o", tmp_path / "bank.jsonl")
    words = ["nuggetize", tmp_path / "bank.jsonl", "--from", "references", "-o", tmp_path / "facts.jsonl"]
    run(*words, "--model", "gpt", "--model-pipeline", "openai")
    facts = read_bank(tmp_path / "facts.jsonl")
    assert [[(item.text, item.importance) for item in line.items] for line in facts.lines] == [
        [("14 degrees", "vital")], [(REFUSED, "vital")]
    ]  # fmt: skip
    assert facts.lines[0].info["nuggetizer"]["judgments"] == "references"
    assert not facts.has_references  # so any judge of facts grades them
    with pytest.raises(SystemExit):
        run("nuggetize", tmp_path / "facts.jsonl", *words[2:-1], tmp_path / "again.jsonl", "--model", "gpt",
            "--model-pipeline", "openai")  # fmt: skip
