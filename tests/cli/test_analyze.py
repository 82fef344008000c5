"""Commands that choose their work by ``--by`` or by the content of their inputs, and options of two sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from tests.conftest import passage, rubric

WriteLines = Callable[[str, list[Any]], Path]


@pytest.fixture
def folder(tmp_path: Path, write_jsonl: WriteLines) -> Path:
    """Three leaderboards, and a graded file of two models."""
    for name, values in (("a", (1, 2, 3)), ("b", (1, 3, 2)), ("c", (3, 2, 1))):
        rows = [
            f"{system}\t{query_id}\tRR\t{value / 4}\n"
            for system, value in zip("xyz", values, strict=True)
            for query_id in ("q1", "q2", "all")
        ]
        Path(f"{name}.tsv").write_text("system\tquery\tmeasure\tvalue\n" + "".join(rows))
    grades = [rubric({"q/e": grade}, llm=llm) for llm, grade in (("m", 5), ("n", 1))]
    write_jsonl("graded.jsonl", [["q", [passage("p", exam_grades=grades)]]])
    return tmp_path


@pytest.fixture
def shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """The output of a command."""

    def run(command: str) -> str:
        main(["-q", *command.split()])
        return capsys.readouterr().out

    return run


def rows(table: str) -> list[list[str]]:
    return [line.split("\t") for line in table.splitlines()]


def test_two_leaderboards(shown: Callable[[str], str]) -> None:
    """The last one takes the place of the official one; τ of 1 2 3 and 1 3 2 is 1/3."""
    table = shown("analyze correlation a.tsv b.tsv --format tsv")
    assert rows(table)[1][:4] == ["RR", "3", "0.500000", "0.333333"]
    assert table == shown("analyze correlation a.tsv --official b.tsv --format tsv")


def test_several_leaderboards(shown: Callable[[str], str]) -> None:
    table = rows(shown("analyze correlation a.tsv b.tsv --official c.tsv --format tsv"))
    assert table[0][:3] == ["leaderboard", "measure", "systems"]
    assert [(row[0], row[4]) for row in table[1:]] == [("a.tsv", "-1.000000"), ("b.tsv", "-0.333333")]
    published = shown("analyze correlation a.tsv b.tsv c.tsv --format published")
    assert [row[0] for row in rows(published)[2:]] == ["a", "b"]
    queries = rows(shown("analyze correlation a.tsv b.tsv c.tsv --by query --format tsv"))
    assert [row[2] for row in queries[1:]] == ["q1", "q2", "all"] * 2
    side_by_side = rows(shown("analyze correlation a.tsv b.tsv --by system --official c.tsv --format tsv"))
    assert side_by_side[1] == ["x", "1", "0.000000", "0.000000", "1.000000"]


def test_an_option_named_twice_is_for_both_sides(shown: Callable[[str], str]) -> None:
    assert rows(shown("diff graded.jsonl graded.jsonl --grader m --grader n --only labels --format tsv"))[
        1
    ] == ["q", "p", "5", "1"]
    assert rows(shown("diff graded.jsonl graded.jsonl --grader m --only labels --format tsv"))[1:] == []
