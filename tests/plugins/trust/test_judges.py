"""Agreement of judges on the same games: places, both orders, ungraded games."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.metrics.agreement import cohen_kappa
from exam_pp.plugins.trust.judges import verdicts_report
from tests.tables import notes_of, tables_of

WriteLines = Callable[[str, list[Any]], Path]


def games(query_id: str, judge: str, *verdicts: tuple[str, str, str | None]) -> dict[str, Any]:
    return {
        "query_id": query_id,
        "game_sets": [
            {
                "llm": judge,
                "prompt_info": {"prompt_class": "Pairwise"},
                "games": [{"system_a": a, "system_b": b, "winner": winner} for a, b, winner in verdicts],
            }
        ],
    }


@pytest.fixture
def files(write_jsonl: WriteLines) -> list[Path]:
    model = [
        games("q1", "gpt", ("x", "y", "A"), ("x", "z", "A"), ("y", "z", "C")),
        games("q2", "gpt", ("x", "y", "B"), ("x", "z", None), ("y", "z", "B")),
    ]
    human = [
        # The places are swapped: y loses against x, so the verdict on the first game is equal.
        games("q1", "human:ann", ("y", "x", "B"), ("x", "z", "B"), ("y", "z", "C")),
        games("q2", "human:ann", ("x", "y", "C"), ("x", "z", "A"), ("z", "y", "A")),
    ]
    return [write_jsonl("human.jsonl", human), write_jsonl("model.jsonl", model)]


def rows(*files: Path) -> list[list[Any]]:
    return [list(row) for row in tables_of(verdicts_report(files))["Every two judges"].rows]


def test_equal_verdicts_whatever_the_places(files: list[Path]) -> None:
    report = verdicts_report(files)
    tables = tables_of(report)
    (row,) = tables["Every two judges"].rows
    # Shares of equal and opposite verdicts, and of ties of both judges.
    assert list(row[:7]) == ["gpt", "human:ann", 5, 3 / 5, 1 / 5, 1 / 5, 2 / 5]
    # Rows gpt, columns human:ann; loss, tie, win of the first system by name.
    assert row[7] == cohen_kappa([[1, 1, 0], [0, 1, 0], [1, 0, 1]])
    assert row[8] is None  # too few queries for an interval
    assert report.notes[1:] == ["1 ungraded game left out."]
    assert tables["Rank correlation"].rows[0][2] == 5


def test_unequal_verdicts_of_both_orders_are_a_tie(write_jsonl: WriteLines) -> None:
    both = games("q", "gpt", ("x", "y", "A"), ("y", "x", "A"), ("x", "z", "A"), ("z", "x", "B"))
    person = games("q", "human:ann", ("x", "y", "C"), ("x", "z", "A"))
    (row,) = rows(write_jsonl("a.jsonl", [both]), write_jsonl("b.jsonl", [person]))

    assert (row[3], row[5], row[8]) == (1.0, 0.5, None)


def test_three_unequal_verdicts_stay_a_tie(write_jsonl: WriteLines) -> None:
    """A, B and A again: the third verdict is not that of the judge."""
    thrice = games("q", "gpt", ("x", "y", "A"), ("x", "y", "B"), ("x", "y", "A"))
    person = games("q", "human:ann", ("x", "y", "C"))
    (row,) = rows(write_jsonl("a.jsonl", [thrice]), write_jsonl("b.jsonl", [person]))
    assert row[3] == 1.0


def test_no_common_games(write_jsonl: WriteLines) -> None:
    paths = [
        write_jsonl("a.jsonl", [games("q1", "gpt", ("x", "y", "A"))]),
        write_jsonl("b.jsonl", [games("q2", "human:ann", ("x", "y", "A"))]),
    ]
    report = verdicts_report(paths)
    assert "gpt and human:ann have rated no common items" in notes_of(report)
    assert list(tables_of(report)["Every two judges"].rows[0][2:]) == [0, *[None] * 7]


@pytest.mark.parametrize(
    ("lines", "models", "message"),
    [
        ([games("q", "gpt", ("x", "y", "A"))], (), r"needs the games of two judges.* 1 judge \(gpt\)"),
        ([games("q", "gpt", ("x", "y", "A"))], ["bob"], r"no decided games of 'bob' \(judges: gpt\)"),
        ([games("q", "gpt", ("x", "y", None))], (), "0 judges"),
    ],
)
def test_refusals(write_jsonl: WriteLines, lines: Any, models: Any, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        verdicts_report([write_jsonl("games.jsonl", lines)], models=models)
