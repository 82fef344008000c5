"""Mappings that keep values as bytes, and packing of graded queries."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp import packed
from exam_pp.errors import OutputError
from exam_pp.metrics.grade_masks import GradedPassage, GradedQuery
from exam_pp.packed import PackedMapping, SelectedValues

numbers = st.integers(-(2**70), 2**70)
masks = st.integers(0, 2**90)
passages = st.builds(
    GradedPassage,
    st.text(max_size=5),
    st.dictionaries(numbers, masks, max_size=3),
    st.dictionaries(st.integers(0, 80), st.lists(st.floats(0, 1), max_size=6), max_size=2),
)
queries = st.builds(
    GradedQuery,
    st.text(max_size=5),
    st.lists(st.text(max_size=4), unique=True, max_size=4).map(
        lambda ids: {key: i for i, key in enumerate(ids)}
    ),
    st.none() | st.lists(st.floats(0, 9), max_size=3),
    st.lists(passages, max_size=3, unique_by=lambda passage: passage.passage_id),
    st.dictionaries(
        st.text(max_size=3),
        st.lists(st.tuples(numbers, st.floats(-1e300, 1e300), st.integers(0, 3)), max_size=3),
        max_size=2,
    ),
    masks,
    st.sets(st.text(max_size=3), max_size=2),
)


@given(queries)
def test_packing_round_trip(query: GradedQuery) -> None:
    before = deepcopy(query)
    after = GradedQuery.unpack(query.pack())
    before._index = after._index  # GradedQuery.add makes the index, which this query did not use
    assert after == before
    assert after._index == {passage.passage_id: i for i, passage in enumerate(query.passages)}


def text_mapping() -> PackedMapping[str]:
    return PackedMapping(str.encode, bytes.decode)


@pytest.mark.parametrize("limit", [10, 2**20])
def test_a_mapping_in_memory_and_on_disk(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_IN_MEMORY", limit)
    values = text_mapping()
    for number in range(20):
        values[str(number % 15)] = f"value {number} " * number
    assert list(values) == [str(number) for number in range(15)]
    assert values["0"] == "value 15 " * 15
    assert values["14"] == "value 14 " * 14
    assert (len(values), "3" in values, "20" in values) == (15, True, False)
    del values["0"]
    chosen = SelectedValues(values, ["1", "6"])
    assert list(chosen) == list(chosen) == ["value 16 " * 16, "value 6 " * 6]
    with pytest.raises(KeyError):
        values["0"]


def test_a_full_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    values = text_mapping()
    write: Callable[..., Any] = full
    monkeypatch.setattr(values._file, "write", write)
    with pytest.raises(OutputError, match=r"temporary file .*: No space left on device"):
        values["a"] = "b"
