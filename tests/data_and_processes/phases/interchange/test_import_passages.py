"""Import of runs, texts, judgments and answers into a passages file."""

from __future__ import annotations

from pathlib import Path

from exam_pp.phases.interchange.import_passages import ImportSources, ImportSummary, import_passages
from exam_pp.store.passages.graded_file import read_passages


def test_real_runs(shared_data: Path, tmp_path: Path) -> None:
    """The rankings of the published file are those of the runs; so are the judgments' title queries."""
    folder = shared_data / "dl19-gpt4"
    query_ids = ("19335", "47923", "87181")
    published = {
        query.query_id: {passage.passage_id: passage for passage in query.passages}
        for query in read_passages(folder / "dl19-graded.jsonl.gz")
        if query.query_id in query_ids
    }
    texts = tmp_path / "texts.tsv"
    texts.write_text(
        "".join(
            f"{i}\t{' '.join(p.text.split())}\n"
            for i, p in {i: p for passages in published.values() for i, p in passages.items()}.items()
        )
    )
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(
        "".join(
            f"{j.query_id} 0 {j.passage_id} {j.relevance}\n"
            for passages in published.values()
            for p in passages.values()
            for j in p.judgments
        )
    )
    queries = tmp_path / "queries.tsv"
    queries.write_text("".join(f"{query_id}\ta text\n" for query_id in query_ids))
    sources = ImportSources([folder / "runs"], [texts], (), queries, judged=[qrels], skip_missing_texts=True)
    summary = import_passages(sources, tmp_path / "out.jsonl")
    assert summary.systems == 6
    assert summary.passages == summary.judged == sum(len(passages) for passages in published.values())
    for query in read_passages(tmp_path / "out.jsonl"):
        for passage in query.passages:
            original = published[query.query_id][passage.passage_id]
            assert passage.judgments == original.judgments
            assert {e.method: e.rank for e in passage.rankings} == {
                e.method: e.rank for e in original.rankings
            }


def test_real_rag24_answers(shared_data: Path, tmp_path: Path) -> None:
    """Ten of the 301 answers have more than 400 words (at most 503), so they are two paragraphs."""
    sources = ImportSources(answers=[shared_data / "rag24" / "answers.command-r-plus.jsonl"])
    assert import_passages(sources, tmp_path / "out.jsonl.gz") == ImportSummary(301, 311, 0, 1)
