"""Shards of a grading, united again; files with different grades of the same passages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.phases.shares import Shard, share_out
from tests.conftest import passage, rubric

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
WriteLines = Callable[[str, list[Any]], Path]


def merge(output: Path, *arguments: object) -> list[Any]:
    main(["-q", "merge", *map(str, arguments), "-o", str(output)])
    return [json.loads(line) for line in output.read_text().splitlines()]


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 9))
def test_shares_are_a_balanced_partition(weights: list[int], shares: int) -> None:
    lists = share_out(weights, shares)
    assert sorted(index for indices in lists for index in indices) == list(range(len(weights)))
    loads = [sum(weights[index] for index in indices) for indices in lists]
    assert max(loads) - min(loads) <= max(weights, default=0)


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_shards_and_merge_equal_the_whole(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, shards: int
) -> None:
    bank = [json.loads(line) for line in tiny_bank.read_text().splitlines()]
    ids = ["q1", "007", "x", "y", "z"]
    file = write_jsonl(
        "in.jsonl",
        [
            [q, [passage(f"{q}-{i}", text=f"Text {i} " * (i + 3)) for i in range(n + 1)]]
            for n, q in enumerate(ids)
        ],
    )
    more = [
        {**bank[1], "query_id": q, "items": [item | {"query_id": q} for item in bank[1]["items"]]}
        for q in "xyz"
    ]
    bank_file = write_jsonl("bank.jsonl", [*bank, *more])
    options = ["--bank", str(bank_file), "--model", "fake", "--prompt-class", RATING]
    whole, united = tmp_path / "whole.jsonl", tmp_path / "united.jsonl"
    main(["-q", "grade", str(file), "-o", str(whole), *options])
    parts = [tmp_path / f"part-{i}.jsonl" for i in range(1, shards + 1)]
    for index, part in enumerate(parts, 1):
        main(["-q", "grade", str(file), "-o", str(part), *options, "--shard", f"{index}/{shards}"])
    merge(united, *reversed(parts), "--like", file)
    assert united.read_bytes() == whole.read_bytes()


def test_a_missing_shard_is_noticed(
    tiny_passages: Path, write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = write_jsonl("part.jsonl", [["007", [passage("p3")]]])
    with pytest.raises(SystemExit):
        merge(tmp_path / "out.jsonl", part, "--like", tiny_passages)
    assert "1 of its queries are in none of the files" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_grades_rankings_and_judgments_are_united(write_jsonl: WriteLines, tmp_path: Path) -> None:
    def ranking(method: str) -> dict[str, Any]:
        return {"method": method, "paragraphId": "p", "queryId": "q", "rank": 1, "score": 2.0}

    judgment = {"paragraphId": "p", "query": "q", "relevance": 1, "titleQuery": "q"}
    old, new, other = rubric({"q/a": 1}), rubric({"q/b": 2}), rubric({"q/a": 3}, llm="another")

    def file(name: str, grades: list[Any], methods: str, **keys: Any) -> Path:
        data = {"judgments": [judgment], "rankings": [ranking(m) for m in methods]}
        return write_jsonl(name, [["q", [passage("p", paragraph_data=data, exam_grades=grades, **keys)]]])

    first = file("a.jsonl", [old, new], "xy", mine=1)
    second = file("b.jsonl", [old, other], "yz", mine=2, yours=[3])
    late = write_jsonl(
        "c.jsonl", [["r", [passage("s")]], ["q", [passage("t"), {"paragraph_id": "p", "text": "Text of p."}]]]
    )
    lines = merge(tmp_path / "out.jsonl", first, second, late)
    assert [query for query, _ in lines] == ["q", "r"]
    united, added = lines[0][1]
    assert united["exam_grades"] == [old, new, other]
    assert [r["method"] for r in united["paragraph_data"]["rankings"]] == ["x", "y", "z"]
    assert united["paragraph_data"]["judgments"] == [judgment]
    assert (united["mine"], united["yours"]) == (1, [3])
    assert added["paragraph_id"] == "t"
    assert "exam_grades" not in added


def test_merging_a_file_with_itself_changes_nothing(tiny_passages: Path, tmp_path: Path) -> None:
    lines = merge(tmp_path / "out.jsonl", tiny_passages, tiny_passages)
    assert lines == [json.loads(line) for line in tiny_passages.read_text().splitlines()]


def test_two_texts_of_one_passage_are_refused(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write_jsonl("a.jsonl", [["q", [passage("p")]]])
    second = write_jsonl("b.jsonl", [["q", [passage("p", text="Something else.")]]])
    with pytest.raises(SystemExit) as stop:
        merge(tmp_path / "out.jsonl", first, second)
    assert stop.value.code == 1
    message = capsys.readouterr().err
    assert "b.jsonl: the passage 'p' of query 'q' has another text than in" in message
    assert len(message.splitlines()) == 1


def conflicting(write_jsonl: WriteLines) -> list[Path]:
    def file(name: str, rating: int, rank: int, relevance: int, note: str) -> Path:
        ranking = {"method": "x", "paragraphId": "p", "queryId": "q", "rank": rank, "score": 1.0}
        judgment = {"paragraphId": "p", "query": "q", "relevance": relevance, "titleQuery": "q"}
        data = {"judgments": [judgment], "rankings": [ranking]}
        grades = [rubric({"q/a": rating, "q/b": 1})]
        return write_jsonl(name, [["q", [passage("p", paragraph_data=data, exam_grades=grades, note=note)]]])

    return [file("a.jsonl", 5, 1, 2, "mine"), file("b.jsonl", 4, 3, 0, "yours")]


def test_what_differs_is_reported(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = merge(tmp_path / "out.jsonl", *conflicting(write_jsonl))
    where = "(first: query 'q', passage 'p': "
    assert capsys.readouterr().err.splitlines() == [
        "1 ratings differ between the files; both are kept, and the later file's counts "
        f"{where}'q/a', 5 and 4 by google/flan-t5-large).",
        f"1 rankings differ between the files; both are kept {where}ranks 1 and 3 by 'x').",
        f"1 judgments differ between the files; both are kept {where}2 and 0).",
        f"1 other values differ between the files; the first file's are kept {where}note).",
    ]
    (united,) = lines[0][1]
    assert [grades["self_ratings"][0]["self_rating"] for grades in united["exam_grades"]] == [5, 4]
    assert united["note"] == "mine"


def test_strict_refuses_what_differs(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        merge(tmp_path / "out.jsonl", *conflicting(write_jsonl), "--strict")
    assert "1 ratings differ between the files" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_missing_text_is_taken_from_another_file(write_jsonl: WriteLines, tmp_path: Path) -> None:
    shared = write_jsonl("a.jsonl", [["q", [passage("p", text="", exam_grades=[rubric({"q/a": 1})])]]])
    texts = write_jsonl("b.jsonl", [["q", [passage("p")]]])
    for order in ([shared, texts], [texts, shared]):
        ((_, [united]),) = merge(tmp_path / "out.jsonl", *order)
        assert united["text"] == "Text of p."
        assert united["exam_grades"] == [rubric({"q/a": 1})]


def test_spelling_makes_no_difference(tmp_path: Path) -> None:
    """Equal records are one, whatever their blanks and the order of their keys; the first stays as it is."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    grades = '{"correctAnswered":["a"],"wrongAnswered":[]}'
    swapped = '{ "wrongAnswered" : [] , "correctAnswered" : ["\\u0061"] }'
    for path, written in ((first, grades), (second, swapped)):
        path.write_text(f'["q", [{{"paragraph_id": "p", "text": "t", "exam_grades": [{written}]}}]]\n')
    merge(tmp_path / "out.jsonl", first, second)
    assert (tmp_path / "out.jsonl").read_bytes() == first.read_bytes()


@pytest.mark.parametrize("text", ["0/4", "5/4", "x", "1/0", "1/2/3", "-1/2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(SelectionError, match="i from 1 to n"):
        Shard.parse(text)
