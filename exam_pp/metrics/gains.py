"""Vectorised trec_eval measures for many runs, qrels and relevance levels.

Runs are joined with passages once and can then be scored repeatedly. Measures that :func:`supports` accepts
are computed here; a property test checks that they equal those of ir-measures, which computes all other
measures (:class:`exam_pp.metrics.trec_measures.TrecEval`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from exam_pp.metrics.entry_values import Floats, Ints, ratio
from exam_pp.metrics.ties_in_runs import trec_eval_order
from exam_pp.metrics.trec_measures import Measure, Run, TrecEval
from exam_pp.results import Qrel, Score

_UNLABELLED = -1_000_000
_NO_LABEL = -1
"""The number shared by all passages without a label in any qrels."""


@dataclass(frozen=True)
class Ungraded:
    """The best labels that ungraded passages could get.

    ``labels`` are those of the passages in a file, ``unlabelled`` those of all other passages, by query.
    """

    labels: Mapping[tuple[str, str], float]
    unlabelled: Mapping[str, int]


class RunMatrix:
    """Rankings of several systems in trec_eval's order: by score (in single precision), then descending id.

    ``passages`` are all pairs (query id, passage id) that may have a label. Each gets a number. All other
    passages share a number, so that memory grows with the labels, not with the runs.
    """

    def __init__(self, passages: Collection[tuple[str, str]]) -> None:
        self.systems: list[str] = []
        self._passages = list(passages)
        self._numbers: dict[str, dict[str, int]] = {}
        for number, (query_id, passage_id) in enumerate(self._passages):
            self._numbers.setdefault(query_id, {})[passage_id] = number
        self._rows: dict[tuple[str, str], NDArray[np.int32]] = {}

    def add(self, system: str, run: Run) -> None:
        """Add the rankings of a system that was not added before."""
        self.systems.append(system)
        for query_id, scores in run.items():
            numbers = map(self._numbers.get(query_id, {}).get, scores, repeat(_NO_LABEL))
            order = trec_eval_order(np.fromiter(scores.values(), np.float64, len(scores)), scores)
            self._rows[system, query_id] = np.fromiter(numbers, np.int32, len(scores))[order]

    def queries_of(self, system: str) -> list[str]:
        """The queries that a system has a ranking for."""
        return [query_id for name, query_id in self._rows if name == system]

    def run(self, system: str) -> Run:
        """A system's rankings, with strictly decreasing scores.

        Passages without a label get artificial ids, which cannot occur in a file.
        """
        rankings: dict[str, dict[str, float]] = {}
        for query_id in self.queries_of(system):
            numbers = self._rows[system, query_id].tolist()
            ids = [
                f"\x01 {index}" if number == _NO_LABEL else self._passages[number][1]
                for index, number in enumerate(numbers)
            ]
            rankings[query_id] = {passage_id: float(len(ids) - index) for index, passage_id in enumerate(ids)}
        return rankings

    @cached_property
    def _concatenated(self) -> tuple[NDArray[np.int32], Ints]:
        """The numbers of the passages of all rankings, concatenated, and the start of each ranking."""
        ends = np.cumsum([0, *map(len, self._rows.values())], dtype=np.int64)
        numbers = np.concatenate(list(self._rows.values())) if self._rows else np.zeros(0, np.int32)
        return numbers, ends[:-1]

    def gains(
        self, qrels: Iterable[Qrel], *, ungraded: Ungraded | None = None, depth: int | None = None
    ) -> Gains:
        """Look up the labels of all ranked passages, for the queries of the qrels.

        With ``ungraded``, compute the best case of every system: the ungraded passages of its first ``depth``
        ranks (None: all ranks) get their best possible labels.
        """
        labels: dict[str, dict[str, float]] = {}
        for qrel in qrels:
            labels.setdefault(qrel.query_id, {})[qrel.passage_id] = qrel.relevance
        numbers, starts = self._concatenated
        cell_of = self._cells(list(labels))
        label_of = self._by_number({(q, p): label for q, of in labels.items() for p, label in of.items()})
        # Few ranked passages have a label, and the rest only matter with ``ungraded``.
        at = (
            np.flatnonzero((label_of != _UNLABELLED)[numbers])
            if ungraded is None
            else np.arange(len(numbers))
        )
        numbers = numbers[at]
        ranking = np.searchsorted(starts, at, side="right") - 1
        rank = at - starts[ranking] + 1
        label = label_of[numbers]
        cell = cell_of[ranking]
        counts = self._counts(list(labels.values()))
        if ungraded is not None:
            known = self._by_number(ungraded.labels)[numbers]
            unseen = np.array(
                [ungraded.unlabelled.get(q, _UNLABELLED) for _, q in self._rows], dtype=np.float64
            )[ranking]
            best = np.where(known != _UNLABELLED, known, np.where(label == _UNLABELLED, unseen, label))
            better = (best > label) & (cell >= 0)
            if depth is not None:
                better &= rank <= depth
            counts = _moved(counts, cell[better], label[better], best[better])
            label = np.where(better, best, label)
        chosen = np.flatnonzero((label != _UNLABELLED) & (cell >= 0))
        order = chosen[np.argsort(cell[chosen], kind="stable")]
        return Gains(
            self.systems,
            list(labels),
            cell[order],
            rank[order],
            np.maximum(label[order], 0),
            counts,
        )

    def _cells(self, query_ids: list[str]) -> Ints:
        """For every ranking its index in the flattened systems × queries matrix; −1 for other queries."""
        column = {query_id: index for index, query_id in enumerate(query_ids)}
        row = {system: index * len(query_ids) for index, system in enumerate(self.systems)}
        return np.array([row[s] + column[q] if q in column else -1 for s, q in self._rows], dtype=np.int64)

    def _by_number(self, labels: Mapping[tuple[str, str], float]) -> Floats:
        """The label of every numbered passage; the last element, index −1, is that of all other passages."""
        by_number = np.full(len(self._passages) + 1, _UNLABELLED, dtype=np.float64)
        for (query_id, passage_id), label in labels.items():
            by_number[self._numbers[query_id][passage_id]] = label
        return by_number

    def _counts(self, labels: list[dict[str, float]]) -> Ints:
        """Number of passages with each label without its fraction, (systems × queries) × labels from 0 up."""
        highest = max((label for of_query in labels for label in of_query.values()), default=0)
        counts = np.zeros((len(labels), int(max(highest, 0)) + 1), dtype=np.int64)
        for query, of_query in enumerate(labels):
            positive = [label for label in of_query.values() if label > 0]
            counts[query] = np.bincount(np.array(positive, dtype=np.int64), minlength=counts.shape[1])
        return np.tile(counts, (len(self.systems), 1))


def _moved(counts: Ints, cell: Ints, label: Floats, best: Floats) -> Ints:
    """The counts after some passages changed from ``label`` to ``best``."""
    width = max(counts.shape[1], int(best.max(initial=0)) + 1)
    moved = np.zeros((len(counts), width), dtype=np.int64)
    moved[:, : counts.shape[1]] = counts
    np.add.at(moved, (cell, best.astype(int)), 1)
    counted = label > 0
    np.subtract.at(moved, (cell[counted], label[counted].astype(int)), 1)
    return moved


@dataclass(frozen=True)
class Gains:
    """Labels of ranked passages, from which all systems are scored on all queries at once.

    ``cell`` is the index of the ranking in the flattened systems × queries matrix, ``rank`` starts at 1,
    ``label`` is that of the passage, at least 0; all three are ordered by cell, then rank, and passages
    without a label are left out. ``counts`` is the number of passages with each label, ranked or not.
    Measures of trec_eval ignore the fractions of labels, as trec_eval does.
    """

    systems: list[str]
    query_ids: list[str]
    cell: Ints
    rank: Ints
    label: Floats
    counts: Ints

    def values(self, measure: Measure) -> Floats:
        """Values of a measure that :func:`supports` accepts, systems × queries."""
        flat = _MEASURES[measure.NAME](self, _level(measure), measure.params.get("cutoff"))
        return flat.reshape(len(self.systems), len(self.query_ids))

    def relevant(self, level: int, cutoff: int | None = None) -> NDArray[np.bool_]:
        """Mask of the ranked passages that are relevant and within the cutoff."""
        chosen = self.label >= level
        return chosen if cutoff is None else chosen & (self.rank <= cutoff)

    def number(self, chosen: NDArray[np.bool_], weights: Floats | None = None) -> Floats:
        """Number of chosen passages of each ranking, or the sum of their weights."""
        cells = self.cell[chosen]
        return np.asarray(np.bincount(cells, weights, minlength=len(self.counts)), dtype=np.float64)

    def relevant_total(self, level: int) -> Floats:
        """Number of relevant passages of each ranking's query, ranked or not."""
        return np.asarray(self.counts[:, level:].sum(axis=1), dtype=np.float64)


def supports(measure: Measure) -> bool:
    """Whether :meth:`Gains.values` can compute a measure with its parameters."""
    if measure.NAME not in _MEASURES or not set(measure.params) <= {"rel", "cutoff"}:
        return False
    cutoff = measure.params.get("cutoff")
    return _level(measure) >= 1 and (cutoff is not None or measure.NAME in _WITHOUT_CUTOFF)


def run_scores(runs: RunMatrix, qrels: Sequence[Qrel], measures: Sequence[Measure]) -> Iterator[Score]:
    """Yield the scores of all systems by all measures, system by system; they equal those of TrecEval."""
    gains = runs.gains(qrels)
    matrices = {measure: gains.values(measure).tolist() for measure in measures if supports(measure)}
    unsupported = [measure for measure in measures if measure not in matrices]
    names = {measure: str(measure) for measure in measures}  # str() of a measure is slow
    library = TrecEval(unsupported, qrels) if unsupported else None
    for row, system in enumerate(runs.systems):
        by_measure: dict[str, list[Score]] = {}
        for score in library(system, runs.run(system)) if library else ():
            by_measure.setdefault(score.metric, []).append(score)
        for measure in measures:
            name = names[measure]
            if measure in matrices:
                values = zip(gains.query_ids, matrices[measure][row], strict=True)
                yield from [Score(system, query_id, name, value) for query_id, value in values]
            else:
                yield from by_measure.get(name, ())


def score_bounds(
    runs: RunMatrix, qrels: Sequence[Qrel], measures: Sequence[Measure], ungraded: Ungraded
) -> tuple[list[Score], list[Score]]:
    """Scores in two cases: all ungraded passages non-relevant, or with their best labels.

    For each system only its own passages within the measure's cutoff get other labels. The best labels can
    lower a score, because nDCG, AP and recall divide by the number of relevant passages; the results are
    therefore the smaller and the larger of the two values, which are no bounds of these measures
    (``MeasureName.has_bounds``). Measures that :func:`supports` does not accept, or whose scores do not
    change, have none.
    """
    plain = runs.gains(qrels)
    zeros = Ungraded(dict.fromkeys(ungraded.labels, 0), dict.fromkeys(ungraded.unlabelled, 0))
    at_best: dict[int | None, Gains] = {}
    low: list[Score] = []
    high: list[Score] = []
    for measure in filter(supports, measures):
        depth = measure.params.get("cutoff")
        if depth not in at_best:
            at_best[depth] = runs.gains(qrels, ungraded=ungraded, depth=depth)
        name = str(measure)
        cases = [plain, at_best[depth]]
        if measure.NAME == "MeanLabel":  # other measures take passages without a label for non-relevant
            cases.append(runs.gains(qrels, ungraded=zeros, depth=depth))
        found = np.stack([case.values(measure) for case in cases])
        if (found == found[0]).all():
            continue
        for bound, values in ((low, found.min(axis=0)), (high, found.max(axis=0))):
            for system, row in zip(runs.systems, values.tolist(), strict=True):
                bound += [Score(system, q, name, v) for q, v in zip(plain.query_ids, row, strict=True)]
    return low, high


def _level(measure: Measure) -> int:
    return int(measure["rel"]) if "rel" in measure.SUPPORTED_PARAMS else 1


def _precision(gains: Gains, level: int, cutoff: int | None) -> Floats:
    assert cutoff is not None
    return gains.number(gains.relevant(level, cutoff)) / cutoff


def _recall(gains: Gains, level: int, cutoff: int | None) -> Floats:
    return ratio(gains.number(gains.relevant(level, cutoff)), gains.relevant_total(level))


def _success(gains: Gains, level: int, cutoff: int | None) -> Floats:
    return (gains.number(gains.relevant(level, cutoff)) > 0).astype(float)


def _r_precision(gains: Gains, level: int, _cutoff: int | None) -> Floats:
    relevant_total = gains.relevant_total(level)
    within = gains.relevant(level) & (gains.rank <= relevant_total[gains.cell])
    return ratio(gains.number(within), relevant_total)


def _reciprocal_rank(gains: Gains, level: int, cutoff: int | None) -> Floats:
    chosen = gains.relevant(level, cutoff)
    values = np.zeros(len(gains.counts))
    # Later ranks are written first, so that the best rank remains.
    values[gains.cell[chosen][::-1]] = 1 / gains.rank[chosen][::-1]
    return values


def _average_precision(gains: Gains, level: int, cutoff: int | None) -> Floats:
    chosen = gains.relevant(level, cutoff)
    cells = gains.cell[chosen]
    seen = np.arange(1, len(cells) + 1) - np.searchsorted(cells, cells)
    return ratio(gains.number(chosen, seen / gains.rank[chosen]), gains.relevant_total(level))


def _average_precision_of_top(gains: Gains, level: int, cutoff: int | None) -> Floats:
    chosen = gains.relevant(level, cutoff)
    cells = gains.cell[chosen]
    seen = np.arange(1, len(cells) + 1) - np.searchsorted(cells, cells)
    return ratio(gains.number(chosen, seen / gains.rank[chosen]), gains.number(chosen))


def _mean_label(gains: Gains, _level: int, cutoff: int | None) -> Floats:
    labelled = gains.relevant(0, cutoff)
    return ratio(gains.number(labelled, gains.label[labelled]), gains.number(labelled))


def _ndcg(gains: Gains, _level: int, cutoff: int | None) -> Floats:
    chosen = gains.relevant(1, cutoff)
    achieved = gains.number(chosen, np.trunc(gains.label[chosen]) / np.log2(gains.rank[chosen] + 1))
    # Ranks 1 to n of the ideal ranking have the n best labels, so sums of discounts are shared by all.
    with_label = gains.counts[:, :0:-1].cumsum(axis=1)  # or a higher label, from the highest down
    depth = int(with_label.max(initial=0))
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, depth + 2)))])
    upto = discounts[with_label if cutoff is None else np.minimum(with_label, cutoff)]
    ideal = (np.diff(upto, axis=1, prepend=0.0) * np.arange(gains.counts.shape[1] - 1, 0, -1)).sum(axis=1)
    return ratio(achieved, ideal)


_MEASURES: dict[str, Callable[[Gains, int, int | None], Floats]] = {
    "AP": _average_precision,
    "AP_top": _average_precision_of_top,
    "MeanLabel": _mean_label,
    "P": _precision,
    "R": _recall,
    "RR": _reciprocal_rank,
    "Rprec": _r_precision,
    "Success": _success,
    "nDCG": _ndcg,
}
_WITHOUT_CUTOFF = ("AP", "AP_top", "MeanLabel", "RR", "Rprec", "nDCG")
