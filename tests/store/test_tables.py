"""Tables as people have them: of German Excel, of applications, of several systems, and with damaged rows."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exam_pp.errors import DataError, ProblemsError
from exam_pp.formats.bank_csv import read_bank_csv
from exam_pp.formats.base import known_format
from exam_pp.results import Qrel, RunLine
from exam_pp.store.problems import Problems, collecting, repairing
from exam_pp.store.tables import ANSWERS, QUERIES, Layout, column_names, columns_named, is_table, read_table
from exam_pp.store.trec.answers import read_answers
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.store.trec.runs import method_of, read_qrels, read_rankings, read_run, run_files, systems_of
from exam_pp.store.trec.texts import read_texts


def file(tmp_path: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding=encoding, newline="")
    return path


def rows(path: Path, layout: Layout = QUERIES) -> list[dict[str, str]]:
    problems = Problems(path)
    cells = [cells for _, cells in read_table(path, layout, problems)]
    problems.check()
    return cells


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("excel.csv", '\ufeffQuery ID;Question\r\nq1;"Was, ""x"";\nund y?"\r\n;\r\nq2;b\r\n'),
        ("a.csv", 'qid, question\nq1, "Was, ""x"";\nund y?"\nq2, b\n'),
        ("a.tsv", 'Question\tQuery-Id\n"Was, ""x"";\nund y?"\tq1\nb\tq2\n'),
        ("a.jsonl", '{"qid": "q1", "question": "Was, \\"x\\";\\nund y?"}\n{"question": "b", "qid": "q2"}\n'),
        ("a.json", '[{"qid": "q1", "question": "Was, \\"x\\";\\nund y?"},\n {"question": "b", "qid": "q2"}]'),
    ],
)
def test_every_kind_of_table_gives_the_same_queries(tmp_path: Path, name: str, text: str) -> None:
    path = file(tmp_path, name, text)
    assert read_query_texts(path) == {"q1": 'Was, "x";\nund y?', "q2": "b"}


def test_files_of_today_are_not_tables(tmp_path: Path) -> None:
    """Without a header, and with the keys of known formats, the fast readers of TREC files are used."""
    assert not is_table(file(tmp_path, "a.tsv", "q1\tWhat?\nq2\tWho?\n"), QUERIES)
    assert not is_table(file(tmp_path, "b.run", "q1 Q0 d1 1 2.0 tag\n"), QUERIES)
    assert column_names(file(tmp_path, "c.xml", "<top>")) == ()
    assert column_names(tmp_path) == ()


def test_ids_in_json_may_be_numbers_and_answers_null(tmp_path: Path) -> None:
    path = file(
        tmp_path, "v1.json", '[{"question_id": 1, "answer": "a"}, {"question_id": 2, "answer": null}]'
    )
    answers = list(read_answers(path))
    assert [(answer.system, answer.query_id, len(answer.parts)) for answer in answers] == [
        ("v1", "1", 1),
        ("v1", "2", 0),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v1.json", '{"q1": "One.", "q2": "Two."}'),
        ("v1.jsonl", '{"id": "q1", "output": "One."}\n{"id": "q2", "output": "Two."}\n'),
        ("other.csv", "Query ID;System;Answer\nq1;v1;One.\nq2;v1;Two.\n"),
    ],
)
def test_answers_of_an_application(tmp_path: Path, name: str, text: str) -> None:
    answers = read_answers(file(tmp_path, name, text))
    assert [(answer.system, answer.query_id, answer.parts[0].text) for answer in answers] == [
        ("v1", "q1", "One."),
        ("v1", "q2", "Two."),
    ]


def test_named_columns_count_before_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = file(tmp_path, "v1.csv", "id,number,answer,reply\nx,q1,draft,One.\n")
    with columns_named({"id": "number", "text": "reply", "score": "points"}):
        (answer,) = read_answers(path)
    assert (answer.query_id, answer.parts[0].text) == ("q1", "One.")
    assert "ignored the columns 'id', 'answer'" in caplog.text
    assert "no table has the column 'points'" in caplog.text


def test_runs_of_several_systems_in_a_table(tmp_path: Path) -> None:
    path = file(tmp_path, "runs.csv", "System;Query ID;Doc ID;Score\na;q;d1;1,5\na;q;d2;2,5\nb;q;d1;1\n")
    assert list(read_run(path)) == [
        RunLine("q", "d2", 1, 2.5, "a"),
        RunLine("q", "d1", 2, 1.5, "a"),
        RunLine("q", "d1", 1, 1.0, "b"),
    ]
    assert systems_of([path]) == ["a", "b"]
    form = known_format(path)
    assert form is not None
    assert form.name == "run"


def test_a_folder_has_runs_of_both_kinds(tmp_path: Path) -> None:
    file(tmp_path, "a.run", "q Q0 d1 1 2.0 t\n")
    table = file(tmp_path, "b.csv", "qid,docid,rank\nq,d2,2\nq,d1,1.0\n")
    file(tmp_path, "notes.csv", "note,x\n1,2\n")
    assert [path.name for path in run_files(tmp_path)] == ["a.run", "b.csv"]
    assert method_of(table) == "b"
    assert read_rankings(table) == {"b": {"q": {"d1": 2.0, "d2": 1.0}}}


def test_judgments_in_a_table(tmp_path: Path) -> None:
    path = file(tmp_path, "labels.csv", "\ufeffQuery ID;Doc ID;Label\nq;d1;2\nq;d2;0,5\n")
    assert read_qrels(path) == [Qrel("q", "d1", 2), Qrel("q", "d2", 0.5)]


def test_a_bank_of_a_spreadsheet(tmp_path: Path) -> None:
    path = file(
        tmp_path, "b.csv", "\ufeffQuery ID;Question;Nugget;Weight;Mine\r\nq;Who?;;1,5;x\r\nq;;A fact;;\r\n"
    )
    assert [(row.kind, row.text, row.weight) for row in read_bank_csv(path)] == [
        ("question", "Who?", "1.5"),
        ("nugget", "A fact", ""),
    ]


def test_a_bank_of_an_application(tmp_path: Path) -> None:
    content = [{"query": "bees", "question": "Who?", "gold_answers": ["a", "b"]}]
    (row,) = read_bank_csv(file(tmp_path, "b.json", json.dumps(content)))
    assert (row.query_id, row.query_text, row.kind, row.gold_answers) == (
        "bees",
        "bees",
        "question",
        '["a", "b"]',
    )


BROKEN = "query_id;doc_id;rank\nq;d1;1\nq;d1;2\nq;;3\nq;d2;x\nq;d3\nq;d4;4;5\n"


def test_all_problems_come_in_one_error(tmp_path: Path) -> None:
    path = file(tmp_path, "a.csv", BROKEN)
    with pytest.raises(ProblemsError) as raised:
        list(read_run(path))
    assert [(error.line, error.field) for error in raised.value.errors] == [
        (3, None), (4, "doc_id"), (5, "rank"), (6, None), (7, None),
    ]  # fmt: skip
    assert "5 problems" in str(raised.value)
    assert "drops 1 of them" in str(raised.value)


def test_many_problems_are_counted(tmp_path: Path) -> None:
    path = file(tmp_path, "a.run", "q Q0 d1 1\n" * 300)
    with pytest.raises(ProblemsError) as raised:
        list(read_run(path))
    assert "line 1: has 4 columns" in str(raised.value)
    assert "The same is in line 2, line 3, line 4, line 5, line 6, ... (100 in all)." in str(raised.value)
    assert "The other 200 problems" in str(raised.value)


def test_repair_keeps_the_first_line_and_counts(tmp_path: Path) -> None:
    path = file(tmp_path, "a.csv", "query_id,doc_id,rank\nq,d1,1\nq,d1,2\n")
    with repairing() as repairs:
        assert [line.rank for line in [*read_run(path), *read_run(path)]] == [1, 1]
    assert next(repairs.lines()).startswith("--repair dropped 1 repeated line;")
    texts = file(tmp_path, "t.tsv", "d1\tOne.\nd1\tTwo.\nd2\t \n")
    with repairing() as repairs:
        assert read_texts(texts, None) == {"d1": "One."}
    assert {repair: len(lines) for repair, lines in repairs.dropped.items()} == {
        "repeated": 1,
        "without text": 1,
    }


def test_a_check_goes_on_without_bad_rows(tmp_path: Path) -> None:
    with collecting() as problems:
        assert [line.passage_id for line in read_run(file(tmp_path, "a.csv", BROKEN))] == ["d1"]
    assert len(problems) == 5


@pytest.mark.parametrize(
    ("text", "line", "about"),
    [
        ("query_id,question,question\nq,a,b\n", 1, "has the column 'question' twice"),
        ('query_id,question\nq,"a\n', 2, "CSV"),
        ("query_id,question\n", None, "no rows"),
        ("query_id,question\nq,\udcff\n", 2, "UTF-8"),
        ('[{"query_id": "q", "question": ["a"]}]', None, "must be a text"),
        ('[{"query_id": "q", "question": "a"}, 3]', None, "is not a JSON object"),
    ],
)
def test_broken_tables(tmp_path: Path, text: str, line: int | None, about: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError) as raised:
        rows(path)
    assert raised.value.line == line
    assert about in raised.value.problem


def test_rows_with_null_characters_are_read(tmp_path: Path) -> None:
    assert rows(file(tmp_path, "a.csv", "query_id,question\nq,a\0b\n")) == [
        {"query_id": "q", "query_text": "a\0b"}
    ]


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=8)


@given(st.lists(st.tuples(CELL, CELL), min_size=1), st.sampled_from(",;\t"))
def test_csv_round_trip(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], separator: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerows([("query_id", "answer"), *pairs])
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    expected = [pair for pair in pairs if any(cell.strip() for cell in pair)]
    if all(query_id.strip() for query_id, _ in expected) and expected:
        layout = Layout(ANSWERS.required, ids=ANSWERS.ids, as_it_is=True)
        assert [tuple(cells.values()) for cells in rows(path, layout)] == expected


CELLS_OF_TSV = st.text('a"é 5,;=' + "'", max_size=6).filter(lambda text: text == text.strip())


@given(st.lists(CELLS_OF_TSV, min_size=1))
def test_quotes_in_tsv_are_characters(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Only a file in which each quoted cell ends, and has doubled marks, could also be quoted as CSV is."""
    assume(not any(text.startswith('"') and '""' in text[1:] for text in texts))
    path = file(tmp_path_factory.mktemp("tsv"), "a.tsv", "query_id\tanswer\n")
    with path.open("a", encoding="utf-8") as stream:
        stream.writelines(f"q{number}\t{text}\n" for number, text in enumerate(texts))
    assert [row["answer"] for row in rows(path, ANSWERS)] == texts


@given(st.lists(st.text('a" \n,;é', min_size=1, max_size=8), min_size=1), st.sampled_from(",;\t"))
def test_what_csv_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], separator: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        pairs = [(f"q{number}", text) for number, text in enumerate(texts)]
        csv.writer(stream, delimiter=separator).writerows([("query_id", "answer"), *pairs])
    layout = Layout(ANSWERS.required, ids=ANSWERS.ids, as_it_is=True)
    assert [cells["answer"] for cells in rows(path, layout)] == texts


@pytest.mark.parametrize(
    "text",
    [
        'q1\t"Iron rusts\nq2\tb\nq3\tc\n',
        'q1\t"to be\nq2\tor\nq3\tnot to be"\n',
        'q1\t"to be"\nq2\t5" pipes\nq3\t"\n',
        '"q1\ta\nq2\tb"\n"q3\t"c"\n',
        'q1\t"a\r\nq2\tb\r\nq3\tc\r\n\r\n',
    ],
)
def test_a_quotation_mark_swallows_no_line_of_tsv(tmp_path: Path, text: str) -> None:
    read = rows(file(tmp_path, "a.tsv", "\ufeffquery_id\tanswer\n" + text), ANSWERS)
    assert [row["query_id"].strip('"') for row in read] == ["q1", "q2", "q3"]


def test_megabytes_of_quotes_are_read_at_once(tmp_path: Path) -> None:
    """Not in the square of the file: a mark that nothing closes is looked for once."""
    answer = "Iron rusts. " * 8
    text = "".join(f'q{number}\t"{answer}\n' for number in range(40_000))
    read = rows(file(tmp_path, "a.tsv", "query_id\tanswer\n" + text), ANSWERS)
    assert len(read) == 40_000


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('q1,"a\nq2,b\nq3,c\n', 2),
        ('q0,x\nq1,"a\nq2,"b"\nq3,c\n', 3),
        ('q0,"x\ny"\nq1,"a\nq2,b,c"\nq3,"d\n', 6),
        ('q1,x\n"q2,a\nq3,b"\nq4,c\n', 3),
    ],
)
@pytest.mark.parametrize("as_it_is", [True, False])
def test_a_quotation_mark_swallows_no_line_of_csv(
    tmp_path: Path, text: str, line: int, *, as_it_is: bool
) -> None:
    path = file(tmp_path, "a.csv", "query_id,answer\n" + text)
    with pytest.raises(DataError, match="A quotation mark opens a cell") as raised:
        rows(path, Layout(ANSWERS.required, as_it_is=as_it_is))
    assert raised.value.line == line


def test_a_cell_of_what_looks_like_rows_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = file(tmp_path, "a.csv", 'query_id,answer\nq1,"to be\nq2,or\nq3,not to be"\n')
    assert len(rows(path, ANSWERS)) == 1
    assert "lines 2 to 4 are one row" in caplog.text


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "Unnamed: 0.1,Unnamed: 0"])
def test_columns_that_number_the_rows_are_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    index = ",".join("0" for _ in name.split(","))
    path = file(tmp_path, "v1.csv", f"{name},query_id,answer\n{index},q1,One.\n")
    assert [answer.query_id for answer in read_answers(path)] == ["q1"]
    assert not caplog.text


def test_numbers_of_a_column_are_of_one_language(tmp_path: Path) -> None:
    run = file(tmp_path, "v1.csv", 'qid,docid,score\nq,a,900\nq,b,"1,200"\n')
    assert [(line.passage_id, line.score) for line in read_run(run)] == [("b", 1200), ("a", 900)]
    run = file(tmp_path, "v2.csv", "qid;docid;rank;score\nq;a;999;1.200\nq;b;1,000;900,5\n")
    assert [(line.rank, line.score) for line in read_run(run)] == [(999, 1200), (1000, 900.5)]
    run = file(tmp_path, "v3.csv", 'qid,docid,score\nq,a,"1,200"\nq,b,"1,100"\n')
    with pytest.raises(DataError, match=r"score: '1,200' may be 1200 or 1\.2, .* write 1200, or 1\.2"):
        list(read_run(run))
    labels = file(tmp_path, "labels.csv", "qid;docid;label\nq;a;0,873\nq;b;nan\n")
    with pytest.raises(DataError, match="'nan' is not a number"):
        read_qrels(labels)


def test_further_columns_of_queries_are_no_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = file(tmp_path, "q.tsv", "q1\twhat makes iron rust\ten\nq2\tb\n")
    assert read_query_texts(path) == {"q1": "what makes iron rust", "q2": "b"}
    assert "ignored the cells after the text of 1 query" in caplog.text


def test_entries_of_several_lines_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = 'sep=,\nquery,nugget\nq,"One.\n- Two-three.\n4) Four."\nq,• 5.5 km • Six.\nq,Seven - or so.\n'
    path = file(tmp_path, "b.csv", table)
    assert len(read_bank_csv(path)) == 3
    assert "2 entries have several lines or bullets; --split-lines makes an entry of each" in caplog.text
    texts = [row.text for row in read_bank_csv(path, split_lines=True)]
    assert texts == ["One.", "Two-three.", "Four.", "5.5 km", "Six.", "Seven - or so."]


def test_columns_of_one_kind_of_file(tmp_path: Path) -> None:
    path = file(tmp_path, "a.csv", "Frage,Antwort,Fakt\nq,Ja.,Es ist so.\n")
    columns = {"query_id": "Frage", "answers:text": "Antwort", "bank:nugget": "Fakt"}
    with columns_named(columns):
        assert [answer.parts[0].text for answer in read_answers(path)] == ["Ja."]
        assert [row.text for row in read_bank_csv(path)] == ["Es ist so."]


def test_a_list_inside_an_object_is_found(tmp_path: Path) -> None:
    document = {"schema": "x", "judgments": [{"qid": "q", "docid": "d", "judgment": 2}]}
    labels = [Qrel("q", "d", 2)]
    assert read_qrels(file(tmp_path, "one.json", json.dumps(document))) == labels
    assert read_qrels(file(tmp_path, "lines.json", json.dumps({"data": document}, indent=1))) == labels


@given(st.dictionaries(CELL.filter(str.strip), CELL, min_size=2))
def test_pairs_and_records_of_json_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, texts: Mapping[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("json")
    records = [{"query_id": key, "answer": text} for key, text in texts.items()]
    as_pairs = file(folder, "a.json", json.dumps(texts, indent=1))
    as_records = file(folder, "b.json", json.dumps(records))
    if not ANSWERS.used(list(texts)):
        assert rows(as_pairs, ANSWERS) == rows(as_records, ANSWERS)
    assert Counter(len(row) for row in rows(as_records, ANSWERS)) == {2: len(texts)}
