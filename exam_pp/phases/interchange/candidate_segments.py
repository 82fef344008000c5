"""Retrieved segments of rank_llm, UMBRELA and AutoNuggetizer, from and to passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from exam_pp.data_model import Passage, QueryPassages, RankingEntry
from exam_pp.errors import SelectionError
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.rank_llm import Candidate, CandidateLine, CandidateQuery, pool_candidates
from exam_pp.roles import DistinctNames, System
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import write_passages
from exam_pp.store.trec.queries import write_queries
from exam_pp.wording import counted, listed


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


def segments_of(
    queries: Iterable[QueryPassages],
    dropped: DroppedFields,
    texts: Mapping[str, str],
    systems: Sequence[str],
    file: Path,
) -> list[CandidateLine]:
    """The ranking of a system as segments, best first; ``file`` has the queries, for messages.

    ``systems``: The one system; empty if only one system has a ranking. The highest of several judgments is
    kept. Raises :class:`~exam_pp.errors.SelectionError` for a system without rankings, and for a query
    without a text.
    """
    rankings: dict[str, dict[str, list[tuple[RankingEntry, Passage]]]] = {}
    distinct = DistinctNames()
    for query in queries:
        for passage in query.passages:
            dropped.add("sets of grades", sum(1 for _ in passage.grade_sets()))
            dropped.add("judgments other than the highest", max(0, len(passage.judgments) - 1))
            for entry in passage.rankings:
                if entry.role == "answer":
                    dropped.add("parts of answers")
                    continue
                of_system = rankings.setdefault(distinct(System.of(entry)), {})
                of_system.setdefault(query.query_id, []).append((entry, passage))
    if not rankings:
        raise SelectionError(f"{file} has no rankings of systems.")
    if len(named := systems or [*rankings]) > 1:
        raise SelectionError(f"{file} has several systems; name one of them with --system: {listed(named)}.")
    if (system := named[0]) not in rankings:
        raise SelectionError(f"{file} has no system {system!r}; its systems are: {', '.join(rankings)}.")
    ranking = rankings.pop(system)
    others = (entries for of_system in rankings.values() for entries in of_system.values())
    dropped.add("ranking entries of other systems", sum(map(len, others)))
    if missing := [query_id for query_id in ranking if query_id not in texts]:
        raise SelectionError(f"--queries has no text for the query {missing[0]!r} of {file}.")
    return [
        CandidateLine(
            query=CandidateQuery(qid=query_id, text=texts[query_id]),
            candidates=[_candidate(*item) for item in sorted(entries, key=_order)],
        )
        for query_id, entries in ranking.items()
    ]


def _order(item: tuple[RankingEntry, Passage]) -> tuple[int, float]:
    return item[0].rank, -item[0].score


def _candidate(entry: RankingEntry, passage: Passage) -> Candidate:
    judged = [judgment.relevance for judgment in passage.judgments]
    judgment = {"judgment": max(judged)} if judged else {}
    return Candidate(docid=passage.passage_id, score=entry.score, **judgment, doc={"segment": passage.text})
