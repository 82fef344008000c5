"""Leaderboards of factual consistency: how far the answers of systems follow from their sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.data_model import ConsistencyGrade, QueryPassages, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import check_one
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.phases.evaluation.result import Evaluation, PathLike, check_names, counted_names
from exam_pp.provenance import Provenance
from exam_pp.results import Score
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.wording import counted, listed

OF_ANSWERS = "FactualConsistency"
"""The score of the whole answer against all its sources together."""
OF_PARTS = "FactualConsistency_parts"
"""The mean over the parts of an answer, each with its highest score over its sources."""


@dataclass(frozen=True)
class ConsistencyFilter:
    """Criteria for consistency grades; None accepts all.

    ``systems``: Names of the systems; empty for all.
    """

    model: str | None = None
    prompt_class: str | None = None
    systems: Collection[str] = ()

    def accepts(self, grade: ConsistencyGrade) -> bool:
        """Whether a grade matches all criteria."""
        return (
            self.model in (None, grade.model)
            and self.prompt_class in (None, grade.prompt_class)
            and (not self.systems or grade.system in self.systems)
        )


def factual_consistency(
    source: PathLike | Iterable[QueryPassages],
    *,
    selection: ConsistencyFilter | None = None,
    queries: Collection[str] | None = None,
) -> Evaluation:
    """Score systems by the factual consistency of their answers; higher means more consistent.

    A claim without a score, such as an empty answer or a part without citations, is in no mean. If a model
    scored a claim several times, the last score counts.

    ``queries``: Ids of the queries to evaluate; None for all. Returns scores from 0 to 1 for each system and
    query: :data:`OF_ANSWERS` and :data:`OF_PARTS`, and notes on claims without a score and on shortened
    texts.
    """
    chosen = selection or ConsistencyFilter()
    name = str(source) if isinstance(source, str | Path) else "The file"
    lines = read_passages(source) if isinstance(source, str | Path) else source
    graders: Counter[tuple[str, str]] = Counter()
    scores: list[Score] = []
    grades_of: list[ConsistencyGrade] = []
    query_ids: dict[str, None] = {}
    for query in lines:
        if queries is not None and query.query_id not in queries:
            continue
        selected = _grades(query, chosen)
        graders.update((grade.model or "(no model)", grade.prompt_class or "") for grade in selected.values())
        _check_one(graders, name)
        scores += _scores(query.query_id, selected)
        grades_of += selected.values()
        query_ids |= dict.fromkeys([query.query_id] if selected else [])
    if not graders:
        raise SelectionError(
            f"{name} has no selected scores of factual consistency; make them with `exam-pp grade "
            "--prompt-class FactualConsistency`."
        )
    if not scores:
        reason = next((str(g.error["failure_reason"]) for g in grades_of if g.error), "unknown reason")
        raise SelectionError(
            f"{name} has {counted(len(grades_of), 'claim')} without a score and none with a score, the first "
            f"because {reason}; `exam-pp grade` lists the reasons."
        )
    check_names(query_ids, {score.system for score in scores})
    ((model, prompt_class),) = graders
    provenance = Provenance(
        (model,), (prompt_class,) if prompt_class else (), queries=len({score.query_id for score in scores})
    )
    return Evaluation(scores, _notes(grades_of), provenance=provenance)


def _grades(query: QueryPassages, chosen: ConsistencyFilter) -> dict[tuple[str, ...], ConsistencyGrade]:
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
        if chosen.accepts(grade) and not is_canary(grade.system)
    }


def _check_one(graders: Collection[tuple[str, str]], name: str) -> None:
    options = [
        f"--grader {model!r}{f' --prompt-class {prompt!r}' if prompt else ''}"
        for model, prompt in sorted(graders)
    ]
    check_one(options, f"{name} has scores by several models or prompts")


def _scores(query_id: str, selected: dict[tuple[str, ...], ConsistencyGrade]) -> list[Score]:
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


def _notes(grades: Sequence[ConsistencyGrade]) -> list[str]:
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
