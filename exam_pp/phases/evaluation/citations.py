"""Leaderboards of citations: whether the passages that answers cite support their statements."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from exam_pp.data_model import QueryPassages
from exam_pp.metrics.citation_scores import CitationRule, citation_scores
from exam_pp.phases.evaluation.graded_citations import (
    CitationReader,
    GradedCitation,
    SupportFilter,
    provenance_of,
)
from exam_pp.phases.evaluation.result import Evaluation, MissingQueries, PathLike, check_names, counted_names
from exam_pp.results import Score
from exam_pp.roles import DistinctNames
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.wording import counted

METRICS = ("citation_precision", "citation_recall", "citation_F1")


@dataclass
class _Evaluated:
    """Scores with ungraded citations as no support, and as full support; counts for notes."""

    scores: list[Score] = field(default_factory=list)
    best_case: list[Score] = field(default_factory=list)
    queries: dict[str, None] = field(default_factory=dict)
    systems: dict[str, set[str]] = field(default_factory=dict)
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
    counts as no support; in ``best_case`` as full support. An empty answer scores 0. Of several grades of a
    citation, the last one with a label counts.

    Args:
        source: A graded file of ``exam-pp grade``, or its queries.
        selection: The grades that count; all must be by the same model, with the same prompt.
        rule: ``all`` citations of a part count, or only the ``first``, as in the TREC RAG track.
        queries: Ids of the queries to evaluate; None for all.
        missing_queries: ``zero``: a query without an answer of a system scores 0. ``skip``: it is not in the
            means of the system.

    Returns:
        Scores from 0 to 1 for each system and query: weighted precision and recall, and F1
        (:func:`exam_pp.metrics.citation_scores.citation_scores`).

    Raises:
        SelectionError: No grades match, or grades by several models or prompts do.
    """
    reader = CitationReader(selection or SupportFilter())
    name = str(source) if isinstance(source, str | Path) else "The file"
    result, distinct = _Evaluated(), DistinctNames()
    for query in read_passages(source) if isinstance(source, str | Path) else source:
        if queries is None or query.query_id in queries:
            for output, parts in reader.answers(query):
                graded = [citations for _, citations in parts]
                _add_answer(result, query.query_id, distinct(output.key), graded, rule)
    grader = reader.grader(name)
    check_names(result.queries, result.systems)
    notes = _notes(result)
    if missing_queries == "zero":
        notes += _add_missing(result)
    provenance = provenance_of(grader, len({score.query_id for score in result.scores}))
    return Evaluation(
        result.scores, notes, result.best_case if result.ungraded else [], provenance=provenance
    )


def _add_answer(
    result: _Evaluated,
    query_id: str,
    name: str,
    parts: Sequence[Sequence[GradedCitation]],
    rule: CitationRule,
) -> None:
    if rule == "first":
        parts = [part[:1] for part in parts]
    result.queries[query_id] = None
    result.parts += len(parts)
    result.without_citations += sum(not part for part in parts)
    for citation in chain.from_iterable(parts):
        if citation.is_missing:
            result.missing[citation.citation] = None
        result.ungraded += citation.value is None
    low, high = (
        [{c.citation: ungraded if c.value is None else c.value for c in part} for part in parts]
        for ungraded in (0.0, 1.0)
    )
    result.add(name, query_id, citation_scores(low, rule), citation_scores(high, rule))


def _notes(result: _Evaluated) -> list[str]:
    notes = []
    if result.ungraded:
        are = counted(result.ungraded, "citation is ungraded and counts", "citations are ungraded and count")
        notes.append(f"{are} as no support.")
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
