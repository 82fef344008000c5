"""Inputs of the audit of a grader, and the verdicts of its sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from exam_pp.banks import TestBank
from exam_pp.data_model import DIRECT_ID, HUMAN, QueryView, Role, is_human
from exam_pp.defaults import CONFIDENCE, SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery, gather, ratings_of_pairs
from exam_pp.metrics.qrels import judgment_qrels
from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.evaluation.inputs import views
from exam_pp.phases.evaluation.judgments import judgments
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import entry_kind, threshold
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import human_model
from exam_pp.text.wording import listed

Outcome = Literal["evidence", "no evidence", "undecided"]


LEAST_QUERIES = 10
"""Fewest queries for a verdict by an interval: with fewer, intervals over resampled queries are too narrow.

Source: Cameron, Gelbach and Miller, "Bootstrap-based improvements for inference with clustered errors",
Review of Economics and Statistics 90 (2008): too many false alarms with 5 to 10 clusters.
"""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a section of an audit, with its reason.

    ``outcome``: Whether the data show the bias, do not show it, or cannot say. ``reason``: The reason with
    its number, as a sentence without capital and full stop.
    """

    outcome: Outcome
    reason: str

    @property
    def sentence(self) -> str:
        """The verdict as one sentence."""
        return f"{self.outcome.capitalize()}: {self.reason}."


def undecided(reason: str) -> Verdict:
    """The verdict ``undecided``."""
    return Verdict("undecided", reason)


def too_few(queries: int, number: str) -> Verdict:
    """The verdict without an interval that can be trusted; ``number`` says what was found."""
    reason = "all samples of the queries agree, which says nothing about other queries"
    if queries < LEAST_QUERIES:
        reason = f"a verdict needs at least {LEAST_QUERIES} queries, here {queries}"
    return undecided(f"{reason}; {number}")


def excludes(interval: Interval, value: float = 0.0) -> bool:
    """Whether an interval excludes a value."""
    return not interval.low <= value <= interval.high


def with_interval(value: float, interval: Interval | None, confidence: float, unit: str = "") -> str:
    """A number with its interval: ``0.12 (95 % interval 0.03 to 0.20)``."""
    if interval is None:
        return f"{value:z.3f}{unit}"
    return (
        f"{value:z.3f}{unit} ({100 * confidence:.4g} % interval {interval.low:z.3f} to {interval.high:z.3f})"
    )


Numbers = Mapping[str, Mapping[str, float]]
"""Query id to system to a number."""
JUDGMENTS = "judgments"
"""The value of ``reviewer`` for the judgments."""


@dataclass(frozen=True)
class AuditOptions:
    """Thresholds and intervals of an audit.

    ``min_grade``: Lowest grade that covers an entry. None: the default of the prompt's scale.
    """

    min_grade: int | None = None
    min_judgment: int = 1
    cutoff: int | None = None
    confidence: float = CONFIDENCE
    samples: int = SAMPLES
    seed: int = 0


@dataclass(frozen=True)
class People:
    """Labels of people: judgments of passages, or the ratings of a reviewer for pairs of passage and entry.

    ``passages``: (query, passage) to judgment; empty for a reviewer. ``pairs``: (query, passage, entry) to
    rating; empty for judgments.
    """

    name: str
    passages: Mapping[tuple[str, str], int] = field(default_factory=dict)
    pairs: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    @property
    def noun(self) -> str:
        """The name of one label."""
        return "judgment" if self.passages else "reviewer's rating"


@dataclass(frozen=True)
class GraderScores:
    """The grades of one grader, and the threshold of its scores of systems."""

    key: GradeKey
    file: GradedFile
    min_grade: int

    @cached_property
    def is_direct(self) -> bool:
        """Whether the grades are of the passages themselves."""
        return all(query.entries.keys() <= {DIRECT_ID} for query in self.queries())

    def queries(self) -> list[GradedQuery]:
        """The queries with grades."""
        return [self.file.queries[query_id] for query_id in self.file.graded]

    def scores(self, cutoff: int) -> dict[str, dict[str, float]]:
        """Score of every system on every query: Cover, or for direct grades the share of good passages."""
        cover = Cover(self.min_grade, cutoff)
        scores: dict[str, dict[str, float]] = {}
        for query in self.queries():
            if self.is_direct:
                good = [bool(mask) for mask in query.reached(self.min_grade)]
                scores[query.query_id] = {
                    system: sum(good[index] for index in query.top(system, first, cutoff))
                    / max(cutoff, len(query.top(system, first, cutoff)))
                    for system, first in self.file.first_ranks.items()
                }
            else:
                scores[query.query_id] = {
                    score.system: score.value
                    for score in cover(query, self.file.first_ranks)
                    if score.system != OVERALL_SYSTEM
                }
        return scores


@dataclass(frozen=True)
class AuditInput:
    """The input of the sections of an audit.

    ``people``: Labels of people; None without judgments and reviewer. ``cutoff``: That of the options, or
    the default for the file.
    """

    grader: GraderScores
    others: Sequence[GraderScores]
    bank: TestBank | None
    people: People | None
    words: Mapping[tuple[str, str], int]
    options: AuditOptions
    cutoff: int
    provenance: Provenance

    @property
    def systems(self) -> list[str]:
        """The systems with rankings, in order of appearance."""
        return list(self.grader.file.first_ranks)

    @cached_property
    def scores(self) -> Numbers:
        """Scores of systems by the audited grader."""
        return self.grader.scores(self.cutoff)

    def over_passages(self, value: Callable[[str, str], float]) -> Numbers:
        """Sum of a value over the first passages of every system, for all graded queries."""
        first_ranks = self.grader.file.first_ranks
        return {
            query.query_id: {
                system: sum(
                    value(query.query_id, query.passages[index].passage_id)
                    for index in query.top(system, first, self.cutoff)
                )
                for system, first in first_ranks.items()
            }
            for query in self.grader.queries()
        }

    @cached_property
    def people_scores(self) -> Numbers:
        """Sum of the judgments of the first passages of every system, divided by the cutoff.

        Unjudged passages and negative judgments count 0. Queries without judgments are missing; empty
        without judgments.
        """
        judged = {} if self.people is None else self.people.passages
        with_judgments = {query_id for query_id, _ in judged}
        totals = self.over_passages(lambda *passage: max(0, judged.get(passage, 0)))
        return {
            query_id: {system: total / self.cutoff for system, total in of_query.items()}
            for query_id, of_query in totals.items()
            if query_id in with_judgments
        }

    def name_of(self, key: GradeKey) -> str:
        """The model of a grader, with the prompt class if the model graded with several prompts."""
        keys = [self.grader.key, *(other.key for other in self.others)]
        is_unique = sum(other.model == key.model for other in keys) == 1
        return key.model if is_unique else f"{key.model} ({key.prompt_class})"


def read_input(
    graded: PathLike,
    *,
    bank: PathLike | None,
    grade_filter: GradeFilter | None,
    reviewer: str | None,
    qrels: PathLike | None,
    role: Role | None,
    options: AuditOptions,
) -> AuditInput:
    """Read the files of an audit."""
    lines = views(graded, role)
    test_bank = None if bank is None else read_bank(bank)
    criteria = with_aliases(grade_filter or GradeFilter())
    selector = GradeSelector(criteria)
    file = gather(lines, selector, test_bank, soft=True, kind=entry_kind(criteria))
    selector.check(str(graded))
    if not file.graded:
        raise SelectionError(f"None of the queries in {bank} has a graded passage in {graded}.")
    grader = GraderScores(selector.key, file, threshold(selector, options.min_grade))
    people = _people(lines, graded, reviewer, qrels, test_bank)
    words = {
        (line.query_id, passage.passage_id): len(passage.text.split())
        for line in lines
        for passage in line.passages
    }
    judged = file_names(qrels or graded) if people is not None and people.passages else ()
    cutoff = options.cutoff or file.cutoff
    provenance = replace(
        graded_by([grader.key]),
        banks=file_names(bank),
        judgments=judged,
        cutoff=cutoff,
        min_grades=(grader.min_grade,),
        queries=len(file.graded),
    )
    others = _others(lines, selector, test_bank, options)
    return AuditInput(grader, others, test_bank, people, words, options, cutoff, provenance)


def _others(
    lines: Sequence[QueryView], selected: GradeSelector, bank: TestBank | None, options: AuditOptions
) -> list[GraderScores]:
    """The other models of the file with grades on a scale like that of the selected grades."""
    others = []
    for key in sorted(selected.seen):
        if key == selected.key or key.is_reviewer:
            continue
        selector = GradeSelector(GradeFilter(key.model, key.prompt_class))
        file = gather(lines, selector, bank)
        if file.graded and selector.rated == selected.rated:
            others.append(GraderScores(key, file, threshold(selector, None)))
    return others


def _people(
    lines: Sequence[QueryView],
    graded: PathLike,
    reviewer: str | None,
    qrels: PathLike | None,
    bank: TestBank | None,
) -> People | None:
    if reviewer is None or reviewer == JUDGMENTS:
        judged = judgment_qrels(lines) if qrels is None else judgments(qrels)
        if reviewer == JUDGMENTS and not judged:
            raise SelectionError(f"{graded} has no judgments; use --qrels or --reviewer human:NAME.")
        labels = {(line.query_id, line.passage_id): line.whole for line in judged}
        return People(JUDGMENTS, passages=labels) if labels else None
    model = human_model(reviewer) or HUMAN
    selector = GradeSelector(GradeFilter(model))
    file = gather(lines, selector, bank)
    names = sorted({key.model for key in selector.seen if is_human(key.model)})
    if model not in names:
        raise SelectionError(f"{graded} has no grades by {model!r} (reviewers: {listed(names) or 'none'}).")
    return People(model, pairs=ratings_of_pairs(file))


def as_matrix(table: Numbers, queries: Sequence[str], systems: Sequence[str]) -> list[list[float]]:
    """The numbers of a table, systems × queries."""
    return [[table[query_id][system] for query_id in queries] for system in systems]
