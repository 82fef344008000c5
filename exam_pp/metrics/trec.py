"""trec_eval's measures, by ir-measures, on runs and qrels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import ir_measures
import numpy as np
from ir_measures.measures import registry as known_measures

from exam_pp.errors import UnknownNameError
from exam_pp.results import ALL_QUERIES, Qrel, Score

Run = Mapping[str, Mapping[str, float]]
"""Query id to passage id to score."""

Measure = Any
"""A measure of ir-measures, which has no types."""


def parse_measures(names: Sequence[str], min_grade: int | None = None) -> list[Measure]:
    """Measures by the names of ir-measures (``nDCG@10``, ``RR(rel=2)``) or trec_eval (``ndcg_cut_10``).

    ``min_grade`` becomes the relevance level of the measures that have one and do not set it (``RR``,
    ``P``, ``AP`` ...); nDCG keeps graded gains. Raises :class:`UnknownNameError`.
    """
    measures = [_with_level(measure, min_grade) for name in names for measure in _parse(name)]
    return list(dict.fromkeys(measures))


def _parse(name: str) -> list[Measure]:
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
        supported = ir_measures.DefaultPipeline.supports(measure)
    except (ValueError, NameError, SyntaxError, AssertionError, TypeError, KeyError, AttributeError):
        try:
            return list(ir_measures.parse_trec_measure(name))
        except (ValueError, KeyError):
            raise UnknownNameError(_unknown(name)) from None
    if not supported:
        raise UnknownNameError(f"The measure {name!r} cannot be computed with these parameters.")
    return [measure]


def _unknown(name: str) -> str:
    bare = name.partition("@")[0].partition("(")[0]
    close = get_close_matches(bare, sorted(known_measures), n=1)
    hint = f"Did you mean {close[0]!r}?" if close else "Examples: nDCG@10, RR, AP, P(rel=2)@10."
    return f"No measure named {name!r}. {hint}"


def _with_level(measure: Measure, min_grade: int | None) -> Measure:
    if min_grade is None or "rel" not in measure.SUPPORTED_PARAMS or "rel" in measure.params:
        return measure
    levelled = measure(rel=min_grade)
    if not ir_measures.DefaultPipeline.supports(levelled):
        raise UnknownNameError(
            f"The measure {measure} cannot be computed at a relevance level of {min_grade}."
        )
    return levelled


class TrecEval:
    """Scores runs against qrels as ``trec_eval -c`` does.

    Every query of the qrels counts; one that a run lacks has the measure's value for an empty ranking
    (0 for nearly all). Queries outside the qrels are ignored. Passages are ordered by score, then by
    descending passage id, whatever the run's ranks say.
    """

    def __init__(self, measures: Sequence[Measure], qrels: Iterable[Qrel]) -> None:
        self.measures = list(measures)
        self._qrels: dict[str, dict[str, int]] = {}
        for qrel in qrels:
            self._qrels.setdefault(qrel.query_id, {})[qrel.passage_id] = qrel.relevance
        self._evaluator = ir_measures.evaluator(self.measures, self._qrels)
        self._reorder = not all(ir_measures.pytrec_eval.supports(measure) for measure in self.measures)

    @property
    def query_ids(self) -> list[str]:
        """The queries of the qrels, in their order."""
        return list(self._qrels)

    def __call__(self, system: str, run: Run) -> Iterator[Score]:
        """Scores of each query and measure; measures that add up also give their total."""
        known = {query_id: run[query_id] for query_id in self._qrels if query_id in run}
        if self._reorder:
            known = {query_id: _ranks_as_scores(passages) for query_id, passages in known.items()}
        totals = {measure: measure.aggregator() for measure in self.measures}
        values: dict[tuple[Measure, str], float] = {}
        for metric in self._evaluator.iter_calc(known):
            values[metric.measure, metric.query_id] = metric.value
        for measure in self.measures:
            for query_id in self._qrels:
                value = values[measure, query_id]
                totals[measure].add(value)
                yield Score(system, query_id, str(measure), value)
            if not isinstance(totals[measure], ir_measures.MeanAgg):
                yield Score(system, ALL_QUERIES, str(measure), totals[measure].result())


def _ranks_as_scores(passages: Mapping[str, float]) -> dict[str, float]:
    """Scores without ties, in trec_eval's order; it keeps scores in single precision.

    Only trec_eval's own code breaks ties as trec_eval does.
    """
    scores = np.fromiter(passages.values(), np.float32, len(passages)).tolist()
    ordered = sorted(zip(scores, passages, strict=True), reverse=True)
    return {passage_id: float(len(ordered) - position) for position, (_, passage_id) in enumerate(ordered)}
