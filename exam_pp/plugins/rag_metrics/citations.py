"""Citation support: whether the passages that an answer cites support its statements, and leaderboards of it.

Source: Open RAG Eval's documentation of its metrics, section Citation Metric; and the support evaluation of
the TREC 2024 RAG track, which considers only the first citation of each sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from exam_pp.data_model import (
    SUPPORT_LABELS,
    CitationSupport,
    OfOneModel,
    Passage,
    QueryPassages,
    SupportGrades,
    SupportLabel,
    is_canary,
)
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter, check_one
from exam_pp.phases.evaluation.inputs import Passages, loaded, name_of
from exam_pp.phases.evaluation.result import (
    Evaluation,
    MissingQueries,
    check_names,
    counted_names,
    noted_names,
)
from exam_pp.provenance import Provenance
from exam_pp.results import Score
from exam_pp.roles import AnswerPart, DistinctNames, SystemOutput, outputs_of
from exam_pp.text.wording import counted, noted

SUPPORT_VALUES: Mapping[SupportLabel, float] = dict(zip(SUPPORT_LABELS, (0.0, 0.5, 1.0), strict=True))
"""The values of the labels of a citation."""

CitationRule = Literal["all", "first", "together"]
"""What counts of a part.

``all``: every citation. ``first``: only the first one, as in the TREC RAG track. ``together``: whether it has
citations, and all of them support it fully, as in ARGUE.
"""


class CitationScores(NamedTuple):
    """Weighted precision and recall of the citations of an answer, and their harmonic mean, in 0..1."""

    precision: float
    recall: float
    f1: float


def citation_scores(parts: Sequence[Mapping[str, float]], rule: CitationRule = "all") -> CitationScores:
    """Score the citations of an answer.

    With the rule ``all``, precision is the mean over the distinct citations of their mean value in the parts
    that cite them, and recall the mean over the parts of the mean value of their citations; a part without
    citations has the value 0. With ``first``, the value of a part is that of its first citation; precision is
    the mean value of the parts with a citation, recall that of all parts. Precision without citations,
    recall without parts, and F1 of two zeros are 0.

    >>> citation_scores([{"A": 1.0, "B": 0.5}, {"A": 0.0}, {}])
    CitationScores(precision=0.5, recall=0.25, f1=0.3333333333333333)
    >>> citation_scores([{"A": 1.0, "B": 0.5}, {"A": 0.0}, {}], "first")
    CitationScores(precision=0.5, recall=0.3333333333333333, f1=0.4)
    """
    if rule == "first":
        firsts = [next(iter(part.values())) for part in parts if part]
        return _scores(_mean(firsts), sum(firsts) / len(parts) if parts else 0.0)
    of_citation: dict[str, list[float]] = {}
    for part in parts:
        for citation, value in part.items():
            of_citation.setdefault(citation, []).append(value)
    precision = _mean([_mean(values) for values in of_citation.values()])
    return _scores(precision, _mean([_mean(list(part.values())) for part in parts]))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _scores(precision: float, recall: float) -> CitationScores:
    both = precision + recall
    return CitationScores(precision, recall, 2 * precision * recall / both if both else 0.0)


class CitationGrader(NamedTuple):
    """The source of grades: model or reviewer, prompt class, and hash of the prompt's text; "" if missing."""

    model: str
    prompt_class: str
    prompt_hash: str


@dataclass(frozen=True)
class GradedCitation:
    """A citation of a part, with the cited passage and the grade, if the file has them."""

    citation: str
    passage: Passage | None = None
    grade: CitationSupport | None = None

    @property
    def is_missing(self) -> bool:
        """Whether no grader could read the cited passage: the file lacks it, or it has no text."""
        return self.grade is None and (self.passage is None or not self.passage.text.strip())

    @property
    def value(self) -> float | None:
        """The value of the support: 0 for a missing passage, None for an ungraded citation."""
        if self.grade is not None and self.grade.support is not None:
            return SUPPORT_VALUES[self.grade.support]
        return 0.0 if self.is_missing else None


CitedAnswer = tuple[SystemOutput, Sequence[tuple[AnswerPart, Sequence[GradedCitation]]]]
"""An answer, with the citations of its parts."""


def cited_answers(query: QueryPassages, selection: AnswerFilter) -> Iterator[CitedAnswer]:
    """The answer of each selected system, also an empty one, with the grades that the filter selects.

    Parts without text have no content, and are skipped. If the texts of all parts were removed from the
    file after the grading, all parts count.
    """
    for output in outputs_of(query).values():
        if not output.answered or not selection.selects(output.system) or is_canary(output.system):
            continue
        parts = [part for part in output.parts if part.passage.text.strip()]
        if not parts and any(part.passage.support_grades for part in output.parts):
            parts = output.parts
        yield output, [(part, _citations(output, part, selection)) for part in parts]


def _citations(output: SystemOutput, part: AnswerPart, selection: AnswerFilter) -> list[GradedCitation]:
    """The citations of a part; of several grades of one citation, the last one with a label counts."""
    items = [item for of_grader in _selected(part, selection) for item in of_grader.supports]
    unlabelled = {item.citation: item for item in reversed(items)}
    grades = unlabelled | {item.citation: item for item in items if item.support is not None}
    return [GradedCitation(key, output.cited.get(key), grades.get(key)) for key in part.citations]


def _selected(part: AnswerPart, selection: AnswerFilter) -> list[SupportGrades]:
    return [grades for grades in part.passage.support_grades or () if selection.accepts(grades)]


def citation_grader(answers: Iterable[CitedAnswer], selection: AnswerFilter, name: str) -> CitationGrader:
    """The only grader of the selected grades of a file."""
    parts = (part for _, parts in answers for part, _ in parts)
    graders = {grader_of(grades) for part in parts for grades in _selected(part, selection)}
    return only_grader(graders, name, "grades of citations", "grade --prompt citation-support")


def grader_of(grades: OfOneModel) -> CitationGrader:
    """The source of grades."""
    return CitationGrader(grades.model or "", grades.prompt_class or "", grades.prompt_hash or "")


def only_grader(graders: Collection[CitationGrader], name: str, noun: str, command: str) -> CitationGrader:
    """The only grader of the selected grades."""
    if not graders:
        raise SelectionError(f"{name} has no selected {noun}; make them with `exam-pp {command}`.")
    options = [_options(grader, graders) for grader in sorted(graders)]
    check_one(options, f"{name} has {noun} by several graders")
    (grader,) = graders
    return grader


def _options(grader: CitationGrader, graders: Collection[CitationGrader]) -> str:
    """The options that select a grader, among the others."""
    options = [f"--grader {grader.model!r}"]
    if grader.prompt_class:
        options.append(f"--prompt {grader.prompt_class!r}")
    if sum(other[:2] == grader[:2] for other in graders) > 1:
        options.append(f"--grades hash={grader.prompt_hash}")
    return " ".join(options)


def provenance_of(grader: CitationGrader, queries: int) -> Provenance:
    """The provenance of results from the grades of one grader."""
    classes = (grader.prompt_class,) if grader.prompt_class else ()
    return Provenance((grader.model or "(no model)",), classes, queries=queries)


METRICS = ("citation_precision", "citation_recall", "citation_F1")
SENTENCE_SUPPORT = "sentence_support"


def _of_rule(parts: Sequence[Mapping[str, float]], rule: CitationRule) -> Mapping[str, float]:
    """Metric to the score of an answer."""
    if rule == "together":
        return {SENTENCE_SUPPORT: _mean([float(bool(part) and min(part.values()) == 1) for part in parts])}
    return dict(zip(METRICS, citation_scores(parts, rule), strict=True))


def citations(
    source: Passages,
    *,
    selection: AnswerFilter | None = None,
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
        rule: A :data:`CitationRule`: what counts of the citations of a part.
        queries: Ids of the queries to evaluate; None for all.
        missing_queries: ``zero``: a query without an answer of a system scores 0. ``skip``: it is not in the
            means of the system.

    Returns:
        Scores from 0 to 1 for each system and query: weighted precision and recall, and F1
        (:func:`exam_pp.plugins.rag_metrics.citations.citation_scores`); with ``together``, the
        share of the parts that all their citations support.

    Raises:
        SelectionError: No grades match, or grades by several models or prompts do.
    """
    chosen, distinct = selection or AnswerFilter(), DistinctNames()
    answers = [
        (query.query_id, answer)
        for query in loaded(source).queries
        if queries is None or query.query_id in queries
        for answer in cited_answers(query, chosen)
    ]
    graded = [
        (distinct(output.key), query_id, [cited[:1] if rule == "first" else cited for _, cited in parts])
        for query_id, (output, parts) in answers
    ]
    grader = citation_grader((answer for _, answer in answers), chosen, str(name_of(source, "The file")))
    scores, best_case = (
        [
            Score(system, query_id, metric, value)
            for system, query_id, parts in graded
            for metric, value in _of_rule(_values(parts, ungraded), rule).items()
        ]
        for ungraded in (0.0, 1.0)
    )
    check_names({query_id for _, query_id, _ in graded}, {system for system, _, _ in graded})
    every_part = [part for _, _, parts in graded for part in parts]
    every_citation = list(chain.from_iterable(every_part))
    ungraded = sum(citation.value is None for citation in every_citation)
    missing = [citation.citation for citation in every_citation if citation.is_missing]
    are = "citation is ungraded and counts", "citations are ungraded and count"
    notes = [*noted(ungraded, "{} as no support.", *are)]
    if without_citations := every_part.count([]):
        of = counted(len(every_part), "part")
        notes.append(f"{without_citations} of {of} of answers cite no passage.")
    text = "Not in the file, or without text, and so no support: {}."
    notes += noted_names(list(dict.fromkeys(missing)), text, "cited passage", "cited passages")
    if missing_queries == "zero":
        zeros, missing_notes = zeros_of_missing(scores)
        scores += zeros
        best_case += zeros
        notes += missing_notes
    provenance = provenance_of(grader, len({score.query_id for score in scores}))
    return Evaluation(scores, notes, best_case if ungraded else [], provenance=provenance)


def _values(parts: Iterable[Iterable[GradedCitation]], ungraded: float) -> list[dict[str, float]]:
    """Citation to its value, for each part; ``ungraded`` is that of ungraded citations."""
    return [{c.citation: ungraded if c.value is None else c.value for c in part} for part in parts]


def zeros_of_missing(scores: Sequence[Score]) -> tuple[list[Score], list[str]]:
    """Zeros for the queries that a system did not answer, and notes on them.

    Every system has scores of the same metrics, for the queries that it answered.
    """
    queries = dict.fromkeys(score.query_id for score in scores)
    metrics = dict.fromkeys(score.metric for score in scores)
    answered: dict[str, set[str]] = {}
    for score in scores:
        answered.setdefault(score.system, set()).add(score.query_id)
    zeros, notes = [], []
    for system, of_system in answered.items():
        missing = [query_id for query_id in queries if query_id not in of_system]
        zeros += [Score(system, query_id, metric, 0.0) for query_id in missing for metric in metrics]
        if missing:
            notes.append(f"No answer of {system} to {counted_names(missing, 'query', 'queries')}: scored 0.")
    return zeros, notes
