"""Factual consistency of answers: a pair scorer or a judge scores answers and their parts against sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from exam_pp.data_model import ConsistencyGrade, Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.graders.answers import ClaimUnit, ConsistencyGrader
from exam_pp.graders.base import Grading
from exam_pp.llm.base import LLM, ModelOptions, PairScorer
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.phases.grading.grading_run import (
    Advance,
    GradeFiles,
    no_answers,
    open_journal,
    prepare_llm,
    reading_of,
)
from exam_pp.phases.grading.scheduler import WINDOW_REQUESTS, Answer, Answerer, results_in_windows
from exam_pp.prompts import Prompt
from exam_pp.prompts.claims import FACTUAL_CONSISTENCY
from exam_pp.roles import SystemOutput, outputs_of
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import passages_writer, read_passages
from exam_pp.text.wording import counted, listed

Claims = Literal["both", "answer", "part"]
"""The claims to score: whole answers, their parts, or both."""
Sources = Literal["cited", "all"]
"""The sources of a part: the passages that it cites, or all passages of the answer."""


@dataclass(frozen=True)
class ScoreOptions:
    """Options of the scoring of answers.

    ``systems``: Names of the systems to score; empty for all. ``prompt``: The prompt for a language model;
    None for the default. A pair scorer has no prompt. ``soft``: Whether scores of a language model are
    probabilities; None if these are not expensive.
    """

    claims: Claims = "both"
    sources: Sources = "cited"
    systems: Sequence[str] = ()
    prompt: Prompt | None = None
    soft: bool | None = None
    regrade: bool = False


@dataclass
class ScoreSummary:
    """Counts of scored claims.

    ``claim_cut``: Claims that were shortened themselves, and the number of their removed tokens.
    """

    answers: int = 0
    scored: int = 0
    reused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    source_cut: int = 0
    claim_cut: int = 0
    claim_tokens_cut: int = 0
    missing: dict[str, None] = field(default_factory=dict)
    asked: int = 0
    output: str = ""

    def add(self, grade: ConsistencyGrade) -> None:
        """Count a grade."""
        if grade.error is None:
            self.scored += 1
        else:
            self.reasons[str(grade.error["failure_reason"])] += 1
        cut = grade.tokens_cut or {}
        self.source_cut += "source" in cut
        self.claim_cut += "claim" in cut
        self.claim_tokens_cut += cut.get("claim", 0)
        self.missing |= dict.fromkeys(grade.missing)

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield (
            f"{counted(self.scored, 'claim')} scored, {self.reasons.total()} without a score, {self.reused} "
            f"scored before ({counted(self.answers, 'answer')}, {counted(self.asked, 'model call')})."
        )
        for reason, count in self.reasons.most_common():
            yield f"Without a score: {count} × {reason}."
        if self.source_cut:
            claims = counted(self.source_cut, "claim has a source that was", "claims have sources that were")
            yield f"{claims} too long for the model and shortened."
        if self.claim_cut:
            claims = counted(self.claim_cut, "claim was", "claims were")
            yield (
                f"{claims} longer than the model's context and shortened by "
                f"{counted(self.claim_tokens_cut, 'token')}."
            )
        if self.missing:
            are = counted(len(self.missing), "cited passage is", "cited passages are")
            yield (
                f"{are} not in the file: {listed(list(self.missing))}. Import them with the answers "
                "(`exam-pp import --runs RUNS --texts TEXTS`)."
            )
        yield f"Wrote {self.output}."


def score_answers(
    files: GradeFiles,
    model: ModelOptions,
    options: ScoreOptions,
    advance: Advance = lambda _steps, _total: None,
) -> ScoreSummary:
    """Write the passages with the factual consistency of the answers in them."""
    check_output(files.output, files.inputs)
    if options.prompt is not None and options.prompt.kind != "claim":
        raise SelectionError(
            f"The prompt {options.prompt.name!r} does not score claims; its kind is {options.prompt.kind!r}."
        )
    if options.prompt is not None and model.pipeline == "text-classification":
        raise SelectionError("--prompt cannot be used with a pair scorer, which has no prompt.")
    llm = prepare_llm(model, files)
    grader = make_consistency_grader(llm, model, options)
    summary = ScoreSummary(output=str(files.output))
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        with passages_writer(files.output, inputs=files.inputs) as writer:
            for query in scored_queries(read_passages(files.passages), answer, grader, options, summary):
                writer.write(query)
            if not summary.answers:
                raise no_answers(files, options.systems)
        summary.asked = answer.asked
    return summary


def make_consistency_grader(llm: LLM, model: ModelOptions, options: ScoreOptions) -> ConsistencyGrader:
    """The grader for a loaded model: without a prompt for a pair scorer."""
    if isinstance(llm, PairScorer):
        return ConsistencyGrader(llm.name, llm.provenance())
    expensive = getattr(llm, "labels_are_expensive", False)
    if model.thinking_tokens and options.soft:
        raise SelectionError("--soft cannot be combined with -M thinking_tokens: use only one of them.")
    soft = not (model.thinking_tokens or expensive) if options.soft is None else options.soft
    unparsed, limit = reading_of(model)
    return ConsistencyGrader(
        llm.name,
        llm.provenance(),
        options.prompt or FACTUAL_CONSISTENCY,
        unparsed,
        soft or model.choose,
        limit,
    )


def scored_queries(
    queries: Iterable[QueryPassages],
    answer: Answer,
    grader: ConsistencyGrader,
    options: ScoreOptions,
    summary: ScoreSummary,
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[QueryPassages]:
    """Yield the queries with new grades at the parts of answers, in input order; counts in ``summary``."""

    def tasks() -> Iterator[tuple[tuple[QueryPassages, list[Passage]], list[Grading[ConsistencyGrade]], int]]:
        for query in queries:
            units = list(_units(query, grader, options, summary))
            places = [passage for passage, _ in units]
            gradings = [grader.run(unit) for _, unit in units]
            yield (query, places), gradings, sum(unit.requests for _, unit in units)

    for (query, places), grades in results_in_windows(tasks(), answer, window_requests):
        for passage, grade in zip(places, grades, strict=True):
            summary.add(grade)
            passage.take(consistency_grades=[*(passage.consistency_grades or ()), grade])
        yield query


def _units(
    query: QueryPassages, grader: ConsistencyGrader, options: ScoreOptions, summary: ScoreSummary
) -> Iterator[tuple[Passage, ClaimUnit]]:
    """The claims to score, with the passages at which their grades are stored."""
    for answer in outputs_of(query).values():
        if not answer.parts or (options.systems and answer.system not in options.systems):
            continue
        summary.answers += 1
        for passage, unit in _claims(answer, options):
            known = passage.consistency_grades or ()
            if not options.regrade and any(_is_same(grade, unit, grader) for grade in known):
                summary.reused += 1
            else:
                yield passage, unit


def _claims(answer: SystemOutput, options: ScoreOptions) -> Iterator[tuple[Passage, ClaimUnit]]:
    if options.claims != "part":
        missing = answer.missing(answer.parts)
        yield (
            answer.parts[0].passage,
            ClaimUnit(answer.name, "answer", answer.text, _texts(answer.sources), missing),
        )
    if options.claims != "answer":
        for part in answer.parts:
            sources = answer.sources if options.sources == "all" else answer.cited_by(part)
            missing = answer.missing([part])
            yield (
                part.passage,
                ClaimUnit(answer.name, "part", part.passage.text, _texts(sources), missing),
            )


def _texts(passages: Iterable[Passage]) -> list[tuple[str, str]]:
    return [(passage.passage_id, passage.text) for passage in passages]


def _is_same(grade: ConsistencyGrade, unit: ClaimUnit, grader: ConsistencyGrader) -> bool:
    """Whether a stored grade scores this claim against these sources by this model and prompt."""
    recorded = grade.model_options or {}
    options = (*DECISIVE, "positive_class")
    return (
        grade.error is None
        and (grade.system, grade.claim, grade.model) == (unit.system, unit.claim, grader.model)
        and grade.prompt_hash == (grader.prompt.hash if grader.prompt else None)
        and all(recorded.get(key) == grader.options.get(key) for key in options)
        and grade.source_ids == [key for key, _ in unit.with_text]
    )
