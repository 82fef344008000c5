"""Results of an evaluation of RAG systems in the columns of Open RAG Eval, and as score rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from exam_pp.formats.open_rag_eval_results import ResultRow
from exam_pp.phases.rag.evaluation import RagEvaluation
from exam_pp.results import Score

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "MeanLabel": ("retrieval_score_mean_umbrela_score",),
    "A": ("generation_score_nuggetizer_scores.All", "generation_score_mean_nugget_assignment_score"),
    "A_strict": ("generation_score_nuggetizer_scores.All Strict",),
    "V": ("generation_score_nuggetizer_scores.Vital", "generation_score_vital_nuggetizer_score"),
    "V_strict": ("generation_score_nuggetizer_scores.Vital Strict",),
    "W": ("generation_score_nuggetizer_scores.Weighted",),
    "W_strict": ("generation_score_nuggetizer_scores.Weighted Strict",),
    "FactualConsistency": ("generation_score_hallucination_score",),
    "citation_precision": ("generation_score_citation_scores.weighted_precision",),
    "citation_recall": ("generation_score_citation_scores.weighted_recall",),
    "citation_F1": ("generation_score_citation_scores.f1", "generation_score_citation_f1_score"),
    "Answered": ("generation_score_no_answer_score.query_answered",),
}
"""Metric to its columns; after a dot, the key in a JSON cell."""

_AT_K = re.compile(r"(P|AP_top)\(rel=\d+\)@(\d+)")
_RANK_METRICS = "retrieval_score_precision_metrics"
LABELS = "retrieval_score_umbrela_scores"
"""The column of the labels of the retrieved passages."""


def score_rows(result: RagEvaluation) -> list[Score]:
    """The scores of all metrics, for each system and query."""
    return [score for section in result.sections for score in section.evaluation.scores]


def result_rows(result: RagEvaluation) -> dict[str, list[ResultRow]]:
    """The results of each system in the columns of Open RAG Eval.

    Returns system to a row for each query and repeat. A ranking without repeats counts for all of them.
    Metrics without a result have no column.
    """
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for score in score_rows(result):
        scores.setdefault((score.system, score.query_id), {})[score.metric] = score.value
    labels: dict[str, dict[str, int]] = {}
    for label in result.labels:
        labels.setdefault(label.query_id, {})[label.passage_id] = label.whole
    query_ids = dict.fromkeys(query_id for _, query_id in (*result.retrieved, *scores))
    return {
        system: [
            row
            for query_id in query_ids
            for row in _rows(result, system, query_id, scores, labels.get(query_id, {}))
        ]
        for system in result.systems
    }


def _rows(
    result: RagEvaluation,
    system: str,
    query_id: str,
    scores: Mapping[tuple[str, str], Mapping[str, float]],
    labels: Mapping[str, int],
) -> Iterator[ResultRow]:
    """The results of each repeat of a system; a single repeat has no number."""
    repeats = result.systems[system]
    for repeat, name in repeats.items():
        values = {**scores.get((system, query_id), {}), **scores.get((name, query_id), {})}
        retrieved = result.retrieved.get((name, query_id), [])
        of_passages = {passage_id: labels[passage_id] for passage_id in retrieved if passage_id in labels}
        cells: dict[str, Any] = {LABELS: of_passages} if of_passages else {}
        for metric, value in values.items():
            for column, keys, cell in _cells(metric, value):
                target = cells
                for key in (column, *keys)[:-1]:
                    target = target.setdefault(key, {})
                target[(column, *keys)[-1]] = cell
        if cells:
            number = repeat if len(repeats) > 1 else None
            yield ResultRow(query_id, result.query_texts.get(query_id, ""), number, cells)


def _cells(metric: str, value: float) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """The columns of a score, with the keys in their JSON cells and the value there."""
    if match := _AT_K.fullmatch(metric):
        yield _RANK_METRICS, ("precision@" if match[1] == "P" else "AP@", match[2]), value
    elif metric.startswith("RR("):
        yield _RANK_METRICS, ("MRR",), value
    for name in _COLUMNS.get(metric, ()):
        column, *keys = name.split(".")
        yield column, tuple(keys), value if metric != "Answered" else "yes" if value else "no"
