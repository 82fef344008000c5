"""Rubric-Cover of systems, with notes on data that affect the numbers: skipped queries, ungraded entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from exam_pp.data_model import Role, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.llm_requests import LOW_MASS
from exam_pp.metrics.cover import Cover, SoftCover
from exam_pp.metrics.grade_masks import DefaultCutoff
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, loaded
from exam_pp.phases.evaluation.result import (
    Corrections,
    Evaluation,
    MissingQueries,
    check_names,
    lacking,
    missing_query_notes,
    noted_names,
)
from exam_pp.phases.evaluation.selected_grades import (
    SelectedGrades,
    depth_notes,
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
    units = partial(_units, data, ranks, cutoff or data.file.cutoff)
    return Corrections.between(data.selector.review.by, list(ranks), of_judge, scored, units)


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
    negative = sum(query.weights.negative.bit_count() for query in data.queries)
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
            for normalised in ((False,) if negative else (False, True))
        ]
        # A probability can reach a threshold that no grade reaches, so soft scores have no such notes.
        notes += [note for grade in min_grades for note in threshold_notes(replace(data, min_grade=grade))]
    evaluation = Evaluation(Scores(), notes, Scores(), Scores())
    if negative:
        notes.append(f"nCover is left out, because the bank has {counted(negative, 'negative weight')}.")
        lowest = min(query.weights.lowest for query in data.queries)
        evaluation.ranges = {str(metric): (lowest, 1.0) for metric in metrics}
    # The systems of the whole file: a system without results for a query scores 0 there.
    ranked = data.file.first_ranks
    evaluation.of_answers = isinstance(cutoff, DefaultCutoff) and 0 < len(ranked) == len(data.file.answering)
    evaluation.provenance = replace(
        data.provenance,
        cutoff=None if evaluation.of_answers else cutoff,
        min_grades=tuple(min_grades),
    )
    check_names([query.query_id for query in data.queries], ranked)
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
    missing = lacking(ranked, {query.query_id: query.rankings for query in data.queries})
    evaluation.notes += depth_notes(data.file, cutoff, data.source, data.queries)
    evaluation.notes += _cover_notes(
        data, missing, cutoff, () if soft else min_grades, of_answers=evaluation.of_answers
    )
    if missing_queries == "zero":
        evaluation.notes += missing_query_notes(missing)
        evaluation.lacking = {system: len(of_system) for system, of_system in missing.items()}
    # Ungraded pairs may change no score, and reports need no bounds that equal the scores.
    if not bounded:
        evaluation.worst_case, evaluation.best_case = [], []
    return evaluation


def _units(
    data: SelectedGrades, ranks: Mapping[str, int], cutoff: int, of_judge: SelectedGrades, metric: str
) -> Iterator[DecidedUnits]:
    """The units of Rubric-Cover, from grades with ratings of people, and those of the judge alone.

    Other measures have none.
    """
    from exam_pp.metrics.fair_sample import DecidedUnits  # noqa: PLC0415 - numpy is slow to import

    covers = (Cover(min_grade, cutoff) for min_grade in range(1, data.highest_grade + 1))
    for cover in (each for each in covers if str(each) == metric):
        for query in data.queries:
            alone = of_judge.file.queries[query.query_id]
            if not query.weights.groups:
                entries = list(query.entries)
                yield DecidedUnits.of_query(
                    query, alone, entries, query.weights, cover.measure, ranks, cutoff
                )


def _cover_notes(
    data: SelectedGrades,
    missing: Mapping[str, Sequence[str]],
    cutoff: int,
    min_grades: Sequence[int],
    *,
    of_answers: bool,
) -> Iterator[str]:
    """Notes on what affects the scores; those of grades need thresholds, which soft scores do not have."""
    if data.bank is None:
        yield (
            "No --bank: the entries of a query are those that have grades, so ungraded entries are missing "
            "from the denominator."
        )
    ranks = data.file.first_ranks
    if not ranks:
        yield "The file has no rankings: only the overall upper bound can be computed."
        return
    tops = ((query, query.top(system, ranks[system], cutoff)) for query in data.queries for system in ranks)
    graded = [bool(query.passages[index].levels) for query, top in tops for index in top]
    if not all(graded):
        yield (
            f"{graded.count(False)} of {len(graded)} "
            f"{'parts of answers' if of_answers else 'ranked passages within the cutoff'} have no grade, so "
            "they cover no entries."
        )
    evaluated = {query.query_id for query in data.queries}
    empty = Counter(system for system, query_id in data.file.empty_answers if query_id in evaluated)
    for system, number in empty.items():
        answers = counted(len(data.queries) - len(missing.get(system, ())), "answer")
        yield f"{number} of {system}'s {answers} {'is' if number == 1 else 'are'} empty."
    if not min_grades and data.file.low_masses:
        yield (
            f"{data.file.low_masses} of {data.file.soft_grades} soft grades have a mass below {LOW_MASS}: "
            "the model gave less than this probability to the labels of the scale, so the shares say little."
        )
    covering = "answer" if of_answers else "passage"
    for grade in min_grades:
        uncovered = [query.query_id for query in data.queries if not any(query.reached(grade))]
        text = f"No {covering} covers an entry of {{}}: nCover(min_grade={grade}) is 0 there."
        yield from noted_names(uncovered, text, "query", "queries")
