"""Rubric-Cover of systems, with notes on data that affect the numbers: skipped queries, ungraded entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from exam_pp.data_model import Role, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.llm_requests import LOW_MASS
from exam_pp.metrics.cover import Cover, SoftCover
from exam_pp.metrics.grade_masks import DefaultCutoff, GradedFile, GradedQuery
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, loaded
from exam_pp.phases.evaluation.result import (
    Corrections,
    Evaluation,
    MissingQueries,
    check_names,
    counted_names,
    missing_query_notes,
)
from exam_pp.phases.evaluation.selected_grades import (
    RankingDepth,
    SelectedGrades,
    judge_alone,
    read_selected,
    threshold_notes,
)
from exam_pp.results import Scores
from exam_pp.store.passages.graded_file import without_garbage_collection
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.metrics.fair_sample import DecidedUnits


@without_garbage_collection()
def cover(
    passages: Passages,
    bank: Bank | None = None,
    *,
    grade_filter: GradeFilter | None = None,
    min_grade: int | Sequence[int] | None = None,
    cutoff: int | None = None,
    queries: Queries | None = None,
    missing_queries: MissingQueries = "zero",
    soft: bool = False,
    role: Role | None = None,
    canaries: bool = False,
) -> Evaluation:
    """Rubric-Cover: the share of a query's bank entries that each system's top passages cover.

    Source: Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024, section 4.5.

    Args:
        passages: Graded passages with the rankings of the systems: a file, or queries.
        bank: Test bank, which defines the queries, the entries of the denominator and their weights.
            Default: the entries that have grades.
        grade_filter: Selects grades; required if the file has grades of several models or prompts.
        min_grade: Lowest grade at which an entry is covered, or several thresholds, each with its own
            scores. Default: 4, the highest grade of a shorter scale, or 1 for prompts without a scale.
        cutoff: Number of ranks of each system that are evaluated. Default: the highest rank in the file, of
            rankings at most 20; all parts of an answer count.
        queries: Query file or query ids to restrict the evaluation to.
        missing_queries: ``zero``: a query without results of a system scores 0. ``skip``: it is skipped.
        soft: Score entries by the highest probability of reaching the threshold, instead of 0 or 1.
        role: Evaluate only what systems ``retrieved``, or only each ``answer``. None: the answers of systems
            that have a ranking and an answer, and all other rankings.
        canaries: Whether canaries are systems of the evaluation, like any other.

    Returns:
        Scores in 0..1 of ``Cover`` and ``nCover`` by system and query. The denominator of ``nCover`` is the
        entries that any graded passage covers. The system ``_overall_`` is the upper bound.

    Raises:
        SelectionError: The filter selects no grades or several sets of grades, or no query is graded.
        DataError: A file is not in its format.
    """
    min_grades = (min_grade,) if isinstance(min_grade, int) else tuple(dict.fromkeys(min_grade or ()))
    first = min_grades[0] if min_grades else None
    passages = loaded(passages)
    data = read_selected(
        passages, bank, grade_filter, first, queries, soft=soft, role=role, canaries=canaries
    )
    scored = partial(
        cover_of, min_grades=min_grades, cutoff=cutoff, missing_queries=missing_queries, soft=soft
    )
    evaluation = scored(data)
    if data.provenance.reviewed:

        @cache
        def of_judge() -> SelectedGrades:
            return read_selected(
                passages,
                bank,
                judge_alone(data),
                data.min_grade,
                queries,
                soft=soft,
                role=role,
                canaries=canaries,
            )

        evaluation.corrections = corrections_of(data, of_judge, scored, cutoff)
    return evaluation


def corrections_of(
    data: SelectedGrades,
    of_judge: Callable[[], SelectedGrades],
    scored: Callable[[SelectedGrades], Evaluation],
    cutoff: int | None,
) -> Corrections:
    """What people decided of Rubric-Cover (``scored``) of grades, beside the same grades without theirs."""
    # Canaries are no systems that people are asked about.
    ranks = {system: rank for system, rank in data.file.first_ranks.items() if not is_canary(system)}
    return Corrections(
        data.selector.review.by,
        list(ranks),
        cache(lambda: scored(of_judge())),
        cache(lambda metric: [*_units(data, of_judge().file, ranks, cutoff or data.file.cutoff, metric)]),
    )


@without_garbage_collection()
def cover_of(
    data: SelectedGrades,
    *,
    min_grades: Sequence[int] = (),
    cutoff: int | None = None,
    missing_queries: MissingQueries = "zero",
    soft: bool = False,
) -> Evaluation:
    """Rubric-Cover of grades that are already read; with ``soft``, they must include probabilities."""
    metrics: Sequence[Cover | SoftCover]
    notes = list(data.notes)
    cutoff = cutoff or data.file.cutoff
    min_grades = min_grades or (data.min_grade,)
    if soft:
        if not data.file.has_soft_grades:
            raise SelectionError(
                f"The selected grades in {data.source} have no probabilities, which --soft needs."
            )
        metrics = [SoftCover(min_grade, cutoff) for min_grade in min_grades]
    else:
        metrics = [
            Cover(grade, cutoff, normalised=normalised)
            for grade in min_grades
            for normalised in (False, True)
        ]
        # A probability can reach a threshold that no grade reaches, so soft scores have no such notes.
        notes += [note for grade in min_grades for note in threshold_notes(replace(data, min_grade=grade))]
    evaluation = Evaluation(Scores(), notes, Scores(), Scores())
    # The systems of the whole file: a system without results for a query scores 0 there.
    ranked = data.file.first_ranks
    evaluation.of_answers = isinstance(cutoff, DefaultCutoff) and 0 < len(ranked) == len(data.file.answering)
    evaluation.provenance = replace(
        data.provenance,
        cutoff=None if evaluation.of_answers else cutoff,
        min_grades=tuple(min_grades),
    )
    check_names([query.query_id for query in data.queries], ranked)
    counts = _RankCounts()
    depth = RankingDepth(cutoff, data.file.depth)
    bounded = False
    for query in data.queries:
        systems = ranked
        if missing_queries == "skip":
            systems = {name: first for name, first in ranked.items() if name in query.rankings}
        all_entries = query.all_entries
        # Without ungraded pairs, both bounds are the score, and need no computation.
        fully_graded = all(passage.graded == all_entries for passage in query.passages)
        for metric in metrics:
            least = most = scores = list(metric(query, systems))
            evaluation.scores.extend(scores)
            if isinstance(metric, Cover):
                if not fully_graded:
                    least, most = map(list, zip(*metric.bounds(query, systems), strict=True))
                    bounded = bounded or not least == scores == most
                # Also for fully graded queries, because the bounds of a mean need every query.
                evaluation.worst_case.extend(least)
                evaluation.best_case.extend(most)
        counts.add(query, ranked, cutoff, min_grades)
        depth.add(query, ranked)
    evaluation.notes += depth.notes(data.source)
    evaluation.notes += _cover_notes(data, counts, soft=soft, of_answers=evaluation.of_answers)
    if missing_queries == "zero":
        evaluation.notes += missing_query_notes(counts.missing)
        evaluation.lacking = {system: len(of_system) for system, of_system in counts.missing.items()}
    # Ungraded pairs may change no score, and reports need no bounds that equal the scores.
    if not bounded:
        evaluation.worst_case, evaluation.best_case = [], []
    return evaluation


def _units(
    data: SelectedGrades, of_judge: GradedFile, ranks: Mapping[str, int], cutoff: int, metric: str
) -> Iterator[DecidedUnits]:
    """The units of Rubric-Cover, from grades with ratings of people, and those of the judge alone.

    Other measures have none.
    """
    from exam_pp.metrics.fair_sample import DecidedUnits  # noqa: PLC0415 - numpy is slow to import

    covers = (Cover(min_grade, cutoff) for min_grade in range(1, data.highest_grade + 1))
    for cover in (each for each in covers if str(each) == metric):
        for query in data.queries:
            alone, weights = of_judge.queries[query.query_id], query.weights or [1.0] * len(query.entries)
            yield DecidedUnits.of_query(
                query, alone, list(query.entries), weights, cover.measure, ranks, cutoff
            )


@dataclass
class _RankCounts:
    """Counts of ranked and ungraded passages, uncovered and missing queries, for the notes."""

    ranked: int = 0
    ungraded: int = 0
    uncovered_queries: dict[int, list[str]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)

    def add(
        self, query: GradedQuery, first_ranks: Mapping[str, int], cutoff: int, min_grades: Sequence[int]
    ) -> None:
        for system, first_rank in first_ranks.items():
            if system not in query.rankings:
                self.missing.setdefault(system, []).append(query.query_id)
            top = query.top(system, first_rank, cutoff)
            self.ranked += len(top)
            self.ungraded += sum(not query.passages[index].levels for index in top)
        for min_grade in min_grades:
            if not any(query.reached(min_grade)):
                self.uncovered_queries.setdefault(min_grade, []).append(query.query_id)


def _cover_notes(data: SelectedGrades, counts: _RankCounts, *, soft: bool, of_answers: bool) -> list[str]:
    notes = []
    if data.bank is None:
        notes.append(
            "No --bank: the entries of a query are those that have grades, so ungraded entries are missing "
            "from the denominator."
        )
    if not data.file.first_ranks:
        notes.append("The file has no rankings: only the overall upper bound can be computed.")
        return notes
    if counts.ungraded:
        notes.append(
            f"{counts.ungraded} of {counts.ranked} "
            f"{'parts of answers' if of_answers else 'ranked passages within the cutoff'} have no grade, so "
            "they cover no entries."
        )
    evaluated = {query.query_id for query in data.queries}
    empty = Counter(system for system, query_id in data.file.empty_answers if query_id in evaluated)
    for system, number in empty.items():
        answers = counted(len(data.queries) - len(counts.missing.get(system, ())), "answer")
        notes.append(f"{number} of {system}'s {answers} {'is' if number == 1 else 'are'} empty.")
    if soft and data.file.low_masses:
        notes.append(
            f"{data.file.low_masses} of {data.file.soft_grades} soft grades have a mass below {LOW_MASS}: "
            "the model gave less than this probability to the labels of the scale, so the shares say little."
        )
    for min_grade, queries in counts.uncovered_queries.items() if not soft else ():
        uncovered = counted_names(queries, "query", "queries")
        notes.append(
            f"No {'answer' if of_answers else 'passage'} covers an entry of {uncovered}: "
            f"nCover(min_grade={min_grade}) is 0 there."
        )
    return notes
