"""SQL on the demo data and on published grades: every example query, checked in plain Python."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli, main
from exam_pp.data_model import Passage
from exam_pp.errors import DataError, OutputError, QueryError, SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.rubric import cover
from exam_pp.phases.sql.query import (
    RowWriter,
    SqlSources,
    Statement,
    build_database,
    export_parquet,
    query_files,
    query_result,
)
from exam_pp.phases.sql.query_examples import EXAMPLES
from exam_pp.rendering.rows import write_rows
from exam_pp.store.atomic_writes import create_work_folder, lock_path
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import work_folder
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.sql.duck import Limits
from exam_pp.store.sql.tables import TABLES

LIMITS = Limits("500MB", 2)
RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTED = "QuestionCompleteConciseUnanswerablePromptWithChoices"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, demo_data: Path) -> Path:
    """The demo collection, graded by two baselines."""
    folder = tmp_path_factory.mktemp("graded")
    files = [folder / f"{name}.jsonl.gz" for name in ("passages", "one", "two")]
    bank = str(demo_data / "questions.jsonl")
    calls = [
        ["import", "--runs", str(demo_data / "runs"), "--texts", str(demo_data / "passages.tsv"),
         "--queries", str(demo_data / "queries.jsonl"), "--qrels", str(demo_data / "qrels.txt"),
         "--top", "5", "-o", str(files[0])],
        ["grade", str(files[0]), "-o", str(files[1]), "--bank", bank, "--model", "lexical",
         "--prompt", RATED, "--prompt", EXTRACTED],
        ["grade", str(files[1]), "-o", str(files[2]), "--bank", bank, "--model", "random",
         "--prompt", RATED],
    ]  # fmt: skip
    for call in calls:
        main(["-q", *call])
    return files[2]


@pytest.fixture(scope="module")
def files(graded: Path, demo_data: Path) -> SqlSources:
    """The graded demo with its bank; published grades have none (tests/data_and_processes)."""
    return SqlSources([graded], [demo_data / "questions.jsonl"])


class Asked(NamedTuple):
    """A database and its source files."""

    database: SqlSources
    files: SqlSources


@pytest.fixture(scope="module")
def sources(files: SqlSources, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """The files as a database, which is queried faster."""
    path = tmp_path_factory.mktemp("database") / "grades.duckdb"
    build_database(files, path, LIMITS)
    return Asked(SqlSources([path]), files)


def ask(sources: SqlSources, sql: str, **parameters: Any) -> list[dict[str, Any]]:
    with query_result(sources, Statement(sql, parameters), LIMITS) as result:
        return [dict(zip(result.columns, row, strict=True)) for row in result]


def example(sources: SqlSources | Asked, name: str) -> list[dict[str, Any]]:
    files = sources.database if isinstance(sources, Asked) else sources
    assert isinstance(files, SqlSources)
    return ask(files, EXAMPLES.get(name).sql)


def passages(sources: SqlSources | Asked) -> Iterator[tuple[str, Passage]]:
    files = sources.files if isinstance(sources, Asked) else sources
    assert isinstance(files, SqlSources)
    for query in read_passages(files.graded[0]):
        for passage in query.passages:
            yield query.query_id, passage


def rated_sets(sources: SqlSources | Asked) -> Iterator[tuple[str, Passage, str, str, dict[str, int]]]:
    for query_id, passage in passages(sources):
        for grades in passage.rubric_grades or ():
            if grades.is_rated:
                yield query_id, passage, str(grades.model), str(grades.prompt_class), grades.entry_ratings()


def test_contents(sources: Asked) -> None:
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for _, passage in passages(sources):
        for grades in passage.grade_sets():
            count = counts[str(grades.model), str(grades.prompt_class)]
            ratings = grades.entry_ratings().values()
            for place, number in enumerate((1, len(ratings), sum(rating > 0 for rating in ratings))):
                count[place] += number
    rows = example(sources, "contents")
    assert {(r["model"], r["prompt_class"]): [r["passages"], r["pairs"]] for r in rows} == {
        key: count[:2] for key, count in counts.items()
    }
    for row in rows:
        _, pairs, correct = counts[row["model"], row["prompt_class"]]
        assert row["share_correct"] == pytest.approx(correct / pairs, abs=0.0006)


def test_bad_questions(sources: Asked) -> None:
    ratings: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for _, _, model, prompt, graded_entries in rated_sets(sources):
        for entry_id, rating in graded_entries.items():
            ratings[entry_id, model, prompt].append(rating)
    shares = {key: sum(r >= 4 for r in scores) / len(scores) for key, scores in ratings.items()}
    expected = {key for key, share in shares.items() if share == 0 or share >= 0.8995}
    rows = example(sources, "bad-questions")
    assert {(r["entry_id"], r["model"], r["prompt_class"]) for r in rows} == expected
    assert len(rows) == len(expected)
    texts = {
        key: e.text for path in sources.files.banks for q in read_bank(path) for key, e in q.entries.items()
    }
    for row in rows:
        scores = ratings[row["entry_id"], row["model"], row["prompt_class"]]
        assert (row["passages"], row["best"]) == (len(scores), max(scores))
        assert row["entry_text"] == texts.get(row["entry_id"])


def test_uncovered_passages(sources: Asked) -> None:
    expected = Counter(
        (
            query_id,
            passage.passage_id,
            model,
            prompt,
            max(j.relevance for j in passage.judgments),
            max(scores.values()),
        )
        for query_id, passage, model, prompt, scores in rated_sets(sources)
        if passage.judgments and max(j.relevance for j in passage.judgments) >= 2 and max(scores.values()) < 4
    )
    rows = example(sources, "uncovered-passages")
    columns = ("query_id", "passage_id", "model", "prompt_class", "relevance", "best")
    assert Counter(tuple(row[name] for name in columns) for row in rows) == expected
    assert rows


def test_judgments(sources: Asked) -> None:
    expected: dict[tuple[str, str, int], Counter[str]] = defaultdict(Counter)
    for _, passage, model, prompt, scores in rated_sets(sources):
        for judgment in passage.judgments:
            best = max(scores.values())
            name = "best_4_or_5" if best >= 4 else "best_1_to_3" if best >= 1 else "best_0"
            expected[model, prompt, judgment.relevance].update([name, "passages"])
    rows = example(sources, "judgments")
    for row in rows:
        count = expected.pop((row["model"], row["prompt_class"], row["relevance"]))
        for name in ("passages", "best_4_or_5", "best_1_to_3", "best_0"):
            assert row[name] == count[name]
    assert not expected


def test_disagreement(sources: Asked) -> None:
    expected: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for _, passage in passages(sources):
        for rated in passage.rubric_grades or ():
            for extracted in passage.rubric_grades or ():
                if rated.model != extracted.model or not rated.is_rated or extracted.is_rated:
                    continue
                ratings, answered = rated.entry_ratings(), extracted.entry_ratings()
                count = expected[str(rated.model), str(rated.prompt_class), str(extracted.prompt_class)]
                for entry_id in ratings.keys() & answered.keys():
                    count["pairs"] += 1
                    count["high"] += ratings[entry_id] >= 4 and answered[entry_id] == 0
                    count["zero"] += ratings[entry_id] == 0 and answered[entry_id] == 1
    rows = {
        (r["model"], r["rated_with"], r["extracted_with"]): (
            r["pairs"], r["rated_high_but_no_answer"], r["rated_0_but_answered"],
        )
        for r in example(sources, "disagreement")
    }  # fmt: skip
    assert rows == {k: (c["pairs"], c["high"], c["zero"]) for k, c in expected.items() if c["pairs"]}
    assert rows


def test_graders(sources: Asked) -> None:
    pairs: dict[tuple[str, str, str], list[tuple[int, int]]] = defaultdict(list)
    for _, passage in passages(sources):
        sets = [g for g in passage.rubric_grades or () if g.is_rated]
        for one in sets:
            for other in sets:
                if one.prompt_class == other.prompt_class and str(one.model) < str(other.model):
                    key = (str(one.prompt_class), str(one.model), str(other.model))
                    ratings = other.entry_ratings()
                    pairs[key] += [(r, ratings[e]) for e, r in one.entry_ratings().items() if e in ratings]
    rows = example(sources, "graders")
    assert {(r["prompt_class"], r["model_a"], r["model_b"]) for r in rows} == pairs.keys()
    for row in rows:
        values = pairs[row["prompt_class"], row["model_a"], row["model_b"]]
        assert row["pairs"] == len(values)
        assert row["same"] == pytest.approx(sum(a == b for a, b in values) / len(values), abs=0.0006)
        mean = sum(abs(a - b) for a, b in values) / len(values)
        assert row["mean_difference"] == pytest.approx(mean, abs=0.0006)
        assert row["covered_by_one_model"] == sum((a >= 4) != (b >= 4) for a, b in values)


def test_system_coverage_is_rubric_cover(graded: Path) -> None:
    rows = example(SqlSources([graded]), "system-coverage")
    for model in ("lexical", "random"):
        scores = cover(graded, grade_filter=GradeFilter(model, RATED), min_grade=4, cutoff=20).scores
        means = {s.system: s.mean for s in standings(scores) if s.metric.startswith("Cover")}
        means.pop("_overall_", None)
        means_in_sql = {row["system"]: row["cover"] for row in rows if row["model"] == model}
        assert means_in_sql == pytest.approx(means, abs=0.0006)
        assert len(means_in_sql) == 10


def test_ungraded_and_odd_replies(sources: Asked) -> None:
    assert example(sources, "ungraded") == []
    odd = Counter(
        (g.model, g.prompt_class, answer)
        for _, passage in passages(sources)
        for g in passage.rubric_grades or ()
        if g.is_rated
        for _, answer in g.answers
        if not answer.strip().removeprefix("-").isdecimal()
    )
    rows = example(sources, "odd-replies")
    assert [row["times"] for row in rows] == sorted(odd.values(), reverse=True)[:50]
    assert all(odd[row["model"], row["prompt_class"], row["answer"]] == row["times"] for row in rows)


def test_runs_and_leaderboards(graded: Path, demo_data: Path, tmp_path: Path) -> None:
    rows = example(SqlSources([graded], runs=[demo_data / "runs"]), "run-holes")
    assert {row["system"] for row in rows} == {p.stem for p in (demo_data / "runs").iterdir()}
    held = {(query_id, p.passage_id) for query_id, p in passages(SqlSources([graded]))}
    bm25 = [line.split() for line in (demo_data / "runs" / "bm25.run").read_text().splitlines()]
    top = [(line[0], line[2]) for line in bm25 if int(line[3]) <= 20]
    assert next((r["returned"], r["graded"]) for r in rows if r["system"] == "bm25") == (
        len(top), sum(pair in held for pair in top),
    )  # fmt: skip
    board = tmp_path / "board.tsv"
    board.write_text("system\tCover\na\t0.5\nb\t0.7\n")
    ranks = example(SqlSources(scores=[board]), "leaderboards")
    assert [(row["system"], row["place"]) for row in ranks] == [("b", 1), ("a", 2)]


def test_unsafe_statements_change_a_copy_of_the_tables(graded: Path) -> None:
    for table in ("ratings", "answers", "grades", "judgments"):
        sql = f"DELETE FROM {table} WHERE query_id <> '007'; SELECT DISTINCT query_id FROM {table}"
        with query_result(SqlSources([graded]), Statement(sql, unsafe=True), LIMITS) as result:
            assert list(result) == [("007",)]


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


def test_queries_bank_and_parameters(graded: Path, demo_data: Path) -> None:
    sources = SqlSources([graded], [demo_data / "questions.jsonl"], queries=[demo_data / "queries.jsonl"])
    rows = ask(sources, "SELECT query_id, query_text, test_collection FROM queries ORDER BY query_id")
    assert len(rows) == 20
    assert all(row["query_text"] and row["test_collection"] == "exam_pp-demo" for row in rows)
    (row,) = ask(sources, "SELECT count(*) AS n FROM ratings WHERE rating >= $least AND model = $model",
                 least=4, model="lexical")  # fmt: skip
    covering = [
        r for *_, model, _, ratings in rated_sets(sources) if model == "lexical" for r in ratings.values()
    ]
    assert row["n"] == sum(rating >= 4 for rating in covering)


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
    query_files(SqlSources(), Statement(sql), output, writer(form), LIMITS)
    assert output.read_text(encoding="utf-8") == FORMATS[form]


def test_nested_and_odd_values(tmp_path: Path) -> None:
    values = "[1, 2] AS a, {'x': 1.5} AS b, DATE '2024-01-02' AS c, 1.5::DECIMAL AS d"
    sql = f"SELECT {values}, 'nan'::DOUBLE AS e, 1 AS a, true AS f"
    query_files(SqlSources(), Statement(sql), tmp_path / "r.jsonl", writer("jsonl"), LIMITS)
    assert json.loads((tmp_path / "r.jsonl").read_text()) == {
        "a": [1, 2], "b": {"x": 1.5}, "c": "2024-01-02", "d": 1.5, "e": None, "a_2": 1, "f": True,
    }  # fmt: skip
    query_files(SqlSources(), Statement(sql), tmp_path / "r.csv", writer("csv"), LIMITS)
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


def test_a_database_gives_the_same_results_as_files(sources: Asked, tmp_path: Path) -> None:
    (database,) = sources.database.graded
    for name in ("bad-questions", "judgments"):
        assert example(sources.files, name) == example(sources, name)
    assert [path.name for path in database.parent.iterdir()] == ["grades.duckdb"]
    with pytest.raises(SelectionError, match=r"grades\.duckdb.* inputs"):
        ask(SqlSources([database, *sources.files.graded]), "SELECT 1")
    with pytest.raises(SelectionError, match=r"grades\.duckdb.* already"):
        build_database(SqlSources([database]), tmp_path / "x.duckdb", LIMITS)


def test_parquet_files_hold_the_tables(graded: Path, tmp_path: Path) -> None:
    written = export_parquet(SqlSources([graded]), tmp_path / "out", LIMITS)
    names = {path.stem for path in written}
    assert names == {"queries", "passages", "judgments", "rankings", "grades", "ratings", "answers"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.parquet" for name in names}
    sql = f"SELECT count(*), sum(rating) FROM '{tmp_path / 'out' / 'ratings.parquet'}'"
    with query_result(SqlSources(), Statement(sql, unsafe=True), LIMITS) as result:
        (row,) = result
    ratings = [r for *_, found_ in rated_sets(SqlSources([graded])) for r in found_.values()]
    assert row[0] > len(ratings)


def test_outputs_are_safe(graded: Path, tmp_path: Path) -> None:
    before = graded.read_bytes()
    with pytest.raises(OutputError, match=r"two\.jsonl\.gz.* input"):
        query_files(SqlSources([graded]), Statement("SELECT * FROM grades"), graded, writer("tsv"), LIMITS)
    with pytest.raises(OutputError, match=r"two\.jsonl\.gz.* input"):
        build_database(SqlSources([graded]), graded, LIMITS)
    old = tmp_path / "old.tsv"
    old.write_text("old")
    with pytest.raises(QueryError):
        query_files(
            SqlSources([graded]), Statement("SELECT error('stop') FROM grades"), old, writer("tsv"), LIMITS
        )
    assert old.read_text() == "old"
    assert graded.read_bytes() == before


def command(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments))


def test_an_example_query_with_its_comment(graded: Path) -> None:
    """The argument starts with dashes, like an option."""
    sql = command("show", "sql", "contents").stdout
    done = command("query", str(graded), f"-- contents\n{sql}")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == command("query", str(graded), sql).stdout
    assert command("query", str(graded), "--contents").exit_code == 2


def test_the_command(graded: Path, tmp_path: Path) -> None:
    sql = "SELECT model, count(*) AS n FROM ratings WHERE rating >= $least GROUP BY ALL ORDER BY ALL"
    done = command("query", str(graded), sql, "--param", "least=4", "--format", "jsonl")
    assert done.exit_code == 0
    assert [json.loads(line)["model"] for line in done.stdout.splitlines()] == ["lexical", "random"]
    file = tmp_path / "q.sql"
    file.write_text(sql)
    again = command("query", str(graded), str(file), "--param", "least=4", "--format", "jsonl")
    assert again.stdout == done.stdout
    assert "bad-questions" in command("list", "sql").stdout
    assert command("show", "sql", "judgments").stdout == EXAMPLES.get("judgments").sql
    assert "judgments" in str(command("show", "sql", "judgment").exception)
    for wrong in (["query"], ["query", str(graded)], ["query", "SELECT 1", "--param", "x"],
                  ["query", "SELECT 1", "--format", "parquet"]):  # fmt: skip
        assert command(*wrong).exit_code == 2


def test_the_file_of_the_sql_is_an_input(graded: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("SELECT 1")
    assert "q.sql is also an input" in str(
        command("query", str(graded), str(file), "-o", str(file)).exception
    )
    assert file.read_text() == "SELECT 1"
    missing = command("query", str(graded), str(tmp_path / "other.sql"))
    assert "other.sql: cannot be read" in str(missing.exception)


def test_a_saved_database_answers_later_queries(graded: Path, demo_data: Path, tmp_path: Path) -> None:
    sql = "SELECT count(*) AS n FROM ratings JOIN bank USING (query_id, entry_id)"
    files, saved = [str(graded), "--bank", str(demo_data / "questions.jsonl")], str(tmp_path / "saved")
    assert command("query", *files, "--save", saved).exit_code == 0
    assert command("query", saved, sql).stdout == command("query", *files, sql).stdout
    assert command("query", *files, "--format", "parquet", "--save", str(tmp_path / "tables")).exit_code == 0
    assert (tmp_path / "tables" / "bank.parquet").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["FILE", "SELECT 1"], "takes no SQL"),
        (["FILE", "-o", "out"], "--output has no effect with --save"),
        (["FILE", "--param", "a=1"], "--param has no effect with --save"),
        (["FILE", "--unsafe-sql"], "--unsafe-sql has no effect with --save"),
        (["FILE", "--format", "tsv"], "or with --format parquet"),
        ([], "--save needs graded files"),
    ],
)
def test_saving_takes_files_only(graded: Path, arguments: list[str], message: str) -> None:
    done = command("query", "--save", "saved", *(word.replace("FILE", str(graded)) for word in arguments))
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not Path("saved").exists()


def test_an_empty_table_is_reported(graded: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert ask(SqlSources([graded]), "SELECT * FROM bank") == []
    assert "--bank" in caplog.text


def test_missing_and_duplicate_files_are_errors(graded: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing\.gz"):
        ask(SqlSources([tmp_path / "missing.gz"]), "SELECT 1")
    with pytest.raises(DataError, match=r"missing\.tsv"):
        build_database(SqlSources([graded], scores=[tmp_path / "missing.tsv"]), tmp_path / "d", LIMITS)
    again = tmp_path / "link.jsonl.gz"
    again.symlink_to(graded)
    with pytest.raises(SelectionError, match=r"link\.jsonl\.gz.* twice"):
        ask(SqlSources([graded, again]), "SELECT count(*) FROM ratings")


def test_ids_of_digits_stay_ids(graded: Path) -> None:
    sql = "SELECT count(*) AS n FROM passages WHERE query_id = $q"
    done = command("query", str(graded), sql, "--param", "q=007", "--format", "tsv")
    assert done.stdout.split() == ["n", str(sum(key == "007" for key, _ in passages(SqlSources([graded]))))]


def test_duplicates_are_a_single_row(tmp_path: Path) -> None:
    judgment = {"paragraphId": "p", "query": "q", "relevance": 1, "titleQuery": "q"}
    place = {"method": "s", "queryId": "q", "paragraphId": "p", "rank": 0, "score": 2.0}
    data = {
        "judgments": [judgment, judgment, {**judgment, "relevance": 2}],
        "rankings": [place, place, {**place, "citations": ["d"]}],
    }
    line = json.dumps(["q", 2 * [{"paragraph_id": "p", "text": "t", "paragraph_data": data}]]) + "\n"
    path = tmp_path / "g.jsonl"
    path.write_text(line + line)
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
    query_files(SqlSources(), Statement(sql), tmp_path / "r.csv", writer("csv"), LIMITS)
    assert (tmp_path / "r.csv").read_text("utf-8") == "'=name,n\n'=1+1,-1\n'-x,-0.5\n-7,\n'@x,1\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("TIMESTAMPTZ '2020-01-01 12:00:00+02'", "2020-01-01 10:00:00+00"),
        ("[TIMESTAMPTZ '2020-01-01 12:00:00+00']", '"[""2020-01-01 12:00:00+00""]"'),
        ("interval '100000000 years'", "100000000 years"),
        ("TIMESTAMP_NS '2020-01-01 00:00:00.123456789'", "2020-01-01 00:00:00.123456789"),
        ("TIMESTAMPTZ 'infinity'", "infinity"),
    ],
)
def test_times_without_a_type_in_python_are_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, shown: str
) -> None:
    """Python's driver needs another package for time zones; the results are in UTC on every machine."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    sql = f"SELECT {value} AS t, $n AS t; -- a comment"
    query_files(SqlSources(), Statement(sql, {"n": 1}), tmp_path / "r.csv", writer("csv"), LIMITS)
    assert (tmp_path / "r.csv").read_text("utf-8") == f"t,t_2\n{shown},1\n"
