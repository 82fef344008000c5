"""Nugget scores of answers from nugget assignments, for every grader in a file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from exam_pp.banks import Entry, TestBank
from exam_pp.data_model import AnyGrades, QueryView, Role
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector, grader_names, judges_of
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery, gather
from exam_pp.metrics.measures import (
    CONTRADICTS,
    LENGTH,
    Measure,
    MeasureName,
    Range,
    Weights,
    answer_length,
    known_measures,
    measures_of,
    union,
)
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, bank_of, name_of, query_ids, views
from exam_pp.phases.evaluation.result import (
    Corrections,
    Evaluation,
    MissingQueries,
    PathLike,
    check_names,
    counted_names,
    lacking,
    noted_names,
)
from exam_pp.phases.evaluation.selected_grades import origin
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.results import Score
from exam_pp.text.wording import counted, noted

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
"""Name of the artificial run of empty answers: the lowest possible scores without negative weights."""
ONLY_MISTAKES = "_only_mistakes_"
"""Name of the artificial run whose answers make every mistake, and nothing else."""


def rubric_scores(
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
    measures: Sequence[Measure | str] | None = None,
) -> dict[str, Evaluation]:
    """Scores of generated answers from the labels of nuggets or criteria; also called ``nugget_scores``.

    Source of V, W and A: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with
    the AutoNuggetizer Framework" (2024), section 3.5.

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
        measures: Names of `exam-pp list measures`, or measures of your own. Default: what fits the bank:
            V_strict, V, W_strict, W, A_strict and A for nuggets, Rubric and Rubric_strict for criteria,
            Supported and Contradicted for questions with several answers, Coverage for groups of AND and OR.

    Returns:
        Grader (model, prompt class, or both) to the scores of all systems, and L, the number of words. In
        ``best_case``, ungraded nuggets count as supported, and ungraded mistakes as avoided.

    Raises:
        SelectionError: There are no assignments, or no assigned nugget is in the bank.
        DataError: A file is not in its format.
    """
    test_bank = bank_of(bank)
    measures = measures_of(test_bank) if measures is None else known_measures(measures)
    entries = _selected_entries(test_bank, queries, bank)
    criteria = with_aliases(grade_filter or GradeFilter())
    criteria = criteria.for_scores if reviewed else criteria
    source = name_of(answers, "the passages")
    read = views(answers, role, canaries=canaries)
    depth = cutoff or sys.maxsize
    # Of a passage that is listed twice, the first text counts.
    words = {
        (query.query_id, passage.passage_id): answer_length(passage.text)
        for query in reversed(read)
        for passage in reversed(query.passages)
    }
    evaluations: dict[GradeKey, Evaluation] = {}
    labelled = known = False
    for grader, systems in _graders(read, criteria, source).items():
        only = replace(criteria, model=grader.model, prompt_class=grader.prompt_class)
        only = replace(only, reviewed=only.reviewed and not grader.is_reviewer)
        selector = GradeSelector(only)
        file = gather(read, selector, test_bank, each_copy=True)
        selector.check(str(source))
        scored = partial(_evaluate, systems, entries, words, depth, measures, missing_queries, missing_vital)
        evaluation = scored(file)
        evaluation.provenance = replace(
            origin(selector, file, bank, test_bank), queries=len(entries), cutoff=cutoff
        )
        if selector.review.rated:
            judge = GradeSelector(replace(only, reviewed=False))
            evaluation.corrections = Corrections.between(
                selector.review.by,
                systems,
                partial(gather, read, judge, test_bank, each_copy=True),
                scored,
                partial(_units, file, systems, entries, depth, measures),
            )
        evaluations[selector.key] = evaluation
        labelled = labelled or bool(file.graded or file.foreign)
        known = known or any(query_id in file.graded for query_id in entries)
    if labelled and not known:
        raise SelectionError(f"None of the nuggets assigned in {source} is in {name_of(bank, 'the bank')}.")
    name = grader_names(list(evaluations))
    return {name(key): evaluation for key, evaluation in evaluations.items()}


nugget_scores = rubric_scores


def _graders(
    queries: Iterable[QueryView], criteria: GradeFilter, source: PathLike
) -> dict[GradeKey, list[str]]:
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
    # In files of labels without texts, all answers are empty.
    without_text = [] if all(empty.values()) else [method for method, is_empty in empty.items() if is_empty]
    for of_grader in graders.values():
        of_grader.update(dict.fromkeys(without_text))
    judges = judges_of(graders) if criteria.reviewed else list(graders)
    for person in [key for key in graders if key not in judges]:
        for judge in judges:
            if judge.prompt_class == person.prompt_class:
                graders[judge].update(graders[person])
    return {judge: list(graders[judge]) for judge in judges}


class _Weighted(NamedTuple):
    """A measure with the weights of a query's entries, and the highest sum of these."""

    measure: Measure
    weights: Weights
    whole: float

    def score(self, reached: Mapping[int, int], missing_vital: MissingVital) -> float | None:
        """The score for the masks of the entries that reach each grade; None: the query has no score."""
        share = self.measure.share(reached, self.weights, self.whole)
        return self.measure.empty if share is None and missing_vital == "zero" else share


def _weighted(measures: Iterable[Measure], entries: Mapping[str, Entry]) -> list[_Weighted]:
    every = (1 << len(entries)) - 1
    weights = ((measure, measure.weights(entries.values())) for measure in measures)
    return [_Weighted(measure, of_entries, of_entries.whole(every)) for measure, of_entries in weights]


def _scores(
    system: str,
    query_id: str,
    measures: Iterable[_Weighted],
    reached: Mapping[int, int],
    missing_vital: MissingVital = "zero",
) -> list[Score]:
    """A score of each measure for the masks of the entries that reach each grade."""
    values = ((each.measure.name, each.score(reached, missing_vital)) for each in measures)
    return [Score(system, query_id, name, value) for name, value in values if value is not None]


def _grades(measures: Iterable[Measure]) -> list[int]:
    return list(dict.fromkeys(grade for measure in measures for grade in measure.grades))


def sanity_scores(
    bank: Bank, *, queries: Queries | None = None, measures: Sequence[Measure] | None = None
) -> list[Score]:
    """The scores of two artificial runs that bound all scores: every nugget supported, and empty answers.

    Of entries with negative weights, the first has none; in place of the second is a run with all of these
    and nothing else. The length of a run is that of its nuggets together. They correspond to the runs
    all_nuggets and test_empty_list of the coordinators in Table 8 of Pradeep et al. (2024). Raises
    :class:`~exam_pp.errors.ExamError` as :func:`nugget_scores` does.
    """
    rows: list[Score] = []
    test_bank = bank_of(bank)
    measures = measures_of(test_bank) if measures is None else known_measures(measures)
    selected = _selected_entries(test_bank, queries, bank)
    lowest = EMPTY_ANSWERS
    if any(entry.weight < 0 for entries in selected.values() for entry in entries.values()):
        lowest = ONLY_MISTAKES
    for query_id, entries in selected.items():
        words = [answer_length(entry.text) for entry in entries.values()]
        for system, sign in ((ALL_NUGGETS, 1), (lowest, -1)):
            met = [entry.weight * sign > 0 for entry in entries.values()]
            mask = union(1 << position for position, is_met in enumerate(met) if is_met)
            reached = dict.fromkeys(_grades(measures), mask) | {CONTRADICTS: 0}
            rows += _scores(system, query_id, _weighted(measures, entries), reached)
            length = sum(number for number, is_met in zip(words, met, strict=True) if is_met)
            rows.append(Score(system, query_id, LENGTH, float(length)))
    return rows


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


class _Answer(NamedTuple):
    """What notes need of an answer: its parts, and the pairs with a nugget that are not graded.

    ``parts`` is 0 for an answer without text, too.
    """

    query_id: str
    system: str
    parts: int
    ungraded: int


def _evaluate(
    systems: Sequence[str],
    entries: Entries,
    words: Mapping[tuple[str, str], int],
    cutoff: int,
    measures: Sequence[Measure],
    missing_queries: MissingQueries,
    missing_vital: MissingVital,
    file: GradedFile,
) -> Evaluation:
    check_names(entries, systems)
    evaluation = Evaluation(of_answers=True)
    answers: list[_Answer] = []
    grades = _grades(measures)
    has_texts = any(words.values())
    for query_id, of_query in entries.items():
        query = _query(file, query_id, of_query)
        weighted = _weighted(measures, of_query)
        for system in systems:
            top = query.top(system, file.first_ranks.get(system, 1), cutoff)
            length = sum(words[query_id, query.passages[index].passage_id] for index in top)
            # Labels of an empty text count nothing, and nobody is asked for them, unless no text is known.
            top = top if length or not has_texts else []
            graded = union(query.passages[index].graded for index in top if index not in query.without_text)
            open_ = query.all_entries & ~graded if top else 0
            answers.append(_Answer(query_id, system, len(top), open_.bit_count()))
            if system not in query.rankings and missing_queries == "skip":
                continue
            reached = query.found(top, grades)
            evaluation.scores.extend(_scores(system, query_id, weighted, reached, missing_vital))
            evaluation.scores.extend([Score(system, query_id, LENGTH, float(length))])
            for each in weighted:
                ends = {grade: each.weights.extremes(mask, open_) for grade, mask in reached.items()}
                for end, scores in enumerate((evaluation.worst_case, evaluation.best_case)):
                    possible = {grade: masks[end] for grade, masks in ends.items()}
                    scores.extend(_scores(system, query_id, [each], possible, missing_vital))
    if not any(answer.ungraded for answer in answers):
        evaluation.worst_case, evaluation.best_case = [], []
    evaluation.ranges = _ranges(measures, entries)
    without = lacking(systems, {q: file.queries[q].rankings if q in file.queries else () for q in entries})
    if missing_queries == "zero":
        evaluation.lacking = {system: len(of_system) for system, of_system in without.items()}
    skipped = without if missing_queries == "skip" else {}
    evaluation.notes = [
        *_bank_notes(entries, measures, missing_vital),
        *_weight_notes(entries, measures, [each for each in answers if not each.parts]),
        *_label_notes(file, entries, answers),
        *_missing_notes(answers, systems, skipped),
        *_skipped_notes(file, entries, answers, systems),
    ]
    return evaluation


def _ranges(measures: Sequence[Measure], entries: Entries) -> dict[str, Range]:
    """The ranges of measures that negative weights lower, for a bank."""
    lowest = {
        measure.name: min((measure.weights(of.values()).lowest for of in entries.values()), default=0.0)
        for measure in measures
        if not measure.clip
    }
    return {name: (low, 1.0) for name, low in lowest.items() if low or MeasureName(name).range is None}


def _weight_notes(
    entries: Entries, measures: Sequence[Measure], without_answer: Sequence[_Answer]
) -> Iterator[str]:
    """Notes on what weights of 0 or below do to the scores."""
    by_bank = [measure for measure in measures if measure.words is None]
    losing = [
        query_id
        for query_id, of_query in entries.items()
        if not any(entry.weight > 0 for entry in of_query.values())
    ]
    if losing and by_bank:
        rules = [
            f"{measure.name} {'has no score' if measure.empty is None else _EMPTY[measure.from_one]} there"
            for measure in by_bank
        ]
        queries = counted_names(losing, "query", "queries")
        yield f"No positive weight for {queries}: {'; '.join(rules)}."
    for measure in by_bank:
        if measure.clip_mean:
            yield f"{measure.name}: means are shown from 0 to 1, and tests use the scores as they are."
    silent = Counter(
        answer.system
        for answer in without_answer
        if any(entry.weight < 0 for entry in entries[answer.query_id].values())
    )
    for system, number in silent.items() if by_bank else ():
        where = counted(number, "query", "queries")
        yield f"{system} avoids every mistake in {where} by not answering: its score is 0 there, not below."


_EMPTY = {False: "is 0", True: "is 1 less what is lost"}


def _units(
    file: GradedFile,
    systems: Sequence[str],
    entries: Entries,
    cutoff: int,
    measures: Sequence[Measure],
    alone: GradedFile,
    metric: str,
) -> list[DecidedUnits]:
    """The units of a measure: the nuggets of a query, which count as they do in the measure."""
    from exam_pp.metrics.fair_sample import DecidedUnits  # noqa: PLC0415 - numpy is slow to import

    measure = next(each for each in measures if each.name == metric)
    ranks = {system: file.first_ranks.get(system, 1) for system in systems}
    return [
        DecidedUnits.of_query(
            _query(file, query_id, of_query),
            _query(alone, query_id, of_query),
            [entry.entry_id for entry in of_query.values()],
            weights,
            measure,
            ranks,
            cutoff,
        )
        for query_id, of_query in entries.items()
        if not (weights := measure.weights(of_query.values())).groups
    ]


def _query(file: GradedFile, query_id: str, entries: Iterable[str]) -> GradedQuery:
    """The query, also if the file does not have it."""
    return file.queries.get(query_id) or GradedQuery(
        query_id, {key: position for position, key in enumerate(entries)}
    )


_HINT = "Exclude such queries with --queries."


def _label_notes(file: GradedFile, entries: Entries, answers: Sequence[_Answer]) -> Iterator[str]:
    """Notes on answers that the grader did not label, and on labels of other nuggets."""
    ungraded = sum(answer.ungraded for answer in answers)
    yield from noted(
        ungraded,
        "{} ungraded: each scores 0.",
        "pair of an answer and a nugget is",
        "pairs of an answer and a nugget are",
    )
    answered = {answer.query_id for answer in answers if answer.parts}
    labelled = {query.query_id for query in file.queries.values() if query.asked or query.foreign}
    untouched = [query_id for query_id in entries if query_id in answered - labelled]
    unlabelled = f"This grader labelled no answer to {{}}: all systems score 0 there. {_HINT}"
    yield from noted_names(untouched, unlabelled, "query", "queries")
    foreign = sum(len(file.foreign.get(query_id, ())) for query_id in entries)
    are = "assigned nugget that is", "assigned nuggets that are"
    yield from noted(foreign, "Ignored {} not in the bank.", *are)


def _missing_notes(
    answers: Sequence[_Answer], systems: Sequence[str], skipped: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Notes on answers without text; a system has no score for the queries that are ``skipped``."""
    by_query: dict[str, list[str]] = {}
    for answer in answers:
        if not answer.parts and answer.query_id not in skipped.get(answer.system, ()):
            by_query.setdefault(answer.query_id, []).append(answer.system)
    unanswered = [query_id for query_id, missing in by_query.items() if len(missing) == len(systems)]
    no_answer = f"No system answers {{}} of the bank: all systems score 0 there. {_HINT}"
    yield from noted_names(unanswered, no_answer, "query", "queries")
    by_system: dict[str, list[str]] = {}
    for query_id, missing in by_query.items():
        for system in missing if query_id not in unanswered else ():
            by_system.setdefault(system, []).append(query_id)
    for system, queries in by_system.items():
        of = counted_names(queries, "query", "queries")
        yield f"{system} has no answer with text to {of} and scores 0 there."
    for system, of_system in skipped.items():
        yield f"{system} has no answer to {counted_names(of_system, 'query', 'queries')}: not in its means."


def _skipped_notes(
    file: GradedFile, entries: Entries, answers: Sequence[_Answer], systems: Sequence[str]
) -> Iterator[str]:
    """Notes on answers of several passages, and on queries and systems without scores."""
    split = dict.fromkeys(answer.system for answer in answers if answer.parts > 1)
    several = "Answers of {} have several passages: the best label of each nugget counts."
    yield from noted_names(list(split), several, "system", "systems")
    outside = [query_id for query_id in file.queries if query_id not in entries]
    yield from noted_names(outside, "Skipped {} without nuggets in the bank.", "query", "queries")
    others = sorted(file.first_ranks.keys() - set(systems))
    yield from noted_names(others, "Skipped {} without assignments by this grader.", "system", "systems")


def _bank_notes(items: Entries, measures: Sequence[Measure], missing_vital: MissingVital) -> Iterator[str]:
    all_nuggets = [entry for entries in items.values() for entry in entries.values()]
    unknown = sum(entry.importance not in ("vital", "okay") for entry in all_nuggets)
    if all(measure.words is None for measure in measures):
        pass  # the importance of nuggets plays no part
    elif unknown == len(all_nuggets):
        yield "No nugget of the bank is vital or okay: only A_strict and A compare answers."
    else:
        yield from _missing_importance(items, missing_vital)
        neither = "{} neither vital nor okay: only A and A_strict include them."
        yield from noted(unknown, neither, "nugget is", "nuggets are")
    copies = len(all_nuggets) - len({(entry.query_id, entry.entry_id) for entry in all_nuggets})
    yield from noted(
        copies, "{} in the bank: every copy counts, as in the published scores.", "duplicate nugget"
    )


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
        text = f"No {labels} nugget for {{}}: {metrics} are {rule}."
        yield from noted_names(without, text, "query", "queries")
