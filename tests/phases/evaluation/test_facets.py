"""Rubric-Qrels and judgments by facet, in TREC CAR's style: ``query/facet``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.judgments import judgments
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings
from exam_pp.results import Qrel
from tests.conftest import passage, rubric

WriteJsonl = Callable[[str, list[Any]], Path]


def judged(passage_id: str, ratings: dict[str, int], facet: str, relevance: int) -> dict[str, Any]:
    judgment = {"paragraphId": passage_id, "query": f"q/{facet}", "relevance": relevance, "titleQuery": "q"}
    rankings = [
        {"method": "of facets", "paragraphId": passage_id, "queryId": f"q/{facet}", "rank": 1, "score": 1.0},
        {
            "method": "of titles",
            "paragraphId": passage_id,
            "queryId": "q",
            "rank": int(passage_id[1]),
            "score": 1.0,
        },
    ]
    data = {"judgments": [judgment], "rankings": rankings}
    return passage(passage_id, paragraph_data=data, exam_grades=[rubric(ratings)])


@pytest.fixture
def graded(write_jsonl: WriteJsonl) -> Path:
    return write_jsonl(
        "facets.jsonl",
        [
            [
                "q",
                [
                    judged("p1", {"q/one/a": 5, "q/two/b": 1}, "one", 3),
                    judged("p2", {"q/one/a": 0, "q/two/b": 4}, "two", 2),
                    judged("p3", {"q/two/b": 0}, "two", 0),
                ],
            ]
        ],
    )


@pytest.fixture
def bank(write_jsonl: WriteJsonl) -> Path:
    """In the bank both entries have the facet "same", although their ids contain other facets."""
    lines = [
        {
            "query_id": "q", "facet_id": "same", "query_text": "q", "test_collection": "t",
            "items": [
                {"query_id": "q", "question_id": key, "question_text": key} for key in ("q/one/a", "q/two/b")
            ],
        }
    ]  # fmt: skip
    return write_jsonl("bank.jsonl", lines)


def test_labels_of_a_facet_come_from_its_own_entries(graded: Path) -> None:
    assert rubric_qrels(graded).qrels == [Qrel("q", "p1", 5), Qrel("q", "p2", 4), Qrel("q", "p3", 0)]
    assert rubric_qrels(graded, facets="facet").qrels == [
        Qrel("q/one", "p1", 5), Qrel("q/one", "p2", 0),
        Qrel("q/two", "p1", 1), Qrel("q/two", "p2", 4), Qrel("q/two", "p3", 0),
    ]  # fmt: skip


def test_counts_are_of_a_facet_s_entries(graded: Path, bank: Path) -> None:
    assert rubric_qrels(graded, label="count", min_grade=1, facets="facet").qrels[2] == Qrel("q/two", "p1", 1)
    assert rubric_qrels(graded, label="count", min_grade=1).qrels[0] == Qrel("q", "p1", 2)
    of_bank = rubric_qrels(graded, bank=bank, label="count", min_grade=1, facets="facet")
    assert of_bank.qrels[0] == Qrel("q/same", "p1", 2)


def test_judgments_of_facets(graded: Path) -> None:
    assert judgments(graded)[0] == Qrel("q", "p1", 3)
    assert judgments(graded, facets="facet") == [
        Qrel("q/one", "p1", 3), Qrel("q/two", "p2", 2), Qrel("q/two", "p3", 0)
    ]  # fmt: skip


def test_rankings_of_facets_and_of_titles(graded: Path) -> None:
    """A ranking of the title stands for each of its facets."""
    labels = rubric_qrels(graded, facets="facet")
    scores = score_rankings(labels.qrels, graded, ["RR"], min_grade=4, facets="facet").scores

    assert {(s.system, s.query_id): s.value for s in scores} == {
        ("of facets", "q/one"): 1.0,  # p1 at rank 1
        ("of facets", "q/two"): 1.0,  # p2 and p3 both have rank 1, p2 comes first in the file
        ("of titles", "q/one"): 1.0,
        ("of titles", "q/two"): 0.5,
    }


def test_a_query_id_with_a_common_prefix_is_not_a_facet(write_jsonl: WriteJsonl) -> None:
    """q has no grades; its ranking must not be taken for one of q/1."""

    def ranked(passage_id: str, query_id: str, grades: list[Any]) -> dict[str, Any]:
        ranking = {"method": "s", "paragraphId": passage_id, "queryId": query_id, "rank": 1, "score": 1.0}
        return passage(passage_id, paragraph_data={"rankings": [ranking]}, exam_grades=grades)

    lines = [
        ["q", [ranked("p1", "q", [])]],
        ["q/1", [ranked("p2", "q/1", [rubric({"e": 0})]), passage("p1", exam_grades=[rubric({"e": 5})])]],
    ]
    path = write_jsonl("slash.jsonl", lines)
    scores = score_rankings(rubric_qrels(path).qrels, path, ["RR"], min_grade=4).scores

    assert [(s.query_id, s.value) for s in scores] == [("q/1", 0.0)]


def test_entries_without_facets_are_refused(tiny_passages: Path) -> None:
    with pytest.raises(SelectionError, match=r"graded\.jsonl.* facet"):
        rubric_qrels(tiny_passages, facets="facet")


OF_A, OF_B = ["q 1 p1 5", "q 1 p2 0"], ["q 2 p1 1", "q 2 p2 4", "q 2 p3 0"]
KEPT = "No passage covers 1 entry: placeholder passages keep it as a subtopic."
SAME = "All subtopics have the same weight: the weights of the bank are ignored."
AVOIDED = "1 entry with a negative weight made no subtopic."


@pytest.mark.parametrize(
    ("weights", "options", "lines", "notes"),
    [
        ((1, 1), (), OF_A + OF_B, []),
        ((2, 1), ("--min-grade", "5"), [*OF_A, *OF_B, "q 2 no-passage-covers-entry-2 5"], [KEPT, SAME]),
        ((1, -1), ("--label", "binary"), ["q 1 p1 1", "q 1 p2 0"], [SAME, AVOIDED]),
    ],
)
def test_entries_as_subtopics(
    graded: Path,
    bank: Path,
    capfd: pytest.CaptureFixture[str],
    weights: tuple[int, int],
    options: tuple[str, ...],
    lines: list[str],
    notes: list[str],
) -> None:
    pytest.importorskip("pyndeval")
    line = json.loads(bank.read_text())
    for item, weight in zip(line["items"], weights, strict=True):
        item["weight"] = weight
    bank.write_text(json.dumps(line))
    main(["evaluate", "qrels", str(graded), "--bank", str(bank), "--facets", "entry", *options])
    out, err = capfd.readouterr()
    assert out.splitlines() == lines
    assert [logged.split(" ", 2)[2] for logged in err.splitlines()] == notes
