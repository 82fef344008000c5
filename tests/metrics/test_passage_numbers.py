"""Numbers of passages: equal for equal ids alone, whatever the hashes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.passage_numbers import Ids, Ints, PassageNumbers, as_ids

passages = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "é", "d" * 8, "d" * 9, "d" * 40, "D1"]))
batches = st.lists(st.lists(passages, unique=True), max_size=6)


def columns(batch: list[tuple[int, str]]) -> tuple[Ints, Ids]:
    return np.array([query for query, _ in batch], dtype=np.int64), as_ids([name for _, name in batch])


@given(batches, st.lists(passages))
def test_one_number_for_each_passage(
    added: list[list[tuple[int, str]]], asked: list[tuple[int, str]]
) -> None:
    numbers = PassageNumbers()
    expected: dict[int, tuple[int, str]] = {}
    for batch in added:
        found = numbers.add_distinct(*columns(batch)).tolist()
        for number, passage in zip(found, batch, strict=True):
            assert expected.setdefault(number, passage) == passage
    assert len(numbers) == len(expected) == len({passage for batch in added for passage in batch})
    known = {passage: number for number, passage in expected.items()}
    assert numbers.find(*columns(asked)).tolist() == [known.get(passage, -1) for passage in asked]


def test_passages_that_occur_twice_are_not_added() -> None:
    numbers = PassageNumbers()
    assert numbers.add(*columns([(0, "a"), (1, "a"), (0, "a")])) is None
    assert len(numbers) == 0


@given(batches, st.lists(passages, min_size=1))
def test_what_is_refused_leaves_no_trace(
    added: list[list[tuple[int, str]]], refused: list[tuple[int, str]]
) -> None:
    numbers, other = PassageNumbers(), PassageNumbers()
    for batch in added:
        other.add(*columns([*refused, refused[0]]))
        assert other.add_distinct(*columns(batch)).tolist() == numbers.add_distinct(*columns(batch)).tolist()
    assert other.find(*columns(refused)).tolist() == numbers.find(*columns(refused)).tolist()


def test_numbers_stay_when_the_table_grows() -> None:
    numbers = PassageNumbers()
    batches = [[(query, f"passage {i}") for i in range(900)] for query in range(6)]
    found = [numbers.add_distinct(*columns(batch)).tolist() for batch in batches]
    assert sorted(number for batch in found for number in batch) == list(range(5400))
    assert [numbers.find(*columns(batch)).tolist() for batch in batches] == found
    assert [numbers.add_distinct(*columns(batch[::-1])).tolist()[::-1] for batch in batches] == found


def test_equal_hashes_of_different_passages() -> None:
    class Weak(PassageNumbers):
        def _hashed(self, queries: Ints, ids: Ids) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
            return super()._hashed(queries, ids) % np.uint64(3) << np.uint64(62)

    numbers = Weak()
    first = numbers.add_distinct(*columns([(0, "a"), (1, "a")])).tolist()
    second = numbers.add_distinct(*columns([(0, name) for name in "abcdef"])).tolist()
    assert second[0] == first[0]
    assert len({*first, *second}) == 7 == len(numbers)
