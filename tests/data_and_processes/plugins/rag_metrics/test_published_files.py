"""Files that other tools and tracks published: they survive conversion, and schemas accept them."""

from __future__ import annotations

from pathlib import Path

from exam_pp.formats.base import format_of
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.plugins.rag_metrics.open_rag_eval import GENERATIONS, generations_of
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.tables import read_cells
from exam_pp.store.trec.answers import read_answers


def test_the_connector_file_of_open_rag_eval(shared_data: Path, tmp_path: Path) -> None:
    """As in the tests of its own loader: six queries, one with two runs; query_1 has no passage 4."""
    source = shared_data / "open-rag-eval" / "test_csv_connector.csv"
    assert format_of(source).name == "open-rag-eval"
    convert(Conversion(source, tmp_path / "a.jsonl", "rag24"))
    answers = list(read_answers(tmp_path / "a.jsonl"))
    assert [(a.system, a.repeat, a.query_id) for a in answers] == [
        *(("test_csv_connector", 1, f"query_{n}") for n in range(1, 7)),
        ("test_csv_connector", 2, "query_6"),
    ]
    first = f"{answers[0].system}/query_1"
    assert [(part.text, part.citations) for part in answers[0].parts] == [
        ("Black holes are dense", (f"{first}[1]",)),
        ("They are also big and round", (f"{first}[2]", f"{first}[3]")),
        ("My name is x", (f"{first}[4]",)),
    ]
    assert len(answers[4].parts[-1].citations) == 5
    dropped = convert(Conversion(source, tmp_path / "p.jsonl", "graded", "open-rag-eval-passages"))
    assert dropped.counts == {"answers": 7, "query texts": 7}
    passages = {p.passage_id: p for query in read_passages(tmp_path / "p.jsonl") for p in query.passages}
    assert len(passages) == 15, "the runs of query_6 share a passage"
    assert passages[f"{first}[2]"].text == "Blackholes are dense."
    assert [(r.rank, r.score) for r in passages[f"{first}[2]"].rankings] == [(2, 2.0)]
    back = Conversion(
        tmp_path / "a.jsonl", tmp_path / "b.csv", "open-rag-eval", contexts=tmp_path / "p.jsonl"
    )
    assert convert(back).counts["document texts missing from --passages"] == 1
    before, after = (
        {(g.query_id, g.run): [*g.passages.values()] for g in generations_of(read_cells(p, GENERATIONS), p)}
        for p in (source, tmp_path / "b.csv")
    )
    before["query_1", "1"].append("")
    assert after == before
