"""Merging shards of a grading run, and files with different grades of the same passages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.phases.grading.distributed import Shard, assign_shards
from exam_pp.phases.passages.merge import merge_files
from tests.conftest import passage, rubric, without_times

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
WriteLines = Callable[[str, list[Any]], Path]


def merge(output: Path, *arguments: object) -> list[Any]:
    main(["-q", "merge", *map(str, arguments), "-o", str(output)])
    return [json.loads(line) for line in output.read_text().splitlines()]


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 9))
def test_shards_are_a_balanced_partition(weights: list[int], shares: int) -> None:
    lists = assign_shards(weights, shares)
    assert sorted(index for indices in lists for index in indices) == list(range(len(weights)))
    loads = [sum(weights[index] for index in indices) for indices in lists]
    assert max(loads) - min(loads) <= max(weights, default=0)


@pytest.mark.parametrize("shards", [1, 7])
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
    options = ["--bank", str(bank_file), "--model", "fake", "--prompt", RATING]
    whole, merged = tmp_path / "whole.jsonl", tmp_path / "merged.jsonl"
    main(["-q", "grade", str(file), "-o", str(whole), *options])
    parts = [tmp_path / f"part-{i}.jsonl" for i in range(1, shards + 1)]
    for index, part in enumerate(parts, 1):
        main(["-q", "grade", str(file), "-o", str(part), *options, "--shard", f"{index}/{shards}"])
    merge(merged, *reversed(parts), "--passages", file)
    assert merged.read_bytes() == whole.read_bytes()


def test_like_orders_passages_by_their_first_position(write_jsonl: WriteLines, tmp_path: Path) -> None:
    file = write_jsonl("in.jsonl", [["q", [passage("new"), passage("b"), passage("a")]]])
    like = write_jsonl("like.jsonl", [["q", [passage("a"), passage("b"), passage("a")]]])
    ((_, merged),) = merge(tmp_path / "out.jsonl", file, "--passages", like)
    assert [raw["paragraph_id"] for raw in merged] == ["a", "b", "new"]


def with_data(write_jsonl: WriteLines, name: str, grades: list[Any], keys: Any = (), **data: Any) -> Path:
    """A file of a passage with these grades, keys, rankings and judgments."""
    one = passage("p", exam_grades=grades, paragraph_data=data, **dict(keys))
    return write_jsonl(name, [["q", [one]]])


def ranked(rank: int, method: str = "x") -> dict[str, Any]:
    return {"method": method, "paragraphId": "p", "queryId": "q", "rank": rank, "score": 1.0 / rank}


def judged(relevance: int) -> dict[str, Any]:
    return {"paragraphId": "p", "query": "q", "relevance": relevance, "titleQuery": "q"}


def test_grades_rankings_and_judgments_are_merged(write_jsonl: WriteLines, tmp_path: Path) -> None:
    old, new, other = rubric({"q/a": 1}), rubric({"q/b": 2}), rubric({"q/a": 3}, llm="another")

    data = [{"rankings": [ranked(1, m) for m in some], "judgments": [judged(1)]} for some in ("xy", "yz")]
    first = with_data(write_jsonl, "a.jsonl", [old, new], {"mine": 1}, **data[0])
    second = with_data(write_jsonl, "b.jsonl", [old, other], {"mine": 2, "yours": [3]}, **data[1])
    late = write_jsonl(
        "c.jsonl", [["r", [passage("s")]], ["q", [passage("t"), {"paragraph_id": "p", "text": "Text of p."}]]]
    )
    lines = merge(tmp_path / "out.jsonl", first, second, late)
    assert [query for query, _ in lines] == ["q", "r"]
    merged, added = lines[0][1]
    assert merged["exam_grades"] == [old, new, other]
    assert [r["method"] for r in merged["paragraph_data"]["rankings"]] == ["x", "y", "z"]
    assert merged["paragraph_data"]["judgments"] == [judged(1)]
    assert (merged["mine"], merged["yours"]) == (1, [3])
    assert added["paragraph_id"] == "t"
    assert "exam_grades" not in added


def test_differences_are_logged(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        with_data(
            write_jsonl, f"{note}.jsonl", [rubric({"q/a": rating, "q/b": 1})], {"note": note},
            rankings=[ranked(rank)], judgments=[judged(relevance)],
        )
        for note, rating, rank, relevance in (("mine", 5, 1, 2), ("yours", 4, 3, 0))
    ]  # fmt: skip
    lines = merge(tmp_path / "out.jsonl", *files)
    where = "(first: query 'q', passage 'p': "
    assert without_times(capsys.readouterr().err).splitlines() == [
        "1 rating differs between the files. Both are kept; the rating of the later file counts "
        f"{where}'q/a', 5 and 4 by google/flan-t5-large).",
        f"1 ranking differs between the files. Both are kept {where}ranks 1 and 3 by 'x').",
        f"1 judgment differs between the files. Both are kept {where}2 and 0).",
        f"1 other value differs between the files. The value of the first file is kept {where}note).",
    ]
    (merged,) = lines[0][1]
    assert [grades["self_ratings"][0]["self_rating"] for grades in merged["exam_grades"]] == [5, 4]
    assert merged["note"] == "mine"


def test_the_rating_of_the_later_file_counts(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, other = rubric({"q/a": 5}), rubric({"q/a": 3}), rubric({"q/b": 1}, llm="another")
    first = with_data(write_jsonl, "a.jsonl", [old, new, other])
    second = with_data(write_jsonl, "b.jsonl", [old])
    ((_, [merged]),) = merge(tmp_path / "out.jsonl", first, second)
    assert merged["exam_grades"] == [new, other, old]
    assert "1 rating " in capsys.readouterr().err
    direct = [{"correctAnswered": level > 1, "llm": "m", "self_ratings": level} for level in (3, 0)]
    parts = [
        write_jsonl(f"{number}.jsonl", [["q", [passage("p", grades=grades)]]])
        for number, grades in enumerate((direct, direct[:1]))
    ]
    ((_, [merged]),) = merge(tmp_path / "out.jsonl", *parts)
    assert merged["grades"] == direct[::-1]


@pytest.mark.parametrize(("hashes", "conflict"), [((None, "h"), True), (("h", "i"), False)])
def test_a_missing_prompt_hash_matches_every_version(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    hashes: tuple[str | None, str | None], conflict: bool,
) -> None:  # fmt: skip
    """Files of the published tool record no hash."""
    files = []
    for name, rating, prompt_hash in zip("ab", (5, 3), hashes, strict=True):
        info = {"prompt_class": RATING, **({"prompt_hash": prompt_hash} if prompt_hash else {})}
        grades = [rubric({"q/a": rating}, prompt_info=info)]
        files.append(with_data(write_jsonl, f"{name}.jsonl", grades))
    merge(tmp_path / "out.jsonl", *files)
    assert ("1 rating " in capsys.readouterr().err) == conflict


def test_a_missing_text_is_taken_from_another_file(write_jsonl: WriteLines, tmp_path: Path) -> None:
    shared = write_jsonl("a.jsonl", [["q", [passage("p", text="", exam_grades=[rubric({"q/a": 1})])]]])
    texts = write_jsonl("b.jsonl", [["q", [passage("p")]]])
    for order in ([shared, texts], [texts, shared]):
        ((_, [merged]),) = merge(tmp_path / "out.jsonl", *order)
        assert (merged["text"], merged["exam_grades"]) == ("Text of p.", [rubric({"q/a": 1})])


def test_json_formatting_is_not_a_difference(tmp_path: Path) -> None:
    """Records are equal whatever their spaces and order of keys; the first keeps its bytes."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    grades = '{"correctAnswered":["a"],"wrongAnswered":[]}'
    swapped = '{ "wrongAnswered" : [] , "correctAnswered" : ["\\u0061"] }'
    for path, written in ((first, grades), (second, swapped)):
        path.write_text(f'["q", [{{"paragraph_id": "p", "text": "t", "exam_grades": [{written}]}}]]\n')
    merge(tmp_path / "out.jsonl", first, second)
    assert (tmp_path / "out.jsonl").read_bytes() == first.read_bytes()


@pytest.mark.parametrize("text", ["0/4", "5/4", "x", "1/0", "1/2/3", "-1/2"])
def test_invalid_shards(text: str) -> None:
    with pytest.raises(SelectionError, match=re.escape(repr(text))):
        Shard.parse(text)


def test_null_counts_as_missing(write_jsonl: WriteLines, tmp_path: Path) -> None:
    known = write_jsonl("known.jsonl", [["q", [passage("p", note=1, exam_grades=[rubric({"a": 1})])]]])
    null = write_jsonl("null.jsonl", [["q", [passage("p", note=None, exam_grades=None)]]])
    for files in ([known, null], [null, known]):
        ((_, [merged]),) = merge(tmp_path / "out.jsonl", *files, "--strict")
        assert (merged["note"], len(merged["exam_grades"])) == (1, 1)


def test_an_empty_file_is_logged(
    tiny_passages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty := tmp_path / "empty.jsonl").touch()
    merge(tmp_path / "out.jsonl", tiny_passages, empty)
    assert f"{empty} has no queries" in capsys.readouterr().err
    assert (tmp_path / "out.jsonl").read_bytes() == tiny_passages.read_bytes()


def test_texts_that_differ_in_blanks_only(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        write_jsonl(
            f"{name}.jsonl", [["q", [passage("d", text=text, exam_grades=[rubric({"e": 1}, llm=name)])]]]
        )
        for name, text in (("a", "One text. "), ("b", "One  text."))
    ]
    ((_, (merged,)),) = merge(tmp_path / "out.jsonl", *files)
    assert "1 text differs between the files. Only whitespace differs" in capsys.readouterr().err
    assert merged["text"] == "One text. "
    assert [grades["llm"] for grades in merged["exam_grades"]] == ["a", "b"]


@pytest.mark.parametrize("other", ['{"x":1,"x":2}', '{"x": 1, "x": 2}'])
def test_a_duplicate_key_is_not_lost_by_merging_equal_values(tmp_path: Path, other: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(f'["q", [{{"paragraph_id": "p", "text": "t", "mine": {other}}}]]\n', "utf-8")
    merge_files([file, file], tmp_path / "out.jsonl")
    assert other in (tmp_path / "out.jsonl").read_text("utf-8")
