"""Import and export of retrieved segments of rank_llm, UMBRELA and AutoNuggetizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exam_pp.data_model import Passage
from exam_pp.errors import SelectionError
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.rank_llm import Candidate, CandidateLine, CandidateQuery, pool_candidates
from exam_pp.roles import DistinctNames, System
from exam_pp.store.files import check_output
from exam_pp.store.json_lines import write_records
from exam_pp.store.passages.graded_file import read_passages, write_passages
from exam_pp.store.trec.queries import read_query_texts, write_queries
from exam_pp.wording import counted


def import_candidates(
    files: Sequence[Path], output: Path, *, queries_output: Path | None = None
) -> list[str]:
    """Write the segments as a passages file, and return the lines of the summary.

    The name of a file is the name of its system; the order of the segments on a line is the ranking. Segments
    of several files are pooled. Raises :class:`~exam_pp.errors.DataError` for a query that a file has twice,
    a segment that a query lists twice, and an id with two texts.
    """
    for path in (output, queries_output):
        if path is not None:
            check_output(path, files)
    dropped = DroppedFields()
    queries, texts = pool_candidates(files, dropped)
    if queries_output is not None:
        write_queries(texts, queries_output, inputs=files)
    write_passages(queries, output, inputs=files)
    count = sum(len(query.passages) for query in queries)
    imported = f"Imported {counted(len(queries), 'query')}, {counted(count, 'passage')}."
    return [imported, *dropped.lines()]


def export_candidates(passages: Path, queries: Path, system: str, output: Path) -> list[str]:
    """Write the ranking of a system as segments, best first, and return the lines of the summary.

    The highest of several judgments is written. Raises :class:`~exam_pp.errors.SelectionError` for a system
    without rankings, and for a query without a text.
    """
    inputs = [passages, queries]
    check_output(output, inputs)
    texts = read_query_texts(queries)
    dropped = DroppedFields()
    lines: list[CandidateLine] = []
    systems: dict[str, None] = {}
    distinct = DistinctNames()
    for query in read_passages(passages):
        ranked: list[tuple[int, float, Passage]] = []
        for passage in query.passages:
            dropped.add("sets of grades", sum(1 for _ in passage.grade_sets()))
            dropped.add("judgments other than the highest", max(0, len(passage.judgments) - 1))
            for entry in passage.rankings:
                if entry.role == "answer":
                    dropped.add("parts of answers")
                    continue
                name = distinct(System.of(entry))
                systems[name] = None
                if name == system:
                    ranked.append((entry.rank, entry.score, passage))
                else:
                    dropped.add("ranking entries of other systems")
        if ranked:
            candidates = [_candidate(*item[1:]) for item in sorted(ranked, key=lambda item: item[:2])]
            if query.query_id not in texts:
                raise SelectionError(f"{queries} has no text for the query {query.query_id!r} of {passages}.")
            candidate_query = CandidateQuery(qid=query.query_id, text=texts[query.query_id])
            lines.append(CandidateLine(query=candidate_query, candidates=candidates))
    if not lines:
        raise SelectionError(
            f"{passages} has no system {system!r}; its systems are: {', '.join(systems)}."
            if systems
            else f"{passages} has no rankings of systems."
        )
    write_records(lines, output, inputs=inputs)
    return [f"Wrote {counted(len(lines), 'query')}.", *dropped.lines()]


def _candidate(score: float, passage: Passage) -> Candidate:
    judged = [judgment.relevance for judgment in passage.judgments]
    judgment = {"judgment": max(judged)} if judged else {}
    return Candidate(docid=passage.passage_id, score=score, **judgment, doc={"segment": passage.text})
