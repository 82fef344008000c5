"""Evaluate: grades to Rubric-Cover and Rubric-Qrels, judgments to qrels.

Every function reads files and returns values; nothing is printed. What a reader of the numbers has to
know (queries left out, entries never asked) travels with them as ``notes``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.cover import Cover, SoftCover
from exam_pp.metrics.entry_values import EntryValues
from exam_pp.metrics.graded import GradedFile, GradedQuery, gather
from exam_pp.metrics.qrels import Label, judgment_qrels, rubric_qrels
from exam_pp.prompts import PROMPTS
from exam_pp.results import Qrel, Score
from exam_pp.store.banks import read_bank
from exam_pp.store.files import STDIO, read_lines
from exam_pp.store.passages import read_passages_for_metrics
from exam_pp.store.queries import read_queries
from exam_pp.store.trec import read_qrels
from exam_pp.test_bank import TestBank

MissingQueries = Literal["zero", "skip"]
PathLike = str | Path

DEFAULT_MIN_GRADE = 4
"""The grade from which an entry counts as covered, as in the workbench paper's examples."""

_UNRATED_MIN_GRADE = 1
_LISTED = 5


@dataclass
class Evaluation:
    """Scores of systems, per query, and what a reader has to know about them.

    ``best_case`` are the scores if everything ungraded had the best grade (the scores themselves are the
    worst case); it is empty where nothing is ungraded or the metric has no bounds. ``entry_values`` gives,
    for a metric by its name, what the systems of :attr:`systems` reach on every bank entry, query by query.
    """

    scores: list[Score] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best_case: list[Score] = field(default_factory=list)
    entry_values: dict[str, Callable[[], list[EntryValues]]] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """All systems, in order of appearance."""
        return list(dict.fromkeys(score.system for score in self.scores))


@dataclass
class RubricQrels:
    """Labels from grades; ``min_grade`` is the threshold that was used for them."""

    qrels: list[Qrel]
    min_grade: int
    notes: list[str] = field(default_factory=list)


@dataclass
class _Graded:
    """A gathered file with the queries that are evaluated."""

    file: GradedFile
    queries: list[GradedQuery]
    min_grade: int
    selector: GradeSelector
    notes: list[str]


def cover(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    min_grade: int | None = None,
    cutoff: int = 20,
    queries: PathLike | None = None,
    missing_queries: MissingQueries = "zero",
    soft: bool = False,
) -> Evaluation:
    """Rubric-Cover and normalised cover of the systems whose rankings the file holds.

    Args:
        graded: Graded passages.
        bank: Test bank: the denominator, the query set and entry weights. Without it, the entries that
            the selected grades hold for a query.
        grade_filter: Which grades to look at.
        min_grade: Grade from which an entry is covered; default 4, or the highest of a scale below that,
            and 1 for prompts without a scale.
        cutoff: How many ranks of a system count.
        queries: Query file that restricts the queries.
        missing_queries: Whether a query that a system returned nothing for scores 0, or is skipped.
        soft: Soft cover (probabilities of grades) instead of cover.

    Raises :class:`~exam_pp.errors.ExamError` for files and filters that cannot be used.
    """
    data = _read(graded, bank, grade_filter, min_grade, queries, soft=soft)
    metrics: Sequence[Cover | SoftCover]
    if soft:
        if not data.file.soft_found:
            raise SelectionError(f"The selected grades in {graded} hold no probabilities; leave out --soft.")
        metrics = [SoftCover(data.min_grade, cutoff)]
    else:
        metrics = [Cover(data.min_grade, cutoff), Cover(data.min_grade, cutoff, normalised=True)]
        data.notes.extend(_threshold_notes(data))
    data.notes.extend(_cover_notes(data, with_bank=bank is not None, soft=soft, cutoff=cutoff))
    evaluation = Evaluation(notes=data.notes)
    ranked = data.file.first_ranks
    for metric in metrics:
        for query in data.queries:
            systems = ranked
            if missing_queries == "skip":
                systems = {name: first for name, first in ranked.items() if name in query.rankings}
            scores = list(metric(query, systems))
            evaluation.scores += scores
            if isinstance(metric, Cover) and not metric.normalised:
                graded_in_full = all(p.graded == query.everything for p in query.passages)
                evaluation.best_case += scores if graded_in_full else metric.best_case(query, systems)
        if missing_queries == "zero":
            evaluation.entry_values[str(metric)] = partial(_entry_values, metric, data)
    if set(evaluation.best_case) <= set(evaluation.scores):
        evaluation.best_case = []
    return evaluation


def _entry_values(metric: Cover | SoftCover, data: _Graded) -> list[EntryValues]:
    return [metric.entry_values(query, data.file.first_ranks) for query in data.queries]


def qrels(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    label: Label = "max",
    min_grade: int | None = None,
    queries: PathLike | None = None,
) -> RubricQrels:
    """Rubric-Qrels: a relevance label for every passage that has a grade.

    The arguments are those of :func:`cover`; ``min_grade`` matters for the labels "count" and "binary".
    """
    data = _read(graded, bank, grade_filter, min_grade, queries)
    if label != "max":
        data.notes.extend(_threshold_notes(data))
    lines = [qrel for query in data.queries for qrel in rubric_qrels(query, label, data.min_grade)]
    return RubricQrels(lines, data.min_grade, data.notes)


def judgments(source: PathLike, *, queries: PathLike | None = None) -> list[Qrel]:
    """Manual judgments, of a graded (or ungraded) passages file or of a qrels file."""
    found = judgment_qrels(read_passages_for_metrics(source)) if is_passages(source) else read_qrels(source)
    if not found:
        raise SelectionError(f"{source} holds no judgments; name a qrels file, or import with --qrels.")
    if queries is not None:
        wanted = read_queries(queries)
        found = [qrel for qrel in found if qrel.query_id in wanted]
        if not found:
            raise SelectionError(f"None of the queries in {queries} has judgments in {source}.")
    return found


def is_passages(path: PathLike) -> bool:
    """Whether a file holds passages (lines of JSON lists), not qrels; standard input does."""
    if str(path) == STDIO:
        return True
    first = next(read_lines(path), None)
    if first is None:
        raise DataError("is empty.", file=str(path))
    return first[1].startswith(b"[")


def _read(
    graded: PathLike,
    bank_path: PathLike | None,
    grade_filter: GradeFilter | None,
    min_grade: int | None,
    queries_path: PathLike | None,
    *,
    soft: bool = False,
) -> _Graded:
    bank = read_bank(bank_path) if bank_path is not None else None
    wanted = set(read_queries(queries_path)) if queries_path is not None else None
    selector = GradeSelector(grade_filter or GradeFilter())
    file = gather(read_passages_for_metrics(graded), selector, bank, soft=soft)
    selector.check(str(graded))
    queries = [
        query
        for query in file.queries.values()
        if query.asked and (wanted is None or query.query_id in wanted)
    ]
    if not queries:
        source = queries_path if queries_path is not None else bank_path
        raise SelectionError(
            f"None of the queries in {source} has a passage in {graded} that is graded for it."
        )
    if min_grade is None:
        min_grade = _default_min_grade(selector)
    notes = _query_notes(file, queries, bank, wanted)
    if bank is not None:
        notes += _bank_notes(queries)
    return _Graded(file, queries, min_grade, selector, notes)


def _default_min_grade(selector: GradeSelector) -> int:
    """4, or the highest grade of a shorter scale (2 for assignments: support)."""
    if not selector.rated:
        return _UNRATED_MIN_GRADE
    name = selector.key.prompt_class
    highest = PROMPTS.get(name).max_rating if name in PROMPTS else None
    return min(DEFAULT_MIN_GRADE, highest or DEFAULT_MIN_GRADE)


def _query_notes(
    file: GradedFile, queries: list[GradedQuery], bank: TestBank | None, wanted: Collection[str] | None
) -> list[str]:
    evaluated = {query.query_id for query in queries}
    expected = file.queries if bank is None else bank.queries
    ungraded = [q for q in expected if q not in evaluated and (wanted is None or q in wanted)]
    where = "file" if bank is None else "bank"
    notes = []
    if ungraded:
        words = some(ungraded, "query", "queries")
        notes.append(f"Left out: {words} of the {where} without a graded passage.")
    if bank is not None:
        unknown = [q for q in file.queries if q not in bank.queries and (wanted is None or q in wanted)]
        if unknown:
            notes.append(f"Left out: {some(unknown, 'query', 'queries')} of the file not in the bank.")
    if wanted is not None:
        absent = [q for q in wanted if q not in evaluated and q not in ungraded]
        if absent:
            notes.append(f"Left out: {some(absent, 'wanted query', 'wanted queries')} without grades.")
    return notes


def _bank_notes(queries: list[GradedQuery]) -> list[str]:
    notes = []
    never = [e for query in queries for e, bit in query.entries.items() if not query.asked >> bit & 1]
    if never:
        words = some(never, "bank entry", "bank entries")
        notes.append(f"No passage has a grade for {words}: counted as not covered.")
    foreign = [entry for query in queries for entry in sorted(query.foreign)]
    if foreign:
        notes.append(f"Ignored: {some(foreign, 'graded entry', 'graded entries')} not in the bank.")
    return notes


def _threshold_notes(data: _Graded) -> list[str]:
    best = data.file.best_grade
    if best is None or best >= data.min_grade:
        return []
    return [f"No grade reaches {data.min_grade}; the highest is {best} (see --min-grade)."]


def _cover_notes(data: _Graded, *, with_bank: bool, soft: bool, cutoff: int) -> list[str]:
    notes = []
    if not with_bank:
        notes.append(
            "No --bank: a query's entries are those that its grades name, so entries that were never "
            "asked are missing from the denominator."
        )
    if not data.file.first_ranks:
        notes.append("The file holds no rankings: only the overall upper bound can be computed.")
        return notes
    places = ungraded = 0
    for query in data.queries:
        for system, first_rank in data.file.first_ranks.items():
            top = query.top(system, first_rank, cutoff)
            places += len(top)
            ungraded += sum(not query.passages[index].levels for index in top)
    if ungraded:
        notes.append(
            f"{ungraded} of {places} ranked passages within the cutoff have no grade and cover nothing."
        )
    if not soft:
        nothing = [
            query.query_id
            for query in data.queries
            if not any(passage.reaching(data.min_grade) for passage in query.passages)
        ]
        if nothing:
            words = some(nothing, "query", "queries")
            notes.append(f"No passage covers anything for {words}: normalised cover counts 0 there.")
    return notes


def some(names: Sequence[str], one: str, many: str) -> str:
    """``3 queries (a, b, c)``, with the first few names."""
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    return f"{len(names)} {one if len(names) == 1 else many} ({listed})"
