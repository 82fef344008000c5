"""Ratings with keys count for the texts that they are of, whatever became of files, ids and systems."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.review.apply_ratings import AppliedRatings, apply_ratings
from exam_pp.phases.review.content_keys import passage_key
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.reports.review.page import render_page
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import passage, rubric
from tests.phases.nugget_material import answer, bank_line
from tests.review_pages import edits_of

WriteLines = Callable[[str, list[Any]], Path]
CHANGED = "{} of texts or entries that changed: left out."
GONE = "{} of texts or entries that are gone: kept for their return."

BANK: dict[str, Any] = {
    "query_id": "q", "query_text": "Why is the sky blue?", "facet_id": "f", "facet_text": "light",
    "items": [
        {"query_id": "q", "facet_id": "f", "question_id": "a", "question_text": "Which light?",
         "gold_answers": ["blue"]},
        {"query_id": "q", "facet_id": "f", "question_id": "b", "question_text": "Who knows?"},
    ],
}  # fmt: skip
TEXTS = {"v1": "Air scatters light.", "v2": "Caf\u00e9 air  scatters blue light."}


def graded(texts: dict[str, str] = TEXTS, prompt_class: str | None = None) -> list[Any]:
    grades = rubric(
        {"a": 0, "b": 5}, **({"prompt_info": {"prompt_class": prompt_class}} if prompt_class else {})
    )
    return [["q", [passage(key, text=text, exam_grades=[grades]) for key, text in texts.items()]]]


def reviewed(
    file: Path, bank: Path | None, ratings: dict[tuple[str, str, str], int], reviewer: str = "ana",
    prompt_class: str | None = None,
) -> Path:  # fmt: skip
    """The edits file that the review page saves for these ratings, by query, passage and entry."""
    criteria = GradeFilter(prompt_class=prompt_class)
    material = review_material(file, criteria, bank=bank, options=ReviewOptions())
    path = file.parent / f"edits-{reviewer}.json"
    path.write_text(json.dumps(edits_of(render_page(material.head, material.tables), ratings, reviewer)))
    return path


def of_people(file: Path) -> dict[tuple[str, str], int]:
    """(Passage id, entry id) to the rating of a person."""
    return {
        (each.passage_id, entry_id): rating
        for query in read_passages(file)
        for each in query.passages
        for grades in each.rubric_grades or ()
        if str(grades.model).startswith("human:")
        for entry_id, rating in grades.entry_ratings().items()
    }


def outdated(summary: AppliedRatings) -> list[str]:
    return [line for line in summary.lines() if "texts or entries" in line]


RATED = {("q", "v1", "a"): 4, ("q", "v2", "a"): 5, ("q", "v2", "b"): 1}
ALL = {("v1", "a"): 4, ("v2", "a"): 5, ("v2", "b"): 1}


@pytest.mark.parametrize(
    ("texts", "changes", "counted", "lines"),
    [
        (TEXTS, {}, ALL, []),
        # Other ids, another order, other forms of Unicode and blanks.
        ({"x": " Cafe\u0301 air scatters blue\nlight.", "y": TEXTS["v1"]}, {},
         {("x", "a"): 5, ("x", "b"): 1, ("y", "a"): 4}, []),
        # Another system with the answer of v2.
        ({**TEXTS, "v3": TEXTS["v2"]}, {}, {**ALL, ("v3", "a"): 5, ("v3", "b"): 1}, []),
        # Other texts under the same ids, and exchanged ids.
        ({**TEXTS, "v2": "I do not know."}, {}, {("v1", "a"): 4}, [CHANGED.format("2 ratings are")]),
        ({"v1": TEXTS["v2"], "v2": TEXTS["v1"]}, {},
         {("v1", "a"): 5, ("v1", "b"): 1, ("v2", "a"): 4}, []),
        ({"v1": TEXTS["v1"]}, {}, {("v1", "a"): 4}, [GONE.format("2 ratings are")]),
        (TEXTS, {"query_text": "Why is the sky red?"}, {}, [CHANGED.format("3 ratings are")]),
        (TEXTS, {"facet_text": "air"}, {}, [CHANGED.format("3 ratings are")]),
        (TEXTS, {"question_text": "Which colour?"}, {("v2", "b"): 1}, [CHANGED.format("2 ratings are")]),
        (TEXTS, {"gold_answers": ["blue", "violet"]}, {("v2", "b"): 1}, [CHANGED.format("2 ratings are")]),
        (TEXTS, {"question_id": "c"}, {("v1", "c"): 4, ("v2", "c"): 5, ("v2", "b"): 1}, []),
        (TEXTS, {"importance": "vital", "weight": 3}, ALL, []),
    ],
)  # fmt: skip
def test_ratings_follow_their_texts(
    write_jsonl: WriteLines, texts: dict[str, str], changes: dict[str, Any],
    counted: dict[tuple[str, str], int], lines: list[str],
) -> None:  # fmt: skip
    edits = reviewed(write_jsonl("before.jsonl", graded()), write_jsonl("bank.jsonl", [BANK]), RATED)
    of_line = {key: value for key, value in changes.items() if key in BANK}
    first, second = BANK["items"]
    line = {
        **BANK,
        **of_line,
        "items": [{**first, **{k: changes[k] for k in changes.keys() - of_line}}, second],
    }
    after, bank = write_jsonl("after.jsonl", graded(texts)), write_jsonl("new.jsonl", [line])
    before = edits.read_bytes()
    summary = apply_ratings(after, [edits], after.with_name("out.jsonl"), bank=bank)
    assert of_people(after.with_name("out.jsonl")) == counted
    assert outdated(summary) == lines
    assert edits.read_bytes() == before, "outdated ratings are kept"


def test_entries_that_are_gone_keep_their_ratings_for_their_return(write_jsonl: WriteLines) -> None:
    file, bank = write_jsonl("graded.jsonl", graded()), write_jsonl("bank.jsonl", [BANK])
    edits, out = reviewed(file, bank, RATED), file.with_name("out.jsonl")
    only_b = write_jsonl("b.jsonl", [{**BANK, "items": BANK["items"][1:]}])
    regraded = write_jsonl("regraded.jsonl", [["q", [passage("v2", text=TEXTS["v2"],
                                                             exam_grades=[rubric({"b": 5})])]]])  # fmt: skip
    assert outdated(apply_ratings(regraded, [edits], out, bank=only_b)) == [GONE.format("2 ratings are")]
    assert of_people(out) == {("v2", "b"): 1}
    assert outdated(apply_ratings(file, [edits], out, bank=bank)) == []
    assert of_people(out) == ALL


def test_another_scale_is_another_question(write_jsonl: WriteLines) -> None:
    """0 to 2 of nuggets are not 0 to 5 of questions; all prompts with one scale get a rating."""
    bank = write_jsonl("bank.jsonl", [bank_line("q", "vv")])
    file = write_jsonl("g.jsonl", [["q", [answer("v1", "q", "SN"), answer("v2", "q", "NS", "Four five.")]]])
    edits, out = reviewed(file, bank, {("q", "v1/q", "q/n1"): 0}), file.with_name("out.jsonl")
    apply_ratings(file, [edits], out, bank=bank)
    (query,) = read_passages(out)
    person = list(query.passages[0].grade_sets())[1]
    assert person.nugget_labels() == [("q/n1", "not_support")]
    by_nuggets = [["q", [passage("v1/q", text="One two three.", exam_grades=[
        rubric({"q/n1": 5}, prompt_info={"prompt_class": "NuggetSelfRatedPrompt"}, prompt_type="nugget",
               self_ratings=[{"nugget_id": "q/n1", "self_rating": 5}])])]]]  # fmt: skip
    summary = apply_ratings(write_jsonl("n.jsonl", by_nuggets), [edits], out, bank=bank)
    assert (of_people(out), outdated(summary)) == ({}, [CHANGED.format("1 rating is")])

    classes = ["QuestionSelfRatedUnanswerablePromptWithChoices", "QuestionSelfRatedPrompt", "Mine"]
    sets = [rubric({"a": 0, "b": 5}, prompt_info={"prompt_class": name}) for name in classes]
    file = write_jsonl("g.jsonl", [["q", [passage("v1", exam_grades=sets)]]])
    bank = write_jsonl("bank.jsonl", [BANK])
    edits = reviewed(file, bank, {("q", "v1", "a"): 3}, prompt_class=classes[0])
    summary = apply_ratings(file, [edits], out, bank=bank)
    added = [line for line in summary.lines() if "added" in line]
    assert added == [f"1 rating added as human:ana with the prompt {name}." for name in classes[:2]]


def test_of_two_ratings_of_a_text_the_later_one_counts(write_jsonl: WriteLines) -> None:
    """Of one person; several people all count."""
    file = write_jsonl("g.jsonl", graded({"v1": "The same.", "v2": "The same."}))
    bank, out = write_jsonl("bank.jsonl", [BANK]), file.with_name("out.jsonl")
    ana = reviewed(file, bank, {("q", "v1", "a"): 5, ("q", "v2", "a"): 2})
    bo = reviewed(file, bank, {("q", "v2", "a"): 0}, "bo")
    lines = list(apply_ratings(file, [ana, bo], out, bank=bank).lines())
    again = (
        f"2 pairs were rated again with another rating, first in {ana}, ratings.2: the later rating counts."
    )
    assert again in lines
    (query,) = read_passages(out)
    for each in query.passages:
        people = (each.rubric_grades or ())[1:]
        assert [(str(grades.model), grades.entry_ratings()) for grades in people] == [
            ("human:ana", {"a": 2}), ("human:bo", {"a": 0}),
        ]  # fmt: skip


def test_ratings_of_a_bank_need_it(write_jsonl: WriteLines) -> None:
    file, bank = write_jsonl("g.jsonl", graded()), write_jsonl("bank.jsonl", [BANK])
    out = file.with_name("out.jsonl")
    with pytest.raises(DataError, match="are of entries of a test bank: name it with --bank"):
        apply_ratings(file, [reviewed(file, bank, RATED)], out)
    # Without a bank, the page shows the ids of entries, with which the ratings count.
    edits = reviewed(file, None, RATED)
    for named in (None, bank):
        assert outdated(apply_ratings(file, [edits], out, bank=named)) == []
        assert of_people(out) == ALL


def test_ratings_without_keys_are_of_one_file(write_jsonl: WriteLines) -> None:
    file, bank = write_jsonl("g.jsonl", graded()), write_jsonl("bank.jsonl", [BANK])
    edits, out = reviewed(file, bank, RATED), file.with_name("out.jsonl")
    document = json.loads(edits.read_text())
    del document["ratings"][0]["key"]
    edits.write_text(json.dumps(document))
    apply_ratings(file, [edits], out, bank=bank)
    assert of_people(out) == ALL
    other = write_jsonl("other.jsonl", graded({**TEXTS, "v1": "I do not know."}))
    with pytest.raises(DataError, match=r"Review it again, or use `exam-pp apply --force` if the passages"):
        apply_ratings(other, [edits], out, bank=bank)
    apply_ratings(other, [edits], out, bank=bank, force=True)
    assert of_people(out) == ALL


RATINGS = st.dictionaries(
    st.tuples(st.just("q"), st.sampled_from(["v1", "v2", "v3"]), st.sampled_from("ab")),
    st.integers(0, 5),
    min_size=1,
)


@given(texts=st.lists(st.sampled_from(["", "one", "two"]), min_size=3, max_size=3), ratings=RATINGS)
def test_to_apply_twice_is_to_apply_once(
    texts: list[str], ratings: dict[tuple[str, str, str], int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("twice")
    file, bank = folder / "g.jsonl", folder / "bank.jsonl"
    file.write_text(json.dumps(graded(dict(zip(("v1", "v2", "v3"), texts, strict=True)))[0]) + "\n")
    bank.write_text(json.dumps(BANK) + "\n")
    edits = reviewed(file, bank, ratings)
    apply_ratings(file, [edits], folder / "once.jsonl", bank=bank)
    apply_ratings(folder / "once.jsonl", [edits], folder / "twice.jsonl", bank=bank)
    assert (folder / "twice.jsonl").read_bytes() == (folder / "once.jsonl").read_bytes()
    same: dict[tuple[str, str], set[int]] = {}
    for (passage_id, entry_id), rating in of_people(folder / "once.jsonl").items():
        same.setdefault((texts[int(passage_id[1]) - 1], entry_id), set()).add(rating)
    assert all(len(of_text) == 1 for of_text in same.values()), "one text has one rating"


def test_keys_of_texts_are_of_queries() -> None:
    assert passage_key("q", "a b") == passage_key("q", " a\u00a0\tb\n")
    assert (
        len({passage_key("q", "a"), passage_key("q a", ""), passage_key("", "q a"), passage_key("q", "A")})
        == 4
    )
    assert len(passage_key("\ud800", "lone surrogates")) == 32
