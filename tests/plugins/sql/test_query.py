"""SQL on graded files: example queries, outputs in every format, databases and Parquet files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli
from exam_pp.errors import OutputError, QueryError, SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.cover import cover
from exam_pp.plugins.sql.duck import Limits
from exam_pp.plugins.sql.examples import EXAMPLES
from exam_pp.plugins.sql.query import (
    RowWriter,
    SqlSources,
    build_database,
    export_parquet,
    query_files,
    query_result,
)
from exam_pp.plugins.sql.tables import TABLES
from exam_pp.rendering.rows import write_rows
from exam_pp.store.files import work_folder
from exam_pp.store.locks import create_work_folder, lock_path
from tests.conftest import passage, rubric, written

LIMITS = Limits("500MB", 2)
RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTED = "QuestionCompleteConciseUnanswerablePromptWithChoices"


def rated(model: str, ratings: dict[str, int], **keys: Any) -> dict[str, Any]:
    return rubric(ratings, llm=model, prompt_info={"prompt_class": RATED}, **keys)


def extracted(answers: dict[str, int]) -> dict[str, Any]:
    return rubric(answers, llm="m", prompt_info={"prompt_class": EXTRACTED}, self_ratings=None)


def of_pool(passage_id: str, relevance: int, **ranks: int) -> dict[str, Any]:
    judgment = {"paragraphId": passage_id, "query": "q1", "relevance": relevance, "titleQuery": "q1"}
    of_passage = {"paragraphId": passage_id, "queryId": "q1", "score": 1.0}
    rankings = [{"method": system, "rank": rank, **of_passage} for system, rank in ranks.items()]
    return {"judgments": [judgment], "rankings": rankings}


GRADED = [
    ["q1", [
        passage("p1", paragraph_data=of_pool("p1", 3, bm25=1), exam_grades=[
            rated("m", {"a": 5, "b": 0}), rated("n", {"a": 4, "b": 1}), extracted({"a": 0, "b": 0}),
        ]),
        passage("p2", paragraph_data=of_pool("p2", 2, bm25=2, dense=1), exam_grades=[
            rated("m", {"a": 3, "b": 0}, answers=[["a", "3"], ["b", "none"]]),
            rated("n", {"a": 4, "b": 0}), extracted({"a": 0, "b": 1}),
        ]),
    ]],
    ["007", [passage("p3", exam_grades=[
        rated("m", {"c": 4}), rated("n", {}, llm_response_errors={"c": {"failure_reason": "late"}}),
    ])]],
]  # fmt: skip
EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "contents": [
        ("m", EXTRACTED, "question", 2, 4, 0, 0.25),
        ("m", RATED, "question", 3, 5, 0, 0.6),
        ("n", RATED, "question", 3, 5, 1, 0.6),
    ],
    "bad-questions": [
        ("007", "c", None, "m", RATED, 1, 4, 1.0),
        ("q1", "a", None, "n", RATED, 2, 4, 1.0),
        ("q1", "b", "Who?", "m", RATED, 2, 0, 0.0),
        ("q1", "b", "Who?", "n", RATED, 2, 1, 0.0),
    ],
    "uncovered-passages": [("q1", "p2", "m", RATED, 2, 3, "Text of p2.")],
    "judgments": [
        ("m", RATED, 3, 1, 1, 0, 0), ("m", RATED, 2, 1, 0, 1, 0),
        ("n", RATED, 3, 1, 1, 0, 0), ("n", RATED, 2, 1, 1, 0, 0),
    ],
    "disagreement": [("m", RATED, EXTRACTED, 4, 1, 1)],
    "graders": [(RATED, "m", "n", 4, 0.25, 0.75, 1)],
    "system-coverage": [
        ("m", RATED, "bm25", 0.25), ("m", RATED, "dense", 0.0),
        ("n", RATED, "bm25", 0.25), ("n", RATED, "dense", 0.25),
    ],
    "ungraded": [("n", RATED, "late", 1, 1)],
    "odd-replies": [("m", RATED, "none", 1)],
    "run-holes": [("bm25", 2, 1)],
    "leaderboards": [("b", "board.tsv", "Cover", 0.7, 1), ("a", "board.tsv", "Cover", 0.5, 2)],
}  # fmt: skip
"""The rows of every example query, counted by hand."""


@pytest.fixture
def small(write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path) -> SqlSources:
    item = {"query_id": "q1", "question_id": "b", "question_text": "Who?"}
    bank = write_jsonl("bank.jsonl", [{"query_id": "q1", "items": [item]}])
    (tmp_path / "bm25.run").write_text("q1 Q0 p1 0 2 t\nq1 Q0 p9 1 1 t\n007 Q0 p3 20 1 t\n")
    (tmp_path / "board.tsv").write_text("system\tCover\na\t0.5\nb\t0.7\n")
    graded = write_jsonl("graded.jsonl", GRADED)
    return SqlSources([graded], [bank], [Path("bm25.run")], [Path("board.tsv")])


@pytest.fixture
def graded(small: SqlSources) -> Path:
    return small.graded[0]


@pytest.mark.parametrize("name", EXAMPLES.names())
def test_example_queries(name: str, small: SqlSources) -> None:
    assert [tuple(row.values()) for row in ask(small, EXAMPLES.get(name).sql)] == EXPECTED[name]


def ask(sources: SqlSources, sql: str, **parameters: Any) -> list[dict[str, Any]]:
    with query_result(sources, sql, parameters, LIMITS) as result:
        return [dict(zip(result.columns, row, strict=True)) for row in result]


def test_system_coverage_is_rubric_cover(graded: Path) -> None:
    rows = ask(SqlSources([graded]), EXAMPLES.get("system-coverage").sql)
    scores = cover(graded, grade_filter=GradeFilter("m", RATED), min_grade=4, cutoff=20).scores
    means = {s.system: s.mean for s in standings(scores) if s.metric.startswith("Cover")}
    means.pop("_overall_", None)
    assert {row["system"]: row["cover"] for row in rows if row["model"] == "m"} == means


def test_a_database_is_read_by_duckdb_under_any_name(graded: Path, tmp_path: Path) -> None:
    """The views refer to tables of their own database; the comments describe their columns."""
    import duckdb

    build_database(SqlSources([graded]), tmp_path / "grades.duckdb", LIMITS)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{tmp_path / 'grades.duckdb'}' AS other (READ_ONLY)")
        counts = {
            table: connection.sql(f"SELECT count(*) FROM other.{table}").fetchall()
            for table in ("grades", "ratings", "answers")
        }
        comments = connection.sql(
            "SELECT table_name, column_name FROM duckdb_columns() "
            "WHERE database_name = 'other' AND schema_name = 'main' AND comment IS NOT NULL"
        ).fetchall()
    for table, [(count,)] in counts.items():
        assert ask(SqlSources([graded]), f"SELECT count(*) AS n FROM {table}") == [{"n": count}]
    assert set(comments) == {(name, column.name) for name, t in TABLES.items() for column in t.columns}


def test_queries_bank_and_parameters(graded: Path, tiny_bank: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text("q1\tan own text\nq9\tanother\n")
    sources = SqlSources([graded], [tiny_bank], queries=[tmp_path / "queries.tsv"])
    rows = ask(sources, "SELECT query_id, query_text, test_collection FROM queries ORDER BY query_id")
    assert [tuple(row.values()) for row in rows] == [
        ("007", "the query 007", "tiny"), ("q1", "an own text", "tiny"), ("q9", "another", None),
    ]  # fmt: skip
    sql = "SELECT count(*) AS n FROM ratings WHERE rating >= $least AND model = $model AND query_id = $query"
    assert ask(sources, sql, least=4, model="m", query="q1") == [{"n": 1}]
    assert ask(sources, sql, least=4, model="m", query="007") == [{"n": 1}]


def test_a_query_on_two_lines_has_its_passages_once(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    line = '["q", [{"paragraph_id": "p", "text": "t"}, {"paragraph_id": "%s", "text": "u"}]]\n'
    path.write_text(line % "x" + line % "y" + '["r", [{"paragraph_id": "p", "text": "t"}]]\n')
    rows = ask(SqlSources([path]), "SELECT query_id, passage_id, line FROM passages ORDER BY ALL")
    assert [tuple(row.values()) for row in rows] == [
        ("q", "p", 1),
        ("q", "x", 1),
        ("q", "y", 2),
        ("r", "p", 3),
    ]


def writer(form: str) -> RowWriter:
    return partial(write_rows, form=form)


FORMATS = {
    "tsv": "a\tb\n1\tx y\n\tz\n",
    "csv": "a,b\n1,x\ty\n,z\n",
    "jsonl": '{"a": 1, "b": "x\\ty"}\n{"a": null, "b": "z"}\n',
    "json": '[\n {"a": 1, "b": "x\\ty"},\n {"a": null, "b": "z"}\n]\n',
    "md": "| a | b |\n| ---: | --- |\n| 1 | x y |\n|  | z |\n",
}


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "json", "md"])
def test_formats(form: str, tmp_path: Path) -> None:
    output = tmp_path / "rows"
    sql = "SELECT * FROM (VALUES (1, E'x\\ty'), (NULL, 'z')) AS t(a, b)"
    query_files(SqlSources(), sql, {}, output, writer(form), LIMITS)
    assert output.read_text(encoding="utf-8") == FORMATS[form]


def test_nested_and_odd_values(tmp_path: Path) -> None:
    values = "[1, 2] AS a, {'x': 1.5} AS b, DATE '2024-01-02' AS c, 1.5::DECIMAL AS d"
    sql = f"SELECT {values}, 'nan'::DOUBLE AS e, 1 AS a, true AS f"
    query_files(SqlSources(), sql, {}, tmp_path / "r.jsonl", writer("jsonl"), LIMITS)
    assert json.loads((tmp_path / "r.jsonl").read_text()) == {
        "a": [1, 2], "b": {"x": 1.5}, "c": "2024-01-02", "d": 1.5, "e": None, "a_2": 1, "f": True,
    }  # fmt: skip
    query_files(SqlSources(), sql, {}, tmp_path / "r.csv", writer("csv"), LIMITS)
    (row,) = csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text()))
    assert row == {
        "a": "[1, 2]",
        "b": '{"x": 1.5}',
        "c": "2024-01-02",
        "d": "1.5",
        "e": "nan",
        "a_2": "1",
        "f": "true",
    }


def test_a_database_gives_the_same_results_as_files(small: SqlSources, tmp_path: Path) -> None:
    database = tmp_path / "new" / "grades.duckdb"
    database.parent.mkdir()
    build_database(small, database, LIMITS)
    for name, rows in EXPECTED.items():
        assert [tuple(row.values()) for row in ask(SqlSources([database]), EXAMPLES.get(name).sql)] == rows
    assert [path.name for path in database.parent.iterdir()] == ["grades.duckdb"]
    with pytest.raises(SelectionError, match=r"grades\.duckdb.* inputs"):
        ask(SqlSources([database, *small.graded]), "SELECT 1")
    with pytest.raises(SelectionError, match=r"grades\.duckdb.* already"):
        build_database(SqlSources([database]), tmp_path / "x.duckdb", LIMITS)


def test_parquet_files_hold_the_tables(graded: Path, tmp_path: Path) -> None:
    import duckdb

    written = export_parquet(SqlSources([graded]), tmp_path / "out", LIMITS)
    names = {path.stem for path in written}
    assert names == {"queries", "passages", "judgments", "rankings", "grades", "ratings", "answers"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.parquet" for name in names}
    source = f"'{tmp_path / 'out' / 'ratings.parquet'}'"
    sql = f"SELECT count(*) AS n, sum(rating) AS sum FROM {source}"
    with duckdb.connect() as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    assert [row] == [tuple(r.values()) for r in ask(SqlSources([graded]), sql.replace(source, "ratings"))]


def command(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments))


def test_an_example_query_with_its_comment(graded: Path) -> None:
    """The argument starts with dashes, like an option."""
    sql = command("show", "sql", "contents").stdout
    done = command("query", str(graded), f"-- contents\n{sql}")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == command("query", str(graded), sql).stdout


def test_the_command(graded: Path, tmp_path: Path) -> None:
    sql = "SELECT model, count(*) AS n FROM ratings WHERE rating >= $least GROUP BY ALL ORDER BY ALL"
    done = command("query", str(graded), sql, "--param", "least=4", "--format", "jsonl")
    assert done.exit_code == 0
    assert [json.loads(line)["model"] for line in done.stdout.splitlines()] == ["m", "n"]
    file = written(tmp_path / "q.sql", sql)
    again = command("query", str(graded), str(file), "--param", "least=4", "--format", "jsonl")
    assert again.stdout == done.stdout
    assert "bad-questions" in command("list", "sql").stdout


def test_a_saved_database_answers_later_queries(graded: Path, tiny_bank: Path, tmp_path: Path) -> None:
    sql = "SELECT count(*) AS n FROM ratings JOIN bank USING (query_id, entry_id)"
    files, saved = [str(graded), "--bank", str(tiny_bank)], str(tmp_path / "saved")
    assert command("query", *files, "--save", saved).exit_code == 0
    assert command("query", saved, sql).stdout == command("query", *files, sql).stdout
    assert command("query", *files, "--format", "parquet", "--save", str(tmp_path / "tables")).exit_code == 0
    assert (tmp_path / "tables" / "bank.parquet").is_file()


def test_an_empty_table_is_reported(graded: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert ask(SqlSources([graded]), "SELECT * FROM bank") == []
    assert "--bank" in caplog.text


def test_duplicates_are_a_single_row(tmp_path: Path) -> None:
    judgment = {"paragraphId": "p", "query": "q", "relevance": 1, "titleQuery": "q"}
    place = {"method": "s", "queryId": "q", "paragraphId": "p", "rank": 0, "score": 2.0}
    data = {
        "judgments": [judgment, judgment, {**judgment, "relevance": 2}],
        "rankings": [place, place, {**place, "citations": ["d"]}],
    }
    line = json.dumps(["q", 2 * [{"paragraph_id": "p", "text": "t", "paragraph_data": data}]]) + "\n"
    path = written(tmp_path / "g.jsonl", line + line)
    rows = ask(SqlSources([path]), "SELECT relevance FROM judgments ORDER BY ALL")
    assert [row["relevance"] for row in rows] == [1, 2]
    rows = ask(SqlSources([path]), "SELECT citations FROM rankings ORDER BY len(citations) NULLS FIRST")
    assert [row["citations"] for row in rows] == [None, ["d"]]


@pytest.mark.parametrize("form", ["duckdb", "parquet"])
def test_concurrent_and_killed_builds_of_a_database(graded: Path, tmp_path: Path, form: str) -> None:
    def make() -> None:
        if form == "duckdb":
            build_database(SqlSources([graded]), tmp_path / "out.duckdb", LIMITS)
        else:
            export_parquet(SqlSources([graded]), tmp_path / "out", LIMITS)

    beside = tmp_path / "out.duckdb" if form == "duckdb" else tmp_path / "out" / "files"
    beside.parent.mkdir(exist_ok=True)
    with work_folder(beside) as left:
        with pytest.raises(OutputError, match=r"out.* process"):
            make()
        assert left.is_dir()
    left = create_work_folder(beside)
    (left / "tables.duckdb").write_text("half a database")
    lock_path(beside, "work").touch()
    make()
    assert not [path.name for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_cells_of_csv_are_no_formulas(tmp_path: Path) -> None:
    sql = "SELECT * FROM (VALUES ('=1+1', -1), ('-x', -0.5), ('-7', NULL), ('@x', 1)) AS t(\"=name\", n)"
    query_files(SqlSources(), sql, {}, tmp_path / "r.csv", writer("csv"), LIMITS)
    assert (tmp_path / "r.csv").read_text("utf-8") == "'=name,n\n'=1+1,-1\n'-x,-0.5\n-7,\n'@x,1\n"


def test_values_without_a_type_in_python_need_a_cast(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="Cast its column to VARCHAR"):
        ask(SqlSources(), "SELECT interval '100000000 years' AS t")
    assert ask(SqlSources(), "SELECT (TIMESTAMPTZ '2020-01-01 12:00:00+02')::VARCHAR AS t; -- a comment") == [
        {"t": "2020-01-01 10:00:00+00"}
    ]
