"""Diff: two gradings of the same passages: which grades, labels and systems moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.passage_labels import KthBest, LabelRule
from exam_pp.phases.evaluation.rubric import PathLike, cover
from exam_pp.reports.document import Block, Cell, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import is_stream
from exam_pp.store.passages.graded_file import read_passages_for_metrics
from exam_pp.wording import counted

Ratings = dict[tuple[str, str], dict[str, int]]
"""Query and passage to entry to rating."""

UNGRADED = "ungraded"
_MOST_MOVED = 10


@dataclass(frozen=True)
class Grading:
    """One side of the comparison: a file, the grades in it to look at, and its bank."""

    file: PathLike
    grade_filter: GradeFilter = field(default_factory=GradeFilter)
    bank: PathLike | None = None


class LabelChange(NamedTuple):
    """A passage whose label differs; None where a side has no grade for it."""

    query_id: str
    passage_id: str
    before: int | None
    after: int | None


@dataclass
class Difference:
    """What :func:`diff` found.

    ``transitions`` counts pairs of a passage and an entry by rating before and after (None is ungraded, or
    not asked); ``entries`` holds, for each entry with a change, the pairs that went up and down.
    ``passages`` are graded on both sides, ``one_sided`` on one.
    """

    transitions: Counter[tuple[int | None, int | None]]
    entries: dict[tuple[str, str], tuple[int, int]]
    labels: list[LabelChange]
    passages: int
    one_sided: int = 0


def diff(before: Grading, after: Grading, *, labelling: KthBest | LabelRule | None = None) -> Difference:
    """Compare two gradings pair by pair, and the labels that passages get from them (best rating, or a rule).

    With a bank on a side, only its entries count there: so an edit of a bank can be judged by the labels
    that it changes. Raises :class:`~exam_pp.errors.SelectionError` if no passage is on both sides, and for
    a pipe: the files are read again for the report.
    """
    for side in (before, after):
        if is_stream(side.file):
            raise SelectionError(f"The files are read several times: name a file, not {str(side.file)!r}.")
    first, second = _ratings(before), _ratings(after)
    if not first.keys() & second.keys():
        raise SelectionError(f"{before.file} and {after.file} have no graded passage in common.")
    label = labelling or KthBest()
    common = len(first.keys() & second.keys())
    found = Difference(Counter(), {}, [], common, len(first.keys() ^ second.keys()))
    for key in dict.fromkeys([*first, *second]):
        one, other = first.get(key, {}), second.get(key, {})
        for entry in dict.fromkeys([*one, *other]):
            old, new = one.get(entry), other.get(entry)
            found.transitions[old, new] += 1
            if old is not None and new is not None and old != new:
                up, down = found.entries.get((key[0], entry), (0, 0))
                found.entries[key[0], entry] = (up + (new > old), down + (new < old))
        labels = [label(sorted(side.values(), reverse=True)) if side else None for side in (one, other)]
        if labels[0] != labels[1]:
            found.labels.append(LabelChange(*key, *labels))
    return found


def _ratings(grading: Grading) -> Ratings:
    selector = GradeSelector(grading.grade_filter)
    bank = read_bank(grading.bank) if grading.bank is not None else None
    ratings: Ratings = {}
    for query in read_passages_for_metrics(grading.file):
        entries = None if bank is None else bank.entries(query.query_id)
        for passage in query.passages:
            of_passage = selector.ratings(passage)
            if entries is not None:
                of_passage = {entry: rating for entry, rating in of_passage.items() if entry in entries}
            if of_passage:
                ratings.setdefault((query.query_id, passage.passage_id), {}).update(of_passage)
    selector.check(str(grading.file))
    return ratings


def diff_report(
    before: Grading, after: Grading, found: Difference, *, min_grade: int | None = None, cutoff: int = 20
) -> Report:
    """Transition matrix, the entries that moved most, labels by transition, and systems by Rubric-Cover.

    ``min_grade`` and ``cutoff`` are those of :func:`exam_pp.phases.evaluation.rubric.cover`.
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
        _moved(before, after, found.entries),
    ]
    if changes:
        blocks.append(_matrix(changes, "Labels that change: before (rows) and after (columns)"))
    systems = _systems(before, after, min_grade, cutoff)
    return Report("Two gradings compared", [*blocks, *systems])


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


def _moved(before: Grading, after: Grading, entries: Mapping[tuple[str, str], tuple[int, int]]) -> Table:
    texts: dict[str, str] = {}
    for bank in (before.bank, after.bank):
        for query in read_bank(bank) if bank is not None else ():
            texts |= {entry_id: entry.text for entry_id, entry in query.entries.items()}
    most = sorted(entries.items(), key=lambda item: -sum(item[1]))[:_MOST_MOVED]
    rows: list[list[Cell]] = [
        [query_id, texts.get(entry, entry), up, down] for (query_id, entry), (up, down) in most
    ]
    title = f"Entries that moved most (of {len(entries)} that moved)"
    return Table(["query", "entry", "up", "down"], rows, title=title)


def labels_report(changes: Iterable[LabelChange]) -> Report:
    """One row for every passage whose label changes."""
    return Report("Labels that change", [Table(LabelChange._fields, [list(change) for change in changes])])


def _systems(before: Grading, after: Grading, min_grade: int | None, cutoff: int) -> list[Table | Paragraph]:
    """Rubric-Cover of both sides: who changes rank, and whether more than chance."""
    from exam_pp.metrics.correlation import ranks_of, whole  # noqa: PLC0415 - scipy is slow to import
    from exam_pp.metrics.significance import holm, paired_test  # noqa: PLC0415
    from exam_pp.metrics.uncertainty import score_matrices  # noqa: PLC0415

    sides = [
        cover(side.file, bank=side.bank, grade_filter=side.grade_filter, min_grade=min_grade, cutoff=cutoff)
        for side in (before, after)
    ]
    matrices = [next(iter(score_matrices(side.scores).values())) for side in sides]
    scores = [m.by_system() for m in matrices]
    systems = [s for s in matrices[0].systems if s in scores[1] and s != OVERALL_SYSTEM]
    queries = [q for q in matrices[0].query_ids if q in matrices[1].query_ids]
    if not systems or not queries:
        return [Paragraph("No system is ranked in both files, so none can change rank.")]
    values = [[[side[s][q] for q in queries] for s in systems] for side in scores]
    means = [
        {s: round(sum(row) / len(row), 12) for s, row in zip(systems, side, strict=True)} for side in values
    ]
    ranks = [ranks_of(side) for side in means]
    p_values = holm([paired_test(one, other) for one, other in zip(*values, strict=True)])
    rows: list[list[Cell]] = [
        [
            s,
            means[0][s],
            means[1][s],
            means[1][s] - means[0][s],
            p,
            whole(ranks[0][s]),
            whole(ranks[1][s]),
            _arrow(ranks, s),
        ]
        for s, p in sorted(zip(systems, p_values, strict=True), key=lambda item: ranks[1][item[0]])
    ]
    columns = ["system", "before", "after", "change", "p (Holm)", "rank before", "rank after", "moved"]
    metric = (
        f"{matrices[0].metric} and {matrices[1].metric}" if matrices[0].metric != matrices[1].metric else ""
    )
    title = f"Systems by {metric or matrices[0].metric} on the {len(queries)} queries of both files"
    return [Table(columns, rows, title=title), Paragraph(_swaps(systems, values, means))]


def _arrow(ranks: Sequence[Mapping[str, float]], system: str) -> str:
    change = ranks[0][system] - ranks[1][system]
    return "" if not change else f"{'▲' if change > 0 else '▼'} {abs(change):g}"


def _swaps(
    systems: Sequence[str], values: Sequence[Sequence[Sequence[float]]], means: Sequence[Mapping[str, float]]
) -> str:
    """Pairs of systems in another order, and those whose difference is significant on either side."""
    from exam_pp.metrics.significance import significant_pairs  # noqa: PLC0415 - scipy is slow to import

    significant = [significant_pairs(side) for side in values]
    swapped = [
        (i, j)
        for i, one in enumerate(systems)
        for j, other in enumerate(systems[:i])
        if (means[0][one] - means[0][other]) * (means[1][one] - means[1][other]) < 0
    ]
    if not swapped:
        return "No two systems change places."
    firm = [pair for pair in swapped if any(pair in side for side in significant)]
    names = ", ".join(f"{systems[i]} and {systems[j]}" for i, j in firm)
    tail = f": {names}." if firm else "."
    pairs = counted(len(swapped), "pair of systems changes", "pairs of systems change")
    return (
        f"{pairs} places; {len(firm)} of them differ significantly in one grading (paired randomisation "
        f"tests, Holm, α = 0.05){tail}"
    )
