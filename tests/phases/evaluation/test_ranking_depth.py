"""The default cutoff of a file, and notes on rankings that are not complete down to the cutoff."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.result import Evaluation
from tests.conftest import passage, rubric

WriteJsonl = Callable[[str, list[Any]], Path]
Write = Callable[..., Path]


@pytest.fixture
def write(write_jsonl: WriteJsonl) -> Write:
    """A function that writes a graded file of one query from passage ids with their ranks by system."""

    def graded(passages: dict[str, dict[str, int]], query_id: str = "q") -> Path:
        def of(passage_id: str, grade: int, ranks: dict[str, int]) -> dict[str, Any]:
            rankings = [
                {"method": s, "paragraphId": passage_id, "queryId": query_id, "rank": r, "score": 1.0}
                for s, r in ranks.items()
            ]
            data = {"judgments": [], "rankings": rankings}
            return passage(passage_id, paragraph_data=data, exam_grades=[rubric({f"q/{passage_id}": grade})])

        lines = [of(name, 5 - number % 2, ranks) for number, (name, ranks) in enumerate(passages.items())]
        return write_jsonl("graded.jsonl", [[query_id, lines]])

    return graded


def long_answer(system: str = "rag") -> dict[str, dict[str, int]]:
    """An answer of 25 parts, each of which covers an entry of its own or none."""
    return {f"{system}/q#{n}": {system: n} for n in range(1, 26)}


def shares(evaluation: Evaluation) -> dict[str, float]:
    """The Cover of each system."""
    rows = [row for row in standings(evaluation.scores) if row.metric == measure(evaluation)]
    return {row.system: row.mean for row in rows if not row.system.startswith("_")}


def test_all_parts_of_an_answer_count(write: Write) -> None:
    """Parts 1 to 25 cover every second entry: 13 of 25, and 10 of them are within 20."""
    evaluation = cover(graded := write(long_answer()), min_grade=5)
    assert (measure(evaluation), shares(evaluation)) == ("Cover(min_grade=5)@25", {"rag": 13 / 25})
    assert not evaluation.notes[1:]
    named = cover(graded, cutoff=20, min_grade=5)
    assert (measure(named), shares(named)) == ("Cover(min_grade=5)@20", {"rag": 10 / 25})


def test_the_default_cutoff_limits_rankings_beside_answers(write: Write) -> None:
    """Of 30 passages of a run, every second one covers; the first 20 count, and all parts of the answer."""
    graded = write(long_answer() | {f"d{n}": {"bm": n} for n in range(1, 31)})
    evaluation = cover(graded, min_grade=5)
    assert measure(evaluation) == "Cover(min_grade=5)@20"
    assert shares(evaluation) == {"rag": 13 / 55, "bm": 10 / 55}
    assert f"The cutoff 20 limits rankings; all parts of the answers in {graded} count." in evaluation.notes
    named = cover(graded, cutoff=20, min_grade=5)
    assert shares(named) == {"rag": 10 / 55, "bm": 10 / 55}


def depth_notes(notes: list[str]) -> list[str]:
    return [note for note in notes if "deeper" in note or "complete only" in note]


def pool_of(depth: int) -> dict[str, dict[str, int]]:
    """The pool of two runs with opposite orders of nine passages; a passage has its rank in both runs."""
    return {f"p{n}": {"up": n, "down": 10 - n} for n in range(1, 10) if n <= depth or n >= 10 - depth}


def test_rankings_that_end_above_the_cutoff(write: Write) -> None:
    graded = write({"p1": {"a": 1, "b": 2}, "p2": {"a": 2}, "p3": {"a": 3, "b": 1}})

    assert depth_notes(cover(graded, cutoff=20).notes) == [
        f"The cutoff 20 is deeper than the rankings in {graded}, which end at rank 3: scores are those of @3."
    ]
    assert not depth_notes(cover(graded, cutoff=3).notes)
    assert "which end at rank 3" in depth_notes(cover(graded, cutoff=4).notes)[0]
    deep, shallow = (
        [(row.system, row.mean) for row in standings(cover(graded, cutoff=k).scores)] for k in (20, 3)
    )
    assert deep == shallow


def measure(evaluation: Evaluation) -> str:
    return evaluation.scores[0].metric


def test_the_default_cutoff_is_the_highest_rank_of_the_file(write: Write) -> None:
    """Header and provenance name the same number, and no note speaks of a deeper cutoff."""
    evaluation = cover(write({"p1": {"a": 1, "b": 2}, "p2": {"a": 2}, "p3": {"a": 3, "b": 1}}))

    assert evaluation.provenance is not None
    assert (measure(evaluation), evaluation.provenance.cutoff) == ("Cover(min_grade=4)@3", 3)
    assert not depth_notes(evaluation.notes)


def test_the_default_cutoff_counts_passages_of_equal_rank(write: Write) -> None:
    assert measure(cover(write({f"p{n}": {"a": 1} for n in range(4)}))) == "Cover(min_grade=4)@4"


def test_the_default_cutoff_is_at_most_20(write: Write) -> None:
    assert measure(cover(write({"p1": {"a": 1}, "p2": {"a": 21}}))) == "Cover(min_grade=4)@20"


def test_a_pool_keeps_some_ranks_below_its_depth(write: Write) -> None:
    """After ``import --top 2`` each run lacks its ranks 3 to 7, but has the top of the other run."""
    graded = write(pool_of(2))

    assert depth_notes(cover(graded, cutoff=9).notes) == [
        f"The rankings in {graded} are complete only to rank 2: 10 lower ranks are missing down to the "
        "cutoff 9 and cannot cover entries. Use --cutoff 2, or import with a larger --top."
    ]
    assert "complete only to rank 2: 2 lower ranks" in depth_notes(cover(graded, cutoff=3).notes)[0]
    assert not depth_notes(cover(graded, cutoff=2).notes)
    whole = write({"p1": {"up": 1}}, "whole").read_text()
    graded = write(pool_of(2))
    graded.write_text(graded.read_text() + whole)
    assert not depth_notes(cover(graded, cutoff=9, queries=["whole"]).notes), "another query lacks ranks"


def test_ranks_may_start_at_0(write: Write) -> None:
    graded = write({"p1": {"a": 0}, "p2": {"a": 1}})

    assert "which end at rank 2:" in depth_notes(cover(graded, cutoff=3).notes)[0]
    assert measure(cover(graded)) == "Cover(min_grade=4)@2"


def test_judged_passages_with_missing_first_ranks_have_no_note(write: Write) -> None:
    """No cutoff makes rankings complete that lack their first rank."""
    graded = write({"p1": {"a": 2, "b": 1}, "p2": {"a": 9, "b": 30}})

    assert not depth_notes(cover(graded).notes)


def test_generated_answers_end_where_they_end(write: Write) -> None:
    assert not depth_notes(cover(write({"gen/q": {"gen": 1}})).notes)
    assert not depth_notes(cover(write({"gen/q#1": {"gen": 1}, "gen/q#2": {"gen": 2}})).notes)
