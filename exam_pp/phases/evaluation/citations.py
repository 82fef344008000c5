"""Citations of answers with the grades of one grader, and leaderboards of their support."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from exam_pp.data_model import CitationSupport, OfOneModel, Passage, QueryPassages, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import check_one
from exam_pp.metrics.citation_scores import SUPPORT_VALUES, CitationRule, citation_scores
from exam_pp.phases.evaluation.inputs import Passages, loaded, name_of
from exam_pp.phases.evaluation.result import Evaluation, MissingQueries, check_names, counted_names
from exam_pp.provenance import Provenance
from exam_pp.results import Score
from exam_pp.roles import AnswerPart, DistinctNames, SystemOutput, outputs_of
from exam_pp.text.wording import counted


class CitationGrader(NamedTuple):
    """The source of grades: model or reviewer, prompt class, and hash of the prompt's text; "" if missing."""

    model: str
    prompt_class: str
    prompt_hash: str


@dataclass(frozen=True)
class AnswerFilter:
    """Selection of grades of citations or answers, or of games; None accepts all.

    Attributes:
        model: Name of the model, or ``human:NAME`` for a reviewer.
        prompt_class: Name of the prompt.
        prompt_hash: Hash of the prompt's text.
        systems: Names of the systems; empty for all.
    """

    model: str | None = None
    prompt_class: str | None = None
    prompt_hash: str | None = None
    systems: Collection[str] = ()

    def accepts(self, grades: OfOneModel) -> bool:
        """Whether the grades match all conditions except that on systems.

        Args:
            grades: The grades of a part of an answer, of a whole answer, or the games, by one grader.

        Returns:
            True if no condition contradicts the grades.
        """
        return (
            self.model in (None, grades.model)
            and self.prompt_class in (None, grades.prompt_class)
            and self.prompt_hash in (None, grades.prompt_hash)
        )

    def selects(self, *names: str) -> bool:
        """Whether a system is selected by one of its names, with or without its repeat.

        Args:
            names: The names of the system.

        Returns:
            True if all systems are selected, or this one.
        """
        return not self.systems or not set(names).isdisjoint(self.systems)


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


@dataclass
class CitationReader:
    """Reads the citations of queries with the grades that a filter selects; ``graders`` gave these."""

    selection: AnswerFilter
    graders: Counter[CitationGrader] = field(default_factory=Counter)

    def answers(
        self, query: QueryPassages
    ) -> Iterator[tuple[SystemOutput, list[tuple[AnswerPart, list[GradedCitation]]]]]:
        """Yield the answer of each selected system, also an empty one, with the citations of its parts.

        Parts without text have no content, and are skipped. If the texts of all parts were removed from the
        file after the grading, all parts count.
        """
        for output in outputs_of(query).values():
            is_selected = self.selection.selects(output.system) and not is_canary(output.system)
            if not (output.answered and is_selected):
                continue
            parts = [part for part in output.parts if part.passage.text.strip()]
            if not parts and any(part.passage.support_grades for part in output.parts):
                parts = output.parts
            yield output, [(part, self._citations(output, part)) for part in parts]

    def _citations(self, output: SystemOutput, part: AnswerPart) -> list[GradedCitation]:
        """The citations of a part; of several grades of one citation, the last one with a label counts."""
        grades: dict[str, CitationSupport] = {}
        for of_grader in part.passage.support_grades or ():
            if not self.selection.accepts(of_grader):
                continue
            self.graders[grader_of(of_grader)] += 1
            for item in of_grader.supports:
                if item.support is not None or item.citation not in grades:
                    grades[item.citation] = item
        return [GradedCitation(key, output.cited.get(key), grades.get(key)) for key in part.citations]

    def grader(self, name: str) -> CitationGrader:
        """The grader of the grades that were read from the file ``name``."""
        return only_grader(self.graders, name, "grades of citations", "grade --prompt citation-support")


def grader_of(grades: OfOneModel) -> CitationGrader:
    """The source of grades."""
    return CitationGrader(grades.model or "", grades.prompt_class or "", grades.prompt_hash or "")


def only_grader(graders: Counter[CitationGrader], name: str, noun: str, command: str) -> CitationGrader:
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
    reader = CitationReader(selection or AnswerFilter())
    name = str(name_of(source, "The file"))
    result, distinct = _Evaluated(), DistinctNames()
    for query in loaded(source).queries:
        if queries is None or query.query_id in queries:
            for output, parts in reader.answers(query):
                graded = [citations for _, citations in parts]
                _add_answer(result, query.query_id, distinct(output.key), graded, rule)
    grader = reader.grader(name)
    check_names(result.queries, result.systems)
    notes = _notes(result)
    if missing_queries == "zero":
        zeros, missing_notes = zeros_of_missing(result.systems, result.queries, METRICS)
        result.scores += zeros
        result.best_case += zeros
        notes += missing_notes
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
    result.systems.setdefault(name, set()).add(query_id)
    for scores, ungraded in ((result.scores, 0.0), (result.best_case, 1.0)):
        values = [{c.citation: ungraded if c.value is None else c.value for c in part} for part in parts]
        of_metrics = zip(METRICS, citation_scores(values, rule), strict=True)
        scores += [Score(name, query_id, metric, value) for metric, value in of_metrics]


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


def zeros_of_missing(
    answered: Mapping[str, Collection[str]], queries: Iterable[str], metrics: Sequence[str]
) -> tuple[list[Score], list[str]]:
    """Zeros for the queries that a system did not answer, and notes on them."""
    zeros, notes = [], []
    for system, of_system in answered.items():
        missing = [query_id for query_id in queries if query_id not in of_system]
        zeros += [Score(system, query_id, metric, 0.0) for query_id in missing for metric in metrics]
        if missing:
            notes.append(f"No answer of {system} to {counted_names(missing, 'query', 'queries')}: scored 0.")
    return zeros, notes
