"""Comparison of two gradings of the same passages: changes of ratings, labels and ranks of systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from exam_pp.defaults import CUTOFF
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics.passage_labels import KthBest, LabelRule
from exam_pp.phases.evaluation.ranking_depth import RankingDepth
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.rubric import cover_of
from exam_pp.phases.evaluation.selected_grades import read_selected
from exam_pp.provenance import Provenance, combined, file_names, graded_by
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.roles import without_canaries
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import allow_rereading, is_read_once
from exam_pp.store.passages.graded_file import read_passages

Ratings = dict[tuple[str, str], dict[str, int]]
"""(Query id, passage id) to entry id to rating."""


@dataclass(frozen=True)
class Grading:
    """One side of a comparison: a graded file, a filter for its grades, and its bank."""

    file: PathLike
    grade_filter: GradeFilter = field(default_factory=GradeFilter)
    bank: PathLike | None = None


class LabelChange(NamedTuple):
    """A passage whose label changes; a label is None if the passage is ungraded on that side."""

    query_id: str
    passage_id: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class GradingDifference:
    """Differences between two gradings.

    ``transitions`` counts pairs of passage and entry by rating before and after; None is ungraded.
    ``entries`` is (query id, entry id) to the numbers of ratings that went up and down. ``passages`` is the
    number of passages that are graded on both sides, ``unmatched`` of those graded on one side only.
    ``labels`` has only the labels that change. ``graders`` are those before and after. ``provenance`` has the
    graders and banks of both sides.
    """

    transitions: Counter[tuple[int | None, int | None]]
    entries: dict[tuple[str, str], tuple[int, int]]
    labels: list[LabelChange]
    passages: int
    graders: tuple[GradeKey, GradeKey]
    unmatched: int = 0
    provenance: Provenance = field(default_factory=Provenance)


class SystemChange(NamedTuple):
    """Mean Rubric-Cover and rank of a system before and after.

    ``p_value`` is that of a paired randomisation test with Holm's correction.
    """

    system: str
    before: float
    after: float
    change: float
    p_value: float
    rank_before: float
    rank_after: float


@dataclass(frozen=True)
class SystemChanges:
    """Changes of the systems that are ranked in both files, sorted by rank after the change.

    ``metrics`` are the names of the metric before and after, ``queries`` is the number of common queries.
    ``swapped`` are the pairs of systems whose order changes; ``significant`` are the pairs among them that
    differ significantly on either side. ``notes`` warn of a cutoff that is deeper than the rankings.
    ``provenance`` has the cutoff and the thresholds.
    """

    metrics: tuple[str, str]
    queries: int
    systems: Sequence[SystemChange]
    swapped: Sequence[tuple[str, str]]
    significant: Sequence[tuple[str, str]]
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)


def diff(
    before: Grading, after: Grading, *, labelling: KthBest | LabelRule | None = None
) -> GradingDifference:
    """Compare the ratings of two gradings pair by pair, and the labels of passages made from them.

    A label is the best rating of a passage, or follows ``labelling``. If a side has a bank, only the entries
    of the bank count there. With two banks this shows how an edit of the bank changes labels. Raises
    :class:`~exam_pp.errors.SelectionError` if the files have no graded passage in common, and for streams,
    because the files are read several times.
    """
    allow_rereading(before.bank, after.bank)
    for side in (before, after):
        if is_read_once(side.file):
            raise SelectionError(
                f"{str(side.file)!r} is a stream, but it is read several times. Name a file."
            )
    (first, grader), (second, other) = _ratings(before), _ratings(after)
    if not first.keys() & second.keys():
        raise SelectionError(f"{before.file} and {after.file} have no graded passage in common.")
    label = labelling or KthBest()
    common = len(first.keys() & second.keys())
    origin = replace(
        graded_by([grader, other]),
        banks=file_names(before.bank, after.bank),
        queries=len({query_id for query_id, _ in first.keys() | second.keys()}),
    )
    unmatched = len(first.keys() ^ second.keys())
    difference = GradingDifference(Counter(), {}, [], common, (grader, other), unmatched, origin)
    for key in dict.fromkeys([*first, *second]):
        old_ratings, new_ratings = first.get(key, {}), second.get(key, {})
        for entry in dict.fromkeys([*old_ratings, *new_ratings]):
            old, new = old_ratings.get(entry), new_ratings.get(entry)
            difference.transitions[old, new] += 1
            if old is not None and new is not None and old != new:
                up, down = difference.entries.get((key[0], entry), (0, 0))
                difference.entries[key[0], entry] = (up + (new > old), down + (new < old))
        labels = [
            label(sorted(ratings.values(), reverse=True)) if ratings else None
            for ratings in (old_ratings, new_ratings)
        ]
        if labels[0] != labels[1]:
            difference.labels.append(LabelChange(*key, *labels))
    return difference


def _ratings(grading: Grading) -> tuple[Ratings, GradeKey]:
    """The ratings of a side, and their grader."""
    selector = GradeSelector(grading.grade_filter)
    bank = read_bank(grading.bank) if grading.bank is not None else None
    ratings: Ratings = {}
    for query in without_canaries(read_passages(grading.file)):
        entries = None if bank is None else bank.entries(query.query_id)
        for passage in query.passages:
            by_entry = selector.ratings(passage)
            if entries is not None:
                by_entry = {entry: rating for entry, rating in by_entry.items() if entry in entries}
            if by_entry:
                ratings.setdefault((query.query_id, passage.passage_id), {}).update(by_entry)
    selector.check(str(grading.file))
    return ratings, selector.key


def entry_texts(*gradings: Grading) -> dict[str, str]:
    """Read entry id to text from the banks of the gradings."""
    texts: dict[str, str] = {}
    for grading in gradings:
        for query in read_bank(grading.bank) if grading.bank is not None else ():
            texts |= {entry_id: entry.text for entry_id, entry in query.entries.items()}
    return texts


def compare_systems(
    before: Grading, after: Grading, *, min_grade: int | None = None, cutoff: int = CUTOFF
) -> SystemChanges | None:
    """Compare the Rubric-Cover scores and ranks of systems before and after, with significance tests.

    ``min_grade`` and ``cutoff`` are those of :func:`exam_pp.phases.evaluation.rubric.cover`. Returns None if
    the files have no ranked system in common.
    """
    from exam_pp.metrics.correlation import ranks_of  # noqa: PLC0415 - scipy is slow to import
    from exam_pp.metrics.significance import holm, paired_test  # noqa: PLC0415
    from exam_pp.metrics.uncertainty import score_matrices  # noqa: PLC0415

    sides = [
        read_selected(side.file, side.bank, side.grade_filter, min_grade, None) for side in (before, after)
    ]
    evaluations = [cover_of(side, cutoff=cutoff) for side in sides]
    first, second = (next(iter(score_matrices(evaluation.scores).values())) for evaluation in evaluations)
    scores = [first.by_system(), second.by_system()]
    systems = [s for s in first.systems if s in scores[1] and s != OVERALL_SYSTEM]
    queries = [q for q in first.query_ids if q in second.query_ids]
    if not systems or not queries:
        return None
    values = [[[side[s][q] for q in queries] for s in systems] for side in scores]
    means = [
        {s: round(sum(row) / len(row), 12) for s, row in zip(systems, side, strict=True)} for side in values
    ]
    ranks = [ranks_of(side) for side in means]
    p_values = holm([paired_test(old, new) for old, new in zip(*values, strict=True)])
    changes = [
        SystemChange(s, means[0][s], means[1][s], means[1][s] - means[0][s], p, ranks[0][s], ranks[1][s])
        for s, p in zip(systems, p_values, strict=True)
    ]
    swapped, significant = _swaps(systems, values, means)
    return SystemChanges(
        (first.metric, second.metric),
        len(queries),
        sorted(changes, key=lambda change: change.rank_after),
        swapped,
        significant,
        list(
            dict.fromkeys(
                note for side in sides for note in RankingDepth.of([side.file], cutoff).notes(side.source)
            )
        ),
        combined(evaluation.provenance for evaluation in evaluations) or Provenance(),
    )


def _swaps(
    systems: Sequence[str], values: Sequence[Sequence[Sequence[float]]], means: Sequence[Mapping[str, float]]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs of systems whose order changes, and the pairs among them that differ significantly on a side."""
    import numpy as np  # noqa: PLC0415 - slow to import

    from exam_pp.metrics.significance import better  # noqa: PLC0415 - scipy is slow to import

    relations = [better(np.array(side, dtype=float)) for side in values]
    swapped = [
        (i, j)
        for i, a in enumerate(systems)
        for j, b in enumerate(systems[:i])
        if (means[0][a] - means[0][b]) * (means[1][a] - means[1][b]) < 0
    ]
    named = {pair: (systems[pair[0]], systems[pair[1]]) for pair in swapped}
    return list(named.values()), [
        name for (i, j), name in named.items() if any(of[i, j] or of[j, i] for of in relations)
    ]
