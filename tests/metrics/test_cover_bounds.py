"""Bounds of Rubric-Cover, against every possible completion of the grades."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import BankLine, TestBank
from exam_pp.data_model import parse_object
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import GradedQuery, gather
from tests.conftest import passage, rubric

ENTRIES = ("a", "b")
SYSTEMS = ("s", "t")
Grades = dict[str, dict[str, int]]


def query(grades: Grades, ranked: dict[str, set[str]]) -> GradedQuery:
    items = [{"query_id": "q", "nugget_id": entry, "nugget_text": entry} for entry in ENTRIES]
    bank = TestBank.from_lines([BankLine.model_validate({"query_id": "q", "items": items})])
    passages = []
    for name, ratings in grades.items():
        rankings = [
            {"method": system, "paragraphId": name, "queryId": "q", "rank": 1, "score": 1.0}
            for system, names in ranked.items()
            if name in names
        ]
        data = {"judgments": [], "rankings": rankings}
        sets = [rubric(ratings)] if ratings else None
        passages.append(passage(name, paragraph_data=data, exam_grades=sets))
    return gather([parse_object(["q", passages])], GradeSelector(GradeFilter()), bank).queries["q"]


ratings = st.dictionaries(st.sampled_from(ENTRIES), st.sampled_from([0, 5]), max_size=2)
names = st.sampled_from(["p1", "p2", "p3"])


@given(
    st.fixed_dictionaries(dict.fromkeys(("p1", "p2", "p3"), ratings)),
    st.fixed_dictionaries({system: st.sets(names) for system in SYSTEMS}),
    st.booleans(),
)
def test_bounds_are_the_extremes_of_all_completions(
    grades: Grades, ranked: dict[str, set[str]], normalised: bool
) -> None:
    metric = Cover(4, 20, normalised=normalised)
    first_ranks = dict.fromkeys(SYSTEMS, 1)
    open_pairs = [(name, e) for name, given in grades.items() for e in ENTRIES if e not in given]
    seen: dict[str, list[float]] = {}
    for values in product([0, 5], repeat=len(open_pairs)):
        full = {name: dict(given) for name, given in grades.items()}
        for (name, entry), value in zip(open_pairs, values, strict=True):
            full[name][entry] = value
        for score in metric(query(full, ranked), first_ranks):
            seen.setdefault(score.system, []).append(score.value)
    for least, most in metric.bounds(query(grades, ranked), first_ranks):
        assert least.value == pytest.approx(min(seen[least.system]))
        assert most.value == pytest.approx(max(seen[most.system]))
