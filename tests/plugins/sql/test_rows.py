"""The SQL rows of a graded file equal the objects of the full reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exam_pp.data_model import DirectGrade, Passage, RubricGrades
from exam_pp.errors import ExamError
from exam_pp.grade_filter import GradeKey
from exam_pp.plugins.sql.rows import GradedRows
from exam_pp.plugins.sql.tables import OF_GRADED_FILES, STORED, TABLES, VIEWS, Row, StoredName, TableName
from exam_pp.roles import role_of
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import PASSAGES, passage, rubric
from tests.store.passages.test_graded_file import damage, every_field
from tests.test_data_model import lines

Write = Callable[[str, list[Any]], Path]


def rows_of(path: Path) -> dict[TableName, list[dict[str, Any]]]:
    """Rows by table, each as value by column."""
    rows: dict[StoredName, list[dict[str, Any]]] = {name: [] for name in STORED}

    def take(table: StoredName, row: Row) -> None:
        names = [column.name for column in STORED[table]]
        rows[table].append(dict(zip(names, row, strict=True)))

    GradedRows(OF_GRADED_FILES, take).read(path)
    return {name: list(of_view(name, rows)) if name in VIEWS else rows[name] for name in OF_GRADED_FILES}


def of_view(name: TableName, stored: dict[StoredName, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Rows of a view, computed from the stored rows."""
    view = VIEWS[name]
    entries = {row["list"]: row["entry_id"] for row in stored["stored.entry_lists"]}
    for row in stored["stored.grade_sets"]:
        values = row | {"entry_id": entries.get(row.get(view.entries))}
        for number in range(row[view.count]) if view.count else [None]:
            columns = {c.name: values[view.renamed.get(c.name, c.name)] for c in TABLES[name].columns}
            yield {
                key: value[number] if isinstance(value, list) and number is not None else value
                for key, value in columns.items()
            }


def selected(rows: list[dict[str, Any]], columns: str) -> list[Any]:
    return [tuple(row[name] for name in columns.split()) for row in rows]


def outcome(read: Callable[[Path], Any], path: Path) -> Any:
    """The result of a reader, or the message of its error."""
    try:
        result = read(path)
        return result if isinstance(result, dict) else list(result)
    except ExamError as error:
        return str(error)


def merged_ratings(passage: Passage) -> dict[tuple[str | None, str, str], int]:
    """Ratings by model, prompt class and entry; by the documented rule the last rating counts."""
    ratings: dict[tuple[str | None, str, str], int] = {}
    for grades in passage.grade_sets():
        prompt_class = GradeKey.of(grades).prompt_class
        for entry_id, rating in grades.entry_ratings().items():
            ratings[grades.model, prompt_class, entry_id] = rating
    return ratings


def with_one_hash(passage: Passage) -> bool:
    hashes: dict[Any, set[str | None]] = {}
    for grades in passage.grade_sets():
        hashes.setdefault((grades.model, GradeKey.of(grades).prompt_class), set()).add(grades.prompt_hash)
    return all(len(some - {None}) <= 1 for some in hashes.values())


def once_a_line(rows_of_lines: Iterable[list[Any]]) -> list[Any]:
    return [row for rows in rows_of_lines for n, row in enumerate(rows) if row not in rows[:n]]


@given(st.lists(lines, min_size=1, max_size=2))
def test_rows_equal_the_objects_of_the_full_reader(values: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graded.jsonl"
        path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
        full, tables = outcome(read_passages, path), outcome(rows_of, path)
    if isinstance(full, str) or isinstance(tables, str):
        assert tables == full
        return
    queries = list(full)
    passages = [(query.query_id, actual) for query in queries for actual in query.passages]
    judged = once_a_line(
        [(q.query_id, p.passage_id, j.relevance, j.query_id, j.title_query)
         for p in q.passages for j in p.judgments]
        for q in queries
    )  # fmt: skip
    columns = "query_id passage_id relevance judged_query title_query"
    assert selected(tables["judgments"], columns) == judged
    ranked = once_a_line(
        [(q.query_id, p.passage_id, r.method, r.rank, r.score, r.citations,
          role_of(q.query_id, p.passage_id, r), r.repeat)
         for p in q.passages for r in p.rankings]
        for q in queries
    )  # fmt: skip
    columns = "query_id passage_id system rank score citations role repeat"
    assert selected(tables["rankings"], columns) == ranked
    sets = [
        (p.passage_id, g.model, GradeKey.of(g).prompt_class, g.is_rated)
        for _, p in passages
        for g in p.grade_sets()
    ]
    assert selected(tables["grades"], "passage_id model prompt_class is_rated") == sets
    labels = [
        (q, p.passage_id, item.citation, g.model, g.prompt_class)
        for q, p in passages
        for g in p.support_grades or ()
        for item in g.supports
    ]
    columns = "query_id passage_id citation model prompt_class"
    assert set(selected(tables["supports"], columns)) == set(labels)
    rated_answers = [
        (q, g.system, g.model, g.prompt_class, item.criterion)
        for q, p in passages
        for g in p.criteria_grades or ()
        for item in g.ratings
    ]
    columns = "query_id system model prompt_class criterion"
    assert set(selected(tables["criteria"], columns)) == set(rated_answers)
    answers = [
        (p.passage_id, entry, answer)
        for _, p in passages
        for g in p.grade_sets()
        if isinstance(g, RubricGrades)
        for entry, answer in g.answers
    ]
    assert set(answers) <= set(selected(tables["answers"], "passage_id entry_id answer"))
    if all(with_one_hash(p) for _, p in passages) and len({(q, p.passage_id) for q, p in passages}) == len(
        passages
    ):
        expected = sorted(
            (q, p.passage_id, str(model), prompt, entry, rating)
            for q, p in passages
            for (model, prompt, entry), rating in merged_ratings(p).items()
        )
        rated = [row | {"model": str(row["model"])} for row in tables["ratings"] if row["rating"] is not None]
        columns = "query_id passage_id model prompt_class entry_id rating"
        assert sorted(selected(rated, columns)) == expected


@given(lines, st.data())
def test_sql_rejects_what_readers_reject(line: Any, data: st.DataObject) -> None:
    """Fields that no column shows are decoded by neither of the readers, and by `exam-pp validate`."""
    damage(line, data, {"paragraph", "exam_ratio", "comments"})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graded.jsonl"
        path.write_text(json.dumps(line) + "\n", encoding="utf-8")
        read, checked, tables = (outcome(reader, path) for reader in (read_passages, every_field, rows_of))
    if isinstance(read, str):
        assert tables == read
        assert isinstance(checked, str)  # of two errors perhaps the other one
    elif isinstance(tables, str):
        assert tables == checked


def test_columns_of_a_rated_passage(write_jsonl: Write) -> None:
    path = write_jsonl("graded.jsonl", PASSAGES)
    tables = rows_of(path)
    assert tables["passages"][0] == {
        "file": str(path), "query_id": "q1", "passage_id": "p1", "passage_text": "Text of p1.",
        "line": 1, "position": 1,
    }  # fmt: skip
    first = tables["grades"][0]
    assert (first["grade_set"], first["asked"], first["correct"], first["best_rating"]) == (1, 2, 1, 5)
    assert first["model_options"] is None
    assert [(row["entry_id"], row["rating"]) for row in tables["ratings"]] == [
        ("q1/a", 5), ("q1/b", 0), ("q1/a", 1), ("q1/b", 4), ("007/a", 2),
    ]  # fmt: skip


def test_ungraded_entries_are_rows_without_a_rating(write_jsonl: Write) -> None:
    grades = rubric({"q/a": 3}, llm_response_errors={"q/b": {"failure_reason": "no number", "response": "?"}})
    direct = {
        "correctAnswered": False,
        "llm_response_error": {"failure_reason": "late"},
        "llm": "m",
        "llm_options": {},
    }
    path = write_jsonl("graded.jsonl", [["q", [passage("p", exam_grades=[grades], grades=[direct])]]])
    tables = rows_of(path)
    assert [(row["entry_id"], row["rating"], row["failure"]) for row in tables["ratings"]] == [
        ("q/a", 3, None), ("q/b", None, "no number"), ("direct", None, "late"),
    ]  # fmt: skip
    assert [(row["entry_id"], row["answer"]) for row in tables["answers"]] == [
        ("q/a", "3"), ("q/b", "?"), ("direct", None),
    ]  # fmt: skip
    assert [(row["asked"], row["ungraded"]) for row in tables["grades"]] == [(2, 1), (1, 1)]


def test_a_later_rating_counts_but_a_failure_does_not_replace_it(write_jsonl: Write) -> None:
    first, later = rubric({"q/a": 1, "q/b": 2}), rubric({"q/a": 4})
    failed = rubric({}, llm_response_errors={"q/b": {"failure_reason": "x"}})
    path = write_jsonl("graded.jsonl", [["q", [passage("p", exam_grades=[first, later, failed])]]])
    tables = rows_of(path)
    assert [(row["entry_id"], row["rating"], row["grade_set"]) for row in tables["ratings"]] == [
        ("q/b", 2, 1), ("q/a", 4, 2),
    ]  # fmt: skip
    assert len(tables["answers"]) == 4


def test_versions_of_a_prompt_are_not_merged(write_jsonl: Write) -> None:
    def version(prompt_hash: str, rating: int) -> Any:
        return rubric({"q/a": rating}, prompt_info={"prompt_class": "P", "prompt_hash": prompt_hash})

    path = write_jsonl(
        "graded.jsonl", [["q", [passage("p", exam_grades=[version("x", 1), version("y", 2)])]]]
    )
    assert [row["rating"] for row in rows_of(path)["ratings"]] == [1, 2]


def test_lines_that_the_fast_decoder_rejects(tmp_path: Path) -> None:
    path = tmp_path / "graded.jsonl"
    path.write_bytes(
        b'[7, [{"paragraph_id": 12, "text": "\\ud800 text", "paragraph_data": {"rankings": []}}]]\n'
    )
    (row,) = rows_of(path)["passages"]
    assert (row["query_id"], row["passage_id"], row["passage_text"]) == ("7", "12", "? text")


def test_direct_grades(write_jsonl: Write) -> None:
    grade: dict[str, Any] = {
        "correctAnswered": True,
        "answer": "Yes",
        "llm": "m",
        "llm_options": {"a": 1},
        "self_ratings": 2,
    }
    assert DirectGrade(**grade).entry_ratings() == {"direct": 2}
    tables = rows_of(write_jsonl("g.jsonl", [["q", [passage("p", grades=[grade])]]]))
    assert [(r["entry_id"], r["rating"], r["kind"]) for r in tables["ratings"]] == [("direct", 2, "direct")]
    assert tables["grades"][0]["model_options"] == '{"a":1}'


def test_grades_of_citations(write_jsonl: Write) -> None:
    """The last label of a model and prompt counts; a failure does not replace it."""
    info = {"prompt_class": "CitationSupport"}
    failed = {"citation": "d", "answer": "?", "llm_response_error": {"failure_reason": "no label"}}
    sets = [
        {"llm": "m", "prompt_info": info, "supports": [{"citation": "d", "support": "no_support"}]},
        {
            "llm": "m", "prompt_info": info, "tokens_cut": {"d": 3},
            "supports": [{"citation": "d", "support": "full_support", "answer": "full_support"}],
        },
        {"llm": "m", "prompt_info": info, "supports": [failed]},
        {"llm": "human:ann", "supports": [failed]},
    ]  # fmt: skip
    path = write_jsonl("graded.jsonl", [["q", [passage("p", support_grades=sets)]]])
    by_model, by_person = rows_of(path)["supports"]
    here = {"file": str(path), "query_id": "q", "passage_id": "p", "citation": "d"}
    assert by_model == here | {
        "model": "m", "prompt_class": "CitationSupport", "support": "full_support",
        "answer": "full_support", "tokens_cut": 3, "failure": None,
    }  # fmt: skip
    assert by_person == here | {
        "model": "human:ann", "prompt_class": None, "support": None,
        "answer": "?", "tokens_cut": None, "failure": "no label",
    }  # fmt: skip


def test_ratings_by_criteria(write_jsonl: Write) -> None:
    """The last rating of a model and prompt counts; a failure does not replace it."""
    info = {"prompt_class": "Criteria"}

    def rated(criterion: str, rating: int | None) -> dict[str, Any]:
        error = {} if rating is not None else {"llm_response_error": {"failure_reason": "no number"}}
        return {"criterion": criterion, "rating": rating, **error}

    sets = [
        {"method": "x", "llm": "m", "prompt_info": info, "ratings": [rated("a", 1), rated("b", None)]},
        {"method": "x", "llm": "m", "prompt_info": info, "ratings": [rated("a", 2), rated("b", None)]},
        {"method": "x", "llm": "m", "prompt_info": info, "ratings": [rated("a", None)]},
        {"method": "y", "llm": "human:ann", "ratings": [rated("a", 0)]},
    ]
    path = write_jsonl("graded.jsonl", [["q", [passage("p", criteria_grades=sets)]]])
    assert [tuple(row.values())[2:] for row in rows_of(path)["criteria"]] == [
        ("x", "m", "Criteria", "a", 2, None),
        ("x", "m", "Criteria", "b", None, "no number"),
        ("y", "human:ann", None, "a", 0, None),
    ]


GAMES: dict[str, Any] = {
    "query_id": "q1",
    "query_text": "a query",
    "game_sets": [
        {"llm": "judge", "prompt_info": {"prompt_class": "Pairwise"}, "games": [
            {"system_a": "x", "repeat_a": 2, "system_b": "y", "winner": "C", "order": 1,
             "decided_by": "reply", "words_a": 3, "words_b": 4, "answer": "So [[C]]"},
            {"system_a": "y", "system_b": "x",
             "llm_response_error": {"failure_reason": "late", "response": "?"}},
        ]},
        {"llm": "human:ann", "games": []},
    ],
}  # fmt: skip


def test_games(write_jsonl: Write) -> None:
    path = write_jsonl("x.games.jsonl", [GAMES])
    tables = rows_of(path)
    first, second = tables.pop("games")
    assert first == {
        "file": str(path), "query_id": "q1", "model": "judge", "prompt_class": "Pairwise", "system_a": "x",
        "system_b": "y", "repeat_a": 2, "repeat_b": None, "winner": "C", "order": 1, "decided_by": "reply",
        "words_a": 3, "words_b": 4, "answer": "So [[C]]", "failure": None,
    }  # fmt: skip
    assert (second["winner"], second["answer"], second["failure"]) == (None, "?", "late")
    assert not any(tables.values())
