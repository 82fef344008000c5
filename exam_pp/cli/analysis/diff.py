"""``exam-pp diff``: comparison of two gradings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    LABEL_RULE,
    MIN_GRADE,
    emit_report,
    format_option,
    grade_filter,
    grades_options,
    model_names,
    of_each_side,
    output_option,
    prompt_option,
)
from exam_pp.errors import SelectionError
from exam_pp.metrics.qrels import KthBest, LabelRule
from exam_pp.provenance import Provenance, combined, file_names, graded_by
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter, GradeKey
    from exam_pp.phases.evaluation.inputs import Passages
    from exam_pp.phases.evaluation.result import PathLike


@click.command("diff", cls=Command)
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option(
    "--bank",
    "banks",
    type=FILE,
    multiple=True,
    callback=of_each_side,
    help="Test bank; only its entries count. Name it twice for BEFORE and AFTER.  [default: all graded "
    "entries]",
)
@click.option(
    "--grader",
    "graders",
    shell_complete=model_names,
    metavar="NAME",
    multiple=True,
    callback=of_each_side,
    help="Only grades by this model, or reviewer (human:NAME). Name it twice for BEFORE and AFTER.",
)
@prompt_option(
    "Only grades with this prompt. Name it twice for BEFORE and AFTER.",
    "prompt_classes",
    multiple=True,
    callback=of_each_side,
)
@grades_options
@click.option(
    "--only",
    type=click.Choice(["labels"]),
    multiple=True,
    help="List only the passages whose relevance label changes (labels).",
)
@LABEL_RULE
@MIN_GRADE
@CUTOFF
@format_option()
@output_option()
def command(
    *,
    before: Path,
    after: Path,
    banks: tuple[Path | None, Path | None],
    graders: tuple[str | None, str | None],
    prompt_classes: tuple[str | None, str | None],
    only: tuple[str, ...],
    label_rule: str | None,
    min_grade: int | None,
    cutoff: int | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Compare two gradings: changed ratings, relevance labels and ranks of systems.

    BEFORE and AFTER are graded files. They can be the same file with two models or prompts. To see how an
    edit of the bank changes the labels, name both banks, and use --only labels.

    Example:

    \b
      exam-pp diff two-models.jsonl.gz two-models.jsonl.gz \\
        --prompt self-rated \\
        --grader google/flan-t5-base --grader google/flan-t5-large
    """
    from exam_pp.phases.evaluation.inputs import loaded

    passages = {file: loaded(file) for file in dict.fromkeys((before, after))}
    sides = [
        Grading(passages[file], grade_filter(grader, prompt_class, **criteria), bank)
        for file, grader, prompt_class, bank in zip(
            (before, after), graders, prompt_classes, banks, strict=True
        )
    ]
    difference = diff(*sides, labelling=None if label_rule is None else LabelRule.parse(label_rule))
    if only:
        report = labels_report(difference)
    else:
        systems = compare_systems(*sides, min_grade=min_grade, cutoff=cutoff)
        report = diff_report(difference, systems, entry_texts(*sides))
    emit_report(report, form, output, [before, after, *banks])


Ratings = dict[tuple[str, str], dict[str, int]]
"""(Query id, passage id) to entry id to rating."""


@dataclass(frozen=True)
class Grading:
    """One side of a comparison: a graded file, a filter for its grades (None: all), and its bank."""

    file: Passages
    grade_filter: GradeFilter | None = None
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
    :class:`~exam_pp.errors.SelectionError` if the files have no graded passage in common.
    """
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
    from exam_pp.grade_filter import GradeFilter, GradeSelector
    from exam_pp.phases.evaluation.inputs import loaded
    from exam_pp.roles import without_canaries
    from exam_pp.store.banks.bank_json import read_bank

    selector = GradeSelector(grading.grade_filter or GradeFilter())
    bank = read_bank(grading.bank) if grading.bank is not None else None
    ratings: Ratings = {}
    for query in without_canaries(loaded(grading.file)):
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
    from exam_pp.store.banks.bank_json import read_bank

    texts: dict[str, str] = {}
    for grading in gradings:
        for query in read_bank(grading.bank) if grading.bank is not None else ():
            texts |= {entry_id: entry.text for entry_id, entry in query.entries.items()}
    return texts


def compare_systems(
    before: Grading, after: Grading, *, min_grade: int | None = None, cutoff: int | None = None
) -> SystemChanges | None:
    """Compare the Rubric-Cover scores and ranks of systems before and after, with significance tests.

    ``min_grade`` and ``cutoff`` are those of :func:`exam_pp.phases.evaluation.cover.cover`, with one cutoff
    for both sides. Returns None if the files have no ranked system in common.
    """
    from exam_pp.metrics.correlation import ranks_of
    from exam_pp.metrics.significance import holm, paired_test
    from exam_pp.metrics.uncertainty import score_matrices
    from exam_pp.phases.evaluation.cover import cover_of
    from exam_pp.phases.evaluation.selected_grades import RankingDepth, read_selected

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
    import numpy as np

    from exam_pp.metrics.significance import better

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
    from exam_pp.rendering.pictures.grids import confusion

    names, matrix = _counts(result.transitions)
    same = {(n, n) for n in range(len(names))}
    nouns = {"row_noun": "grades before", "column_noun": "grades after"}
    return confusion(names, names, matrix, "Grades before and after", boxed=same, **nouns)


def rank_picture(result: SystemChanges) -> Picture:
    """The ranks of the systems before and after as lines."""
    from exam_pp.rendering.pictures.rows import Slope, slopes

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
    from exam_pp.metrics.correlation import int_if_whole

    if result is None:
        return [Paragraph("The files have no ranked system in common, so ranks are not compared.")]
    rows: list[list[Cell]] = [
        [*row[:5], int_if_whole(row.rank_before), int_if_whole(row.rank_after), _arrow(row)]
        for row in result.systems
    ]
    columns = ["system", "before", "after", "change", "p (Holm)", "rank before", "rank after", "moved"]
    metrics = " and ".join(dict.fromkeys(result.metrics))
    title = f"Systems by {metrics} on the {result.queries} queries of both files"
    blocks: list[Block] = [Table(columns, rows, title=title), Paragraph(_entry_swaps(result))]
    blocks += map(Paragraph, result.notes)
    return [*blocks, rank_picture(result)] if len(result.systems) > 1 else blocks


def _arrow(row: SystemChange) -> str:
    change = row.rank_before - row.rank_after
    return "" if not change else f"{'▲' if change > 0 else '▼'} {abs(change):g}"


def _entry_swaps(result: SystemChanges) -> str:
    if not result.swapped:
        return "No pair of systems changes its order."
    names = ", ".join(f"{a} and {b}" for a, b in result.significant)
    tail = f": {names}." if result.significant else "."
    pairs = counted(len(result.swapped), "pair of systems changes its", "pairs of systems change their")
    differ = counted(len(result.significant), "of them differs", "of them differ")
    return (
        f"{pairs} order; {differ} significantly in at least one grading (paired randomisation tests, "
        f"step-down maxT, α = 0.05){tail}"
    )
