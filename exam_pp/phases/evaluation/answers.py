"""Scores of answers by their grades: criteria, share of answered questions, factual consistency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from exam_pp.data_model import ConsistencyGrade, CriteriaGrades, QueryPassages, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.metrics.score_ranges import Range
from exam_pp.phases.evaluation.citations import (
    AnswerFilter,
    CitationGrader,
    grader_of,
    only_grader,
    provenance_of,
    zeros_of_missing,
)
from exam_pp.phases.evaluation.inputs import Passages, Queries, loaded, name_of, query_ids, views
from exam_pp.phases.evaluation.result import Evaluation, MissingQueries, check_names, counted_names
from exam_pp.prompts.criteria import MEAN
from exam_pp.prompts.direct import ANSWER_ATTEMPT
from exam_pp.provenance import graded_by
from exam_pp.results import ANSWERED, Score
from exam_pp.roles import DistinctNames, answers_in, outputs_of
from exam_pp.text.wording import counted, listed


@dataclass
class _Rated:
    """The ratings of answers: system and query to criterion to rating, and the highest levels."""

    answers: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)
    graders: Counter[CitationGrader] = field(default_factory=Counter)
    queries: dict[str, None] = field(default_factory=dict)

    def add(self, system: str, query_id: str, sets: Iterable[CriteriaGrades]) -> None:
        """Add the ratings of an answer; of several by one criterion, the last one counts."""
        self.queries[query_id] = None
        ratings = self.answers.setdefault((system, query_id), {})
        for grades in sets:
            self.graders[grader_of(grades)] += 1
            levels = grades.highest_levels
            for name, rating in ((item.criterion, item.rating) for item in grades.ratings):
                self.highest[name] = max(levels.get(name, 0), rating or 0, self.highest.get(name, 0))
                if rating is not None:
                    ratings[name] = rating


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
    chosen = selection or AnswerFilter()
    name = str(name_of(source, "The file"))
    rated, distinct = _Rated(), DistinctNames()
    for query in loaded(source).queries:
        if queries is not None and query.query_id not in queries:
            continue
        for output in outputs_of(query).values():
            if is_canary(output.system):
                continue
            if output.parts and chosen.selects(output.system):
                known = output.parts[0].passage.criteria_grades or ()
                system = distinct(output.key)
                sets = [each for each in known if each.system == system and chosen.accepts(each)]
                rated.add(system, query.query_id, sets)
    grader = only_grader(rated.graders, name, "ratings of answers by criteria", "grade --prompt criteria")
    systems = dict.fromkeys(system for system, _ in rated.answers)
    check_names(rated.queries, systems)
    notes = _notes(rated)
    scores = _scores(rated, 0)
    best_case = _scores(rated, 1) if any(len(r) < len(rated.highest) for r in rated.answers.values()) else []
    if missing_queries == "zero":
        by_system = {system: [query for name, query in rated.answers if name == system] for system in systems}
        zeros, missing_notes = zeros_of_missing(by_system, rated.queries, (MEAN, *rated.highest))
        scores += zeros
        best_case += zeros if best_case else []
        notes += missing_notes
    provenance = provenance_of(grader, len({score.query_id for score in scores}))
    return Evaluation(scores, notes, best_case, ranges=_ranges(rated), provenance=provenance)


def _ranges(rated: _Rated) -> dict[str, Range]:
    tops = {name: float(top or 1) for name, top in rated.highest.items()}
    return {MEAN: (0.0, 1.0 if _differ(rated) else max(tops.values(), default=1.0))} | {
        name: (0.0, top) for name, top in tops.items()
    }


def _differ(rated: _Rated) -> bool:
    """Whether the scales of the criteria differ."""
    return len(set(rated.highest.values())) > 1


def _scores(rated: _Rated, ungraded: int) -> list[Score]:
    """The scores of all answers; an ungraded criterion counts this share of its highest level."""
    same = not _differ(rated)
    scores = []
    for (system, query_id), ratings in rated.answers.items():
        values = {name: ratings.get(name, ungraded * top) for name, top in rated.highest.items()}
        parts = [value if same else value / (rated.highest[name] or 1) for name, value in values.items()]
        scores.append(Score(system, query_id, MEAN, sum(parts) / len(parts)))
        scores += [Score(system, query_id, name, float(value)) for name, value in values.items()]
    return scores


def _notes(rated: _Rated) -> list[str]:
    notes = []
    tops = rated.highest
    if len(set(tops.values())) < 2:
        notes.append(f"Ratings are from 0 to {next(iter(tops.values()))}.")
    else:
        scales = ", ".join(f"{name} 0 to {top}" for name, top in tops.items())
        notes.append(f"Scales: {scales}; the mean is that of ratings divided by their highest level.")
    ungraded = Counter(name for ratings in rated.answers.values() for name in tops if name not in ratings)
    if total := ungraded.total():
        counts = ", ".join(f"{name} {count}" for name, count in ungraded.items())
        are = counted(total, "rating is missing and counts 0", "ratings are missing and count 0")
        notes.append(f"{are}: {counts}.")
    return notes


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
    lines = loaded(source).queries
    graders: Counter[CitationGrader] = Counter()
    scores: list[Score] = []
    grades_of: list[ConsistencyGrade] = []
    query_ids: dict[str, None] = {}
    for query in lines:
        if queries is not None and query.query_id not in queries:
            continue
        selected = _grades(query, chosen)
        # Versions of a prompt are not told apart.
        graders.update(grader_of(grade)._replace(prompt_hash="") for grade in selected.values())
        scores += _consistency_scores(query.query_id, selected)
        grades_of += selected.values()
        query_ids |= dict.fromkeys([query.query_id] if selected else [])
    grader = only_grader(graders, name, "scores of factual consistency", "grade --prompt factual-consistency")
    if not scores:
        reason = next((str(g.error["failure_reason"]) for g in grades_of if g.error), "unknown reason")
        raise SelectionError(
            f"{name} has {counted(len(grades_of), 'claim')} without a score and none with a score, the first "
            f"because {reason}; `exam-pp grade` lists the reasons."
        )
    check_names(query_ids, {score.system for score in scores})
    provenance = provenance_of(grader, len({score.query_id for score in scores}))
    return Evaluation(scores, _consistency_notes(grades_of), provenance=provenance)


def _grades(query: QueryPassages, chosen: AnswerFilter) -> dict[tuple[str, ...], ConsistencyGrade]:
    """The last grade of each claim: by model, prompt, system, and the passage of a part."""
    return {
        (
            str(grade.model),
            str(grade.prompt_class),
            grade.system,
            passage.passage_id if grade.claim == "part" else "",
        ): grade
        for passage in query.passages
        for grade in passage.consistency_grades or ()
        if chosen.accepts(grade) and chosen.selects(grade.system) and not is_canary(grade.system)
    }


def _consistency_scores(query_id: str, selected: dict[tuple[str, ...], ConsistencyGrade]) -> list[Score]:
    answers: dict[str, float] = {}
    parts: dict[str, list[float]] = {}
    for grade in selected.values():
        if grade.score is None:
            continue
        if grade.claim == "answer":
            answers[grade.system] = grade.score
        else:
            parts.setdefault(grade.system, []).append(grade.score)
    return [
        *(Score(system, query_id, OF_ANSWERS, value) for system, value in answers.items()),
        *(Score(system, query_id, OF_PARTS, exact_mean(values)) for system, values in parts.items()),
    ]


def _consistency_notes(grades: Sequence[ConsistencyGrade]) -> list[str]:
    """Notes on claims without a score, on shortened texts, and on the positive class."""
    reasons: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    missing: dict[str, None] = {}
    classes: dict[str, None] = {}
    for grade in grades:
        if grade.score is None:
            reasons[str((grade.error or {}).get("failure_reason", "unknown reason"))] += 1
        cut.update((grade.tokens_cut or {}).keys())
        missing |= dict.fromkeys(grade.missing)
        if positive := (grade.model_options or {}).get("positive_class"):
            classes[str(positive)] = None
    notes = ["Higher means more consistent with the sources, from 0 to 1."]
    if classes:
        notes.append(f"The score is the probability of the class {listed(list(classes))}.")
    if reasons:
        details = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
        notes.append(f"Claims without a score are in no mean: {details}.")
    if unscored := sorted({g.system for g in grades} - {g.system for g in grades if g.score is not None}):
        notes.append(f"Not in the table, because none of their claims has a score: {listed(unscored)}.")
    if cut["source"]:
        claims = counted(cut["source"], "claim has a source that was", "claims have sources that were")
        notes.append(f"{claims} too long for the model and shortened.")
    if cut["claim"]:
        claims = counted(cut["claim"], "claim was", "claims were")
        notes.append(f"{claims} longer than the model's context and shortened.")
    if missing:
        notes.append(f"Not in the file: {counted_names(list(missing), 'cited passage', 'cited passages')}.")
    return notes
