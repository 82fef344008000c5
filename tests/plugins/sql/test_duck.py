"""DuckDB databases: filling tables, and SQL that can only read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import QueryError
from exam_pp.plugins.sql.duck import (
    Limits,
    is_database,
    new_database,
    open_database,
    tables_of,
)
from exam_pp.plugins.sql.tables import TABLES
from tests.conftest import data_error

LIMITS = Limits("200MB", 1)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "tables.duckdb"
    with new_database(path, LIMITS) as filler:
        for number in range(3):
            filler.add("passages", ("f", "q", f"p{number}", "text", 1, number + 1))
        filler.add("rankings", ("f", "q", "p0", "s", 1, 2.5, ["d1", 'd"2'], "answer", 1))
        filler.add("rankings", ("f", "q", "p1", "s", 2, 1.5, None, "answer", 2))
        filler.add("rankings", ("f", "q", "p2", "s", 3, 0.5, [], "retrieved", None))
        filler.add("bank", ("b", "q", "e", "question", "What?", None, None, None, 1.0, []))
    return path


def run(database: Path, sql: str) -> list[tuple[object, ...]]:
    with open_database(database, LIMITS) as reader:
        return list(reader.run(sql))


def test_rows_are_stored_unchanged(database: Path) -> None:
    assert run(database, "SELECT passage_id, citations FROM rankings ORDER BY rank") == [
        ("p0", ["d1", 'd"2']),
        ("p1", None),
        ("p2", []),
    ]
    assert run(database, "SELECT facet_id, gold_answers, weight FROM bank") == [(None, [], 1.0)]
    assert is_database(database)


def test_views_have_the_columns_of_their_tables(database: Path) -> None:
    for name, table in TABLES.items():
        columns = [(column, type_) for column, type_, *_ in run(database, f"DESCRIBE {name}")]
        assert columns == [(column.name, column.type) for column in table.columns]


def test_more_rows_than_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "many.duckdb"
    with new_database(path, LIMITS) as filler:
        for number in range(45_001):
            filler.add("scores", ("b", f"s{number}", "q", "m", number / 2))
    assert run(path, "SELECT count(*), sum(value) FROM scores") == [(45_001, 45_000 * 45_001 / 4)]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (FROM bank) SELECT * FROM a",
        "FROM passages SELECT count(*)",
        "DESCRIBE ratings",
        "SHOW TABLES",
        "SUMMARIZE passages",
        "EXPLAIN SELECT 1",
        "PIVOT rankings ON passage_id USING count(*)",
        "VALUES (1)",
        "SELECT 1;",
    ],
)
def test_reading_is_allowed(sql: str, database: Path) -> None:
    assert run(database, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "COPY passages TO '{}'",
        "EXPORT DATABASE '{}'",
        "CREATE TABLE x AS SELECT 1",
        "CREATE TEMP TABLE x AS SELECT 1",
        "INSERT INTO passages SELECT * FROM passages",
        "DELETE FROM passages",
        "UPDATE passages SET passage_id = ''",
        "DROP TABLE passages",
        "ATTACH '{}'",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA enable_external_access = true",
        "INSTALL httpfs",
        "LOAD json",
        "UPDATE EXTENSIONS",
        "CALL checkpoint()",
        "CHECKPOINT",
        "SELECT 1; COPY passages TO '{}'",
        "EXPLAIN ANALYZE COPY passages TO '{}'",
        "EXPLAIN ANALYZE DELETE FROM passages",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_blob('/etc/*')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "SELECT * FROM query('SELECT * FROM read_text(''/etc/hostname'')')",
        "SELECT getenv('HOME')",
        "SELECT * FROM secret_of_python",
        "",
        "-- nothing",
    ],
)
def test_other_statements_are_refused(sql: str, database: Path, tmp_path: Path) -> None:
    secret_of_python = [1]  # noqa: F841 - DuckDB would find it
    target = tmp_path / "written"
    before = database.read_bytes()
    with pytest.raises(QueryError) as refused:
        run(database, sql.format(target))
    assert "\n" not in str(refused.value)
    assert not target.exists()
    assert database.read_bytes() == before


def test_the_sandbox_works_without_the_check_of_statements(database: Path, tmp_path: Path) -> None:
    with open_database(database, LIMITS) as reader:
        for sql in ("COPY passages TO '{}'", "ATTACH '{}'", "SELECT * FROM read_text('/etc/hostname')"):
            with pytest.raises(Exception, match="disabled by configuration"):
                reader._connection.execute(sql.format(tmp_path / "written"))
        with pytest.raises(Exception, match="locked"):
            reader._connection.execute("SET enable_external_access = true")
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT * FROM ratings JOIN bank USING (query_id, entry_id)", {"ratings", "bank"}),
        ("SELECT count(*) AS passages FROM grades", {"grades"}),
        (
            "WITH a AS (SELECT * FROM Judgments) SELECT * FROM a WHERE x IN (FROM runs SELECT y)",
            {"judgments", "runs"},
        ),
        ("DESCRIBE scores", {"scores"}),
        ("PIVOT rankings ON rank USING count(*)", {"rankings"}),
        ("EXPLAIN SELECT * FROM answers", {"answers"}),
        ("SELECT * FROM query('FROM queries')", {"queries"}),
        ("SELECT 'ratings'", set()),
    ],
)
def test_tables_of_a_statement(sql: str, tables: set[str]) -> None:
    assert tables_of(sql) == tables


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", '"SELEC"'),
        ("SELECT nothing FROM ratings", '"nothing"'),
        ("SELECT * FROM gradez", "queries"),
        ("SELECT 1; SELECT 2", "has 2"),
        ("SELECT $a", "parameter"),
    ],
)
def test_errors_are_one_sentence(sql: str, message: str, database: Path) -> None:
    with pytest.raises(QueryError) as error:
        run(database, sql)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_message_of_a_full_disk(tmp_path: Path) -> None:
    """DuckDB's error if it may write only a megabyte beside its database."""
    sql = "SELECT count(*) FROM (SELECT DISTINCT hash(range) FROM range(2000000))"

    def fill() -> None:
        with new_database(tmp_path / "d", Limits(memory="40MB")) as filler:
            filler.connection.execute("SET max_temp_directory_size = '1MB'")
            filler.connection.execute(sql)

    with pytest.raises(QueryError, match=r"disk .* is full\. .*-S memory-limit"):
        fill()


def test_memory_is_limited_by_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "tables.duckdb"
    with new_database(path, LIMITS):
        pass
    with pytest.raises(QueryError, match="-S memory-limit"), open_database(path, Limits("10MB", 1)) as reader:
        list(reader.run("SELECT list(repeat('x', 100) || i) FROM range(10000000) AS t(i)"))


def test_memory_for_filling_grows_with_the_lines_up_to_the_limit(tmp_path: Path) -> None:
    with new_database(tmp_path / "x.duckdb", Limits("1GB", 2)) as filler:
        assert filler.memory == 10**9 // 16
        filler.expect(1000)
        assert filler.memory == 10**9 // 16
        filler.expect(100 * 2**20)
        filler.expect(10)
        assert filler.memory == 400 * 2**20
        filler.expect(2**30)
        assert filler.memory == 10**9
    assert Limits("2 GiB").bytes == 2 * 2**30
    assert Limits("20MB").while_filling.bytes == 20_000_000


def test_a_text_larger_than_the_memory_for_filling(tmp_path: Path) -> None:
    text = "word " * 8_000_000
    path = tmp_path / "x.duckdb"
    with new_database(path, Limits()) as filler:
        filler.expect(len(text))
        filler.add("passages", ("f", "q", "p", text, 1, 1))
    with open_database(path, Limits()) as reader:
        assert list(reader.run("SELECT length(passage_text) FROM passages")) == [(len(text),)]


def test_a_number_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with (
        data_error(None, about="rankings"),
        new_database(path, LIMITS) as filler,
    ):
        filler.add("rankings", ("f", "q", "p", "s", 10**30, 1.0, None, "retrieved", None))


def test_files_that_are_not_databases(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    path.write_bytes(b"12345678DUCK and then nothing")
    with data_error(path, about="database"), open_database(path, LIMITS):
        pass
    with pytest.raises(QueryError, match="'lots'"):
        Limits("lots")
