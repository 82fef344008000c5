"""Share of the questions that each system answered, from verdicts whether its answers decline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.evaluation.inputs import Passages, Queries, name_of, query_ids, views
from exam_pp.phases.evaluation.result import Evaluation, check_names, counted_names
from exam_pp.prompts.direct import ANSWER_ATTEMPT
from exam_pp.provenance import graded_by
from exam_pp.results import ANSWERED, Score
from exam_pp.roles import DistinctNames, answers_in


def answered(
    passages: Passages, *, grade_filter: GradeFilter | None = None, queries: Queries | None = None
) -> Evaluation:
    """Whether each system answered each question, and the share of answered questions.

    Source: Open RAG Eval, metrics documentation, section "No-Answer Detection" (*Questions Answered*).

    Returns the scores of ``Answered``: 1 for an answer, 0 for an answer that declines. An answer without a
    verdict has no score. ``notes`` list these answers, and the queries to which a system has no answer: both
    are failures, and not in the share.
    """
    selector = GradeSelector(grade_filter or GradeFilter(prompt_class=ANSWER_ATTEMPT.name))
    selected = query_ids(queries) if queries is not None else None
    verdicts: dict[str, dict[str, int | None]] = {}
    asked: dict[str, None] = {}
    distinct = DistinctNames()
    for query in views(passages, mixed=True):
        if selected is not None and query.query_id not in selected:
            continue
        for system, positions in answers_in(query).items():
            asked[query.query_id] = None
            grades = [
                rating
                for position in positions
                for grade_set in selector.select(query.passages[position])
                for rating in grade_set.entry_ratings().values()
            ]
            verdicts.setdefault(distinct(system), {})[query.query_id] = grades[-1] if grades else None
    name = str(name_of(passages, "the passages"))
    if not verdicts:
        raise SelectionError(
            f"{name} has no answers of systems; import them with `exam-pp import --answers`."
        )
    selector.check(name)
    check_names(asked, verdicts)
    scores = [
        Score(system, query_id, ANSWERED, float(rating > 0))
        for system, of_system in verdicts.items()
        for query_id, rating in of_system.items()
        if rating is not None
    ]
    evaluation = Evaluation(scores, list(_failures(verdicts, list(asked))))
    evaluation.provenance = replace(graded_by([selector.key]), queries=len(asked))
    return evaluation


def _failures(verdicts: Mapping[str, Mapping[str, int | None]], asked: Sequence[str]) -> Iterator[str]:
    """Notes on answers without a verdict, and on queries without an answer."""
    for system, of_system in verdicts.items():
        unread = [query_id for query_id, rating in of_system.items() if rating is None]
        if unread:
            answers = counted_names(unread, "answer", "answers")
            yield f"{system}: {answers} without a verdict, not in its share."
        missing = [query_id for query_id in asked if query_id not in of_system]
        if missing:
            queries = counted_names(missing, "query", "queries")
            yield f"{system}: no answer to {queries}, not in its share."
