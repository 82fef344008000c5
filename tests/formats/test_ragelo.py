"""The CSV files of RAGElo; expected numbers of the real files are counted with Python's csv module."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from exam_pp.formats.base import format_of
from exam_pp.formats.ragelo import DOCUMENTS, passages_of
from exam_pp.store.tables import read_cells
from exam_pp.store.trec.answers import read_answer_table
from exam_pp.store.trec.queries import read_query_table
from tests.conftest import data_error


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "file.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_alternative_column_names_and_blanks_after_commas(tmp_path: Path) -> None:
    path = file(tmp_path, 'question_id, query\n0, "What is a, b\nand c?"\n1, More?\n')
    queries = read_query_table(path).values()
    assert [(query.query_id, query.query_text) for query in queries] == [
        ("0", "What is a, b\nand c?"),
        ("1", "More?"),
    ]


def test_documents_are_ranked_in_the_order_of_their_agent(tmp_path: Path) -> None:
    rows = "q,d1,One.,x,\nq,d2,Two.,y,kept\nq,d2,Two.,x,\nr,d1,One.,x,\nr,d3,Three.,,\n"
    path = file(tmp_path, f"qid,did,document,agent,note\n{rows}")
    unused: Counter[str] = Counter()
    cells = read_cells(path, DOCUMENTS, unused.update)
    first, second = passages_of(cells, path)
    assert [
        (p.passage_id, p.text, [(r.method, r.rank, r.score) for r in p.rankings]) for p in first.passages
    ] == [
        ("d1", "One.", [("x", 1, 2.0)]),
        ("d2", "Two.", [("y", 1, 1.0), ("x", 2, 1.0)]),
    ]
    assert [len(passage.rankings) for passage in second.passages] == [1, 0]
    assert unused == {"note": 1}


@pytest.mark.parametrize(
    ("text", "line", "field", "about"),
    [
        ("qid,agent\nq,a\n", 1, None, "'answer' (or answer_text, "),
        ("qid,agent,answer\nq,a,yes\n,a,no\n", 3, "qid", "empty"),
        ("qid,agent,answer\nq,a,yes\nq,a,no\n", 3, None, "'a' answers the query 'q' twice"),
        ("qid,agent,answer\nq,a,yes,more\n", 2, None, "more cells"),
        ("qid,agent,answer\nq,a,yes\nq,b\n", 3, None, "fewer cells"),
        ('qid,agent,answer\nq,a,"yes\n', 2, None, "CSV"),
        ("qid,agent,answer\n", None, None, "no rows"),
    ],
)
def test_errors_of_broken_files(
    text: str, line: int | None, field: str | None, about: str, tmp_path: Path
) -> None:
    path = file(tmp_path, text)
    with data_error(path, line, field, about=about):
        list(read_answer_table(path))


def test_a_document_has_one_text(tmp_path: Path) -> None:
    path = file(tmp_path, "qid,did,document\nq,d,One.\nq,d,Two.\n")
    with data_error(path, 3, about="'d'"):
        passages_of(read_cells(path, DOCUMENTS), path)


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("query_id,query", "ragelo-queries"),
        ("qid,query,date,author", "ragelo-queries"),
        ("query_id,agent,answer", "ragelo-answers"),
        ("qid,agent,answer,model", "ragelo-answers"),
        ("question_id,passage_id,document", "ragelo-documents"),
        ("query_id,system,answer,latency", "ragelo-answers"),
        ("query_id,system,text", "ragelo-answers"),
        ("query_id,text", "bank-csv"),
        ("query_id,doc_id,document,system,answer", "ragelo-documents"),
    ],
)
def test_names_of_ids_and_columns_of_metadata_are_known(header: str, form: str, tmp_path: Path) -> None:
    """RAGElo infers the columns of ids, and takes all columns that it does not know as metadata."""
    path = file(tmp_path, f"{header}\n" + ",".join(f"the {name}" for name in header.split(",")) + "\n")
    assert format_of(path).name == form
