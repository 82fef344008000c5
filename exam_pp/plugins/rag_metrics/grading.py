"""Grading of answers: by criteria, of the support of their citations, of their consistency with sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import ValidationError

from exam_pp.data_model import (
    SUPPORT_LABELS,
    CitationSupport,
    ConsistencyGrade,
    CriteriaGrades,
    CriterionRating,
    Passage,
    QueryPassages,
    SourceScore,
    SupportGrades,
)
from exam_pp.errors import SelectionError
from exam_pp.graders.base import Grading
from exam_pp.graders.rubric import PromptGrader
from exam_pp.graders.soft import soft_grade
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import LLM, ModelOptions, PairScorer
from exam_pp.llm_requests import NOT_SENT, Completion, Request, pair_request
from exam_pp.phases.grading.grade import DECISIVE, GradeOptions
from exam_pp.phases.grading.grading_run import (
    Advance,
    GradeFiles,
    no_answers,
    reading_of,
    resolve_options,
    write_answered,
)
from exam_pp.phases.grading.scheduler import Answer, AnyQuery, results_in_windows
from exam_pp.plugins.rag_metrics.prompts import (
    ANSWER_SLOT,
    CITATION_SUPPORT,
    FACTUAL_CONSISTENCY,
    RAGELO,
    CriteriaSet,
    parse_criteria,
    read_criteria,
)
from exam_pp.prompts.base import CLAIM_SLOT, CUT_SLOT, NO_DOCUMENTS, Prompt
from exam_pp.roles import SystemOutput, outputs_of
from exam_pp.store.files import check_output, read_text
from exam_pp.store.parsing import data_error
from exam_pp.store.passages.raw_passages import read_raw_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, listed

Kind = Literal["support", "criteria", "claim"]
MAX_NEW_TOKENS = 1024
"""Enough for an explanation before the ratings by criteria."""
NO_TEXT = "the claim has no text"
NO_CITATION = "the part cites no passage"
NO_SOURCE = "the file has no text of its sources"


@dataclass(frozen=True)
class AnswerOptions:
    """Options of the grading of answers.

    ``prompt``: None for the default of the kind. ``criteria``: The criteria with their prompt; None for those
    of RAGElo. ``systems``: Names of the systems to grade; empty for all. ``max_passages``: The number of
    retrieved passages that a rating by criteria considers at most; None for all. ``sources``: The sources of
    a claim that is a part: the passages that it cites, or all of the answer. ``soft``: Whether scores of
    claims are probabilities; None if these are not expensive.
    """

    prompt: Prompt | None = None
    criteria: CriteriaSet | None = None
    systems: Sequence[str] = ()
    max_passages: int | None = None
    sources: Literal["cited", "all"] = "cited"
    soft: bool | None = None
    regrade: bool = False


class AnswerUnit(NamedTuple):
    """A whole answer of a system or a part of it, and its sources, most relevant first.

    ``missing`` are ids that it cites, but the file lacks.
    """

    system: str
    claim: Literal["answer", "part"]
    text: str
    sources: Sequence[Passage]
    missing: Sequence[str] = ()
    query_text: str = ""

    @property
    def with_text(self) -> list[Passage]:
        """The sources with a text."""
        return [source for source in self.sources if source.text.strip()]


@dataclass(frozen=True)
class AnswerGrader(PromptGrader, ABC):
    """The base of graders of answers.

    ``pairs``: Whether the model is a classifier of pairs, which has no prompt.
    """

    chosen: AnswerOptions = field(default_factory=AnswerOptions)
    query_texts: Mapping[str, str] = field(default_factory=dict)
    pairs: bool = False
    stored: ClassVar[str]
    noun: ClassVar[str]

    @abstractmethod
    def units(self, query: QueryPassages, outputs: Sequence[SystemOutput]) -> Iterator[tuple[Passage, Any]]:
        """What to grade, each with the passage that gets the grades."""

    @abstractmethod
    def left(self, unit: AnswerUnit, known: Sequence[Any]) -> tuple[AnswerUnit | None, int]:
        """What these stored grades lack of a unit, and the number of grades that they have."""

    @abstractmethod
    def grades(self, unit: AnswerUnit, requests: Sequence[Request], replies: Sequence[Completion]) -> Any:
        """The grades that follow from the replies."""

    def requests(self, unit: AnswerUnit) -> list[Request]:
        """A request for each source of a part, or for all sources of an answer together."""
        texts = [source.text for source in unit.with_text] if unit.text.strip() else []
        if unit.claim == "answer":
            texts = [" ".join(texts)] if texts else []
        return [
            pair_request(text, unit.text)
            if self.pairs
            else self.request({CUT_SLOT: text, CLAIM_SLOT: unit.text})
            for text in texts
        ]

    def run(self, unit: AnswerUnit, requests: list[Request]) -> Grading[Any]:
        """Send the requests for a unit together; what needs none is graded without the model."""
        replies: list[Completion] = []
        if requests:
            replies = yield requests
        return self.grades(unit, requests, replies)

    @property
    def info(self) -> dict[str, Any] | None:
        """The recorded prompt; None for a classifier of pairs."""
        if self.pairs:
            return None
        limit = self.chosen.max_passages
        return self.prompt.provenance() | ({} if limit is None else {"max_passages": limit})

    def recorded(self, cut: Mapping[str, int]) -> dict[str, Any]:
        """The fields of all grades; ``cut``: the number of removed tokens of each text."""
        return _without_none(
            model=self.model,
            model_options=self.options,
            prompt_info=self.info,
            prompt_type=self.prompt.kind,
            tokens_cut={text: count for text, count in cut.items() if count} or None,
        )

    def has_made(self, grades: Any) -> bool:
        """Whether stored grades are by this model with this prompt, and count."""
        info, own = grades.prompt_info or {}, self.info or {}
        recorded = grades.model_options or {}
        decisive = {*DECISIVE, "positive_class"} - {*recorded.get(NOT_SENT, ())}
        return (
            not self.chosen.regrade
            and grades.model == self.model
            and all(info.get(key) == own.get(key) for key in ("prompt_class", "prompt_hash", "max_passages"))
            and all(recorded.get(key) == self.options.get(key) for key in decisive)
        )


def _without_none(**fields: Any) -> dict[str, Any]:
    """The fields with a value; files have no keys of the others."""
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True)
class CriteriaGrader(AnswerGrader):
    """Rates answers by all criteria in one reply; an empty answer gets the lowest ratings without a request.

    If a request is too long for the model, documents are cut from the end, never the answer.
    """

    stored = "criteria_grades"
    noun = "rating"

    @property
    def criteria(self) -> CriteriaSet:
        """The criteria with their prompt."""
        return self.chosen.criteria or RAGELO

    def units(self, query: QueryPassages, outputs: Sequence[SystemOutput]) -> Iterator[tuple[Passage, Any]]:
        """The whole answers, with the first retrieved passages, and others that they cite."""
        text = (self.query_texts.get(query.query_id) or query.query_text).strip()
        for output in outputs:
            first = {each.passage_id: each for each in output.retrieved[: self.chosen.max_passages]}
            sources = list((first | output.cited).values())
            yield (
                output.parts[0].passage,
                AnswerUnit(output.name, "answer", output.text, sources, query_text=text),
            )

    def left(self, unit: AnswerUnit, known: Sequence[Any]) -> tuple[AnswerUnit | None, int]:
        """The answer, unless it has ratings by all criteria."""
        names = {criterion.name for criterion in self.criteria.criteria}
        complete = any(
            grades.system == unit.system
            and names <= {item.criterion for item in grades.ratings if item.rating is not None}
            for grades in known
        )
        return (None, 1) if complete else (unit, 0)

    def requests(self, unit: AnswerUnit) -> list[Request]:
        """One request with all documents."""
        documents = "\n".join(f"[{each.passage_id}] {' '.join(each.text.split())}" for each in unit.with_text)
        values = {"query": unit.query_text, ANSWER_SLOT: unit.text, CUT_SLOT: documents or NO_DOCUMENTS}
        return [self.request(values)] if unit.text.strip() else []

    def grades(
        self, unit: AnswerUnit, requests: Sequence[Request], replies: Sequence[Completion]
    ) -> CriteriaGrades:
        """The ratings, or the reason why a rating is missing."""
        criteria = self.criteria.criteria
        found: Mapping[str, int | str] = {criterion.name: 0 for criterion in criteria}
        for reply in replies:
            if reply.error is None:
                found = read_criteria(reply.text, criteria)
            else:
                found = dict.fromkeys(found, reply.error)
        return CriteriaGrades(
            system=unit.system,
            ratings=[
                CriterionRating(criterion=name, rating=rating)
                if isinstance(rating, int)
                else CriterionRating(criterion=name, rating=None, error={"failure_reason": rating})
                for name, rating in found.items()
            ],
            **_without_none(answer=next((reply.text for reply in replies), None)),
            **self.recorded({CUT_SLOT: sum(reply.tokens_cut for reply in replies)}),
        )


@dataclass(frozen=True)
class SupportGrader(AnswerGrader):
    """Labels every citation of a part; a reply without a label leaves its citation ungraded."""

    stored = "support_grades"
    noun = "citation"

    def units(self, query: QueryPassages, outputs: Sequence[SystemOutput]) -> Iterator[tuple[Passage, Any]]:
        """The parts with a text; one that several systems have is graded once."""
        parts: dict[str, tuple[Passage, dict[str, Passage]]] = {}
        for output in outputs:
            for part in output.parts:
                if part.passage.text.strip():
                    _, cited = parts.setdefault(part.passage.passage_id, (part.passage, {}))
                    cited |= {each.passage_id: each for each in output.cited_by(part) if each.text.strip()}
        for passage, cited in parts.values():
            yield passage, AnswerUnit("", "part", passage.text, list(cited.values()))

    def left(self, unit: AnswerUnit, known: Sequence[Any]) -> tuple[AnswerUnit | None, int]:
        """The part with the passages for which it has no label."""
        labelled = {item.citation for each in known for item in each.supports if item.support is not None}
        sources = [source for source in unit.sources if source.passage_id not in labelled]
        return unit._replace(sources=sources) if sources else None, len(unit.sources) - len(sources)

    def grades(
        self, unit: AnswerUnit, requests: Sequence[Request], replies: Sequence[Completion]
    ) -> SupportGrades:
        """The labels of the citations."""
        supports = []
        for source, request, reply in zip(unit.sources, requests, replies, strict=True):
            verdict = self.prompt.verdict(reply, None, self.unparsed)
            label = error = None
            if verdict.rating is not None:
                label = SUPPORT_LABELS[verdict.rating]
            else:
                error = {"response": reply.text, "prompt": request.text, "failure_reason": verdict.reason}
            found = _without_none(support=label, error=error)
            supports.append(CitationSupport(citation=source.passage_id, answer=reply.text, **found))
        cut = {item.citation: reply.tokens_cut for item, reply in zip(supports, replies, strict=True)}
        return SupportGrades(supports=supports, **self.recorded(cut))


@dataclass(frozen=True)
class ConsistencyGrader(AnswerGrader):
    """Scores claims with a classifier of pairs, or with a prompt for a language model.

    ``soft``: Whether the score is the probability of "Yes" or the expected rating, if the model has label
    likelihoods; otherwise it is that of the written reply.
    """

    stored = "consistency_grades"
    noun = "claim"

    def units(self, query: QueryPassages, outputs: Sequence[SystemOutput]) -> Iterator[tuple[Passage, Any]]:
        """The whole answers and their parts."""
        for output in outputs:
            missing = output.missing(output.parts)
            yield (
                output.parts[0].passage,
                AnswerUnit(output.name, "answer", output.text, output.sources, missing),
            )
            for part in output.parts:
                sources = output.sources if self.chosen.sources == "all" else output.cited_by(part)
                missing = output.missing([part])
                yield part.passage, AnswerUnit(output.name, "part", part.passage.text, sources, missing)

    def left(self, unit: AnswerUnit, known: Sequence[Any]) -> tuple[AnswerUnit | None, int]:
        """The claim, unless it has a score against these sources."""
        sources = [source.passage_id for source in unit.with_text]
        scored = any(
            grade.error is None
            and (grade.system, grade.claim, grade.source_ids) == (unit.system, unit.claim, sources)
            for grade in known
        )
        return (None, 1) if scored else (unit, 0)

    def grades(
        self, unit: AnswerUnit, requests: Sequence[Request], replies: Sequence[Completion]
    ) -> ConsistencyGrade:
        """The highest score; none if a request failed, because the highest could be missing."""
        scores = [self._score(reply) for reply in replies]
        failed = [
            (reply.text, reason)
            for reply, (_, reason) in zip(replies, scores, strict=True)
            if reason is not None
        ]
        if not requests:
            cites = unit.claim == "answer" or unit.sources or unit.missing
            no_source = NO_SOURCE if cites else NO_CITATION
            failed = [("", no_source if unit.text.strip() else NO_TEXT)]
        ids = [source.passage_id for source in unit.with_text if requests]
        if unit.claim == "answer":
            of_source = [SourceScore(passage_id=key) for key in ids]
        else:
            scored = zip(ids, scores, strict=True)
            of_source = [SourceScore(passage_id=key, score=score) for key, (score, _) in scored]
        cut = {
            "source": sum(reply.tokens_cut for reply in replies),
            "claim": max((reply.claim_tokens_cut for reply in replies), default=0),
        }
        return ConsistencyGrade(
            system=unit.system,
            claim=unit.claim,
            score=None if failed else max(score for score, _ in scores if score is not None),
            sources=of_source,
            **_without_none(
                missing=list(unit.missing) or None,
                error={"response": failed[0][0], "failure_reason": failed[0][1]} if failed else None,
            ),
            **self.recorded(cut),
        )

    def _score(self, reply: Completion) -> tuple[float | None, str | None]:
        """The score from 0 to 1, or the reason why it is missing."""
        if self.pairs and reply.error is None:
            return float(reply.text), None
        verdict = self.prompt.verdict(reply, None, self.unparsed)
        if verdict.reason is not None:
            return None, verdict.reason
        soft = soft_grade(reply.label_logprobs)
        written = int(verdict.correct) if verdict.rating is None else verdict.rating
        return (written if soft is None else soft.expected) / (self.prompt.max_rating or 1), None


_GRADERS: dict[Kind, tuple[type[AnswerGrader], Prompt]] = {
    "support": (SupportGrader, CITATION_SUPPORT),
    "criteria": (CriteriaGrader, RAGELO.prompt),
    "claim": (ConsistencyGrader, FACTUAL_CONSISTENCY),
}


@dataclass
class AnswerSummary:
    """Counts of graded answers.

    ``graded``: The number of grades with each label, by each criterion or of each kind of claim.
    ``reasons``: What is ungraded, by reason. ``empty``: Answers without text. ``without_text``: Queries whose
    text is missing; their answers are not rated by criteria. ``missing``: Cited passages that the file lacks.
    """

    noun: str = "grade"
    answers: int = 0
    reused: int = 0
    graded: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    shortened: int = 0
    empty: int = 0
    missing: dict[str, None] = field(default_factory=dict)
    without_text: list[str] = field(default_factory=list)
    has_texts: bool = False
    asked: int = 0
    output: str = ""

    def add(self, grades: SupportGrades | CriteriaGrades | ConsistencyGrade) -> None:
        """Count new grades."""
        if isinstance(grades, SupportGrades):
            items = [(str(item.support), item.error) for item in grades.supports]
        elif isinstance(grades, CriteriaGrades):
            items = [(item.criterion, item.error) for item in grades.ratings]
        else:
            items = [(grades.claim, grades.error)]
        self.graded.update(name for name, error in items if error is None)
        self.reasons.update(str(error["failure_reason"]) for _, error in items if error is not None)
        self.shortened += len(grades.tokens_cut or {})

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield (
            f"{counted(self.graded.total(), self.noun)} graded, {self.reasons.total()} ungraded, "
            f"{self.reused} graded before ({counted(self.answers, 'answer')}, "
            f"{counted(self.asked, 'model call')})."
        )
        if self.graded:
            yield ", ".join(f"{name}: {count}" for name, count in self.graded.items()) + "."
        for reason, count in self.reasons.most_common():
            yield f"Ungraded: {count} × {reason}."
        if self.empty:
            yield f"{counted(self.empty, 'answer is', 'answers are')} empty."
        if self.shortened:
            yield f"{counted(self.shortened, 'text')} shortened to fit the model."
        if self.missing:
            are = counted(len(self.missing), "cited passage is", "cited passages are")
            yield (
                f"{are} not in the file, or without text: {listed(list(self.missing))}. Import them with the "
                "answers (`exam-pp import --runs RUNS --texts TEXTS`)."
            )
        if self.without_text:
            queries = counted(len(self.without_text), "query", "queries")
            yield f"Not graded, because the text is missing: {queries} ({listed(self.without_text)})."
        yield f"Wrote {self.output}."


def with_grades(
    queries: Iterable[AnyQuery], answer: Answer, grader: AnswerGrader, summary: AnswerSummary
) -> Iterator[AnyQuery]:
    """Yield the queries with new grades at the parts of answers, in input order; counts in ``summary``."""

    def asking() -> Iterator[tuple[tuple[AnyQuery, list[int]], list[Grading[Any]], int]]:
        for query in queries:
            full = [passage.full() for passage in query.passages]
            positions = {id(passage): position for position, passage in enumerate(full)}
            places, gradings, count = [], [], 0
            for passage, unit in _to_grade(QueryPassages(query.query_id, full), grader, summary):
                requests = grader.requests(unit)
                places.append(positions[id(passage)])
                gradings.append(grader.run(unit, requests))
                count += len(requests)
            yield (query, places), gradings, count

    for (query, places), results in results_in_windows(asking(), answer):
        for place, grades in zip(places, results, strict=True):
            summary.add(grades)
            query.passages[place].add(grader.stored, [grades])
        yield query


def _to_grade(
    query: QueryPassages, grader: AnswerGrader, summary: AnswerSummary
) -> Iterator[tuple[Passage, AnswerUnit]]:
    """What has no grades yet, with the passages that get them."""
    systems = grader.chosen.systems
    outputs = [
        each for each in outputs_of(query).values() if each.parts and (not systems or each.system in systems)
    ]
    summary.answers += len(outputs)
    summary.has_texts |= any(passage.text.strip() for passage in query.passages)
    for output in outputs:
        summary.missing |= dict.fromkeys(output.missing(output.parts))
        summary.missing |= {key: None for key, each in output.cited.items() if not each.text.strip()}
        summary.empty += not output.text
    for passage, unit in grader.units(query, outputs):
        if isinstance(grader, CriteriaGrader) and not unit.query_text:
            summary.without_text.append(query.query_id)
            return
        known = [each for each in getattr(passage, grader.stored) or () if grader.has_made(each)]
        todo, reused = grader.left(unit, known)
        summary.reused += reused
        if todo is not None:
            yield passage, todo


def _check(summary: AnswerSummary, files: GradeFiles, systems: Sequence[str]) -> None:
    """Raise SelectionError for a file without answers to grade."""
    if not summary.answers:
        raise no_answers(files, systems)
    if summary.without_text and not (summary.graded or summary.reasons or summary.reused):
        raise SelectionError(
            f"{files.queries or files.passages} has no text for the queries in {files.passages}, such as "
            f"{summary.without_text[0]!r}."
        )
    if not summary.has_texts:
        raise SelectionError(f"{files.passages} has no texts of passages, so that no answer can be graded.")


def make_grader(
    kind: Kind,
    llm: LLM,
    model: ModelOptions,
    options: AnswerOptions,
    query_texts: Mapping[str, str] | None = None,
) -> AnswerGrader:
    """The grader for a loaded model; raises SelectionError for a model or prompt that does not fit."""
    of_kind, default = _GRADERS[kind]
    own = options.criteria.prompt if options.criteria else options.prompt
    prompt, pairs = own or default, isinstance(llm, PairScorer)
    if prompt.kind != kind:
        raise SelectionError(
            f"The prompt {prompt.name!r} does not grade {of_kind.noun}s; its kind is {prompt.kind!r}."
        )
    if pairs and (own or kind != "claim"):
        raise SelectionError(
            "A classifier of pairs scores claims, without --prompt and --prompt-file; a language model makes "
            "the other grades of answers."
        )
    soft = model.choose
    if kind == "claim" and not pairs:
        soft = bool(resolve_options(GradeOptions([prompt], soft=options.soft), llm, model).soft)
    unparsed, limit = reading_of(model)
    limit = MAX_NEW_TOKENS if kind == "criteria" else limit
    return of_kind(
        prompt, llm.name, llm.provenance(), unparsed, soft, limit, options, query_texts or {}, pairs
    )


def read_criteria_file(path: Path) -> CriteriaSet:
    """The criteria of a TOML file; raises :class:`exam_pp.errors.DataError`."""
    try:
        return parse_criteria(read_text(path), str(path))
    except ValidationError as error:
        raise data_error(error, path) from error


def grade_answers(
    kind: Kind,
    files: GradeFiles,
    model: ModelOptions,
    options: AnswerOptions,
    advance: Advance = lambda _steps, _total: None,
) -> AnswerSummary:
    """Write the passages with grades of the answers in them.

    Args:
        kind: ``support`` of parts by the passages that they cite; ``criteria`` for ratings of whole answers;
            ``claim`` for the factual consistency of answers and parts with their sources.
        files: Passages with answers, texts of the queries, and the output; its journal continues an
            interrupted run.
        model: A language model; for claims also a classifier of pairs.
        options: Prompt, criteria, sources and systems.
        advance: Called with the number of finished requests.

    Returns:
        Counts for the summary.

    Raises:
        SelectionError: The file has no answers or no texts, or the model or the prompt does not fit.
        ModelError: The model cannot be loaded.
    """
    check_output(files.output, files.inputs)
    query_texts = {} if files.queries is None else read_query_texts(files.queries)
    llm = load_llm(model)
    grader = make_grader(kind, llm, model, options, query_texts)
    summary = AnswerSummary(grader.noun, output=str(files.output))
    queries = read_raw_passages(files.passages)
    summary.asked = write_answered(
        files,
        llm,
        lambda answer: with_grades(queries, answer, grader, summary),
        advance,
        lambda: _check(summary, files, options.systems),
    )
    return summary


def _by_command(
    kind: Kind,
    files: GradeFiles,
    model: ModelOptions,
    prompt: Prompt | None,
    options: dict[str, Any],
    advance: Advance,
) -> AnswerSummary:
    """Grade answers as the options of ``exam-pp grade`` say."""
    own = options["criteria_file"]
    named = {name: options[name] for name in ("systems", "max_passages", "sources", "soft", "regrade")}
    chosen = AnswerOptions(prompt, None if own is None else read_criteria_file(own), **named)
    return grade_answers(kind, files, model, chosen, advance)


GRADERS = {kind: partial(_by_command, kind) for kind in _GRADERS}
"""What ``exam-pp grade`` does with the kinds of prompts about answers."""
