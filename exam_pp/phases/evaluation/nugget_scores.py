"""Nugget scores of answers from nugget assignments, for every grader in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from exam_pp.data_model import Role
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, grader_names
from exam_pp.metrics.nuggets import LENGTH, NUGGET_METRICS, LabelledNugget, MissingVital, answer_length
from exam_pp.metrics.nuggets import nugget_scores as scores_of_answer
from exam_pp.phases.evaluation.inputs import (
    Bank,
    Passages,
    Queries,
    bank_of,
    name_of,
    query_ids,
)
from exam_pp.phases.evaluation.nugget_answers import LabelledAnswers, labelled_answers
from exam_pp.phases.evaluation.nugget_labels import Labels, labels_in_order
from exam_pp.phases.evaluation.nugget_notes import MissingRules, NuggetCounts
from exam_pp.phases.evaluation.result import (
    Evaluation,
    MissingQueries,
    PathLike,
    check_names,
)
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import file_names, graded_by
from exam_pp.results import Score, Scores
from exam_pp.test_bank import Entry, TestBank

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

    Returns:
        Grader (model, prompt class, or both) to the scores of all systems: V_strict, V, W_strict, W, A_strict
        and A in 0..1, and L, the number of words. In ``best_case``, ungraded nuggets count as supported.

    Raises:
        SelectionError: There are no assignments, or no assigned nugget is in the bank.
        DataError: A file is not in its format.
    """
    items = _selected_items(bank, queries)
    criteria = with_aliases(grade_filter or GradeFilter())
    assigned = labelled_answers(answers, criteria, cutoff, role, canaries=canaries)
    _check_ids(assigned, items, name_of(answers, "the passages"), name_of(bank, "the bank"))
    rules = MissingRules(missing_queries, missing_vital)
    name = grader_names(list(assigned.graders))
    return {
        name(key): replace(
            _evaluate(key, list(systems), assigned, items, rules),
            provenance=replace(graded_by([key]), banks=file_names(bank), queries=len(items), cutoff=cutoff),
        )
        for key, systems in assigned.graders.items()
    }


def sanity_scores(bank: Bank, *, queries: Queries | None = None) -> list[Score]:
    """The scores of two artificial runs that bound all scores: every nugget supported, and empty answers.

    The length of the first is that of all nuggets together. They correspond to the runs all_nuggets and
    test_empty_list of the coordinators in Table 8 of Pradeep et al. (2024). Raises
    :class:`~exam_pp.errors.ExamError` as :func:`nugget_scores` does.
    """
    rows: list[Score] = []
    for query_id, entries in _selected_items(bank, queries).items():
        words = sum(answer_length(entry.text) for entry in entries)
        for system, label, length in ((ALL_NUGGETS, "support", words), (EMPTY_ANSWERS, "not_support", 0)):
            nuggets = [LabelledNugget(entry.importance, label) for entry in entries]
            _add_rows(rows, system, query_id, scores_of_answer(nuggets), length)
    return rows


def _selected_items(bank: Bank, queries: Queries | None) -> dict[str, list[Entry]]:
    """The nuggets of each query, or of the selected ones; raises :class:`SelectionError` if none remain."""
    nuggets = bank_of(bank)
    nuggets.require_kind("nugget", "A nugget score")
    items = bank_items(nuggets)
    if queries is None:
        return items
    selected = query_ids(queries)
    items = {query_id: entries for query_id, entries in items.items() if query_id in selected}
    if not items:
        listed, bank_name = name_of(queries, "the list of queries"), name_of(bank, "the bank")
        raise SelectionError(f"None of the queries in {listed} has nuggets in {bank_name}.")
    return items


def bank_items(bank: TestBank) -> dict[str, list[Entry]]:
    """Query id to nuggets, with duplicates, because published scores count every duplicate."""
    items: dict[str, list[Entry]] = {}
    for line in bank.lines:
        items.setdefault(line.query_id, []).extend(line.items)
    return {query_id: entries for query_id, entries in items.items() if entries}


def _check_ids(
    answers: LabelledAnswers, items: Mapping[str, Sequence[Entry]], graded: PathLike, bank: PathLike
) -> None:
    labelled = {
        (query_id, nugget_id)
        for query_id, systems in answers.by_query.items()
        for answer in systems.values()
        for labels in answer.labels.values()
        for nugget_id in labels
    }
    known = {(query_id, entry.entry_id) for query_id, entries in items.items() for entry in entries}
    if labelled and not labelled & known:
        raise SelectionError(f"None of the nuggets assigned in {graded} is in {bank}.")


def _evaluate(
    key: GradeKey,
    systems: Sequence[str],
    answers: LabelledAnswers,
    items: Mapping[str, Sequence[Entry]],
    rules: MissingRules,
) -> Evaluation:
    check_names(items, systems)
    evaluation = Evaluation()
    counts = NuggetCounts(key, systems, rules)
    for query_id, entries in items.items():
        of_query = answers.by_query.get(query_id, {})
        for system in systems:
            answer = of_query.get(system)
            length = answer.length if answer else 0
            labels = answer.labels.get(key, {}) if answer and length else None
            nuggets = _labelled(entries, labels)
            counts.add(query_id, system, nuggets, answer)
            if answer is None and rules.missing_queries == "skip":
                continue
            scores = scores_of_answer(nuggets, missing_vital=rules.missing_vital)
            _add_rows(evaluation.scores, system, query_id, scores, length)
            best = scores_of_answer(nuggets, ungraded="support", missing_vital=rules.missing_vital)
            evaluation.best_case.extend(Score(system, query_id, metric, best[metric]) for metric in best)
    if not counts.ungraded:
        evaluation.best_case = []
    evaluation.notes = list(counts.notes(answers, items))
    return evaluation


def _labelled(entries: Sequence[Entry], labels: Labels | None) -> list[LabelledNugget]:
    """The bank's nuggets with their labels; all are ``not_support`` without an answer (None)."""
    if labels is None:
        return [LabelledNugget(entry.importance, "not_support") for entry in entries]
    ordered = labels_in_order(entries, labels)
    return [LabelledNugget(entry.importance, label) for entry, label in zip(entries, ordered, strict=True)]


def _add_rows(
    rows: list[Score] | Scores, system: str, query_id: str, scores: Mapping[str, float], length: int
) -> None:
    rows.extend(
        Score(system, query_id, metric, scores[metric]) for metric in NUGGET_METRICS if metric in scores
    )
    rows.extend([Score(system, query_id, LENGTH, float(length))])
