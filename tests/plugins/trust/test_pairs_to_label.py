"""Review pages and lists of sampled pairs, and the loop from the sample to the labels of a person."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.plugins.trust.pair_sample import Block, PairSample, SampledPair
from exam_pp.plugins.trust.pair_sample_files import write_pair_sample
from exam_pp.reports.review.page import render_page
from exam_pp.store.edits import file_sha256
from tests.conftest import data_error, passage, rubric
from tests.review_pages import blocks, ratings

WriteLines = Callable[[str, list[Any]], Path]
Key = tuple[str, str, str]
RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


def sample_file(graded: Path, *keys: Key, **values: Any) -> Path:
    """A file with these pairs of a graded file, which are all that could be drawn."""
    pairs = []
    population: dict[str, list[Block]] = {}
    for query_id, passage_id, entry_id in keys:
        pairs.append(SampledPair(query_id=query_id, passage_id=passage_id, entry_id=entry_id, probability=1))
        population.setdefault(query_id, []).append(Block(passages=[passage_id], entries=[entry_id]))
    known = {"graded_sha256": file_sha256(graded), "prompt_class": RATED, "by": "even", "seed": 0}
    drawn = {"population": population, "lowest_probability": 1, "pairs": pairs}
    sample = PairSample.model_validate({**known, **drawn, **values})
    path = graded.parent / "pairs.json"
    write_pair_sample(sample, path)
    return path


def page_of(graded: Path, bank: Path | None = None, **options: Any) -> str:
    material = review_material(graded, GradeFilter(), bank=bank, options=ReviewOptions(**options))
    return render_page(material.head, material.tables)


def asked(page: str) -> set[Key]:
    """The pairs that a page asks about."""
    return {
        (query["id"], passage_id, query["entries"][index]["id"])
        for query in blocks(page)["head"]["queries"]
        for passage_id, indexes in query["asked"].items()
        for index in indexes
    }


@pytest.mark.parametrize("blind", [False, True])
def test_the_page_has_exactly_the_sampled_pairs(tiny_passages: Path, tiny_bank: Path, blind: bool) -> None:
    keys = [("q1", "p1", "q1/b"), ("q1", "p2", "q1/a"), ("q1", "p2", "q1/b")]
    pairs = sample_file(tiny_passages, *keys)
    page = page_of(tiny_passages, tiny_bank, pairs=pairs, blind=blind)
    assert asked(page) == set(keys)
    data = blocks(page)
    assert [query["id"] for query in data["head"]["queries"]] == ["q1"]
    assert data.keys() == {"head", "texts", "query-0"}
    assert ratings(page) == {"p1": [None, 0], "p2": [1, 4]}, "the grade of q1/a of p1 is not on the page"
    if not blind:
        (counts,) = data["head"]["queries"][0]["graders"]
        assert counts["ratings"] == [1, 1, 0, 0, 1, 0]


def test_the_leaderboard_is_that_of_the_whole_file(tiny_passages: Path, tiny_bank: Path) -> None:
    pairs = sample_file(tiny_passages, ("q1", "p1", "q1/a"))
    for bank in (None, tiny_bank):
        part, whole = (page_of(tiny_passages, bank, pairs=path) for path in (pairs, None))
        assert blocks(part)["head"]["leaderboards"] == blocks(whole)["head"]["leaderboards"]


def test_the_prompt_class_is_that_of_the_sample(write_jsonl: WriteLines) -> None:
    grades = [rubric({"q1/a": 2}), rubric({"q1/a": 1}, prompt_info={"prompt_class": "Other"})]
    graded = write_jsonl("graded.jsonl", [["q1", [passage("p1", exam_grades=grades)]]])
    pairs = sample_file(graded, ("q1", "p1", "q1/a"), prompt_class="Other")
    assert blocks(page_of(graded, pairs=pairs))["head"]["prompt"]["name"] == "Other"
    with pytest.raises(SelectionError, match="of the prompt 'Other', not of --prompt 'X'"):
        review_material(graded, GradeFilter(prompt_class="X"), options=ReviewOptions(pairs=pairs))


def test_only_some_queries(tiny_passages: Path) -> None:
    keys = [("q1", "p1", "q1/a"), ("007", "p3", "007/a")]
    pairs = sample_file(tiny_passages, *keys)
    assert asked(page_of(tiny_passages, pairs=pairs, queries=["007"])) == {keys[1]}
    pairs = sample_file(tiny_passages, keys[0])
    with pytest.raises(SelectionError, match=r"pairs.json has no pairs of the query '007'"):
        page_of(tiny_passages, pairs=pairs, queries=["007"])


def test_a_sample_of_another_file(tiny_passages: Path, tiny_bank: Path) -> None:
    pairs = sample_file(tiny_passages, ("q1", "p1", "q1/a"), graded_sha256=None)
    with data_error(pairs, field="graded_sha256", about="Use --force if its passages"):
        page_of(tiny_passages, tiny_bank, pairs=pairs)
    assert asked(page_of(tiny_passages, tiny_bank, pairs=pairs, force=True)) == {("q1", "p1", "q1/a")}


def run(line: str) -> None:
    main(["-q", *shlex.split(line)])
