"""Two gradings compared: transition matrices, entries that moved, labels and systems that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from exam_pp.phases.analysis.grading_diff import GradingDifference, LabelChange, SystemChange, SystemChanges
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.wording import counted

UNGRADED = "ungraded"
_MOST_MOVED = 10


def diff_report(found: GradingDifference, systems: SystemChanges | None, texts: Mapping[str, str]) -> Report:
    """Transition matrix, the entries that moved most, labels by transition, and systems by Rubric-Cover.

    ``texts`` are those of bank entries by id.
    """
    same = sum(count for (old, new), count in found.transitions.items() if old == new)
    total = sum(found.transitions.values())
    summary = (
        f"{counted(found.passages, 'passage is', 'passages are')} graded in both files; of "
        f"{counted(total, 'pair', 'pairs')} of passage and entry {total - same} differ, and of labels "
        f"{len(found.labels)}."
    )
    if found.one_sided:
        words = counted(found.one_sided, "passage is", "passages are")
        summary += f" {words} graded in one file only, and all their grades and labels differ."
    changes = Counter((change.before, change.after) for change in found.labels)
    blocks: list[Block] = [
        Paragraph(summary),
        _matrix(found.transitions, "Grades before (rows) and after (columns)"),
        _moved(found.entries, texts),
    ]
    if changes:
        blocks.append(_matrix(changes, "Labels that change: before (rows) and after (columns)"))
    return Report("Two gradings compared", [*blocks, *_systems(systems)])


def _matrix(counts: Mapping[tuple[int | None, int | None], int], title: str) -> Table:
    grades: list[int | None] = [*sorted({g for pair in counts for g in pair if g is not None})]
    if any(None in pair for pair in counts):
        grades.append(None)
    names = [UNGRADED if grade is None else str(grade) for grade in grades]
    rows: list[list[Cell]] = []
    for name, old in zip(names, grades, strict=True):
        cells = [counts.get((old, new), 0) for new in grades]
        rows.append([name, *cells, sum(cells)])
    boxed = {(n, n + 1) for n in range(len(grades))}
    return Table(["before", *names, "Total"], rows, title=title, boxed=boxed)


def _moved(entries: Mapping[tuple[str, str], tuple[int, int]], texts: Mapping[str, str]) -> Table:
    most = sorted(entries.items(), key=lambda item: -sum(item[1]))[:_MOST_MOVED]
    rows: list[list[Cell]] = [
        [query_id, texts.get(entry, entry), up, down] for (query_id, entry), (up, down) in most
    ]
    title = f"Entries that moved most (of {len(entries)} that moved)"
    return Table(["query", "entry", "up", "down"], rows, title=title)


def labels_report(changes: Iterable[LabelChange]) -> Report:
    """One row for every passage whose label changes."""
    return Report("Labels that change", [Table(LabelChange._fields, [list(change) for change in changes])])


def _systems(found: SystemChanges | None) -> list[Table | Paragraph]:
    from exam_pp.metrics.correlation import whole  # noqa: PLC0415 - scipy is slow to import

    if found is None:
        return [Paragraph("No system is ranked in both files, so none can change rank.")]
    rows: list[list[Cell]] = [
        [*row[:5], whole(row.rank_before), whole(row.rank_after), _arrow(row)] for row in found.systems
    ]
    columns = ["system", "before", "after", "change", "p (Holm)", "rank before", "rank after", "moved"]
    metrics = " and ".join(dict.fromkeys(found.metrics))
    title = f"Systems by {metrics} on the {found.queries} queries of both files"
    return [Table(columns, rows, title=title), Paragraph(_swaps(found))]


def _arrow(row: SystemChange) -> str:
    change = row.rank_before - row.rank_after
    return "" if not change else f"{'▲' if change > 0 else '▼'} {abs(change):g}"


def _swaps(found: SystemChanges) -> str:
    if not found.swapped:
        return "No two systems change places."
    names = ", ".join(f"{one} and {other}" for one, other in found.significant)
    tail = f": {names}." if found.significant else "."
    pairs = counted(len(found.swapped), "pair of systems changes", "pairs of systems change")
    return (
        f"{pairs} places; {len(found.significant)} of them differ significantly in one grading (paired "
        f"randomisation tests, Holm, α = 0.05){tail}"
    )
