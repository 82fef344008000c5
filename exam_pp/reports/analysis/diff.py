"""Comparison of two gradings: changed ratings, relevance labels and ranks of systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.correlation import int_if_whole, ranks_of
from exam_pp.metrics.grade_masks import ratings_of_pairs
from exam_pp.metrics.qrels import KthBest, LabelRule
from exam_pp.metrics.significance import holm, paired_test
from exam_pp.metrics.uncertainty import score_matrices
from exam_pp.phases.evaluation.cover import cover_of
from exam_pp.phases.evaluation.inputs import Passages
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, depth_notes, read_selected
from exam_pp.provenance import Provenance, combined
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted

_Labels = Mapping[tuple[str, ...], Sequence[int]]
"""Query id and passage id to the ratings of the passage, best first."""
_MOST_MOVED = 10


@dataclass(frozen=True)
class Grading:
    """One side of a comparison: a graded file, a filter for its grades (None: all), and its bank."""

    file: Passages
    grade_filter: GradeFilter | None = None
    bank: PathLike | None = None


def labels_report(before: Grading, after: Grading, *, labelling: KthBest | LabelRule | None = None) -> Report:
    """A table with a row for every passage whose label changes; without a label, it is ungraded on that side.

    A label is the best rating of a passage, or follows ``labelling``. With two banks this shows how an edit
    of the bank changes labels. Raises :class:`~exam_pp.errors.SelectionError` if the files have no graded
    passage in common.
    """
    sides = _read(before, after, ranks=False)
    passages = _by_passage(before, after, [ratings_of_pairs(side.file) for side in sides])
    rows = list(_changed_labels(passages, labelling))
    table = Table(("query_id", "passage_id", "before", "after"), rows)
    return Report("Labels that change", [table], _origin(sides, passages))


def diff_report(
    before: Grading,
    after: Grading,
    *,
    labelling: KthBest | LabelRule | None = None,
    min_grade: int | None = None,
    cutoff: int | None = None,
) -> Report:
    """Transition matrices of ratings and labels, the entries that changed most, and systems by Rubric-Cover.

    If a side has a bank, only the entries of the bank count there. ``labelling`` and errors are those of
    :func:`labels_report`, ``min_grade`` and ``cutoff`` those of
    :func:`exam_pp.phases.evaluation.cover.cover`, with one cutoff for both sides.
    """
    sides = _read(before, after, ranks=False)
    first, second = ratings = [ratings_of_pairs(side.file) for side in sides]
    passages = _by_passage(before, after, ratings)
    grades = Counter((first.get(pair), second.get(pair)) for pair in dict.fromkeys([*first, *second]))
    changes = Counter((old, new) for *_, old, new in _changed_labels(passages, labelling))
    moved: dict[tuple[str, str], list[int]] = {}
    for pair in first:
        if (new := second.get(pair, first[pair])) != first[pair]:
            moved.setdefault((pair[0], pair[2]), [0, 0])[new < first[pair]] += 1
    most = sorted(moved.items(), key=lambda item: -sum(item[1]))[:_MOST_MOVED]
    texts = {
        key: entry
        for side in sides
        if side.bank
        for query in side.bank
        for key, entry in query.entries.items()
    }
    differing = sum(count for (old, new), count in grades.items() if old != new)
    common, unmatched = (
        len(passages[0].keys() & passages[1].keys()),
        len(passages[0].keys() ^ passages[1].keys()),
    )
    summary = (
        f"{counted(common, 'passage is', 'passages are')} graded in both files. "
        f"{differing} of {counted(grades.total(), 'pair')} of passage and entry "
        f"{'differs' if differing == 1 else 'differ'}, and "
        f"{counted(changes.total(), 'label differs', 'labels differ')}."
    )
    if unmatched:
        of = counted(unmatched, "passage is", "passages are")
        summary += f" {of} graded in only one file; all their grades and labels count as different."
    names = [f"{side.selector.key.prompt_class} by {side.selector.key.model}" for side in sides]
    by_system, scored = _systems(_read(before, after, min_grade), cutoff)
    blocks: list[Block] = [
        *([Paragraph(f"Before: {names[0]}. After: {names[1]}.")] if names[0] != names[1] else []),
        Paragraph(summary),
        _matrix(grades, "Grades before (rows) and after (columns)"),
        Table(
            ["query", "entry", "up", "down"],
            [[q, texts[key].text if key in texts else key, *numbers] for (q, key), numbers in most],
            title=f"Entries that change most (of {len(moved)} that change)",
        ),
        *([_matrix(changes, "Labels that change: before (rows) and after (columns)")] if changes else []),
        *by_system,
    ]
    provenance = replace(_origin(sides, passages), cutoff=scored.cutoff, min_grades=scored.min_grades)
    return Report("Comparison of two gradings", blocks, provenance)


def _read(
    before: Grading, after: Grading, min_grade: int | None = None, *, ranks: bool = True
) -> list[SelectedGrades]:
    """The grades of both sides; without ``ranks``, of passages in all roles."""
    return [
        read_selected(side.file, side.bank, side.grade_filter, min_grade, None, reviewed=False, ranks=ranks)
        for side in (before, after)
    ]


def _by_passage(
    before: Grading, after: Grading, ratings: Sequence[Mapping[tuple[str, ...], int]]
) -> list[_Labels]:
    """The ratings of each passage; raises SelectionError if no passage is graded on both sides."""
    passages: list[dict[tuple[str, ...], list[int]]] = [{}, {}]
    for of_side, by_pair in zip(passages, ratings, strict=True):
        for (query_id, passage_id, _), rating in by_pair.items():
            of_side.setdefault((query_id, passage_id), []).append(rating)
    if passages[0].keys().isdisjoint(passages[1]):
        raise SelectionError(f"{before.file} and {after.file} have no graded passage in common.")
    return [{key: sorted(of, reverse=True) for key, of in of_side.items()} for of_side in passages]


def _origin(sides: Sequence[SelectedGrades], passages: Sequence[_Labels]) -> Provenance:
    """The graders and banks of both sides, and the number of their queries."""
    queries = len({query_id for of_side in passages for query_id, *_ in of_side})
    return replace(combined(side.provenance for side in sides) or Provenance(), queries=queries)


def _changed_labels(
    passages: Sequence[_Labels], labelling: KthBest | LabelRule | None
) -> Iterator[tuple[str, str, int | None, int | None]]:
    """Query, passage, and the different labels before and after."""
    label = labelling or KthBest()
    for query_id, passage_id in dict.fromkeys(key for of_side in passages for key in of_side):
        key = (query_id, passage_id)
        old, new = (label(of_side[key]) if key in of_side else None for of_side in passages)
        if old != new:
            yield query_id, passage_id, old, new


def _matrix(counts: Mapping[tuple[int | None, int | None], int], title: str) -> Table:
    """The counts by before (rows) and after (columns)."""
    grades: list[int | None] = [*sorted({g for pair in counts for g in pair if g is not None})]
    if any(None in pair for pair in counts):
        grades.append(None)
    names = ["ungraded" if grade is None else str(grade) for grade in grades]
    matrix = [[counts.get((old, new), 0) for new in grades] for old in grades]
    rows: list[list[Cell]] = [[name, *row, sum(row)] for name, row in zip(names, matrix, strict=True)]
    boxed = {(n, n + 1) for n in range(len(names))}
    return Table(["before", *names, "Total"], rows, title=title, boxed=boxed)


def _systems(sides: Sequence[SelectedGrades], cutoff: int | None) -> tuple[list[Block], Provenance]:
    """The Rubric-Cover scores and ranks of systems before and after, with significance tests."""
    cutoff = cutoff or max(side.file.cutoff for side in sides)
    evaluations = [cover_of(side, cutoff=cutoff) for side in sides]
    first, second = (next(iter(score_matrices(evaluation.scores).values())) for evaluation in evaluations)
    scores = [first.by_system(), second.by_system()]
    systems = [s for s in first.systems if s in scores[1] and s != OVERALL_SYSTEM]
    queries = [q for q in first.query_ids if q in second.query_ids]
    if not systems or not queries:
        text = "The files have no ranked system in common, so ranks are not compared."
        return [Paragraph(text)], Provenance()
    values = [[[side[s][q] for q in queries] for s in systems] for side in scores]
    old, new = (
        {s: round(sum(row) / len(row), 12) for s, row in zip(systems, side, strict=True)} for side in values
    )
    old_ranks, new_ranks = ranks_of(old), ranks_of(new)
    p_values = holm([paired_test(*rows) for rows in zip(*values, strict=True)])
    adjusted = dict(zip(systems, p_values, strict=True))
    rows: list[list[Cell]] = []
    for s in sorted(systems, key=lambda system: new_ranks[system]):
        change = old_ranks[s] - new_ranks[s]
        arrow = "" if not change else f"{'▲' if change > 0 else '▼'} {abs(change):g}"
        ranks = int_if_whole(old_ranks[s]), int_if_whole(new_ranks[s])
        rows.append([s, old[s], new[s], new[s] - old[s], adjusted[s], *ranks, arrow])
    columns = ["system", "before", "after", "change", "p (Holm)", "rank before", "rank after", "moved"]
    metrics = " and ".join(dict.fromkeys([first.metric, second.metric]))
    title = f"Systems by {metrics} on the {len(queries)} queries of both files"
    swapped = sum((old[a] - old[b]) * (new[a] - new[b]) < 0 for a, b in combinations(systems, 2))
    pairs = counted(swapped, "pair of systems changes its", "pairs of systems change their")
    said = f"{pairs} order." if swapped else "No pair of systems changes its order."
    depth = [note for side in sides for note in depth_notes(side.file, cutoff, side.source)]
    scored = combined(evaluation.provenance for evaluation in evaluations) or Provenance()
    return [Table(columns, rows, title=title), *map(Paragraph, dict.fromkeys([said, *depth]))], scored
