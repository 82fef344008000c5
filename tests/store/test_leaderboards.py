"""Official leaderboards."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import DataError
from exam_pp.store.leaderboards import read_ranks


@pytest.mark.parametrize(
    "content",
    ['{"a": 1, "b": 2.5, "c": 2.5}', "a\t1\nb\t2.5\nc\t2.5\n", "system,rank\na, 1\nb, 2.5\nc, 2.5\n"],
    ids=["json", "tsv", "csv with header"],
)
def test_shapes(tmp_path: Path, content: str) -> None:
    path = tmp_path / "board"
    path.write_text(content)
    assert read_ranks(path) == {"a": 1.0, "b": 2.5, "c": 2.5}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "holds no systems."),
        ("system\trank\n", "holds no systems."),
        ('{"a": "first"}', "a: the rank 'first' is not a number."),
        ('{"a": true}', "a: the rank True is not a number."),
        ('{"a": NaN}', "a: the rank nan is not a number."),
        ('{"a": 1', "is not valid JSON"),
        ('{"a": 1, "b": 2, "a": 3}', "the system 'a' occurs twice."),
        ("a\t1\nb\n", "line 2: has no second column."),
        ("a\t1\nb\tsecond\n", "line 2, rank: 'second' is not a number."),
        ("a\t1\nb\tinf\n", "line 2, rank: 'inf' is not a finite number."),
        ("a\t1\na\t2\n", "line 2: the system 'a' occurs twice."),
    ],
)
def test_broken_files(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "board"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read_ranks(path)
    assert words in str(caught.value)


def test_official_ranks_of_dl20(shared_data: Path) -> None:
    assert len(read_ranks(shared_data / "dl20" / "official_DL20_Leaderboard.json")) == 59
