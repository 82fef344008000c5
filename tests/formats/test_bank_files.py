"""Import and export of banks in other formats: ids as published, complete round trips, one-line errors."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import BankLine, entry_id
from exam_pp.cli.main import main
from exam_pp.formats.autojudge import read_autojudge, write_autojudge
from exam_pp.formats.bank_csv import EntryRow, bank_of_rows, read_bank_csv, row_of, write_bank_csv
from exam_pp.phases.banks.compare import differences
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.store.banks.bank_json import read_bank
from tests.conftest import data_error

TEXTS = st.text(st.characters(blacklist_categories=["Cs", "Cc"])).map(str.strip).filter(bool)
CELLS = TEXTS | st.sampled_from(
    ["=1+1", "'=x", "-5 degrees", "'quoted'", 'a "b", c;d', "two\nlines", "+1", "@a"]
)
ITEMS = st.fixed_dictionaries(
    {"query_id": st.just("007"), "question_id": TEXTS, "question_text": CELLS},
    optional={
        "gold_answers": st.lists(CELLS, max_size=2),
        "importance": st.sampled_from(["vital", "okay"]),
        "weight": st.floats(-100, 100),
        "category": CELLS,
        "group_text": CELLS,
    },
)
LINES = st.lists(ITEMS, max_size=4).map(
    lambda items: BankLine(query_id="007", query_text="=a; query", facet_id="f", facet_text="x", items=items)
)


@given(LINES)
def test_csv_round_trip(tmp_path_factory: pytest.TempPathFactory, line: BankLine) -> None:
    path = tmp_path_factory.mktemp("csv") / "bank.csv"
    write_bank_csv([line], path)
    assert [row._replace(line=0, missing=frozenset()) for row in read_bank_csv(path)] == [
        row_of(line, item) for item in line.items
    ]


def run(*arguments: str | Path) -> None:
    main(["-q", "bank", *map(str, arguments)])


def test_a_byte_order_mark_is_optional(demo_data: Path, tmp_path: Path) -> None:
    bank = demo_data / "questions.jsonl"
    convert(Conversion(bank, tmp_path / "plain.csv", "bank-csv"))
    convert(Conversion(bank, tmp_path / "marked.csv", "bank-excel"))
    plain = (tmp_path / "plain.csv").read_bytes()
    assert plain.startswith(b"query_id,")
    assert (tmp_path / "marked.csv").read_bytes() == b"\xef\xbb\xbf" + plain
    for name in ("plain", "marked"):
        run("import", tmp_path / f"{name}.csv", "--from", "csv", "-o", tmp_path / f"{name}.jsonl")
    assert (tmp_path / "plain.jsonl").read_bytes() == (tmp_path / "marked.jsonl").read_bytes()


@pytest.mark.parametrize("name", ["questions.jsonl", "nuggets.jsonl"])
def test_spreadsheet_round_trip(demo_data: Path, tmp_path: Path, name: str) -> None:
    bank, sheet = demo_data / name, tmp_path / "bank.csv"
    convert(Conversion(bank, sheet, "bank-csv"))
    run("import", sheet, "--from", "csv", "--bank", bank, "-o", tmp_path / "back.jsonl")
    assert read_bank(tmp_path / "back.jsonl").lines == read_bank(bank).lines


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_edited_spreadsheet(tiny_bank: Path, tmp_path: Path, separator: str) -> None:
    sheet = tmp_path / "bank.csv"
    columns = ["text", "query_id", "entry_id", "weight", "gold_answers", "note"]
    rows = [
        ["What text is that?", "q1", "q1/a", "", "", "reworded"],
        ["When?", "q1", "", "", "", "new"],
        ["Where is the text from?", "007", "007/a", "2,5", "a library", ""],
    ]
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=separator).writerows([columns, *rows])
    run("import", sheet, "--from", "csv", "--bank", tiny_bank, "-o", tmp_path / "new.jsonl")
    first, second = read_bank(tmp_path / "new.jsonl").lines
    assert [item.entry_id for item in first.items] == [
        entry_id("q1", "What text is that?"), entry_id("q1", "When?"),
    ]  # fmt: skip
    assert [record["op"] for record in first.info["history"]] == ["reword", "add", "remove"]
    assert (second.items[0].weight, second.items[0].gold_answers) == (2.5, ["a library"])
    assert second.query_text == "the query 007", "fields without a column are kept"


def test_cells_of_a_person_are_understood(tmp_path: Path) -> None:
    """Capitals and blanks around kinds and importance labels, which spreadsheets hide."""
    sheet = tmp_path / "bank.csv"
    sheet.write_text(
        "query_id,kind,text,importance\nq,Question ,Who?, Vital\nq,NUGGET,A fact.,Okay\nq,nugget,Two., Low\n",
        encoding="utf-8",
    )
    run("import", sheet, "--from", "csv", "-o", tmp_path / "b.jsonl")
    (line,) = read_bank(tmp_path / "b.jsonl").lines
    assert [(item.kind, item.importance) for item in line.items] == [
        ("question", "vital"), ("nugget", "okay"), ("nugget", " Low"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("query_id,text\nq1,a\n", "'nugget', but the file has no such column"),
        ("query_id,text,kind\nq1,a,claim\n", "'nugget', but is 'claim'"),
    ],
)
def test_rows_of_unknown_kinds(content: str, about: str, tmp_path: Path) -> None:
    sheet = tmp_path / "bank.csv"
    sheet.write_text(content, encoding="utf-8")
    with data_error(sheet, 2, "kind", about=about):
        bank_of_rows((sheet, row) for row in read_bank_csv(sheet))


def test_a_new_text_under_an_old_id_gets_a_new_id(tmp_path: Path) -> None:
    """Without the base bank: grades of the old text must not count for the new text."""
    old, own = entry_id("q", "Why?"), "q/mine"
    (tmp_path / "bank.csv").write_text(
        f"query_id,kind,text,entry_id\nq,question,How?,{old}\nq,question,Who?,{own}\n", encoding="utf-8"
    )
    run("import", tmp_path / "bank.csv", "--from", "csv", "-o", tmp_path / "b.jsonl")
    (line,) = read_bank(tmp_path / "b.jsonl").lines
    assert [item.entry_id for item in line.items] == [entry_id("q", "How?"), own]


def test_fields_without_a_column_are_kept(demo_data: Path, tmp_path: Path) -> None:
    bank, sheet, narrow = demo_data / "nuggets.jsonl", tmp_path / "bank.csv", tmp_path / "narrow.csv"
    convert(Conversion(bank, sheet, "bank-csv"))
    with sheet.open(encoding="utf-8", newline="") as read, narrow.open("w", newline="") as written:
        writer = csv.DictWriter(written, ["query_id", "entry_id", "text"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(csv.DictReader(read))
    run("import", narrow, "--from", "csv", "--bank", bank, "-o", tmp_path / "back.jsonl")
    assert read_bank(tmp_path / "back.jsonl").lines == read_bank(bank).lines


def test_ignored_cells_are_counted(
    tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "bank.csv"
    convert(Conversion(tiny_bank, sheet, "bank-csv"))
    with sheet.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows[0] |= {"query_text": "other words", "kind": "nugget"}
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [*rows[0], "note"])
        writer.writeheader()
        writer.writerows({**row, "note": "see below"} for row in rows)
    main(["bank", "import", *map(str, (sheet, "--from", "csv", "--bank", tiny_bank, "-o", tmp_path / "b"))])
    messages = capsys.readouterr().err
    assert ": query_text (1), kind (1)." in messages
    assert f": field 'note' ({len(rows)})." in messages
    assert read_bank(tmp_path / "b").lines == read_bank(tiny_bank).lines


def test_a_formula_is_shown_as_text(tmp_path: Path) -> None:
    line = BankLine.model_validate(
        {"query_id": "q", "items": [{"query_id": "q", "nugget_id": "q/1", "nugget_text": "=HYPERLINK(1)"}]}
    )
    write_bank_csv([line], tmp_path / "bank.csv")
    assert "'=HYPERLINK(1)" in (tmp_path / "bank.csv").read_text(encoding="utf-8")
    (row,) = read_bank_csv(tmp_path / "bank.csv")
    expected = EntryRow("q", kind="nugget", text="=HYPERLINK(1)", entry_id="q/1", line=2)
    assert row._replace(missing=frozenset()) == expected


@pytest.mark.parametrize(
    ("form", "lost"),
    [("bank-csv", {}), ("autojudge-bank", {})],
)
def test_dropped_fields_are_counted(form: str, lost: dict[str, int], demo_data: Path, tmp_path: Path) -> None:
    """The demo's nuggets of one query have three facets."""
    source, back = demo_data / "nuggets.jsonl", tmp_path / "back.jsonl"
    dropped = convert(Conversion(source, tmp_path / "out", form)).counts
    facets = {} if form == "bank-csv" else {"entry ids": 12, "facet texts": 3, "facets": 3}
    assert dropped == {"info of queries": 22} | facets | lost
    convert(Conversion(tmp_path / "out", back, "bank"))
    changed = {d.query_id for d in differences(read_bank(source), read_bank(back))}
    assert changed == (set() if form == "bank-csv" else {"d07"})


AUTOJUDGE: dict[str, Any] = {
    "query_id": "leaf",
    "title_query": "leaf colour",
    "full_query": "why do leaves change colour",
    "test_collection": "kiddie",
    "format_version": "v3",
    "nugget_bank": {
        "Why red?": {
            "question": "Why red?",
            "answers": {"5d41": {"answer": "anthocyanin", "references": ["d1"]}},
            "question_id": "2f0b5c9d7a4c4b6c8d1e2f3a4b5c6d7e",
            "importance": "vital",
            "quality": 3,
            "aggregator_type": "OR",
        },
        "Why yellow?": {"question": "Why yellow?", "answers": None, "question_id": "x"},
    },
    "claim_bank": {"c1": {"claim": "Evergreens keep their needles", "references": [], "query_id": "leaf"}},
    "creator": [{"is_human": False}],
}


def test_autojudge_round_trip(tmp_path: Path) -> None:
    for name, content in (
        ("one.json", json.dumps(AUTOJUDGE, indent=1)),
        ("lines", json.dumps(AUTOJUDGE) + "\n"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        lines = list(read_autojudge(tmp_path / name))
        write_autojudge(lines, tmp_path / "back")
        assert json.loads((tmp_path / "back").read_text(encoding="utf-8")) == AUTOJUDGE
    red, yellow, claim = lines[0].items
    assert red.entry_id == "leaf/2f0b5c9d7a4c4b6c8d1e2f3a4b5c6d7e"
    assert (red.gold_answers, red.importance) == (["anthocyanin"], "vital")
    assert yellow.gold_answers is None, "not known is not the same as unanswerable"
    assert (claim.kind, claim.entry_id) == ("nugget", entry_id("leaf", "Evergreens keep their needles"))


def test_a_new_text_has_a_new_key_in_autojudge(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(AUTOJUDGE), encoding="utf-8")
    (line,) = read_autojudge(tmp_path / "one.json")
    assert line.query_text == AUTOJUDGE["full_query"]
    red, *others = line.items
    reworded = red.model_copy(update={"question_text": "What is red?", "question_id": "leaf/new"})
    write_autojudge([line.model_copy(update={"items": [reworded, *others]})], tmp_path / "back")
    bank = json.loads((tmp_path / "back").read_text(encoding="utf-8"))["nugget_bank"]
    assert red.text not in bank
    assert bank["What is red?"]["question"] == "What is red?"
    assert bank["What is red?"]["question_id"] != red.entry_id.rpartition("/")[2]
