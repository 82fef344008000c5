"""Commands that read the tables of people: spreadsheets, exports of applications, and runs as CSV."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages


@pytest.fixture(autouse=True)
def files() -> None:
    """Two runs, one of them CSV; texts and a bank of a German Excel; two versions of an application."""
    Path("runs").mkdir()
    Path("runs/a.run").write_text("q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq2 Q0 d3 1 1 t\n")
    Path("runs/b.csv").write_text("\ufeffQuery ID;Doc ID;Score\r\nq1;d2;1,5\r\nq2;d3;0,5\r\n", "utf-8")
    Path("runs/notes.csv").write_text("what\nnothing\n")
    Path("texts.csv").write_text(
        '\ufeffDoc ID;Text;Link\nd1;Bees eat nectar.;x\nd2;"Bees; and\nflowers";\nd3;Iron rusts.;\n', "utf-8"
    )
    Path("queries.csv").write_text("Query ID,Question\nq1,What do bees eat?\nq2,Why does iron rust?\n")
    Path("bank.csv").write_text(
        "\ufeffQuery ID;Question;Gewicht\nq1;Do bees eat nectar?;1,5\nq2;What rusts?;\n", "utf-8"
    )
    Path("nuggets.csv").write_text("Query ID,Nugget\nq1,nectar\nq1,pollen\nq2,water\n")
    Path("v1.json").write_text(json.dumps([{"question_id": "q1", "answer": "Nectar and pollen."}]))
    Path("v2.json").write_text(json.dumps({"q1": "Nectar.", "q2": "Water."}))


def run(*words: str) -> None:
    main(list(words))


def test_import_of_tables(capsys: pytest.CaptureFixture[str]) -> None:
    run("import", "--runs", "runs", "--texts", "texts.csv", "--queries", "queries.csv", "-o", "out.jsonl")
    first, second = read_passages("out.jsonl")
    assert [(p.passage_id, p.text, [r.method for r in p.rankings]) for p in first.passages] == [
        ("d1", "Bees eat nectar.", ["a"]),
        ("d2", "Bees; and\nflowers", ["a", "b"]),
    ]
    assert second.query_text == "Why does iron rust?"
    messages = capsys.readouterr().err
    assert "ignored the columns 'Link'" in messages
    assert "1 entry is not read" in messages
    assert "notes.csv" in messages


def test_a_bank_of_a_spreadsheet_needs_no_format(capsys: pytest.CaptureFixture[str]) -> None:
    run("bank", "import", "bank.csv", "-o", "bank.jsonl")
    assert [entry.text for query in read_bank("bank.jsonl") for entry in query.entries.values()] == [
        "Do bees eat nectar?",
        "What rusts?",
    ]
    assert "field 'Gewicht' (1)" in capsys.readouterr().err


def test_columns_and_repair(capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.csv").write_text("number,reply\nq1,One.\nq1,Two.\nq1,Three.\nq2,Four.\n")
    words = ("import", "--answers", "log.csv", "--columns", "id=number,text=reply", "-o", "out.jsonl")
    with pytest.raises(SystemExit):
        run(*words)
    error = capsys.readouterr().err
    assert "log.csv, line 3: the system 'log' answers the query 'q1' twice. The same is in line 4" in error
    assert "--repair" in error
    run(*words, "--repair")
    assert [[p.text for p in query.passages] for query in read_passages("out.jsonl")] == [["One."], ["Four."]]
    assert "--repair dropped 2 repeated lines" in capsys.readouterr().err


def test_validate_reads_the_same_tables(capsys: pytest.CaptureFixture[str]) -> None:
    run("validate", *("runs", "texts.csv", "queries.csv", "bank.csv", "nuggets.csv", "v1.json"))
    output = capsys.readouterr().out
    assert "0 errors, 1 warning." in output
    assert "v1 lacks 1 of 2 queries" in output
    assert "2 systems, 2 queries, 5 lines" in output
    Path("bad.csv").write_text("query_id,doc_id,rank\nq,d,1\nq,d,2\nq,,3\nq,e,x\n")
    with pytest.raises(SystemExit):
        run("validate", "bad.csv", "--format", "tsv")
    assert [line.split("\t")[3] for line in capsys.readouterr().out.splitlines()[1:]] == ["3", "4", "5"]
