"""Import of published runs, answers, nugget assignments and question collections."""

from __future__ import annotations

import json
from pathlib import Path

from exam_pp.phases.interchange.answer_units import answer_units
from exam_pp.phases.interchange.import_passages import ImportSources, ImportSummary, import_passages
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answers import read_answers


def test_a_whole_rag24_answer_is_the_text_that_was_assigned_nuggets(shared_data: Path) -> None:
    """Source: `answer_text` of the assignments that the organisers' tool made from the same answers."""
    folder = shared_data / "rag24"
    lines = (folder / "assignments.command-r-plus.jsonl").read_text().splitlines()
    texts = {row["qid"]: row["answer_text"].strip() for row in map(json.loads, lines)}
    answers = list(read_answers(folder / "answers.command-r-plus.jsonl"))
    assert {a.query_id: u.text for a in answers for u in answer_units(a, "whole")} == texts
    for answer in answers:
        for part in answer_units(answer, "paragraph"):
            assert len(part.text.split()) <= 400


def test_real_runs(shared_data: Path, tmp_path: Path) -> None:
    """The rankings of the published file are those of the runs; so are the judgments' title queries."""
    folder = shared_data / "dl19-gpt4"
    query_ids = ("19335", "47923", "87181")
    published = {
        query.query_id: {passage.passage_id: passage for passage in query.passages}
        for query in read_passages(folder / "dl19-graded.jsonl.gz")
        if query.query_id in query_ids
    }
    texts, qrels, queries = (tmp_path / name for name in ("texts.tsv", "qrels.txt", "queries.tsv"))
    passages = [passage for of_query in published.values() for passage in of_query.values()]
    by_id = {p.passage_id: " ".join(p.text.split()) for p in passages}
    texts.write_text("".join(f"{key}\t{text}\n" for key, text in by_id.items()))
    judgments = [judgment for passage in passages for judgment in passage.judgments]
    qrels.write_text("".join(f"{j.query_id} 0 {j.passage_id} {j.relevance}\n" for j in judgments))
    queries.write_text("".join(f"{query_id}\ta text\n" for query_id in query_ids))
    sources = ImportSources([folder / "runs"], [texts], (), queries, judged=[qrels], skip_missing_texts=True)
    summary = import_passages(sources, tmp_path / "out.jsonl")
    assert summary.systems == 6
    assert summary.passages == summary.judged == len(passages)
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
