"""The evaluation of a published example of Open RAG Eval."""

from __future__ import annotations

from pathlib import Path

from tests.plugins.rag_metrics.test_rag import evaluate_rag, values


def test_published_examples_are_evaluated(shared_data: Path, tmp_path: Path) -> None:
    """The example file of Open RAG Eval: a second run of one query, and a citation of a missing passage."""
    source = shared_data / "open-rag-eval" / "csv_results.csv"
    result = evaluate_rag(source, tmp_path / "out")
    assert [name for name, _, _ in result.left_out] == ["Nugget scores"]
    of = values(result)
    assert len({query_id for system, query_id, _ in of if system == "csv_results-run-2"}) == 1
    assert len({query_id for system, query_id, _ in of if system == "csv_results-run-1"}) == 6
