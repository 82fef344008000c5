"""A study in Python: lists, dictionaries and data frames to verdict, leaderboard and pages; wrong inputs."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from tests.review_pages import edits_of, keys_of

QUERIES = {"q1": "why is the sky blue", "q2": "why do cats purr"}
GOOD = {"q1": "The sky is blue because air scatters blue light.", "q2": "Cats purr to calm themselves."}
BAD = {"q1": "A train leaves the station.", "q2": "Dogs bark."}
BANK = {
    "q1": ["Why does air make the sky blue?", "What light does air scatter?"],
    "q2": ["Why do cats purr?"],
}


def test_five_lines_from_dictionaries_to_pages(tmp_path: Path) -> None:
    study = exam_pp.study(queries=QUERIES, answers={"good": GOOD, "bad": BAD}, bank=BANK)
    study.grade(model="lexical")

    assert study.leaderboard().means() == {"good": 1.0, "bad": 0.0}
    assert study.verdict.startswith("good (100 %) is ahead of bad (0 %), but 2 queries are")
    assert (
        "2 queries are too few to show any difference" in study.report(tmp_path / "report.html").read_text()
    )
    assert "exam-pp review" in study.review(tmp_path / "review.html").read_text()
    assert study.report(tmp_path / "folder") == tmp_path / "folder" / "index.html"


def test_data_frames_and_runs() -> None:
    pandas = pytest.importorskip("pandas")
    texts = {"p1": GOOD["q1"], "p2": "A train leaves."}
    rows = [("a", "q1", "p1", 1), ("a", "q1", "p2", 2), ("b", "q1", "p2", 1)]
    frame = pandas.DataFrame(rows, columns=["system", "query_id", "passage_id", "rank"])
    bank = pandas.DataFrame({"query_id": ["q1", "q1"], "question": BANK["q1"]})
    study = exam_pp.study(runs=frame, texts=texts, bank=bank, top=1).grade("lexical")
    assert study.leaderboard().means() == {"a": 1.0, "b": 0.0}
    assert study.leaderboard().to_pandas()["system"].unique().tolist() == ["a", "b"]
    assert study.leaderboard().metrics[0] == "Cover(min_grade=4)@1"
    lists = {"a": {"q1": ["p1", "p2"]}, "b": {"q1": {"p1": 0.5, "p2": 3.0}}}
    assert exam_pp.study(runs=lists, texts=texts, bank=bank, top=1).grade("lexical").verdict


def test_edits_of_the_review_page(tmp_path: Path) -> None:
    """A person finds everything in the bad answers, and nothing in the good ones."""
    inputs: dict[str, Any] = {"queries": QUERIES, "answers": {"good": GOOD, "bad": BAD}, "bank": BANK}
    page = exam_pp.study(**inputs).grade("lexical").review(tmp_path / "review.html").read_text("utf-8")
    ratings = {key: 5 if key[1].startswith("bad/") else 0 for key in keys_of(page)}
    (tmp_path / "edits.json").write_text(json.dumps(edits_of(page, ratings)))
    study = exam_pp.study(**inputs, edits=tmp_path / "edits.json").grade("lexical")
    assert study.leaderboard().means() == {"good": 0.0, "bad": 1.0}
    assert "6 of 6 ratings changed by 1 person, who checked 6" in study.verdict


def test_an_answer_that_is_missing_is_said_in_the_verdict() -> None:
    """Of nuggets and of questions."""
    answers = {"good": GOOD, "bad": {"q1": BAD["q1"]}}
    for nuggets in (False, True):
        study = exam_pp.study(queries=QUERIES, answers=answers, bank=BANK, nuggets=nuggets).grade("lexical")
        assert "Without results, and so with a score of 0: 1 query of bad." in study.verdict


def test_threads_may_share_a_study(tmp_path: Path) -> None:
    study = exam_pp.study(queries=QUERIES, answers={"good": GOOD, "bad": BAD}, bank=BANK)

    def use(number: int) -> bytes:
        study.grade("lexical")
        study.review(tmp_path / f"review-{number}.html")
        return study.report(tmp_path / f"{number}.html").read_bytes()

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(use, range(8)))) == 1


def test_inputs_may_be_files_and_banks(demo_data: Path) -> None:
    """Answers have no cutoff of ranks, whatever ``top`` is."""
    answers, bank = demo_data / "answers" / "gen-long.jsonl", demo_data / "questions.jsonl"
    queries = exam_pp.read_bank(bank).queries
    texts = {query_id: query.query_text for query_id, query in queries.items()}
    boards = [
        exam_pp.study(answers=answers, **inputs).grade("lexical").leaderboard()
        for inputs in (
            {"bank": bank, "queries": demo_data / "queries.jsonl"},
            {"bank": exam_pp.read_bank(bank), "queries": texts, "top": 3},
        )
    ]
    assert list(boards[0]) == list(boards[1])
    assert boards[0].metrics[0] == "Cover(min_grade=4)@1"


def test_nuggets_of_answers() -> None:
    nuggets = {"q1": ["Air scatters blue light."], "q2": ["Cats purr."]}
    study = exam_pp.study(queries=QUERIES, answers={"good": GOOD, "bad": BAD}, bank=nuggets, nuggets=True)
    board = study.grade("lexical").leaderboard()
    assert board.metrics[0] == "A_strict"  # without vital nuggets, V is 0 for everybody
    assert "lexical only compares words" in board.verdict
    assert board.means("A")["good"] > board.means("A")["bad"]


def test_a_table_of_nuggets_may_have_importance() -> None:
    rows: list[dict[str, Any]] = [
        {"query_id": "q1", "nugget": "Air scatters blue light.", "importance": "Vital"},
        {"query_id": "q2", "nugget": "Cats purr.", "importance": float("nan")},
    ]
    by_text = [{"query": QUERIES[str(row["query_id"])], **row} for row in rows]
    for row in by_text:
        del row["query_id"]
    for bank in (rows, by_text):
        study = exam_pp.study(queries=QUERIES, answers={"good": GOOD}, bank=bank).grade("lexical")
        assert study.leaderboard().metrics[0] == "V_strict"


def test_names_of_pyterrier_and_missing_answers() -> None:
    """Frames of runs have qid and docno; an answer that is NaN is missing, and a bank may be a path."""
    topics = [{"qid": "q1", "query": QUERIES["q1"]}]
    results = [{"qid": "q1", "docno": "d1", "rank": 0, "score": 2.0}]
    study = exam_pp.study(queries=topics, runs={"bm25": _Frame(results)}, texts={"d1": "x"}, bank=BANK)
    assert [passage.passage_id for query in study.passages for passage in query.passages] == ["d1"]
    rows = [{"qid": "q1", "system": "a", "answer": float("nan")}, {"qid": "q2", "system": "a", "answer": "y"}]
    texts = [p.text for query in exam_pp.study(bank=BANK, answers=rows).passages for p in query.passages]
    assert texts == ["", "y"]


class _Frame:
    """A data frame, as far as a study needs one."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def to_dict(self, _orient: str) -> list[dict[str, Any]]:
        return self.rows


def test_html_for_notebooks() -> None:
    study = exam_pp.study(answers={"<a>": {"q1": GOOD["q1"]}, "b": {"q1": "x"}}, bank=BANK).grade("lexical")
    html = study.leaderboard()._repr_html_()
    assert "<td>&lt;a&gt;</td><td>1.000</td>" in html
    assert html.startswith("<p>&lt;a&gt; (100 %) is ahead of b ")
    assert repr(study.leaderboard()).splitlines()[2:4] == [
        "system  Cover(min_grade=4)@1  interval        place",
        "<a>     1.000                 0.025 to 1.000  1 to 2",
    ]


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({}, "A study needs systems: answers or runs."),
        ({"answers": {"a": "text"}}, "answers of 'a' must be a dictionary of query_id to text"),
        ({"answers": {"a": {"q1": 5.5}}}, "answers, line 1, text: input should be a valid string."),
        (
            {"answers": {"a": {"q9": "t"}}},
            "No query of the systems is in the bank: they have q9",
        ),
        ({"answers": [{"q": 1}]}, "answers, row 1: the column 'system' is missing; it has q."),
        (
            {"answers": 42},
            "answers must be a dictionary of system to query_id to text, a data frame",
        ),
        (
            {"answers": [{"system": "a", "query_id": "q1"}]},
            "answers, row 1: the column 'text' is missing; it has query_id, system.",
        ),
        (
            {"answers": {"a": {"1": "t"}}, "queries": {"001": "why"}},
            "no query in common; ids differ in zeros at the front: 1 in the answers, 001 in",
        ),
        ({"answers": {}}, "answers is empty."),
        ({"runs": {"a": {"q1": ["p"]}}}, "The passages of runs need texts: texts={passage id: text}."),
        (
            {"runs": {"a": {"q1": ["p"]}}, "texts": {"z": "t"}},
            "texts: 1 of 1 pooled passages have no text (p).",
        ),
        (
            {"runs": {"a": {"q1": [""]}}, "texts": {"": "t"}},
            "runs, line 1, passage_id: is empty.",
        ),
        ({"answers": {"a": GOOD}, "bank": {"q1": None}}, "bank, row 1: the column 'question' or 'nugget' is"),
        (
            {"answers": {"a": {1: "t", "1": "t"}}},
            "answers, line 2: the system 'a' answers the query '1' twice.",
        ),
        ({"runs": {"a": {"q1": {"p": "x"}}}, "texts": {"p": "t"}}, "runs, line 1, score: 'x' is not a"),
        ({"runs": {"a": {"q1": "p"}}, "texts": {"p": "t"}}, "runs of 'a' of 'q1' must be a dictionary of"),
        (
            {
                "runs": [{"system": "a", "query_id": "q1", "passage_id": "p", "rank": "abc"}],
                "texts": {"p": "t"},
            },
            "runs, line 1, rank: 'abc' is not a whole number.",
        ),
        ({"answers": {"a": GOOD}, "bank": {}}, "bank is empty."),
        ({"answers": {"a": GOOD}, "queries": ["a", "b"]}, "queries and bank must be one file each"),
    ],
)
def test_wrong_inputs_have_a_sentence(inputs: dict[str, Any], sentence: str) -> None:
    with pytest.raises(exam_pp.ExamError) as error:
        exam_pp.study(**{"bank": BANK, **inputs})
    assert sentence in str(error.value)
    assert "--" not in str(error.value)


def test_warnings_name_inputs_and_not_temporary_files(caplog: pytest.LogCaptureFixture) -> None:
    exam_pp.study(runs={"a": {"q1": {"p1": 1.0, "p2": 1.0}}}, texts={"p1": "t", "p2": "u"}, bank=BANK)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings[0].startswith("runs: the ranks are not trec_eval's order")


def test_errors_of_models_name_their_fields() -> None:
    study = exam_pp.study(answers={"a": GOOD}, bank=BANK)
    with pytest.raises(exam_pp.ExamError, match="'gpt-4' is a model of OpenAI: add pipeline openai"):
        study.grade("gpt-4")
    assert repr(study) == "<Study of 2 queries, 3 entries, not graded>"


def test_the_default_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_pp.llm.packaged_e5.e5_problem", lambda: None)
    monkeypatch.setattr("exam_pp.studies.engine.E5", "random")
    assert exam_pp.study(answers={"a": GOOD}, bank=BANK).grade().judge == "random"
    assert exam_pp.study(answers={"a": GOOD}, bank=BANK, nuggets=True).grade().judge == "random"
    assert exam_pp.study(answers={"a": GOOD}, bank=BANK).grade("lexical").grade().judge == "lexical"


def test_the_judge_of_a_study_does_not_change() -> None:
    study = exam_pp.study(answers={"a": GOOD}, bank=BANK)
    with pytest.raises(exam_pp.ExamError, match="is not graded: call grade"):
        study.leaderboard()
    study.grade("lexical")
    with pytest.raises(exam_pp.ExamError, match="was graded by lexical: make another study for random"):
        study.grade("random")
