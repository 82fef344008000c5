"""Report on the differences of two gradings: transition matrices, and changed entries, labels and systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from exam_pp.phases.analysis.grading_diff import GradingDifference, LabelChange, SystemChange, SystemChanges
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.grids import confusion
from exam_pp.rendering.pictures.rows import Slope, slopes
from exam_pp.text.wording import counted

UNGRADED = "ungraded"
_MOST_MOVED = 10


def diff_report(result: GradingDifference, systems: SystemChanges | None, texts: Mapping[str, str]) -> Report:
    """Transition matrices of ratings and labels, the entries that changed most, and systems by Rubric-Cover.

    ``texts`` is entry id to text. The ratings and the ranks of systems also have pictures.
    """
    same = sum(count for (old, new), count in result.transitions.items() if old == new)
    total = sum(result.transitions.values())
    summary = (
        f"{counted(result.passages, 'passage is', 'passages are')} graded in both files. "
        f"{total - same} of {counted(total, 'pair')} of passage and entry "
        f"{'differs' if total - same == 1 else 'differ'}, and "
        f"{counted(len(result.labels), 'label differs', 'labels differ')}."
    )
    if result.unmatched:
        passages = counted(result.unmatched, "passage is", "passages are")
        summary += f" {passages} graded in only one file; all their grades and labels count as different."
    changes = Counter((change.before, change.after) for change in result.labels)
    before, after = (f"{grader.prompt_class} by {grader.model}" for grader in result.graders)
    blocks: list[Block] = [
        *([Paragraph(f"Before: {before}. After: {after}.")] if before != after else []),
        Paragraph(summary),
        _matrix(result.transitions, "Grades before (rows) and after (columns)"),
        transition_picture(result),
        _moved(result.entries, texts),
    ]
    if changes:
        blocks.append(_matrix(changes, "Labels that change: before (rows) and after (columns)"))
    provenance = result.provenance
    if systems is not None:
        scored = systems.provenance
        provenance = replace(provenance, cutoff=scored.cutoff, min_grades=scored.min_grades)
    return Report("Comparison of two gradings", [*blocks, *_systems(systems)], provenance)


Transitions = Mapping[tuple[int | None, int | None], int]
"""(Before, after) to a number; None is ungraded."""


def _matrix(counts: Transitions, title: str) -> Table:
    names, matrix = _counts(counts)
    rows: list[list[Cell]] = [[name, *row, sum(row)] for name, row in zip(names, matrix, strict=True)]
    boxed = {(n, n + 1) for n in range(len(names))}
    return Table(["before", *names, "Total"], rows, title=title, boxed=boxed)


def _counts(counts: Transitions) -> tuple[list[str], list[list[int]]]:
    """The names of rows and columns, and the counts by before (rows) and after (columns)."""
    grades: list[int | None] = [*sorted({g for pair in counts for g in pair if g is not None})]
    if any(None in pair for pair in counts):
        grades.append(None)
    names = [UNGRADED if grade is None else str(grade) for grade in grades]
    return names, [[counts.get((old, new), 0) for new in grades] for old in grades]


def transition_picture(result: GradingDifference) -> Picture:
    """The grades before and after as a confusion matrix."""
    names, matrix = _counts(result.transitions)
    same = {(n, n) for n in range(len(names))}
    nouns = {"row_noun": "grades before", "column_noun": "grades after"}
    return confusion(names, names, matrix, "Grades before and after", boxed=same, **nouns)


def rank_picture(result: SystemChanges) -> Picture:
    """The ranks of the systems before and after as lines."""
    ranked = [Slope(row.system, row.rank_before, row.rank_after) for row in result.systems]
    return slopes(ranked, "before", "after", "Ranks before and after")


def _moved(entries: Mapping[tuple[str, str], tuple[int, int]], texts: Mapping[str, str]) -> Table:
    most = sorted(entries.items(), key=lambda item: -sum(item[1]))[:_MOST_MOVED]
    rows: list[list[Cell]] = [
        [query_id, texts.get(entry, entry), up, down] for (query_id, entry), (up, down) in most
    ]
    title = f"Entries that change most (of {len(entries)} that change)"
    return Table(["query", "entry", "up", "down"], rows, title=title)


def labels_report(result: GradingDifference) -> Report:
    """A table with a row for every passage whose label changes."""
    table = Table(LabelChange._fields, [list(change) for change in result.labels])
    return Report("Labels that change", [table], result.provenance)


def _systems(result: SystemChanges | None) -> list[Block]:
    from exam_pp.metrics.correlation import int_if_whole  # noqa: PLC0415 - scipy is slow to import

    if result is None:
        return [Paragraph("The files have no ranked system in common, so ranks are not compared.")]
    rows: list[list[Cell]] = [
        [*row[:5], int_if_whole(row.rank_before), int_if_whole(row.rank_after), _arrow(row)]
        for row in result.systems
    ]
    columns = ["system", "before", "after", "change", "p (Holm)", "rank before", "rank after", "moved"]
    metrics = " and ".join(dict.fromkeys(result.metrics))
    title = f"Systems by {metrics} on the {result.queries} queries of both files"
    blocks: list[Block] = [Table(columns, rows, title=title), Paragraph(_swaps(result))]
    blocks += map(Paragraph, result.notes)
    return [*blocks, rank_picture(result)] if len(result.systems) > 1 else blocks


def _arrow(row: SystemChange) -> str:
    change = row.rank_before - row.rank_after
    return "" if not change else f"{'▲' if change > 0 else '▼'} {abs(change):g}"


def _swaps(result: SystemChanges) -> str:
    if not result.swapped:
        return "No pair of systems changes its order."
    names = ", ".join(f"{a} and {b}" for a, b in result.significant)
    tail = f": {names}." if result.significant else "."
    pairs = counted(len(result.swapped), "pair of systems changes its", "pairs of systems change their")
    differ = counted(len(result.significant), "of them differs", "of them differ")
    return (
        f"{pairs} order; {differ} significantly in at least one grading (paired randomisation tests, Holm, "
        f"α = 0.05){tail}"
    )
