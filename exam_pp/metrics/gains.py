"""Runs as one matrix: joined once, then scored by any labels, relevance levels and measures.

ir-measures stays the reference: :func:`supports` says which measures are computed here, a property test
holds them equal to the library's values, and everything else goes to the library
(:class:`exam_pp.metrics.trec_measures.TrecEval`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from exam_pp.metrics.entry_values import Floats, ratio
from exam_pp.metrics.trec_measures import Measure, Run, TrecEval, trec_eval_order
from exam_pp.results import Qrel, Score

Ints = NDArray[np.int64]

_UNLABELLED = -1_000_000
_OTHER = -1
"""The number that all passages share that no qrels label."""


@dataclass(frozen=True)
class Ungraded:
    """What passages would get at best: ``labels`` of those in a file, ``otherwise`` of others, by query."""

    labels: Mapping[tuple[str, str], int]
    otherwise: Mapping[str, int]


class RunMatrix:
    """Rankings of several systems in trec_eval's order: by score (in single precision), then descending id.

    ``passages`` are all pairs (query id, passage id) that any qrels may label. Each gets a number; all other
    passages share one, so that memory grows with the labels.
    """

    def __init__(self, passages: Collection[tuple[str, str]]) -> None:
        self.systems: list[str] = []
        self._passages = list(passages)
        self._numbers: dict[str, dict[str, int]] = {}
        for number, (query_id, passage_id) in enumerate(self._passages):
            self._numbers.setdefault(query_id, {})[passage_id] = number
        self._rows: dict[tuple[str, str], NDArray[np.int32]] = {}

    def add(self, system: str, run: Run) -> None:
        """Add a system that is not in the matrix yet."""
        self.systems.append(system)
        for query_id, scores in run.items():
            numbers = map(self._numbers.get(query_id, {}).get, scores, repeat(_OTHER))
            order = trec_eval_order(np.fromiter(scores.values(), np.float64, len(scores)), scores)
            self._rows[system, query_id] = np.fromiter(numbers, np.int32, len(scores))[order]

    def queries_of(self, system: str) -> list[str]:
        """The queries for which a system has a ranking."""
        return [query_id for name, query_id in self._rows if name == system]

    def run(self, system: str) -> Run:
        """A system's rankings, with scores that fall from place to place and have no ties.

        Passages that no qrels label have made-up ids, which no file holds.
        """
        found: dict[str, dict[str, float]] = {}
        for query_id in self.queries_of(system):
            numbers = self._rows[system, query_id].tolist()
            ids = [
                f"\x01 {place}" if number == _OTHER else self._passages[number][1]
                for place, number in enumerate(numbers)
            ]
            found[query_id] = {passage_id: float(len(ids) - place) for place, passage_id in enumerate(ids)}
        return found

    @cached_property
    def _places(self) -> tuple[NDArray[np.int32], Ints]:
        """The passage's number of every place of every ranking, and where each ranking starts."""
        ends = np.cumsum([0, *map(len, self._rows.values())], dtype=np.int64)
        numbers = np.concatenate(list(self._rows.values())) if self._rows else np.zeros(0, np.int32)
        return numbers, ends[:-1]

    def gains(
        self, qrels: Iterable[Qrel], *, ungraded: Ungraded | None = None, depth: int | None = None
    ) -> Gains:
        """The labels at the places of all rankings; the queries are those of the qrels.

        With ``ungraded``, the best case of every system: passages at the first ``depth`` ranks (or at all)
        get the labels that they could get at best.
        """
        labels: dict[str, dict[str, int]] = {}
        for qrel in qrels:
            labels.setdefault(qrel.query_id, {})[qrel.passage_id] = qrel.relevance
        numbers, starts = self._places
        cell_of = self._cells(list(labels))
        label_of = self._by_number({(q, p): label for q, of in labels.items() for p, label in of.items()})
        # Few places have a label; only with ungraded passages do the others matter.
        at = np.flatnonzero((label_of > 0)[numbers]) if ungraded is None else np.arange(len(numbers))
        numbers = numbers[at]
        ranking = np.searchsorted(starts, at, side="right") - 1
        rank = at - starts[ranking] + 1
        label = label_of[numbers]
        cell = cell_of[ranking]
        counts = self._counts(list(labels.values()))
        if ungraded is not None:
            known = self._by_number(ungraded.labels)[numbers]
            unseen = np.array([ungraded.otherwise.get(q, 0) for _, q in self._rows], dtype=np.int64)[ranking]
            best = np.where(known != _UNLABELLED, known, np.where(label == _UNLABELLED, unseen, label))
            better = (best > np.maximum(label, 0)) & (cell >= 0)
            if depth is not None:
                better &= rank <= depth
            counts = _moved(counts, cell[better], label[better], best[better])
            label = np.where(better, best, label)
        chosen = np.flatnonzero((label > 0) & (cell >= 0))
        order = chosen[np.argsort(cell[chosen], kind="stable")]
        return Gains(self.systems, list(labels), cell[order], rank[order], label[order], counts)

    def _cells(self, query_ids: list[str]) -> Ints:
        """For every ranking its place in a matrix of systems × queries, row by row; −1 for other queries."""
        column = {query_id: index for index, query_id in enumerate(query_ids)}
        row = {system: index * len(query_ids) for index, system in enumerate(self.systems)}
        return np.array([row[s] + column[q] if q in column else -1 for s, q in self._rows], dtype=np.int64)

    def _by_number(self, labels: Mapping[tuple[str, str], int]) -> Ints:
        """The label of every numbered passage, and behind them, where −1 points, that of the others."""
        found = np.full(len(self._passages) + 1, _UNLABELLED, dtype=np.int64)
        for (query_id, passage_id), label in labels.items():
            found[self._numbers[query_id][passage_id]] = label
        return found

    def _counts(self, labels: list[dict[str, int]]) -> Ints:
        """How many passages have each label, (systems × queries) × labels from 0 up."""
        highest = max((label for of_query in labels for label in of_query.values()), default=0)
        counts = np.zeros((len(labels), max(highest, 0) + 1), dtype=np.int64)
        for query, of_query in enumerate(labels):
            positive = [label for label in of_query.values() if label > 0]
            counts[query] = np.bincount(np.array(positive, dtype=np.int64), minlength=counts.shape[1])
        return np.tile(counts, (len(self.systems), 1))


def _moved(counts: Ints, cell: Ints, label: Ints, best: Ints) -> Ints:
    """The counts after some passages got other labels."""
    width = max(counts.shape[1], int(best.max(initial=0)) + 1)
    moved = np.zeros((len(counts), width), dtype=np.int64)
    moved[:, : counts.shape[1]] = counts
    np.add.at(moved, (cell, best), 1)
    counted = label > 0
    np.subtract.at(moved, (cell[counted], label[counted]), 1)
    return moved


@dataclass(frozen=True)
class Gains:
    """Labels above 0 at the places of rankings; scores every system on every query at once.

    ``cell`` says whose place it is (systems × queries, counted row by row), ``rank`` counts from 1,
    ``label`` is what the passage there got; all are ordered by cell, then rank. ``counts`` is the number
    of passages with each label, whether ranked or not.
    """

    systems: list[str]
    query_ids: list[str]
    cell: Ints
    rank: Ints
    label: Ints
    counts: Ints

    def values(self, measure: Measure) -> Floats:
        """Systems × queries, for a measure that :func:`supports` accepts."""
        found = _MEASURES[measure.NAME](self, _level(measure), measure.params.get("cutoff"))
        return found.reshape(len(self.systems), len(self.query_ids))

    def relevant(self, level: int, cutoff: int | None = None) -> NDArray[np.bool_]:
        """Which places hold a passage that is relevant, within the cutoff."""
        chosen = self.label >= level
        return chosen if cutoff is None else chosen & (self.rank <= cutoff)

    def number(self, chosen: NDArray[np.bool_], weights: Floats | None = None) -> Floats:
        """How many of the chosen places each ranking has, or the sum of their weights."""
        cells = self.cell[chosen]
        return np.asarray(np.bincount(cells, weights, minlength=len(self.counts)), dtype=np.float64)

    def existing(self, level: int) -> Floats:
        """The number of relevant passages of each ranking's query."""
        return np.asarray(self.counts[:, level:].sum(axis=1), dtype=np.float64)


def supports(measure: Measure) -> bool:
    """Whether :meth:`Gains.values` computes a measure, with its parameters."""
    if measure.NAME not in _MEASURES or not set(measure.params) <= {"rel", "cutoff"}:
        return False
    cutoff = measure.params.get("cutoff")
    return _level(measure) >= 1 and (cutoff is not None or measure.NAME in _WITHOUT_CUTOFF)


def run_scores(runs: RunMatrix, qrels: Sequence[Qrel], measures: Sequence[Measure]) -> Iterator[Score]:
    """Scores of all systems by all measures, system by system, as :class:`TrecEval` gives them."""
    gains = runs.gains(qrels)
    matrices = {measure: gains.values(measure).tolist() for measure in measures if supports(measure)}
    others = [measure for measure in measures if measure not in matrices]
    names = {measure: str(measure) for measure in measures}  # slow to make
    library = TrecEval(others, qrels) if others else None
    for row, system in enumerate(runs.systems):
        found: dict[str, list[Score]] = {}
        for score in library(system, runs.run(system)) if library else ():
            found.setdefault(score.metric, []).append(score)
        for measure in measures:
            name = names[measure]
            if measure in matrices:
                values = zip(gains.query_ids, matrices[measure][row], strict=True)
                yield from [Score(system, query_id, name, value) for query_id, value in values]
            else:
                yield from found.get(name, ())


def score_bounds(
    runs: RunMatrix, qrels: Sequence[Qrel], measures: Sequence[Measure], ungraded: Ungraded
) -> tuple[list[Score], list[Score]]:
    """The lower and the higher of two scores: everything ungraded non-relevant, or as good as it could be.

    Ungraded are the passages that a system has within the measure's cutoff, for that system alone. More
    relevant passages also raise what a system could have found, so measures that divide by it (nDCG, AP,
    recall) may fall. Only for measures that :func:`supports` accepts, and where a score changes at all.
    """
    plain = runs.gains(qrels)
    at_best: dict[int | None, Gains] = {}
    low: list[Score] = []
    high: list[Score] = []
    for measure in filter(supports, measures):
        depth = measure.params.get("cutoff")
        if depth not in at_best:
            at_best[depth] = runs.gains(qrels, ungraded=ungraded, depth=depth)
        name = str(measure)
        both = np.stack([plain.values(measure), at_best[depth].values(measure)])
        if np.array_equal(both[0], both[1]):
            continue
        for bound, values in ((low, both.min(axis=0)), (high, both.max(axis=0))):
            for system, row in zip(runs.systems, values.tolist(), strict=True):
                bound += [Score(system, q, name, v) for q, v in zip(plain.query_ids, row, strict=True)]
    return low, high


def _level(measure: Measure) -> int:
    return int(measure["rel"]) if "rel" in measure.SUPPORTED_PARAMS else 1


def _precision(gains: Gains, level: int, cutoff: int | None) -> Floats:
    assert cutoff is not None
    return gains.number(gains.relevant(level, cutoff)) / cutoff


def _recall(gains: Gains, level: int, cutoff: int | None) -> Floats:
    return ratio(gains.number(gains.relevant(level, cutoff)), gains.existing(level))


def _success(gains: Gains, level: int, cutoff: int | None) -> Floats:
    return (gains.number(gains.relevant(level, cutoff)) > 0).astype(float)


def _r_precision(gains: Gains, level: int, _cutoff: int | None) -> Floats:
    existing = gains.existing(level)
    within = gains.relevant(level) & (gains.rank <= existing[gains.cell])
    return ratio(gains.number(within), existing)


def _reciprocal_rank(gains: Gains, level: int, cutoff: int | None) -> Floats:
    chosen = gains.relevant(level, cutoff)
    found = np.zeros(len(gains.counts))
    # Later places of a ranking first, so that its best one stays.
    found[gains.cell[chosen][::-1]] = 1 / gains.rank[chosen][::-1]
    return found


def _average_precision(gains: Gains, level: int, cutoff: int | None) -> Floats:
    chosen = gains.relevant(level, cutoff)
    cells = gains.cell[chosen]
    seen = np.arange(1, len(cells) + 1) - np.searchsorted(cells, cells)
    return ratio(gains.number(chosen, seen / gains.rank[chosen]), gains.existing(level))


def _ndcg(gains: Gains, _level: int, cutoff: int | None) -> Floats:
    chosen = gains.relevant(1, cutoff)
    found = gains.number(chosen, gains.label[chosen] / np.log2(gains.rank[chosen] + 1))
    # Places 1 to n of the ideal ranking hold the n best labels: the discounts up to each place, once.
    existing = gains.counts[:, :0:-1].cumsum(axis=1)  # passages with at least the label, highest label first
    depth = int(existing.max(initial=0))
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, depth + 2)))])
    upto = discounts[existing if cutoff is None else np.minimum(existing, cutoff)]
    ideal = (np.diff(upto, axis=1, prepend=0.0) * np.arange(gains.counts.shape[1] - 1, 0, -1)).sum(axis=1)
    return ratio(found, ideal)


_MEASURES: dict[str, Callable[[Gains, int, int | None], Floats]] = {
    "AP": _average_precision,
    "P": _precision,
    "R": _recall,
    "RR": _reciprocal_rank,
    "Rprec": _r_precision,
    "Success": _success,
    "nDCG": _ndcg,
}
_WITHOUT_CUTOFF = ("AP", "RR", "Rprec", "nDCG")
