"""The batch plan: complete, within the budget, and deterministic."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exam_pp.llm.batch_plan import MAX_BATCH_SIZE, plan_batches

LENGTHS = st.lists(st.integers(1, 600), max_size=400)


@given(lengths=LENGTHS, budget=st.integers(1, 4000), groups=st.integers(1, 3))
def test_every_index_once_and_within_the_budget(lengths: list[int], budget: int, groups: int) -> None:
    group_of = [length % groups for length in lengths]
    batches = plan_batches(lengths, budget, group_of)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget
        assert len(batch) <= MAX_BATCH_SIZE
        assert len({group_of[i] for i in batch}) == 1
    assert plan_batches(lengths, budget, group_of) == batches
