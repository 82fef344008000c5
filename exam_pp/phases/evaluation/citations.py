"""Leaderboards of citations: whether the passages that answers cite support their statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.data_model import CitationSupport, Passage, QueryPassages, SupportGrades
from exam_pp.errors import SelectionError
from exam_pp.metrics.citations import SUPPORT_VALUES, CitationRule, citation_scores
from exam_pp.phases.evaluation.result import Evaluation, MissingQueries, PathLike, check_names, counted_names
from exam_pp.provenance import Provenance
from exam_pp.results import Score
from exam_pp.roles import AnswerPart, SystemOutput, outputs_of
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.wording import counted

METRICS = ("citation_precision", "citation_recall", "citation_F1")


@dataclass(frozen=True)
class SupportFilter:
    """Which grades of citations count; None accepts all.

    Attributes:
        model: Name of the model.
        prompt_class: Name of the prompt.
        systems: Names of the systems; empty for all.
    """

    model: str | None = None
    prompt_class: str | None = None
    systems: Collection[str] = ()

    def accepts(self, grades: SupportGrades) -> bool:
        """Whether the grades match all criteria."""
        return self.model in (None, grades.model) and self.prompt_class in (None, grades.prompt_class)


@dataclass
class _Evaluated:
    """Scores with ungraded citations as no support, and as full support; counts for notes."""

    scores: list[Score] = field(default_factory=list)
    best_case: list[Score] = field(default_factory=list)
    queries: dict[str, None] = field(default_factory=dict)
    systems: dict[str, set[str]] = field(default_factory=dict)
    graders: Counter[tuple[str, str]] = field(default_factory=Counter)
    missing: dict[str, None] = field(default_factory=dict)
    ungraded: int = 0
    without_citations: int = 0
    parts: int = 0

    def add(self, name: str, query_id: str, low: Iterable[float], high: Iterable[float]) -> None:
        """Add the scores of an answer."""
        self.systems.setdefault(name, set()).add(query_id)
        for metric, value, best in zip(METRICS, low, high, strict=True):
            self.scores.append(Score(name, query_id, metric, value))
            self.best_case.append(Score(name, query_id, metric, best))


def citations(
    source: PathLike | Iterable[QueryPassages],
    *,
    selection: SupportFilter | None = None,
    rule: CitationRule = "all",
    queries: Collection[str] | None = None,
    missing_queries: MissingQueries = "zero",
) -> Evaluation:
    """Score systems by the support of their answers by the passages that they cite.

    A citation of a passage that the file lacks, or that has no text, is no support. An ungraded citation
    counts as no support; in ``best_case`` as full support. An empty answer scores 0. If a model graded a
    citation several times, the last grade counts.

    Args:
        source: A graded file of ``exam-pp grade-citations``, or its queries.
        selection: The grades that count; all must be by the same model and prompt.
        rule: ``all`` citations of a part count, or only the ``first``, as in the TREC RAG track.
        queries: Ids of the queries to evaluate; None for all.
        missing_queries: ``zero``: a query without an answer of a system scores 0. ``skip``: it is not in the
            means of the system.

    Returns:
        Scores from 0 to 1 for each system and query: weighted precision and recall, and F1
        (:func:`exam_pp.metrics.citations.citation_scores`).

    Raises:
        SelectionError: No grades match, or grades by several models or prompts do.
    """
    chosen = selection or SupportFilter()
    name = str(source) if isinstance(source, str | Path) else "The file"
    result = _Evaluated()
    for query in read_passages(source) if isinstance(source, str | Path) else source:
        if queries is None or query.query_id in queries:
            _add_query(result, query, chosen, rule)
    _check(result, name)
    check_names(result.queries, result.systems)
    notes = _notes(result)
    if missing_queries == "zero":
        notes += _add_missing(result)
    ((model, prompt_class),) = result.graders
    provenance = Provenance(
        (model,), (prompt_class,) if prompt_class else (), queries=len({s.query_id for s in result.scores})
    )
    best_case = result.best_case if result.ungraded else []
    return Evaluation(result.scores, notes, best_case, provenance=provenance)


def _add_query(result: _Evaluated, query: QueryPassages, chosen: SupportFilter, rule: CitationRule) -> None:
    for output in outputs_of(query).values():
        if not output.answered or (chosen.systems and output.system not in chosen.systems):
            continue
        result.queries[query.query_id] = None
        parts = [part for part in output.parts if part.passage.text.strip()]
        low, high = [], []
        for part in parts:
            values = _values(result, output, part, chosen)
            result.parts += 1
            result.without_citations += not values
            low.append({key: value or 0.0 for key, value in values.items()})
            high.append({key: 1.0 if value is None else value for key, value in values.items()})
        result.add(output.name, query.query_id, citation_scores(low, rule), citation_scores(high, rule))


def _values(
    result: _Evaluated, output: SystemOutput, part: AnswerPart, chosen: SupportFilter
) -> dict[str, float | None]:
    """Citation to the value of its support; None if it is ungraded."""
    graded = _supports(result, part.passage, chosen)
    values: dict[str, float | None] = {}
    for citation in part.citations:
        passage = output.cited.get(citation)
        item = graded.get(citation)
        if item is not None and item.support is not None:
            values[citation] = SUPPORT_VALUES[item.support]
        elif passage is None or not passage.text.strip():
            result.missing[citation] = None
            values[citation] = 0.0
        else:
            result.ungraded += 1
            values[citation] = None
    return values


def _supports(result: _Evaluated, passage: Passage, chosen: SupportFilter) -> dict[str, CitationSupport]:
    """The last grade of each citation of a part."""
    selected = [grades for grades in passage.support_grades or () if chosen.accepts(grades)]
    result.graders.update((grades.model or "(no model)", grades.prompt_class or "") for grades in selected)
    return {item.citation: item for grades in selected for item in grades.supports}


def _check(result: _Evaluated, name: str) -> None:
    if not result.graders:
        raise SelectionError(
            f"{name} has no selected grades of citations; make them with `exam-pp grade-citations`."
        )
    if len(result.graders) > 1:
        listing = "; ".join(
            f"--grader {model!r}{f' --prompt-class {prompt!r}' if prompt else ''}"
            for model, prompt in sorted(result.graders)
        )
        raise SelectionError(f"{name} has grades by several models or prompts; choose one: {listing}.")


def _notes(result: _Evaluated) -> list[str]:
    notes = []
    if result.ungraded:
        are = counted(result.ungraded, "citation is", "citations are")
        notes.append(f"{are} ungraded and count as no support.")
    if result.without_citations:
        of = counted(result.parts, "part")
        notes.append(f"{result.without_citations} of {of} of answers cite no passage.")
    if result.missing:
        cited = counted_names(list(result.missing), "cited passage", "cited passages")
        notes.append(f"Not in the file, or without text, and so no support: {cited}.")
    return notes


def _add_missing(result: _Evaluated) -> list[str]:
    """Add zeros for queries without an answer; returns notes on them."""
    notes = []
    for system, answered in list(result.systems.items()):
        missing = [query_id for query_id in result.queries if query_id not in answered]
        for query_id in missing:
            result.add(system, query_id, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        if missing:
            notes.append(f"No answer of {system} to {counted_names(missing, 'query', 'queries')}: scored 0.")
    return notes
