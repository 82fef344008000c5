"""Any human ratings, applied once and again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exam_pp.data_model import DirectGrade, RubricGrades
from exam_pp.phases.review.apply_ratings import apply_ratings
from exam_pp.store.edits import FORMAT, Edits, read_edits
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import passage, rubric
from tests.phases.review.test_apply_ratings import edits_file, lines_of, rating

KEYS = ["q/a", "q/b", "q/c"]


VALUES = st.dictionaries(st.sampled_from(KEYS), st.integers(0, 5), min_size=1)


@settings(max_examples=40)
@given(
    model=st.dictionaries(st.sampled_from(["p1", "p2", "p3"]), VALUES, min_size=1),
    human_ratings=st.dictionaries(st.sampled_from(["p1", "p2", "p3"]), VALUES, min_size=1),
    comment=st.one_of(st.none(), st.text()),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    model: dict[str, dict[str, int]],
    human_ratings: dict[str, dict[str, int]],
    comment: str | None,
) -> None:
    """The output has the reviewer's ratings, and the grades of models are unchanged."""
    folder = tmp_path_factory.mktemp("edits")
    every = dict.fromkeys(KEYS, 0)
    passages = [passage(p, exam_grades=[rubric(every | model.get(p, {}))]) for p in ("p1", "p2", "p3")]
    graded = folder / "graded.jsonl"
    graded.write_text(json.dumps(["q", passages]) + "\n", encoding="utf-8")
    more = {} if comment is None else {"comment": comment}
    ratings = [
        rating("q", p, key, value, **more)
        for p, values in human_ratings.items()
        for key, value in values.items()
    ]
    edits = edits_file(folder, graded, *ratings)
    assert read_edits(edits).ratings == Edits.model_validate({"format": FORMAT, "ratings": ratings}).ratings

    apply_ratings(graded, [edits], folder / "one.jsonl")
    apply_ratings(folder / "one.jsonl", [edits], folder / "two.jsonl", force=True)
    assert (folder / "one.jsonl").read_bytes() == (folder / "two.jsonl").read_bytes()
    (query,) = read_passages(folder / "one.jsonl")
    applied = {
        (p.passage_id, key): (value, (grades.comments or {}).get(key))
        for p in query.passages
        for grades in p.grade_sets()
        if isinstance(grades, RubricGrades | DirectGrade) and grades.model == "human:ana"
        for key, value in grades.entry_ratings().items()
    }
    assert applied == {
        (p, key): (v, comment) for p, values in human_ratings.items() for key, v in values.items()
    }
    for before, after in zip(passages, lines_of(folder / "one.jsonl")[0][1], strict=True):
        assert after | {"exam_grades": after["exam_grades"][:1]} == before
