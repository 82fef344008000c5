"""Comparison of two gradings: changed ratings, relevance labels and ranks of systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics.correlation import int_if_whole, ranks_of
from exam_pp.metrics.qrels import KthBest, LabelRule
from exam_pp.metrics.significance import better, holm, paired_test
from exam_pp.metrics.uncertainty import score_matrices
from exam_pp.phases.evaluation.cover import cover_of
from exam_pp.phases.evaluation.inputs import Passages, loaded
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import depth_notes, read_selected
from exam_pp.provenance import Provenance, combined, file_names, graded_by
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.rendering.pictures.grids import confusion
from exam_pp.rendering.pictures.rows import Slope, slopes
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.roles import without_canaries
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.text.wording import counted

_Ratings = dict[tuple[str, str], dict[str, int]]
"""Query id and passage id to entry id to rating."""
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
    ratings, _, provenance = _read(before, after)
    table = Table(("query_id", "passage_id", "before", "after"), _changed_labels(ratings, labelling))
    return Report("Labels that change", [table], provenance)


def diff_report(
    before: Grading,
    after: Grading,
    *,
    labelling: KthBest | LabelRule | None = None,
    min_grade: int | None = None,
    cutoff: int | None = None,
) -> Report:
    """Transition matrices of ratings and labels, the entries that changed most, and systems by Rubric-Cover.

    If a side has a bank, only the entries of the bank count there. The ratings and the ranks of systems also
    have pictures. ``labelling`` and errors are those of :func:`labels_report`, ``min_grade`` and ``cutoff``
    those of :func:`exam_pp.phases.evaluation.cover.cover`, with one cutoff for both sides.
    """
    ratings, graders, provenance = _read(before, after)
    first, second = ratings
    grades: Counter[tuple[int | None, int | None]] = Counter()
    moved: dict[tuple[str, str], list[int]] = {}
    for key in dict.fromkeys([*first, *second]):
        old_ratings, new_ratings = first.get(key, {}), second.get(key, {})
        for entry in dict.fromkeys([*old_ratings, *new_ratings]):
            old, new = old_ratings.get(entry), new_ratings.get(entry)
            grades[old, new] += 1
            if old is not None and new is not None and old != new:
                moved.setdefault((key[0], entry), [0, 0])[new < old] += 1
    labels = _changed_labels(ratings, labelling)
    same, total = sum(count for (old, new), count in grades.items() if old == new), grades.total()
    common = len(first.keys() & second.keys())
    summary = (
        f"{counted(common, 'passage is', 'passages are')} graded in both files. "
        f"{total - same} of {counted(total, 'pair')} of passage and entry "
        f"{'differs' if total - same == 1 else 'differ'}, and "
        f"{counted(len(labels), 'label differs', 'labels differ')}."
    )
    if unmatched := len(first.keys() ^ second.keys()):
        passages = counted(unmatched, "passage is", "passages are")
        summary += f" {passages} graded in only one file; all their grades and labels count as different."
    names = [f"{grader.prompt_class} by {grader.model}" for grader in graders]
    table, kinds, counts = _matrix(grades, "Grades before (rows) and after (columns)")
    picture = confusion(
        kinds, kinds, counts, "Grades before and after", boxed={(n, n) for n in range(len(kinds))},
        row_noun="grades before", column_noun="grades after",
    )  # fmt: skip
    by_system, scored = _systems(before, after, min_grade, cutoff)
    texts = {
        entry_id: entry.text
        for side in (before, after)
        for query in (read_bank(side.bank) if side.bank is not None else ())
        for entry_id, entry in query.entries.items()
    }
    most = sorted(moved.items(), key=lambda item: -sum(item[1]))[:_MOST_MOVED]
    changes = Counter((old, new) for _, _, old, new in labels)
    blocks: list[Block] = [
        *([Paragraph(f"Before: {names[0]}. After: {names[1]}.")] if names[0] != names[1] else []),
        Paragraph(summary),
        table,
        picture,
        Table(
            ["query", "entry", "up", "down"],
            [[query_id, texts.get(entry, entry), *numbers] for (query_id, entry), numbers in most],
            title=f"Entries that change most (of {len(moved)} that change)",
        ),
        *([_matrix(changes, "Labels that change: before (rows) and after (columns)")[0]] if changes else []),
        *by_system,
    ]
    if scored is not None:
        provenance = replace(provenance, cutoff=scored.cutoff, min_grades=scored.min_grades)
    return Report("Comparison of two gradings", blocks, provenance)


def _read(before: Grading, after: Grading) -> tuple[list[_Ratings], list[GradeKey], Provenance]:
    """The ratings of both sides, their graders, and their origin."""
    ratings: list[_Ratings] = []
    graders: list[GradeKey] = []
    for side in (before, after):
        selector = GradeSelector(side.grade_filter or GradeFilter())
        bank = read_bank(side.bank) if side.bank is not None else None
        of_side: _Ratings = {}
        for query in without_canaries(loaded(side.file)):
            entries = None if bank is None else bank.entries(query.query_id)
            for passage in query.passages:
                by_entry = selector.ratings(passage)
                if entries is not None:
                    by_entry = {entry: rating for entry, rating in by_entry.items() if entry in entries}
                if by_entry:
                    of_side.setdefault((query.query_id, passage.passage_id), {}).update(by_entry)
        selector.check(str(side.file))
        ratings.append(of_side)
        graders.append(selector.key)
    first, second = ratings
    if not first.keys() & second.keys():
        raise SelectionError(f"{before.file} and {after.file} have no graded passage in common.")
    queries = len({query_id for query_id, _ in first.keys() | second.keys()})
    banks = file_names(before.bank, after.bank)
    return ratings, graders, replace(graded_by(graders), banks=banks, queries=queries)


def _changed_labels(
    ratings: Sequence[_Ratings], labelling: KthBest | LabelRule | None
) -> list[tuple[str, str, int | None, int | None]]:
    """Query, passage, and the different labels before and after."""
    label = labelling or KthBest()
    changed = []
    for key in dict.fromkeys(key for side in ratings for key in side):
        old, new = (
            label(sorted(side[key].values(), reverse=True)) if key in side else None for side in ratings
        )
        if old != new:
            changed.append((*key, old, new))
    return changed


def _matrix(
    counts: Mapping[tuple[int | None, int | None], int], title: str
) -> tuple[Table, list[str], list[list[int]]]:
    """The counts by before (rows) and after (columns): as a table, and names with numbers."""
    grades: list[int | None] = [*sorted({g for pair in counts for g in pair if g is not None})]
    if any(None in pair for pair in counts):
        grades.append(None)
    names = ["ungraded" if grade is None else str(grade) for grade in grades]
    matrix = [[counts.get((old, new), 0) for new in grades] for old in grades]
    rows: list[list[Cell]] = [[name, *row, sum(row)] for name, row in zip(names, matrix, strict=True)]
    boxed = {(n, n + 1) for n in range(len(names))}
    return Table(["before", *names, "Total"], rows, title=title, boxed=boxed), names, matrix


def _systems(
    before: Grading, after: Grading, min_grade: int | None, cutoff: int | None
) -> tuple[list[Block], Provenance | None]:
    """The Rubric-Cover scores and ranks of systems before and after, with significance tests."""
    sides = [
        read_selected(side.file, side.bank, side.grade_filter, min_grade, None, reviewed=False)
        for side in (before, after)
    ]
    cutoff = cutoff or max(side.file.cutoff for side in sides)
    evaluations = [cover_of(side, cutoff=cutoff) for side in sides]
    first, second = (next(iter(score_matrices(evaluation.scores).values())) for evaluation in evaluations)
    scores = [first.by_system(), second.by_system()]
    systems = [s for s in first.systems if s in scores[1] and s != OVERALL_SYSTEM]
    queries = [q for q in first.query_ids if q in second.query_ids]
    if not systems or not queries:
        text = "The files have no ranked system in common, so ranks are not compared."
        return [Paragraph(text)], None
    values = [[[side[s][q] for q in queries] for s in systems] for side in scores]
    old, new = (
        {s: round(sum(row) / len(row), 12) for s, row in zip(systems, side, strict=True)} for side in values
    )
    old_ranks, new_ranks = ranks_of(old), ranks_of(new)
    p_values = holm([paired_test(*rows) for rows in zip(*values, strict=True)])
    adjusted = dict(zip(systems, p_values, strict=True))
    by_rank = sorted(systems, key=lambda system: new_ranks[system])
    rows: list[list[Cell]] = []
    for s in by_rank:
        change = old_ranks[s] - new_ranks[s]
        arrow = "" if not change else f"{'▲' if change > 0 else '▼'} {abs(change):g}"
        ranks = int_if_whole(old_ranks[s]), int_if_whole(new_ranks[s])
        rows.append([s, old[s], new[s], new[s] - old[s], adjusted[s], *ranks, arrow])
    columns = ["system", "before", "after", "change", "p (Holm)", "rank before", "rank after", "moved"]
    metrics = " and ".join(dict.fromkeys([first.metric, second.metric]))
    title = f"Systems by {metrics} on the {len(queries)} queries of both files"
    swapped = [
        (i, j)
        for i, a in enumerate(systems)
        for j, b in enumerate(systems[:i])
        if (old[a] - old[b]) * (new[a] - new[b]) < 0
    ]
    relations = [better(np.array(side, dtype=float)) for side in values]
    significant = [
        f"{systems[i]} and {systems[j]}" for i, j in swapped if any(of[i, j] or of[j, i] for of in relations)
    ]
    depth = [note for side in sides for note in depth_notes(side.file, cutoff, side.source)]
    blocks: list[Block] = [Table(columns, rows, title=title)]
    blocks += map(Paragraph, [_swaps(len(swapped), significant), *dict.fromkeys(depth)])
    if len(systems) > 1:
        ranked = [Slope(system, old_ranks[system], new_ranks[system]) for system in by_rank]
        blocks.append(slopes(ranked, "before", "after", "Ranks before and after"))
    return blocks, combined(evaluation.provenance for evaluation in evaluations) or Provenance()


def _swaps(swapped: int, significant: Sequence[str]) -> str:
    """A sentence on the pairs of systems whose order changes, and those that differ on a side."""
    if not swapped:
        return "No pair of systems changes its order."
    tail = f": {', '.join(significant)}." if significant else "."
    pairs = counted(swapped, "pair of systems changes its", "pairs of systems change their")
    differ = counted(len(significant), "of them differs", "of them differ")
    return (
        f"{pairs} order; {differ} significantly in at least one grading (paired randomisation tests, "
        f"step-down maxT, α = 0.05){tail}"
    )
