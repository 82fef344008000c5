"""TREC CAR: rankings and judgments of facets under their title query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exam_pp.data_model import QueryPassages
from exam_pp.phases.interchange.import_passages import (
    FacetRankings,
    ImportSources,
    ImportSummary,
    import_passages,
)
from exam_pp.store.passages.graded_file import read_passages
from tests.car_collection import write_collection


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return write_collection(tmp_path)


def imported(folder: Path, **options: Any) -> tuple[ImportSummary, dict[str, QueryPassages]]:
    sources = ImportSources(**{"runs": [folder / "runs"], "texts": [folder / "texts.jsonl"], **options})
    summary = import_passages(sources, folder / "out.jsonl.gz")
    return summary, {query.query_id: query for query in read_passages(folder / "out.jsonl.gz")}


def rankings(query: QueryPassages, system: str) -> list[tuple[str, int, str]]:
    """Facet, rank and passage of a system's entries."""
    entries = ((e, p.passage_id) for p in query.passages for e in p.rankings if e.method == system)
    return sorted((entry.query_id, entry.rank, passage_id) for entry, passage_id in entries)


MERGED = [("car:bees", 1, "p-dance"), ("car:bees", 2, "p-honey"), ("car:bees", 3, "p-waggle"),
          ("car:bees", 4, "p-store")]  # fmt: skip
KEPT = [("car:bees/S_1", 1, "p-dance"), ("car:bees/S_1", 2, "p-waggle"), ("car:bees/S_2", 1, "p-honey"),
        ("car:bees/S_2", 2, "p-dance"), ("car:bees/S_2", 3, "p-store")]  # fmt: skip


@pytest.mark.parametrize("with_queries", [True, False])
@pytest.mark.parametrize("choice", ["title", "keep"])
def test_facets_belong_to_their_title_query(
    choice: FacetRankings, with_queries: bool, collection: Path
) -> None:
    queries = collection / "queries.jsonl" if with_queries else None
    summary, by_id = imported(collection, queries=queries, qrels=[collection / "qrels.txt"], facets=choice)
    assert list(by_id) == ["car:bees", "car:tides"]
    assert summary.facets == 5
    assert ("merged into" if choice == "title" else "stored with") in list(summary.lines())[1]
    assert rankings(by_id["car:bees"], "good") == (MERGED if choice == "title" else KEPT)
    (dance,) = (p for p in by_id["car:bees"].passages if p.passage_id == "p-dance")
    assert [(j.query_id, j.title_query, j.relevance) for j in dance.judgments] == [
        ("car:bees/S_1", "car:bees", 2),
        ("car:bees/S_2", "car:bees", 0),
    ]


def test_the_pool_has_the_top_of_merged_rankings_or_of_each_facet(collection: Path) -> None:
    for choice, passages in (("title", {"p-dance"}), ("keep", {"p-dance", "p-honey"})):
        _, by_id = imported(collection, runs=[collection / "runs" / "good.run"], top=1, facets=choice)
        assert {p.passage_id for p in by_id["car:bees"].passages} == passages
    kept = rankings(by_id["car:bees"], "good")
    assert ("car:bees/S_2", 2, "p-dance") in kept, "the rank beyond the pool is known"


def test_facets_can_stay_queries_of_their_own(collection: Path) -> None:
    summary, by_id = imported(collection, qrels=[collection / "qrels.txt"], facets="facet")
    assert list(by_id) == [f"car:{facet}" for facet in
                           ("bees/S_1", "bees/S_2", "tides/S_3", "tides/S_4", "tides/S_5")]  # fmt: skip
    assert summary.facets == 0
    assert len(list(summary.lines())) == 1
    judged = {p.passage_id: [j.relevance for j in p.judgments] for p in by_id["car:bees/S_2"].passages}
    assert (judged["p-dance"], judged["p-honey"]) == ([0], [2])
