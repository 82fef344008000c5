"""Scores of answers by their grades: criteria, share of answered questions, factual consistency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from exam_pp.data_model import ConsistencyGrade, QueryPassages, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter, GradeFilter, GradeSelector
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.phases.evaluation.inputs import Passages, Queries, loaded, name_of, query_ids, views
from exam_pp.phases.evaluation.result import Evaluation, MissingQueries, check_names, noted_names
from exam_pp.plugins.rag_metrics.citations import (
    CitationGrader,
    grader_of,
    only_grader,
    provenance_of,
    zeros_of_missing,
)
from exam_pp.plugins.rag_metrics.prompts import MEAN
from exam_pp.prompts.direct import ANSWER_ATTEMPT
from exam_pp.provenance import graded_by
from exam_pp.results import ANSWERED, Score
from exam_pp.roles import DistinctNames, answers_in, outputs_of
from exam_pp.text.wording import counted, listed, noted

Ratings = Mapping[tuple[str, str], Mapping[str, int]]
"""System and query to criterion to rating."""


def criteria(
    source: Passages,
    *,
    selection: AnswerFilter | None = None,
    queries: Collection[str] | None = None,
    missing_queries: MissingQueries = "zero",
) -> Evaluation:
    """Score systems by the ratings of their answers by several criteria.

    An ungraded criterion counts 0; in ``best_case`` its highest level. Of several ratings by a criterion, the
    last one counts.

    Args:
        source: A graded file of ``exam-pp grade``, or its queries.
        selection: The ratings that count; all must be by the same model, with the same prompt.
        queries: Ids of the queries to evaluate; None for all.
        missing_queries: ``zero``: a query without an answer of a system scores 0. ``skip``: it is not in the
            means of the system.

    Returns:
        Scores for each system and query: the ``mean`` of all criteria, and the rating by each of them. If the
        scales of the criteria differ, the mean is that of ratings divided by the highest level.

    Raises:
        SelectionError: No ratings match, or ratings by several models or prompts do.
    """
    chosen, distinct = selection or AnswerFilter(), DistinctNames()
    name = str(name_of(source, "The file"))
    answers = [
        (distinct(output.key), query.query_id, output.parts[0].passage.criteria_grades or ())
        for query in loaded(source).queries
        if queries is None or query.query_id in queries
        for output in outputs_of(query).values()
        if output.parts and not is_canary(output.system) and chosen.selects(output.system)
    ]
    graders: set[CitationGrader] = set()
    ratings: dict[tuple[str, str], dict[str, int]] = {}
    tops: dict[str, int] = {}
    for system, query_id, sets in answers:
        of_answer = ratings.setdefault((system, query_id), {})
        for grades in sets:
            if grades.system == system and chosen.accepts(grades):
                graders.add(grader_of(grades))
                levels = grades.highest_levels
                for item in grades.ratings:
                    top = max(levels.get(item.criterion, 0), item.rating or 0)
                    tops[item.criterion] = max(top, tops.get(item.criterion, 0))
                    of_answer |= {} if item.rating is None else {item.criterion: item.rating}
    grader = only_grader(graders, name, "ratings of answers by criteria", "grade --prompt criteria")
    check_names({query_id for _, query_id in ratings}, {system for system, _ in ratings})
    notes = _notes(ratings, tops)
    scores = _scores(ratings, tops, 0)
    best_case = _scores(ratings, tops, 1) if any(len(of) < len(tops) for of in ratings.values()) else []
    if missing_queries == "zero":
        zeros, missing_notes = zeros_of_missing(scores)
        scores += zeros
        best_case += zeros if best_case else []
        notes += missing_notes
    provenance = provenance_of(grader, len({score.query_id for score in scores}))
    ranges = {name: (0.0, float(top or 1)) for name, top in tops.items()}
    of_mean = 1.0 if _differ(tops) else max((top for _, top in ranges.values()), default=1.0)
    return Evaluation(scores, notes, best_case, ranges={MEAN: (0.0, of_mean)} | ranges, provenance=provenance)


def _differ(tops: Mapping[str, int]) -> bool:
    """Whether the scales of the criteria differ."""
    return len(set(tops.values())) > 1


def _scores(answers: Ratings, tops: Mapping[str, int], ungraded: int) -> list[Score]:
    """The scores of all answers; an ungraded criterion counts this share of its highest level."""
    scores = []
    for (system, query_id), ratings in answers.items():
        values = {name: ratings.get(name, ungraded * top) for name, top in tops.items()}
        parts = [value / (tops[name] or 1) if _differ(tops) else value for name, value in values.items()]
        scores.append(Score(system, query_id, MEAN, sum(parts) / len(parts)))
        scores += [Score(system, query_id, name, float(value)) for name, value in values.items()]
    return scores


def _notes(answers: Ratings, tops: Mapping[str, int]) -> list[str]:
    notes = [f"Ratings are from 0 to {next(iter(tops.values()))}."]
    if _differ(tops):
        scales = ", ".join(f"{name} 0 to {top}" for name, top in tops.items())
        notes = [f"Scales: {scales}; the mean is that of ratings divided by their highest level."]
    ungraded = Counter(name for ratings in answers.values() for name in tops if name not in ratings)
    counts = ", ".join(f"{name} {count}" for name, count in ungraded.items())
    are = "rating is missing and counts 0", "ratings are missing and count 0"
    return [*notes, *(f"{note}{counts}." for note in noted(ungraded.total(), "{}: ", *are))]


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
        missing = [query_id for query_id in asked if query_id not in of_system]
        notes = [
            *noted_names(unread, "{} without a verdict, not in its share.", "answer", "answers"),
            *noted_names(missing, "no answer to {}, not in its share.", "query", "queries"),
        ]
        yield from (f"{system}: {note}" for note in notes)


OF_ANSWERS = "FactualConsistency"
"""The score of the whole answer against all its sources together."""
OF_PARTS = "FactualConsistency_parts"
"""The mean over the parts of an answer, each with its highest score over its sources."""


def factual_consistency(
    source: Passages,
    *,
    selection: AnswerFilter | None = None,
    queries: Collection[str] | None = None,
) -> Evaluation:
    """Score systems by the factual consistency of their answers; higher means more consistent.

    A claim without a score, such as an empty answer or a part without citations, is in no mean. If a model
    scored a claim several times, the last score counts.

    ``queries``: Ids of the queries to evaluate; None for all. Returns scores from 0 to 1 for each system and
    query: :data:`OF_ANSWERS` and :data:`OF_PARTS`, and notes on claims without a score and on shortened
    texts.
    """
    chosen = selection or AnswerFilter()
    name = str(name_of(source, "The file"))
    claims = [
        (query.query_id, _grades(query, chosen))
        for query in loaded(source).queries
        if queries is None or query.query_id in queries
    ]
    grades = [grade for _, of_query in claims for grade in of_query]
    # Versions of a prompt are not told apart.
    graders = {grader_of(grade)._replace(prompt_hash="") for grade in grades}
    grader = only_grader(graders, name, "scores of factual consistency", "grade --prompt factual-consistency")
    scores = [score for query_id, of_query in claims for score in _consistency_scores(query_id, of_query)]
    if not scores:
        reason = next((str(g.error["failure_reason"]) for g in grades if g.error), "unknown reason")
        raise SelectionError(
            f"{name} has {counted(len(grades), 'claim')} without a score and none with a score, the first "
            f"because {reason}; `exam-pp grade` lists the reasons."
        )
    check_names({query_id for query_id, of_query in claims if of_query}, {score.system for score in scores})
    provenance = provenance_of(grader, len({score.query_id for score in scores}))
    return Evaluation(scores, [*_consistency_notes(grades)], provenance=provenance)


def _grades(query: QueryPassages, chosen: AnswerFilter) -> list[ConsistencyGrade]:
    """The last grade of each claim: by model, prompt, system, and the passage of a part."""
    grades = {
        (
            grade.model,
            grade.prompt_class,
            grade.system,
            passage.passage_id if grade.claim == "part" else "",
        ): grade
        for passage in query.passages
        for grade in passage.consistency_grades or ()
        if chosen.accepts(grade) and chosen.selects(grade.system) and not is_canary(grade.system)
    }
    return list(grades.values())


def _consistency_scores(query_id: str, grades: Iterable[ConsistencyGrade]) -> Iterator[Score]:
    by_claim: dict[str, dict[str, list[float]]] = {"answer": {}, "part": {}}
    for grade in grades:
        if grade.score is not None:
            by_claim[grade.claim].setdefault(grade.system, []).append(grade.score)
    for metric, of_claim in zip((OF_ANSWERS, OF_PARTS), by_claim.values(), strict=True):
        for system, values in of_claim.items():
            yield Score(system, query_id, metric, exact_mean(values))


def _consistency_notes(grades: Sequence[ConsistencyGrade]) -> Iterator[str]:
    """Notes on claims without a score, on shortened texts, and on the positive class."""
    errors = [grade.error or {} for grade in grades if grade.score is None]
    reasons = Counter(str(error.get("failure_reason", "unknown reason")) for error in errors)
    cut = Counter(text for grade in grades for text in grade.tokens_cut or ())
    missing = dict.fromkeys(passage for grade in grades for passage in grade.missing)
    positive = ((grade.model_options or {}).get("positive_class") for grade in grades)
    classes = dict.fromkeys(str(name) for name in positive if name)
    yield "Higher means more consistent with the sources, from 0 to 1."
    if classes:
        yield f"The score is the probability of the class {listed(list(classes))}."
    if reasons:
        details = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
        yield f"Claims without a score are in no mean: {details}."
    if unscored := sorted({g.system for g in grades} - {g.system for g in grades if g.score is not None}):
        yield f"Not in the table, because none of their claims has a score: {listed(unscored)}."
    too_long = "{} too long for the model and shortened."
    yield from noted(cut["source"], too_long, "claim has a source that was", "claims have sources that were")
    yield from noted(
        cut["claim"], "{} longer than the model's context and shortened.", "claim was", "claims were"
    )
    yield from noted_names(list(missing), "Not in the file: {}.", "cited passage", "cited passages")
