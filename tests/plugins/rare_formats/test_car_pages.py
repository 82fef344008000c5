"""Run pages of TREC CAR Y3."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.phases.interchange.import_passages import FacetRankings
from tests.car_collection import PASSAGES, RUNS, page, write_lines
from tests.phases.interchange.test_facet_rankings import MERGED, collection, imported, rankings

__all__ = ["collection"]


@pytest.mark.parametrize("choice", ["title", "keep", "facet"])
def test_pages_are_imported_like_the_runs_that_they_were_made_of(
    choice: FacetRankings, collection: Path
) -> None:
    _, of_runs = imported(collection, facets=choice)
    _, of_pages = imported(collection, runs=[], texts=[], pages=[collection / "pages.jsonl"], facets=choice)
    assert of_pages.keys() == of_runs.keys()
    for query_id, query in of_pages.items():
        assert {p.passage_id: p.text for p in query.passages} == {
            p.passage_id: p.text for p in of_runs[query_id].passages
        }
        for system in RUNS:
            assert rankings(query, system) == rankings(of_runs[query_id], system)


def test_pages_without_origins_and_texts(collection: Path) -> None:
    short = page("good", "car:bees")
    del short["paragraph_origins"], short["query_facets"]
    for paragraph in short["paragraphs"]:
        del paragraph["para_body"]
    write_lines(collection / "short.jsonl", [short])
    _, by_id = imported(collection, runs=[], pages=[collection / "short.jsonl"], facets="keep")
    assert rankings(by_id["car:bees"], "good") == MERGED
    assert {p.passage_id: p.text for p in by_id["car:bees"].passages}["p-store"] == PASSAGES["p-store"]
