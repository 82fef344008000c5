"""What one system has and another one lacks, by hand: by Rubric-Cover, and by nuggets of answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from exam_pp.reports.analysis.evaluation_page import write_evaluation
from exam_pp.reports.analysis.report_folder import Sources
from tests.conftest import passage, rubric
from tests.phases.nugget_material import answer, bank_line

WriteJsonl = Callable[[str, list[Any]], Path]
FOLD = re.compile(r"(?s)<summary><h2>(What .*?)</h2> <span[^>]*>(.*?)</span>(.*?)</details>")


def ranked(query: str, passage_id: str, grades: str, **ranks: int) -> dict[str, Any]:
    """A passage with grades of the entries a, b and c, and its ranks by system."""
    rankings = [
        {"method": system, "paragraphId": passage_id, "queryId": query, "rank": rank, "score": 1.0}
        for system, rank in ranks.items()
    ]
    ratings = {f"{query}/{entry}": int(grade) for entry, grade in zip("abc", grades, strict=True)}
    return passage(
        passage_id, paragraph_data={"judgments": [], "rankings": rankings}, exam_grades=[rubric(ratings)]
    )


@pytest.fixture
def rankings(write_jsonl: WriteJsonl, tmp_path: Path) -> Sources:
    """To depth 2, v2 covers a and b of both queries, v1 a and c of q1; p3 is below the cutoff."""
    lines = [
        ["q1", [
            ranked("q1", "p1", "540", v2=1), ranked("q1", "p2", "013", v2=2), ranked("q1", "p3", "005", v2=3),
            ranked("q1", "p4", "404", v1=1),
        ]],
        ["q2", [ranked("q2", "p5", "440", v2=1), ranked("q2", "p6", "333", v1=1)]],
    ]  # fmt: skip
    bank = [
        {
            "query_id": query,
            "test_collection": "t",
            "query_text": query,
            "items": [
                {"query_id": query, "question_id": f"{query}/{e}", "question_text": f"{query} {e}?"}
                for e in "abc"
            ],
        }
        for query in ("q1", "q2")
    ]
    (tmp_path / "mine").mkdir()
    return Sources(
        write_jsonl("mine/graded.jsonl", lines), [write_jsonl("bank.jsonl", bank)], cutoff=2, command="x"
    )


@pytest.fixture
def answers(write_jsonl: WriteJsonl) -> Sources:
    """The same with labels of answers: partial support states nothing, nor does the empty answer of v1."""
    lines = [
        ["q1", [answer("v2", "q1", "SSN"), answer("v1", "q1", "SPS")]],
        ["q2", [answer("v2", "q2", "SSN"), answer("v1", "q2", "", " ")]],
    ]
    bank = write_jsonl("nuggets.jsonl", [bank_line("q1", "vvv"), bank_line("q2", "vvo")])
    # The threshold is one of ratings, and no option of nugget scores.
    return Sources(write_jsonl("study.v1.jsonl", lines), [bank], min_grade=1, command="x")


@pytest.mark.parametrize(
    ("sources", "verb", "noun", "title", "measure"),
    [
        (
            "rankings", "covers", "entries", "mine: v2 and v1",
            "Share of the questions that the first 2 passages answer: Cover(min_grade=4)@2.",
        ),
        (
            "answers", "states", "facts", "study: v2 and v1",
            "Share of the vital facts that an answer states: V_strict.",
        ),
    ],
)  # fmt: skip
def test_what_one_system_has_and_the_other_lacks(
    sources: str,
    verb: str,
    noun: str,
    title: str,
    measure: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    """The queries come first in which a system gains most."""
    page = unescape(write_evaluation(request.getfixturevalue(sources), tmp_path / "report").read_text())
    _, *entries = (
        line.split("\t") for line in (tmp_path / "report" / "entries.tsv").read_text().splitlines()
    )
    texts = {row[1]: row[2] for row in entries}
    (q1a, q1b, q1c, q2a, q2b, q2c) = texts

    assert [(*row[:2], *row[3:]) for row in entries] == [
        ("q1", q1a, "1", "1"), ("q1", q1b, "1", "0"), ("q1", q1c, "0", "1"),
        ("q2", q2a, "1", "0"), ("q2", q2b, "1", "0"), ("q2", q2c, "0", "0"),
    ]  # fmt: skip
    both = "both 1, neither 1"
    one = {"entries": "entry", "facts": "fact"}[noun]
    assert [fold[:2] for fold in FOLD.findall(page)] == [
        ("What v2 has and v1 lacks", f"v2 {verb} 3 {noun} that v1 lacks, v1 {verb} 1 that v2 lacks, {both}"),
        ("What v1 has and v2 lacks", f"v1 {verb} 1 {one} that v2 lacks, v2 {verb} 3 that v1 lacks, {both}"),
    ]
    shown = [re.findall(r"<td[^>]*>(?:<a[^>]*>)?(.*?)<", fold[2]) for fold in FOLD.findall(page)]
    assert shown == [
        [
            *("q2", "2 of 3", "0 of 3", texts[q2a]), *("q2", "2 of 3", "0 of 3", texts[q2b]),
            *("q1", "2 of 3", "2 of 3", texts[q1b]),
        ],
        ["q1", "2 of 3", "2 of 3", texts[q1c]],
    ]  # fmt: skip
    assert f"<h1>{title}</h1>" in page
    assert measure in page


def test_mistakes_are_no_entries_that_a_system_has(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    lines = [["q1", [answer("v2", "q1", "SSN"), answer("v1", "q1", "SPS")]]]
    bank = bank_line("q1", "???")
    bank["items"][2]["weight"] = -1
    sources = Sources(
        write_jsonl("study.jsonl", lines), [write_jsonl("bank.jsonl", [bank])], command="x", review=False
    )
    page = unescape(write_evaluation(sources, tmp_path / "report").read_text())
    about = "v2 meets 1 requirement that v1 lacks, v1 meets 0 that v2 lacks, both 1, neither 0"
    assert [fold[:2] for fold in FOLD.findall(page)] == [("What v2 has and v1 lacks", about)]
    assert "v2 makes 0, v1 makes 1 of 1 mistake" in page
    assert "nugget 3 of q1 (to avoid)" in page
    assert "Weight that an answer earns or loses" in page
    assert "Rubric scores" in page
    row = (tmp_path / "report" / "entries.tsv").read_text().splitlines()[3]
    assert row.split("\t")[2:] == ["nugget 3 of q1 (to avoid)", "0", "1"]
