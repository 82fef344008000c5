"""Nugget scores of answers from nugget assignments, for every grader in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import fsum
from typing import TYPE_CHECKING, Literal, NamedTuple

from exam_pp.banks import Entry, TestBank
from exam_pp.data_model import AnyGrades, QueryView, Role
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector, grader_names, judges_of
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery, gather
from exam_pp.metrics.measures import LENGTH, NUGGET_MEASURES, Measure, answer_length, union
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, bank_of, name_of, query_ids, views
from exam_pp.phases.evaluation.result import (
    Corrections,
    Evaluation,
    MissingQueries,
    PathLike,
    check_names,
    counted_names,
)
from exam_pp.phases.evaluation.selected_grades import origin
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.results import Score
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.metrics.fair_sample import DecidedUnits

MissingVital = Literal["zero", "skip"]
"""V and V_strict of a query without vital nuggets: 0, or undefined."""
Entries = Mapping[str, Mapping[str, Entry]]
"""Query id to its nuggets; every copy in the bank counts (:attr:`exam_pp.banks.TestBank.copies`)."""


def assigns_nuggets(grades: AnyGrades) -> bool:
    """Whether grades are labels of nuggets; those of reviewers are stored as ratings."""
    prompt = PROMPTS.find(grades.prompt_class)
    return grades.nugget_labels() is not None or (prompt is not None and prompt.kind == "assignment")


ALL_NUGGETS = "_all_nuggets_"
"""Name of the artificial run whose answers support every nugget: the highest possible scores."""
EMPTY_ANSWERS = "_empty_answers_"
"""Name of the artificial run of empty answers: the lowest possible scores."""


def nugget_scores(
    answers: Passages,
    bank: Bank,
    *,
    grade_filter: GradeFilter | None = None,
    queries: Queries | None = None,
    cutoff: int | None = None,
    missing_queries: MissingQueries = "zero",
    missing_vital: MissingVital = "zero",
    role: Role | None = None,
    canaries: bool = False,
    reviewed: bool = True,
    measures: Sequence[Measure] = NUGGET_MEASURES,
) -> dict[str, Evaluation]:
    """Nugget scores of generated answers, from nugget assignments.

    Source: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the
    AutoNuggetizer Framework" (2024), section 3.5.

    Args:
        answers: Answers as passages with nugget assignments: a file, or queries. A system's answer consists
            of all passages that it ranks; the best label of these passages counts for each nugget.
        bank: The nuggets with their importance. Means are over the queries of the bank.
        grade_filter: Selects grades. Default: all grades.
        queries: Query file or query ids to restrict the evaluation to.
        cutoff: Number of ranks of each system that count, for retrieved passages. None: all passages.
        missing_queries: ``zero``: a query without an answer of a system scores 0. ``skip``: it is not in the
            means of the system, as in the track's own code. An empty answer scores 0 in both cases.
        missing_vital: ``zero``: V and V_strict are 0 for a query without vital nuggets, as in the track's own
            code. ``skip``: they have no score for it. So are W and W_strict without vital and okay nuggets.
        role: Evaluate only what systems ``retrieved``, or only each ``answer``. None: as for
            :func:`exam_pp.cover`.
        canaries: Whether canaries are systems of the evaluation, like any other.
        reviewed: Whether labels of people count in place of a judge's; False: every grader has its scores.
        measures: Rows of :data:`exam_pp.metrics.measures.NUGGET_MEASURES`, or others of the same form.

    Returns:
        Grader (model, prompt class, or both) to the scores of all systems: V_strict, V, W_strict, W, A_strict
        and A in 0..1, and L, the number of words. In ``best_case``, ungraded nuggets count as supported.

    Raises:
        SelectionError: There are no assignments, or no assigned nugget is in the bank.
        DataError: A file is not in its format.
    """
    test_bank = bank_of(bank)
    entries = _selected_entries(test_bank, queries, bank)
    criteria = with_aliases(grade_filter or GradeFilter())
    criteria = criteria.for_scores if reviewed else criteria
    rules = MissingRules(missing_queries, missing_vital)
    source = name_of(answers, "the passages")
    read = views(answers, role, canaries=canaries)
    lengths = _lengths(read)
    evaluations: dict[GradeKey, Evaluation] = {}
    labelled = known = False
    for grader, systems in _graders(read, criteria, source).items():
        only = replace(criteria, model=grader.model, prompt_class=grader.prompt_class)
        only = replace(only, reviewed=only.reviewed and not grader.is_reviewer)
        selector = GradeSelector(only)
        file = gather(read, selector, test_bank, each_copy=True)
        selector.check(str(source))
        scored = partial(_evaluate, list(systems), entries, lengths, cutoff or sys.maxsize, measures, rules)
        evaluation = scored(file)
        evaluation.provenance = replace(
            origin(selector, file, bank, test_bank), queries=len(entries), cutoff=cutoff
        )
        if selector.review.rated:
            of_judge = cache(
                partial(gather, read, GradeSelector(replace(only, reviewed=False)), test_bank, each_copy=True)
            )
            evaluation.corrections = Corrections(
                selector.review.by,
                list(systems),
                cache(partial(_alone, scored, of_judge)),
                cache(
                    partial(_units, file, of_judge, list(systems), entries, cutoff or sys.maxsize, measures)
                ),
            )
        evaluations[selector.key] = evaluation
        labelled = labelled or bool(file.graded or file.foreign)
        known = known or any(query_id in file.graded for query_id in entries)
    if labelled and not known:
        raise SelectionError(f"None of the nuggets assigned in {source} is in {name_of(bank, 'the bank')}.")
    name = grader_names(list(evaluations))
    return {name(key): evaluation for key, evaluation in evaluations.items()}


def _graders(
    queries: Iterable[QueryView], criteria: GradeFilter, source: PathLike
) -> dict[GradeKey, dict[str, None]]:
    """The graders whose labels of nuggets the filter selects, with the systems that each graded.

    Every grader has all systems whose answers are empty, because nothing is there to label. Raises
    :class:`SelectionError` if no labels are selected.
    """
    graders: dict[GradeKey, dict[str, None]] = {}
    available: set[GradeKey] = set()
    empty: dict[str, bool] = {}
    for query in queries:
        for passage in query.passages:
            methods = [ranking.method for ranking in passage.rankings]
            for method in methods:
                empty[method] = empty.get(method, True) and not passage.text.strip()
            for grades in passage.grade_sets():
                key = GradeKey.of(grades, criteria)
                available.add(key)
                if criteria.accepts(grades) and assigns_nuggets(grades):
                    graders.setdefault(key, {}).update(dict.fromkeys(methods))
    if not any(graders.values()):
        if graders:
            raise SelectionError(f"No system in {source} has a passage with nugget assignments.")
        listed = f" (it has: {'; '.join(map(str, sorted(available)))})" if available else ""
        raise SelectionError(
            f"No nugget assignments in {source} match the selection{listed}. Make them with `exam-pp grade "
            "--prompt nugget-assignment`, or import them with `exam-pp import --from "
            "nuggetizer-assignments`."
        )
    for of_grader in graders.values():
        of_grader |= {method: None for method, is_empty in empty.items() if is_empty}
    if not criteria.reviewed:
        return graders
    judges = judges_of(graders)
    for person in [key for key in graders if key not in judges]:
        for judge in judges:
            if judge.prompt_class == person.prompt_class:
                graders[judge].update(graders[person])
    return {judge: graders[judge] for judge in judges}


def _lengths(queries: Iterable[QueryView]) -> dict[str, dict[str, int]]:
    """Query id to passage id to the number of words."""
    lengths: dict[str, dict[str, int]] = {}
    for query in queries:
        of_query = lengths.setdefault(query.query_id, {})
        for passage in query.passages:
            of_query.setdefault(passage.passage_id, answer_length(passage.text))
    return lengths


class _Weighted(NamedTuple):
    """A measure with the weights of a query's entries, and their sum."""

    measure: Measure
    weights: Sequence[float]
    whole: float


def _weighted(measures: Iterable[Measure], entries: Mapping[str, Entry]) -> list[_Weighted]:
    return [
        _Weighted(measure, weights, fsum(weights))
        for measure in measures
        for weights in [measure.weights(entries.values())]
    ]


def _scores(
    system: str, query_id: str, measures: Iterable[_Weighted], reached: Mapping[int, int], rules: MissingRules
) -> Iterator[Score]:
    """A score of each measure for the masks of the entries that reach each grade."""
    for measure, weights, whole in measures:
        share = measure.share(reached, weights, whole)
        if share is not None or rules.missing_vital == "zero":
            yield Score(system, query_id, measure.name, share or 0.0)


def sanity_scores(
    bank: Bank, *, queries: Queries | None = None, measures: Sequence[Measure] = NUGGET_MEASURES
) -> list[Score]:
    """The scores of two artificial runs that bound all scores: every nugget supported, and empty answers.

    The length of the first is that of all nuggets together. They correspond to the runs all_nuggets and
    test_empty_list of the coordinators in Table 8 of Pradeep et al. (2024). Raises
    :class:`~exam_pp.errors.ExamError` as :func:`nugget_scores` does.
    """
    rows: list[Score] = []
    for query_id, entries in _selected_entries(bank_of(bank), queries, bank).items():
        words = sum(answer_length(entry.text) for entry in entries.values())
        weighted, every = _weighted(measures, entries), (1 << len(entries)) - 1
        for system, mask, length in ((ALL_NUGGETS, every, words), (EMPTY_ANSWERS, 0, 0)):
            reached = dict.fromkeys(_LABELS, mask)
            rows += _scores(system, query_id, weighted, reached, MissingRules("zero", "zero"))
            rows.append(Score(system, query_id, LENGTH, float(length)))
    return rows


_LABELS = (1, 2)
"""The grades of nuggets with support, partial and full."""


def _selected_entries(nuggets: TestBank, queries: Queries | None, bank: Bank) -> Entries:
    """The nuggets of each query, or of the selected ones; raises :class:`SelectionError` if none remain.

    ``bank`` names the bank in messages.
    """
    nuggets.require_kind("nugget", "A nugget score", " For questions, use `exam-pp evaluate cover`.")
    if queries is None:
        return nuggets.copies
    selected = query_ids(queries)
    entries = {query_id: of_query for query_id, of_query in nuggets.copies.items() if query_id in selected}
    if not entries:
        listed, bank_name = name_of(queries, "the list of queries"), name_of(bank, "the bank")
        raise SelectionError(f"None of the queries in {listed} has nuggets in {bank_name}.")
    return entries


def _evaluate(
    systems: Sequence[str],
    entries: Entries,
    lengths: Mapping[str, Mapping[str, int]],
    cutoff: int,
    measures: Sequence[Measure],
    rules: MissingRules,
    file: GradedFile,
) -> Evaluation:
    check_names(entries, systems)
    evaluation = Evaluation(of_answers=True)
    counts = _Counts(systems, rules)
    for query_id, of_query in entries.items():
        query = _query(file, query_id, of_query)
        weighted = _weighted(measures, of_query)
        for system in systems:
            top = query.top(system, file.first_ranks.get(system, 1), cutoff)
            words = sum(lengths[query_id][query.passages[index].passage_id] for index in top)
            # Labels of an empty text count nothing, and nobody is asked for them.
            top = top if words else []
            graded = union(query.passages[index].graded for index in top if index not in query.without_text)
            open_ = query.all_entries & ~graded if top else 0
            ranked = system in query.rankings
            counts.add(query_id, system, ranked=ranked, parts=len(top), ungraded=open_.bit_count())
            if not ranked and rules.missing_queries == "skip":
                continue
            reached = {grade: union(query.reached(grade)[index] for index in top) for grade in _LABELS}
            evaluation.scores.extend(_scores(system, query_id, weighted, reached, rules))
            evaluation.scores.extend([Score(system, query_id, LENGTH, float(words))])
            possible = {grade: mask | open_ for grade, mask in reached.items()}
            evaluation.best_case.extend(_scores(system, query_id, weighted, possible, rules))
    if not counts.ungraded:
        evaluation.best_case = []
    evaluation.notes = list(counts.notes(file, entries))
    if rules.missing_queries == "zero":
        evaluation.lacking = {system: len(of_system) for system, of_system in counts.lacking.items()}
    return evaluation


def _alone(scored: Callable[[GradedFile], Evaluation], of_judge: Callable[[], GradedFile]) -> Evaluation:
    return scored(of_judge())


def _units(
    file: GradedFile,
    of_judge: Callable[[], GradedFile],
    systems: Sequence[str],
    entries: Entries,
    cutoff: int,
    measures: Sequence[Measure],
    metric: str,
) -> list[DecidedUnits]:
    """The units of a measure: the nuggets of a query, which count as they do in the measure."""
    from exam_pp.metrics.fair_sample import DecidedUnits  # noqa: PLC0415 - numpy is slow to import

    measure = next(each for each in measures if each.name == metric)
    ranks, alone = {system: file.first_ranks.get(system, 1) for system in systems}, of_judge()
    return [
        DecidedUnits.of_query(
            _query(file, query_id, of_query),
            _query(alone, query_id, of_query),
            [entry.entry_id for entry in of_query.values()],
            measure.weights(of_query.values()),
            measure,
            ranks,
            cutoff,
        )
        for query_id, of_query in entries.items()
    ]


def _query(file: GradedFile, query_id: str, entries: Iterable[str]) -> GradedQuery:
    """The query, also if the file does not have it."""
    return file.queries.get(query_id) or GradedQuery(
        query_id, {key: position for position, key in enumerate(entries)}
    )


_HINT = "Exclude such queries with --queries."


class MissingRules(NamedTuple):
    """The scores of queries without an answer, and without a vital nugget."""

    missing_queries: MissingQueries
    missing_vital: MissingVital


@dataclass
class _Counts:
    """Counts of ungraded pairs, split answers, empty and missing answers, for the notes."""

    systems: Sequence[str]
    rules: MissingRules
    ungraded: int = 0
    answered: set[str] = field(default_factory=set)
    split_answers: dict[str, None] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    lacking: dict[str, list[str]] = field(default_factory=dict)

    def add(self, query_id: str, system: str, *, ranked: bool, parts: int, ungraded: int) -> None:
        """Count an answer to a query, or that there is none: no part with text, or none at all."""
        self.ungraded += ungraded
        if not ranked:
            self.lacking.setdefault(system, []).append(query_id)
        if parts:
            self.answered.add(query_id)
            if parts > 1:
                self.split_answers[system] = None
        elif ranked or self.rules.missing_queries == "zero":
            self.missing.setdefault(query_id, []).append(system)

    def notes(self, file: GradedFile, entries: Entries) -> Iterator[str]:
        """Notes on skipped, missing and ungraded data that affect the scores."""
        yield from _bank_notes(entries, self.rules.missing_vital)
        if self.ungraded:
            pairs, are = counted(self.ungraded, "pair"), "is" if self.ungraded == 1 else "are"
            yield f"{pairs} of an answer and a nugget {are} ungraded: each scores 0."
        labelled = {query.query_id for query in file.queries.values() if query.asked or query.foreign}
        if untouched := [query_id for query_id in entries if query_id in self.answered - labelled]:
            of = counted_names(untouched, "query", "queries")
            yield f"This grader labelled no answer to {of}: all systems score 0 there. {_HINT}"
        if foreign := sum(len(file.foreign.get(query_id, ())) for query_id in entries):
            are = counted(foreign, "assigned nugget that is", "assigned nuggets that are")
            yield f"Ignored {are} not in the bank."
        yield from self._missing_notes()
        if self.split_answers:
            systems = counted_names(list(self.split_answers), "system", "systems")
            yield f"Answers of {systems} have several passages: the best label of each nugget counts."
        if outside := [query_id for query_id in file.queries if query_id not in entries]:
            yield f"Skipped {counted_names(outside, 'query', 'queries')} without nuggets in the bank."
        if ungraded_systems := sorted(file.first_ranks.keys() - set(self.systems)):
            skipped = counted_names(ungraded_systems, "system", "systems")
            yield f"Skipped {skipped} without assignments by this grader."

    def _missing_notes(self) -> Iterator[str]:
        unanswered = [q for q, systems in self.missing.items() if len(systems) == len(self.systems)]
        if unanswered:
            of = counted_names(unanswered, "query", "queries")
            yield f"No system answers {of} of the bank: all systems score 0 there. {_HINT}"
        by_system: dict[str, list[str]] = {}
        for query_id, systems in self.missing.items():
            for system in systems if query_id not in unanswered else ():
                by_system.setdefault(system, []).append(query_id)
        for system, queries in by_system.items():
            of = counted_names(queries, "query", "queries")
            yield f"{system} has no answer with text to {of} and scores 0 there."
        for system, queries in self.lacking.items() if self.rules.missing_queries == "skip" else ():
            yield f"{system} has no answer to {counted_names(queries, 'query', 'queries')}: not in its means."


def _bank_notes(items: Entries, missing_vital: MissingVital) -> Iterator[str]:
    all_nuggets = [entry for entries in items.values() for entry in entries.values()]
    unknown = sum(entry.importance not in ("vital", "okay") for entry in all_nuggets)
    if unknown == len(all_nuggets):
        yield "No nugget of the bank is vital or okay: only A_strict and A compare answers."
    else:
        yield from _missing_importance(items, missing_vital)
        if unknown:
            are = counted(unknown, "nugget is", "nuggets are")
            yield f"{are} neither vital nor okay: only A and A_strict include them."
    if copies := len(all_nuggets) - len({(entry.query_id, entry.entry_id) for entry in all_nuggets}):
        duplicates = counted(copies, "duplicate nugget")
        yield f"{duplicates} in the bank: every copy counts, as in the published scores."


def _missing_importance(items: Entries, missing_vital: MissingVital) -> Iterator[str]:
    rule = "0 there" if missing_vital == "zero" else "undefined there, and not in their means"
    for importances, labels, metrics in (
        ({"vital"}, "vital", "V and V_strict"),
        ({"vital", "okay"}, "vital or okay", "W and W_strict"),
    ):
        without = [
            query_id
            for query_id, entries in items.items()
            if importances.isdisjoint(entry.importance for entry in entries.values())
        ]
        if without:
            of = counted_names(without, "query", "queries")
            yield f"No {labels} nugget for {of}: {metrics} are {rule}."
