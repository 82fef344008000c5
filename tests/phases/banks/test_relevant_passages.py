"""Relevant passages for nuggetization, and their order."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.data_model import QueryPassages, parse_object
from exam_pp.errors import SelectionError
from exam_pp.phases.banks.relevant_passages import Relevance, relevant_passages


def passage(name: str, ranks: dict[str, int], judged: tuple[int, ...] = (), **keys: Any) -> dict[str, Any]:
    return {
        "paragraph_id": name,
        "text": f"Text of {name}.",
        "paragraph_data": {
            "judgments": [
                {"paragraphId": name, "query": "q", "relevance": grade, "titleQuery": "q"} for grade in judged
            ],
            "rankings": [
                {"method": system, "paragraphId": name, "queryId": "q", "rank": rank, "score": -rank}
                for system, rank in ranks.items()
            ],
        },
        **keys,
    }


def umbrela(label: int, model: str = "m") -> dict[str, Any]:
    return {
        "grades": [
            {
                "correctAnswered": label > 0, "answer": str(label), "llm": model, "llm_options": {},
                "prompt_info": {"prompt_class": "GradedRelevance"}, "self_ratings": label,
                "prompt_type": "direct_grading",
            }
        ]
    }  # fmt: skip


def query(*passages: dict[str, Any], name: str = "q") -> QueryPassages:
    return parse_object([name, list(passages)])


def order(queries: list[QueryPassages], **options: Any) -> dict[str, list[str]]:
    relevant = relevant_passages(queries, Relevance(**options), "file")
    return {name: [passage_id for passage_id, _ in passages] for name, passages in relevant.queries.items()}


def test_a_passage_that_a_system_ranks_twice_has_its_better_rank() -> None:
    twice = passage("a", {"s": 1}, (1,))
    rankings = twice["paragraph_data"]["rankings"]
    rankings.append(rankings[0] | {"rank": 9})
    assert order([query(passage("b", {"s": 2}, (1,)), twice)]) == {"q": ["a", "b"]}


def test_the_order_of_a_system_with_unranked_passages_last() -> None:
    line = query(
        passage("a", {"s": 3}, (1,)), passage("u", {}, (3,)), passage("b", {"s": 1}, (1,)),
        passage("c", {"s": 2}, (0,)),
    )  # fmt: skip
    assert order([line]) == {"q": ["b", "a", "u"]}
    assert order([line], min_judgment=0) == {"q": ["b", "c", "a", "u"]}


def test_several_systems_are_fused_by_reciprocal_rank() -> None:
    """By hand: a has 1/61 + 1/63, b 1/62 + 1/62, c 1/63."""
    line = query(
        passage("c", {"s": 3}, (1,)),
        passage("a", {"s": 1, "t": 3}, (1,)),
        passage("b", {"s": 2, "t": 2}, (1,)),
    )
    assert 1 / 63 < 2 / 62 < 1 / 61 + 1 / 63
    assert order([line]) == {"q": ["a", "b", "c"]}
    assert order([line], ranking="t") == {"q": ["b", "a", "c"]}


def test_the_highest_of_several_judgments_and_queries_on_two_lines() -> None:
    first = query(passage("a", {"s": 2}, (0, 2)), passage("b", {"s": 5}, (-1,)))
    assert order([first, query(passage("c", {"s": 1}, (1,)))]) == {"q": ["c", "a"]}


def test_umbrela_labels() -> None:
    line = query(
        passage("a", {"s": 1}, (3,), **umbrela(0)),
        passage("b", {"s": 2}, **umbrela(1)),
        passage("c", {"s": 3}),
    )
    assert order([line], source="model") == {"q": ["b"]}
    assert order([line], source="human") == {"q": ["a"]}


def test_without_labels_all_passages_with_text_are_relevant_in_rank_order() -> None:
    line = query(passage("a", {"s": 2}), passage("b", {"s": 1}, (0,)), passage("c", {"s": 3}, text=" "))
    assert order([line], source="all") == {"q": ["b", "a"]}
    assert order([query(), query(name="r")], source="all") == {"q": [], "r": []}


def test_umbrela_labels_of_two_models() -> None:
    line = query(passage("a", {"s": 1}, **umbrela(2, "one")), passage("b", {"s": 2}, **umbrela(2, "two")))
    with pytest.raises(SelectionError, match=r"--grader: 'one' .*'two' "):
        order([line], source="model")
    assert order([line], source="model", judge="two") == {"q": ["b"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--qrels"),
        ({"source": "model"}, "GradedRelevance.*leave out --grader"),
        ({"source": "model", "judge": "m"}, "GradedRelevance .*'m'"),
    ],
)
def test_a_file_without_judgments_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        order([query(passage("a", {"s": 1}))], **options)
