"""Conversions between contents of files, such as passages to qrels, runs or answers, and scores to ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Content
from exam_pp.formats.dropped_fields import (
    DroppedFields,
    count_dropped_bank_fields,
    count_dropped_passage_fields,
    count_dropped_ranking_fields,
)
from exam_pp.formats.trec import Runs
from exam_pp.phases.interchange.answer_units import Unit, answer_documents, answer_passages
from exam_pp.phases.interchange.export_answers import answers_of
from exam_pp.phases.interchange.export_runs import runs_of
from exam_pp.results import OVERALL_SYSTEM, Qrel, Score
from exam_pp.roles import choose_role
from exam_pp.store.trec.answers import Answer
from exam_pp.store.trec.queries import Facet, Query
from exam_pp.test_bank import BankLine, TestBank


@dataclass(frozen=True)
class BridgeOptions:
    """Options of a conversion: source file (for messages), unit of answers, measure that ranks systems."""

    path: Path
    unit: Unit = "sentence"
    measure: str | None = None


Bridge = Callable[[Any, DroppedFields, BridgeOptions], Any]


def _counting_dropped(
    queries: Iterable[QueryPassages], keeps: frozenset[str], dropped: DroppedFields
) -> Iterator[QueryPassages]:
    """Yield the queries; count the fields that are not in ``keeps``."""
    for query in queries:
        count_dropped_passage_fields(query, keeps, dropped)
        yield query


def _passages_to_qrels(
    queries: Iterable[QueryPassages], dropped: DroppedFields, options: BridgeOptions
) -> Iterator[Qrel]:
    """Yield the highest judgment of each passage, with ``query/facet`` for facets."""
    best: dict[tuple[str, str], int] = {}
    for query in _counting_dropped(queries, frozenset({"judgments"}), dropped):
        for passage in query.passages:
            for judgment in passage.judgments:
                key = (judgment.query_id, passage.passage_id)
                titled = judgment.title_query not in (judgment.query_id, query.query_id)
                dropped.add("title queries of judgments", titled)
                dropped.add("passage ids of judgments", judgment.passage_id != passage.passage_id)
                dropped.add("repeated judgments of a passage", key in best)
                best[key] = max(judgment.relevance, best.get(key, judgment.relevance))
    if not best:
        raise DataError("has no judgments.", file=str(options.path))
    for (query_id, passage_id), relevance in best.items():
        yield Qrel(query_id, passage_id, relevance)


def _passages_to_runs(
    queries: Iterable[QueryPassages], dropped: DroppedFields, options: BridgeOptions
) -> Runs:
    def counting_dropped() -> Iterator[QueryPassages]:
        for query in _counting_dropped(queries, frozenset({"ranking entries"}), dropped):
            for passage in query.passages:
                count_dropped_ranking_fields(query.query_id, passage, dropped)
            yield query

    runs = runs_of(choose_role(counting_dropped(), preferred="retrieved"), options.path)
    changed = sum(system.split() != [system] for system in runs)
    dropped.add("whitespace in system names", changed)
    return dict(sorted(runs.items()))


def _passages_to_answers(
    queries: Iterable[QueryPassages], dropped: DroppedFields, options: BridgeOptions
) -> Iterator[Answer]:
    answers = answers_of(queries, (), dropped, count_others=True)
    if not answers:
        raise DataError("has no answers of systems.", file=str(options.path))
    yield from answers


def _answers_to_passages(
    answers: Iterable[Answer], dropped: DroppedFields, options: BridgeOptions
) -> Iterator[QueryPassages]:
    """Make passages as ``exam-pp import --answers`` does.

    A system ranks the parts of its answer in order, and it retrieved the references that have a text.
    """
    queries: dict[str, dict[str, Passage]] = defaultdict(dict)
    for answer in answers:
        query = queries[answer.query_id]
        texts = dict(answer.texts)
        documents = answer_documents(answer)
        cited = {docid for part in answer.parts for docid in part.citations}
        dropped.add("uncited references", len(set(answer.references) - cited - texts.keys()))
        for docid, entry in documents.items():
            if docid in texts:
                _add(query, docid, texts[docid], entry)
        for entry, text in answer_passages(answer, options.unit, dropped):
            _add(query, entry.passage_id, text, entry)
    for query_id, passages in queries.items():
        yield QueryPassages(query_id, list(passages.values()))


def _add(query: dict[str, Passage], passage_id: str, text: str, entry: RankingEntry | None) -> None:
    passage = query.setdefault(
        passage_id,
        Passage(passage_id=passage_id, text=text, data=PassageData(judgments=[], rankings=[])),
    )
    if entry is not None:
        passage.rankings.append(entry)


def _bank_to_queries(
    lines: Iterable[BankLine], dropped: DroppedFields, _options: BridgeOptions
) -> Iterator[Query]:
    bank = TestBank.from_lines(lines)
    without_entries = (line.model_copy(update={"items": []}) for line in bank.lines)
    count_dropped_bank_fields(
        without_entries, {"query texts", "facets", "facet texts", "queries without entries"}, dropped
    )
    facets: dict[str, dict[str, str]] = defaultdict(dict)
    for line in bank.lines:
        if line.facet_id is not None:
            facets[line.query_id].setdefault(line.facet_id, line.facet_text or "")
    for query in bank:
        dropped.add("bank entries", len(query.entries))
        if not query.query_text.strip():
            dropped.add("queries without text")
            continue
        query_facets = [Facet(facet_id=key, facet_text=text) for key, text in facets[query.query_id].items()]
        yield Query(
            query_id=query.query_id,
            query_text=query.query_text,
            **({"facets": query_facets} if query_facets else {}),
        )


def _answers_to_queries(
    answers: Iterable[Answer], dropped: DroppedFields, options: BridgeOptions
) -> Iterator[Query]:
    seen: dict[str, None] = {}
    for answer in answers:
        dropped.add("answers")
        if answer.query_text.strip() and answer.query_id not in seen:
            seen[answer.query_id] = None
            yield Query(query_id=answer.query_id, query_text=answer.query_text)
    if not seen:
        raise DataError("has no query texts.", file=str(options.path))


def _scores_to_ranks(
    scores: Iterable[Score], dropped: DroppedFields, options: BridgeOptions
) -> Mapping[str, float]:
    """System to rank by the means of one measure, best first; tied systems get the average rank."""
    from exam_pp.metrics.correlation import ranks_of  # noqa: PLC0415 - scipy is slow to import
    from exam_pp.metrics.leaderboard import standings  # noqa: PLC0415

    scores = list(scores)
    rows = standings(scores)
    measures = list(dict.fromkeys(row.metric for row in rows))
    measure = options.measure or (measures[0] if len(measures) == 1 else None)
    if measure not in measures:
        raise SelectionError(
            f"Ranks need one measure; name it with --measure. The file has: {', '.join(measures)}."
        )
    dropped.add("scores", len(scores))
    return ranks_of(
        {row.system: row.mean for row in rows if row.metric == measure and row.system != OVERALL_SYSTEM}
    )


BRIDGES: Mapping[tuple[Content, Content], Bridge] = {
    ("passages", "qrels"): _passages_to_qrels,
    ("passages", "runs"): _passages_to_runs,
    ("passages", "answers"): _passages_to_answers,
    ("answers", "passages"): _answers_to_passages,
    ("answers", "queries"): _answers_to_queries,
    ("bank", "queries"): _bank_to_queries,
    ("scores", "ranks"): _scores_to_ranks,
}
"""(Source content, target content) to conversion; formats of the same content need no conversion."""
