"""Runs of a passages file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.results import RunLine
from exam_pp.store.trec.runs import method_of, read_run

Write = Callable[[str, list[Any]], Path]


def written_runs(passages: Path, folder: Path) -> list[Path]:
    convert(Conversion(passages, folder, "run"))
    return sorted(folder.iterdir())


def ranked(passage_id: str, *entries: tuple[str, int, float]) -> dict[str, Any]:
    rankings = [
        {"method": method, "paragraphId": passage_id, "queryId": "q", "rank": rank, "score": score}
        for method, rank, score in entries
    ]
    data = {"judgments": [], "rankings": rankings}
    return {"paragraph_id": passage_id, "text": "Text.", "paragraph_data": data}


def test_runs(write_jsonl: Write, tmp_path: Path) -> None:
    passages = write_jsonl(
        "passages.jsonl",
        [
            ["q2", [ranked("a", ("s", 2, 0.1)), ranked("d#1/x", ("s", 1, 1 / 3), ("t", 0, -5.0))]],
            ["007", [ranked("a", ("s", 4, 2.0), ("s", 3, 2.5), ("s", 5, 1.0))]],
            ["q2", [ranked("b", ("s", 2, 0.2))]],
        ],
    )
    files = written_runs(passages, tmp_path / "new" / "runs")
    assert [file.name for file in files] == ["s.run", "t.run"]
    assert list(read_run(files[0])) == [
        RunLine("q2", "d#1/x", 1, 1 / 3, "s"),
        RunLine("q2", "b", 2, 0.2, "s"),
        RunLine("q2", "a", 2, 0.1, "s"),
        RunLine("007", "a", 3, 2.5, "s"),
    ]


def test_names_cannot_leave_the_folder(write_jsonl: Write, tmp_path: Path) -> None:
    systems = ["../evil", "/etc/x", "..", ".hidden", "a b", "a%2Fb", "BM25+RM3@20", "naïve\\run"]
    passages = write_jsonl("p.jsonl", [["q", [ranked("a", *((name, 1, 1.0) for name in systems))]]])
    files = written_runs(passages, tmp_path / "runs")
    assert {file.parent for file in files} == {tmp_path / "runs"}
    assert len(list((tmp_path / "runs").iterdir())) == len(systems)
    assert (tmp_path / "runs" / "BM25+RM3@20.run").exists()
    assert sorted(method_of(file) for file in files) == sorted(systems)
    tags = {line.system for file in files for line in read_run(file, method="tag")}
    assert {"../evil", "a_b", "a%2Fb"} <= tags


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([["q", [ranked("a")]]], "rankings"),
        (
            [["q", [ranked("a b", ("s", 1, 1.0)), ranked("a_b", ("s", 2, 0.5))]]],
            "ids 'a b' and 'a_b' are the same",
        ),
        ([["q", [ranked("a", ("s 1", 1, 1.0), ("s_1", 1, 1.0))]]], "ids 's 1' and 's_1' are the same"),
    ],
)
def test_ids_that_a_run_file_cannot_hold(
    write_jsonl: Write, tmp_path: Path, lines: list[Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        written_runs(write_jsonl("p.jsonl", lines), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_one_run_is_a_file_if_the_output_has_an_extension(write_jsonl: Write, tmp_path: Path) -> None:
    """So a folder does not depend on the number of systems."""
    passages = write_jsonl("p.jsonl", [["q", [ranked("a", ("s", 1, 1.0))]]])
    assert [file.name for file in written_runs(passages, tmp_path / "runs")] == ["s.run"]
    convert(Conversion(passages, tmp_path / "one.run", "run"))
    assert list(read_run(tmp_path / "one.run", method="tag")) == [RunLine("q", "a", 1, 1.0, "s")]


def test_runs_of_some_systems(write_jsonl: Write, tmp_path: Path) -> None:
    lines = [["q", [ranked("a", ("s", 1, 1.0), ("t", 1, 1.0), ("canary:x", 1, 1.0))]]]
    convert(Conversion(write_jsonl("p.jsonl", lines), tmp_path / "runs", "run", systems=["t"]))
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["t.run"]
