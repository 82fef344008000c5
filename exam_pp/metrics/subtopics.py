"""Rubric-Qrels with bank entries as subtopics, for α-nDCG and other diversity measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr
from io import StringIO
from math import isnan
from typing import TYPE_CHECKING

import ir_measures

from exam_pp.metrics.gains import RunMatrix
from exam_pp.metrics.trec_measures import Measure
from exam_pp.results import Score, SubtopicQrel

if TYPE_CHECKING:
    from exam_pp.metrics.grade_masks import GradedQuery

PLACEHOLDER = "no-passage-covers-entry-"
"""Prefix of the id of the placeholder passage of an entry that no passage covers."""


def subtopic_qrels(query: GradedQuery, min_grade: int, *, binary: bool = False) -> Iterator[SubtopicQrel]:
    """Every entry of a query's bank as a subtopic, with the grades of the passages for it.

    Subtopics are numbered from 1 in the order of the entries. An entry that no passage covers at
    ``min_grade`` gets a relevant placeholder passage that no system returns; without it, measures would
    ignore the entry instead of counting it as missed. With ``binary``, relevance is 1 for grades of at
    least ``min_grade``, else 0. What an answer should avoid is no subtopic.
    """
    for number, position in enumerate(query.entries.values(), 1):
        bit = 1 << position
        if bit & query.weights.negative:
            continue
        covered = False
        for passage in query.passages:
            grade = next((grade for grade, entries in passage.levels.items() if entries & bit), None)
            if grade is not None:
                reached = grade >= min_grade
                covered = covered or reached
                relevance = int(reached) if binary else grade
                yield SubtopicQrel(query.query_id, str(number), passage.passage_id, relevance)
        if not covered:
            relevance = 1 if binary else min_grade
            yield SubtopicQrel(query.query_id, str(number), f"{PLACEHOLDER}{number}", relevance)


def subtopic_scores(
    runs: RunMatrix, qrels: Iterable[SubtopicQrel], measures: Sequence[Measure]
) -> Iterator[Score]:
    """Scores of all systems by subtopic measures, on every query of the qrels; 0 for an unranked query.

    Source: pyndeval, which is TREC's ndeval (Clarke et al., "Novelty and diversity in information
    retrieval evaluation", SIGIR 2008), by ir-measures.
    """
    lines = [ir_measures.Qrel(q.query_id, q.passage_id, q.relevance, q.subtopic) for q in qrels]
    query_ids = list(dict.fromkeys(line.query_id for line in lines))
    # With several relevance levels, ir-measures' adapter scores only the first: one evaluator per measure.
    with redirect_stderr(StringIO()):  # hides a warning about queries with a single subtopic
        evaluators = [ir_measures.evaluator([measure], lines) for measure in measures]
    for system in runs.systems:
        run = runs.run(system)
        for measure, evaluator in zip(measures, evaluators, strict=True):
            values = {metric.query_id: metric.value for metric in evaluator.iter_calc(run)}
            for query_id in query_ids:
                value = values[query_id]
                yield Score(system, query_id, str(measure), 0.0 if isnan(value) else value)
