"""Conversion of unusual but valid values: they survive, are counted as dropped, or raise a clear error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.store.trec.scores import read_score_rows

Write = Callable[[str, list[Any]], Path]


def converted(source: Path, target: Path, to: str, **options: Any) -> dict[str, int]:
    return convert(Conversion(source, target, to, **options)).counts


def scores(*values: float, query_id: str | None = None) -> list[Any]:
    return [
        {"system": "s", "query_id": query_id or str(i), "metric": "m", "value": value}
        for i, value in enumerate(values)
    ]


@pytest.mark.parametrize("form", ["scores-jsonl", "leaderboard", "autojudge-eval", "autojudge-tot"])
def test_the_same_score_twice_is_one(form: str, write_jsonl: Write, tmp_path: Path) -> None:
    source = write_jsonl("s.jsonl", scores(0.5))
    twice = tmp_path / "twice"
    converted(source, twice, form)
    line = twice.read_text().splitlines()[-1]
    with twice.open("a") as stream:
        stream.write(line + "\n")
    converted(twice, tmp_path / "o", "scores-jsonl", source_format=form)
    assert len(list(read_score_rows(tmp_path / "o"))) == 1


def test_empty_values_are_not_counted_as_dropped(write_jsonl: Write, tmp_path: Path) -> None:
    row: dict[str, Any] = {"query_id": "q", "query_text": "t", "a": None, "b": "", "c": [], "d": {}, "e": 0}
    dropped = converted(write_jsonl("q.jsonl", [row]), tmp_path / "o", "queries-tsv")
    assert dropped == {"field 'e'": 1}
