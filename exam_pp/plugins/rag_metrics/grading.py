"""Grading of answers: by criteria, of the support of their citations, of their consistency with sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

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
from exam_pp.llm.base import LLM, ModelOptions, PairScorer
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, NOT_SENT, Completion, Request, pair_request
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.phases.grading.grading_run import (
    Advance,
    GradeFiles,
    no_answers,
    prepare_llm,
    reading_of,
    write_answered,
)
from exam_pp.phases.grading.scheduler import (
    WINDOW_REQUESTS,
    Answer,
    AnyQuery,
    results_in_windows,
)
from exam_pp.plugins.rag_metrics.prompts import (
    ANSWER_SLOT,
    CITATION_SUPPORT,
    FACTUAL_CONSISTENCY,
    RAGELO,
    CriteriaSet,
    parse_criteria,
    read_criteria,
)
from exam_pp.prompts.base import CLAIM_SLOT, CUT_SLOT, NO_DOCUMENTS, Prompt, Unparsed
from exam_pp.roles import SystemOutput, outputs_of
from exam_pp.store.files import check_output, read_text
from exam_pp.store.parsing import data_error
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.raw_passages import read_raw_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, listed

MAX_NEW_TOKENS = 1024
"""Enough for an explanation before the ratings."""


@dataclass(frozen=True)
class AnsweredQuery:
    """A system's answer to a query, and its documents as pairs of id and text, most relevant first."""

    system: str
    query_text: str
    answer: str
    documents: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CriteriaGrader:
    """Rates answers by criteria; ``model`` and ``options`` are recorded with the grades."""

    criteria: CriteriaSet
    model: str
    options: dict[str, Any]
    info: dict[str, Any]

    def run(self, unit: AnsweredQuery) -> Grading[CriteriaGrades]:
        """Ask once; an empty answer gets the lowest ratings without a request.

        If the request is too long for the model, documents are cut from the end, never the answer.
        """
        if not unit.answer.strip():
            ratings: dict[str, int | str] = {criterion.name: 0 for criterion in self.criteria.criteria}
            return self._grades(unit, ratings)
        (reply,) = yield [self._request(unit)]
        if reply.error is None:
            ratings = read_criteria(reply.text, self.criteria.criteria)
        else:
            ratings = {criterion.name: reply.error for criterion in self.criteria.criteria}
        return self._grades(unit, ratings, reply)

    def _request(self, unit: AnsweredQuery) -> Request:
        documents = "\n".join(f"[{key}] {' '.join(text.split())}" for key, text in unit.documents)
        values = {"query": unit.query_text, ANSWER_SLOT: unit.answer, CUT_SLOT: documents or NO_DOCUMENTS}
        return Request(self.criteria.prompt.render(values), max_new_tokens=MAX_NEW_TOKENS)

    def _grades(
        self,
        unit: AnsweredQuery,
        ratings: dict[str, int | str],
        reply: Completion | None = None,
    ) -> CriteriaGrades:
        grades: dict[str, Any] = {
            "system": unit.system,
            "ratings": [_rating(name, rating) for name, rating in ratings.items()],
            "model": self.model,
            "model_options": self.options,
            "prompt_info": self.criteria.prompt.provenance() | self.info,
            "prompt_type": "criteria",
        }
        if reply is not None:
            grades["answer"] = reply.text
            if reply.tokens_cut:
                grades["tokens_cut"] = {CUT_SLOT: reply.tokens_cut}
        return CriteriaGrades(**grades)


def _rating(name: str, rating: int | str) -> CriterionRating:
    if isinstance(rating, int):
        return CriterionRating(criterion=name, rating=rating)
    return CriterionRating(criterion=name, rating=None, error={"failure_reason": rating})


@dataclass(frozen=True)
class CitingPart:
    """A part of an answer, and the passages with text that it cites, as pairs of id and text."""

    text: str
    cited: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class SupportGrader(PromptGrader):
    """Labels every citation of a part with a prompt of the kind ``support``, in one request each.

    With ``soft``, the model may choose the likeliest label.
    """

    unparsed: Unparsed = "ungraded"
    soft: bool = False

    def run(self, part: CitingPart) -> Grading[SupportGrades]:
        """Ask about each citation; a reply without a label leaves its citation ungraded."""
        requests = [self.request({CUT_SLOT: text, CLAIM_SLOT: part.text}) for _, text in part.cited]
        replies = yield requests
        return SupportGrades(
            supports=[
                self._support(citation, reply, request)
                for (citation, _), reply, request in zip(part.cited, replies, requests, strict=True)
            ],
            model=self.model,
            model_options=self.options,
            prompt_info=self.prompt.provenance(),
            prompt_type="support",
            **self._cut(part, replies),
        )

    def _support(self, citation: str, reply: Completion, request: Request) -> CitationSupport:
        verdict = self.prompt.verdict(reply, None, self.unparsed)
        if verdict.rating is not None:
            return CitationSupport(
                citation=citation, support=SUPPORT_LABELS[verdict.rating], answer=reply.text
            )
        error = {"response": reply.text, "prompt": request.text, "failure_reason": verdict.reason}
        return CitationSupport(citation=citation, answer=reply.text, error=error)

    def _cut(self, part: CitingPart, replies: Sequence[Completion]) -> dict[str, Any]:
        cut = {
            citation: reply.tokens_cut
            for (citation, _), reply in zip(part.cited, replies, strict=True)
            if reply.tokens_cut
        }
        return {"tokens_cut": cut} if cut else {}


NO_TEXT = "the claim has no text"
NO_CITATION = "the part cites no passage"
NO_SOURCE = "the file has no text of its sources"


@dataclass(frozen=True)
class ClaimUnit:
    """A claim of a system with its sources, as pairs of passage id and text.

    The sources of a whole answer are joined with spaces; a part is scored against each of its sources.
    ``missing`` are ids that the claim cites, but the file lacks.
    """

    system: str
    claim: Literal["answer", "part"]
    text: str
    sources: Sequence[tuple[str, str]]
    missing: Sequence[str] = ()

    @property
    def requests(self) -> int:
        """The number of requests; 0 if the claim cannot be scored."""
        if not self.text.strip() or not self.with_text:
            return 0
        return 1 if self.claim == "answer" else len(self.with_text)

    @property
    def with_text(self) -> list[tuple[str, str]]:
        """The sources with a text."""
        return [(key, text) for key, text in self.sources if text.strip()]


@dataclass(frozen=True)
class ConsistencyGrader:
    """Scores claims with a pair scorer, or with a prompt for a language model.

    ``prompt``: A prompt of the kind ``claim``; None for a pair scorer. ``soft``: Whether the score is the
    probability of "Yes" or the expected rating, if the model has label likelihoods; otherwise it is that of
    the written reply. ``max_new_tokens``: The maximal number of tokens in a reply to the prompt.
    """

    model: str
    options: dict[str, Any]
    prompt: Prompt | None = None
    unparsed: Unparsed = "ungraded"
    soft: bool = True
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS

    def run(self, unit: ClaimUnit) -> Grading[ConsistencyGrade]:
        """Score a claim against each source, or against all sources together.

        If a request fails, the claim has no score, because the highest score could be missing.
        """
        sources = unit.with_text
        if not unit.requests:
            cites = unit.claim == "answer" or unit.sources or unit.missing
            no_source = NO_SOURCE if cites else NO_CITATION
            return self._grade(unit, [], NO_TEXT if not unit.text.strip() else no_source)
        joined = unit.claim == "answer"
        texts = [" ".join(text for _, text in sources)] if joined else [text for _, text in sources]
        replies = yield [self._request(text, unit.text) for text in texts]
        scored = [(reply, *self._score(reply)) for reply in replies]
        reason = next((reason for _, score, reason in scored if score is None), None)
        kept = [SourceScore(passage_id=key) for key, _ in sources]
        if not joined:
            kept = [
                SourceScore(passage_id=key, score=score)
                for (key, _), (_, score, _) in zip(sources, scored, strict=True)
            ]
        scores = [score for _, score, _ in scored if score is not None]
        return self._grade(unit, kept, reason, replies, max(scores) if reason is None else None)

    def _request(self, source: str, claim: str) -> Request:
        if self.prompt is None:
            return pair_request(source, claim)
        return Request(
            self.prompt.render({CUT_SLOT: source, CLAIM_SLOT: claim}),
            self.prompt.labels if self.soft else (),
            self.max_new_tokens,
            one_line=True,
            search=self.prompt.label_search(self.unparsed),
        )

    def _score(self, reply: Completion) -> tuple[float | None, str | None]:
        """The score from 0 to 1, or the reason why it is missing."""
        if reply.error is not None:
            return None, reply.error
        if self.prompt is None:
            return float(reply.text), None
        verdict = self.prompt.parse(reply.text, None, self.unparsed)
        if verdict.reason is not None:
            return None, verdict.reason
        top = self.prompt.max_rating or 1
        soft = soft_grade(reply.label_logprobs)
        if soft is not None:
            return soft.expected / top, None
        return (float(verdict.correct) if verdict.rating is None else verdict.rating / top), None

    def _grade(
        self,
        unit: ClaimUnit,
        sources: list[SourceScore],
        reason: str | None,
        replies: Sequence[Completion] = (),
        score: float | None = None,
    ) -> ConsistencyGrade:
        grade: dict[str, Any] = {
            "system": unit.system,
            "claim": unit.claim,
            "score": score,
            "sources": sources,
            "model": self.model,
            "model_options": self.options,
            "prompt_type": "claim",
        }
        if self.prompt is not None:
            grade["prompt_info"] = self.prompt.provenance()
        if unit.missing:
            grade["missing"] = list(unit.missing)
        cut = {
            "source": sum(reply.tokens_cut for reply in replies),
            "claim": max((reply.claim_tokens_cut for reply in replies), default=0),
        }
        if any(cut.values()):
            grade["tokens_cut"] = {text: count for text, count in cut.items() if count}
        if reason is not None:
            response = next((reply.text for reply in replies if self._score(reply)[0] is None), "")
            grade["error"] = {"response": response, "failure_reason": reason}
        return ConsistencyGrade(**grade)


class Task(NamedTuple):
    """What asks for grades of an answer: the passage that gets them, and the number of requests."""

    passage: Passage
    grading: Generator[list[Request], list[Completion], Any]
    requests: int


@dataclass
class _Summary:
    """Counts of graded answers; ``reasons`` counts what is ungraded."""

    answers: int = 0
    reused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    output: str = ""


def with_grades(
    queries: Iterable[AnyQuery],
    answer: Answer,
    name: str,
    tasks_of: Callable[[QueryPassages], Iterable[Task]],
    count: Callable[[Any], None],
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[AnyQuery]:
    """Yield the queries with new grades at the parts of answers, in the list ``name``, in input order."""

    def asking() -> Iterator[tuple[tuple[AnyQuery, list[int]], list[Any], int]]:
        for query in queries:
            full = [passage.full() for passage in query.passages]
            positions = {id(passage): position for position, passage in enumerate(full)}
            tasks = list(tasks_of(QueryPassages(query.query_id, full)))
            places = [positions[id(task.passage)] for task in tasks]
            yield (query, places), [task.grading for task in tasks], sum(task.requests for task in tasks)

    for (query, places), results in results_in_windows(asking(), answer, window_requests):
        for place, grades in zip(places, results, strict=True):
            count(grades)
            query.passages[place].add(name, [grades])
        yield query


def _check_answers(summary: _Summary, files: GradeFiles, systems: Sequence[str]) -> None:
    if not summary.answers:
        raise no_answers(files, systems)


def _same_options(recorded: Mapping[str, Any] | None, options: Mapping[str, Any], *more: str) -> bool:
    """Whether recorded options of a model equal those that decide on grades."""
    recorded = recorded or {}
    decisive = {*DECISIVE, *more} - {*recorded.get(NOT_SENT, ())}
    return all(recorded.get(key) == options.get(key) for key in decisive)


@dataclass(frozen=True)
class CriteriaOptions:
    """Options of the grading of answers by criteria.

    ``criteria``: The criteria with their prompt; None for those of RAGElo. ``systems``: Names of the systems
    to grade; empty for all. ``max_passages``: The number of retrieved passages that the model reads at most;
    None for all.
    """

    criteria: CriteriaSet | None = None
    systems: Sequence[str] = ()
    max_passages: int | None = None
    regrade: bool = False


@dataclass
class AnswerSummary(_Summary):
    """Counts of rated answers.

    ``empty``: Answers without text, which get the lowest ratings without a model call. ``without_text``:
    Queries whose text is missing; their answers are not graded. ``has_texts``: Whether any passage has a
    text; a file without texts has no empty answers.
    """

    empty: int = 0
    rated: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    without_text: list[str] = field(default_factory=list)
    queries: int = 0
    has_texts: bool = False

    def add(self, grades: CriteriaGrades) -> None:
        """Count the ratings of an answer."""
        self.rated.update(item.criterion for item in grades.ratings if item.rating is not None)
        self.reasons.update(str(item.error["failure_reason"]) for item in grades.ratings if item.error)
        self.cut += bool(grades.tokens_cut)

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield (
            f"{counted(self.rated.total(), 'rating')} by criteria, {self.reasons.total()} ungraded "
            f"({counted(self.answers, 'answer')}, {self.reused} graded before, "
            f"{counted(self.asked, 'model call')})."
        )
        if self.rated:
            yield ", ".join(f"{name}: {count}" for name, count in self.rated.items()) + "."
        for reason, count in self.reasons.most_common():
            yield f"Ungraded: {count} × {reason}."
        if self.empty:
            are = counted(self.empty, "answer is empty and gets", "answers are empty and get")
            yield f"{are} the lowest ratings."
        if self.cut:
            yield f"{counted(self.cut, 'answer')} with documents that were shortened to fit the model."
        if self.without_text:
            queries = counted(len(self.without_text), "query", "queries")
            yield f"Not graded, because the text is missing: {queries} ({listed(self.without_text)})."
        yield f"Wrote {self.output}."


def read_criteria_file(path: Path) -> CriteriaSet:
    """The criteria of a TOML file; raises :class:`exam_pp.errors.DataError`."""
    try:
        return parse_criteria(read_text(path), str(path))
    except ValidationError as error:
        raise data_error(error, path) from error


def grade_answers(
    files: GradeFiles,
    model: ModelOptions,
    options: CriteriaOptions,
    advance: Advance = lambda _steps, _total: None,
) -> AnswerSummary:
    """Write the passages with the ratings of the answers in them by criteria.

    Args:
        files: Passages with answers, texts of the queries, and the output; its journal continues an
            interrupted run.
        model: A language model.
        options: Criteria and systems.
        advance: Called with the number of finished requests.

    Returns:
        Counts for the summary.

    Raises:
        SelectionError: The file has no answers, no texts, or no answers to queries with a text; or the model
            is a classifier of pairs.
        ModelError: The model cannot be loaded.
    """
    check_output(files.output, files.inputs)
    query_texts = {} if files.queries is None else read_query_texts(files.queries)
    llm = prepare_llm(model, files)
    grader = make_criteria_grader(llm, options)
    summary = AnswerSummary(output=str(files.output))
    queries = read_raw_passages(files.passages)
    summary.asked = write_answered(
        files,
        llm,
        lambda answer: with_grades(
            queries,
            answer,
            "criteria_grades",
            lambda query: rating_tasks(query, query_texts, grader, options, summary),
            summary.add,
        ),
        advance,
        lambda: _check_texts(summary, files, options.systems),
    )
    return summary


def make_criteria_grader(llm: LLM, options: CriteriaOptions) -> CriteriaGrader:
    """The grader for a loaded model; raises SelectionError for a pair scorer, which has no prompt."""
    if isinstance(llm, PairScorer):
        raise SelectionError(
            "Criteria are rated by a language model; a classifier of pairs scores claims, without "
            "--prompt and --prompt-file."
        )
    info: dict[str, Any] = {} if options.max_passages is None else {"max_passages": options.max_passages}
    return CriteriaGrader(options.criteria or RAGELO, llm.name, llm.provenance(), info)


def rating_tasks(
    query: QueryPassages,
    query_texts: Mapping[str, str],
    grader: CriteriaGrader,
    options: CriteriaOptions,
    summary: AnswerSummary,
) -> Iterator[Task]:
    """The answers to rate, at their first parts; counts in ``summary``."""
    summary.has_texts |= any(passage.text.strip() for passage in query.passages)
    text = (query_texts.get(query.query_id) or query.query_text).strip()
    outputs = [
        output
        for output in outputs_of(query).values()
        if output.parts and (not options.systems or output.system in options.systems)
    ]
    summary.queries += bool(outputs)
    summary.answers += len(outputs)
    if outputs and not text:
        summary.without_text.append(query.query_id)
        return
    for output in outputs:
        first = output.parts[0].passage
        known = first.criteria_grades or ()
        if not options.regrade and any(_has_rated(grades, output.name, grader) for grades in known):
            summary.reused += 1
            continue
        summary.empty += not output.text
        unit = AnsweredQuery(output.name, text, output.text, _documents(output, options.max_passages))
        yield Task(first, grader.run(unit), bool(output.text))


def _documents(output: SystemOutput, max_passages: int | None) -> list[tuple[str, str]]:
    """The first retrieved passages, then others that the answer cites; those with text."""
    first = {passage.passage_id: passage for passage in output.retrieved[:max_passages]}
    passages = (first | output.cited).values()
    return [(passage.passage_id, passage.text) for passage in passages if passage.text.strip()]


def _has_rated(grades: CriteriaGrades, system: str, grader: CriteriaGrader) -> bool:
    """Whether stored grades rate this answer by all criteria, by this model and prompt."""
    prompt = grader.criteria.prompt
    rated = {item.criterion for item in grades.ratings if item.rating is not None}
    return (
        (grades.system, grades.model, grades.prompt_class, grades.prompt_hash)
        == (system, grader.model, prompt.name, prompt.hash)
        and rated >= {criterion.name for criterion in grader.criteria.criteria}
        and _same_options(grades.model_options, grader.options)
        and (grades.prompt_info or {}).get("max_passages") == grader.info.get("max_passages")
    )


def _check_texts(summary: AnswerSummary, files: GradeFiles, systems: Sequence[str]) -> None:
    _check_answers(summary, files, systems)
    if len(summary.without_text) == summary.queries:
        raise SelectionError(
            f"{files.queries or files.passages} has no text for the queries in {files.passages}, such as "
            f"{summary.without_text[0]!r}."
        )
    if not summary.has_texts:
        raise SelectionError(f"{files.passages} has no texts of passages, so that no answer can be graded.")


@dataclass(frozen=True)
class CitationOptions:
    """Options of the grading of citations.

    ``prompt``: A prompt of the kind ``support``; None for the default. ``systems``: Names of the systems to
    grade; empty for all.
    """

    prompt: Prompt | None = None
    systems: Sequence[str] = ()
    regrade: bool = False


@dataclass
class CitationSummary(_Summary):
    """Counts of graded citations."""

    labels: Counter[str] = field(default_factory=Counter)
    uncited: int = 0
    cut: int = 0
    missing: dict[str, None] = field(default_factory=dict)

    def add(self, grades: SupportGrades) -> None:
        """Count the grades of a part."""
        self.labels.update(item.support for item in grades.supports if item.support is not None)
        self.reasons.update(str(item.error["failure_reason"]) for item in grades.supports if item.error)
        self.cut += len(grades.tokens_cut or {})

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield (
            f"{counted(self.labels.total(), 'citation')} graded, {self.reasons.total()} ungraded, "
            f"{self.reused} graded before ({counted(self.answers, 'answer')}, "
            f"{counted(self.asked, 'model call')})."
        )
        if self.labels:
            yield ", ".join(f"{label}: {self.labels[label]}" for label in sorted(self.labels)) + "."
        for reason, count in self.reasons.most_common():
            yield f"Ungraded: {count} × {reason}."
        if self.uncited:
            cite = counted(self.uncited, "part of an answer cites", "parts of answers cite")
            yield f"{cite} no passage."
        if self.cut:
            yield f"{counted(self.cut, 'cited passage')} shortened to fit the model."
        if self.missing:
            are = counted(len(self.missing), "cited passage is", "cited passages are")
            yield (
                f"{are} not in the file, or without text, and will count as no support: "
                f"{listed(list(self.missing))}."
            )
        yield f"Wrote {self.output}."


def grade_citations(
    files: GradeFiles,
    model: ModelOptions,
    options: CitationOptions,
    advance: Advance = lambda _steps, _total: None,
) -> CitationSummary:
    """Write the passages with the support of the parts of answers by the passages that they cite.

    Args:
        files: Passages with answers, and the output; its journal continues an interrupted run.
        model: A language model.
        options: Prompt and systems.
        advance: Called with the number of finished requests.

    Returns:
        Counts for the summary.

    Raises:
        SelectionError: The file has no answers, a selected system has none, or the prompt does not fit.
        ModelError: The model cannot be loaded.
    """
    check_output(files.output, files.inputs)
    prompt = options.prompt or CITATION_SUPPORT
    if prompt.kind != "support":
        raise SelectionError(
            f"The prompt {prompt.name!r} does not grade citations; its kind is {prompt.kind!r}."
        )
    llm = prepare_llm(model, files)
    grader = make_support_grader(llm, model, prompt)
    summary = CitationSummary(output=str(files.output))
    queries = read_raw_passages(files.passages)
    summary.asked = write_answered(
        files,
        llm,
        lambda answer: with_grades(
            queries,
            answer,
            "support_grades",
            lambda query: support_tasks(query, grader, options, summary),
            summary.add,
        ),
        advance,
        lambda: _check_answers(summary, files, options.systems),
    )
    return summary


def make_support_grader(llm: LLM, model: ModelOptions, prompt: Prompt) -> SupportGrader:
    """The grader for a loaded model; raises SelectionError for a pair scorer, which has no labels."""
    if isinstance(llm, PairScorer):
        raise SelectionError(
            "Citations are graded by a language model; a classifier of pairs scores claims, without "
            "--prompt and --prompt-file."
        )
    unparsed, limit = reading_of(model)
    return SupportGrader(
        prompt,
        llm.name,
        llm.provenance(),
        unparsed,
        model.choose,
        limit,
    )


def support_tasks(
    query: QueryPassages, grader: SupportGrader, options: CitationOptions, summary: CitationSummary
) -> Iterator[Task]:
    """The citations to grade of each part of an answer that has some; counts in ``summary``."""
    cited: dict[str, dict[str, str]] = {}
    passages = {passage.passage_id: passage for passage in query.passages}
    for output in outputs_of(query).values():
        if not output.text or (options.systems and output.system not in options.systems):
            continue
        summary.answers += 1
        for part in output.parts:
            if not part.passage.text.strip():
                continue
            summary.uncited += not part.citations
            summary.missing |= dict.fromkeys(output.missing([part]))
            of_part = cited.setdefault(part.passage.passage_id, {})
            for passage in output.cited_by(part):
                if passage.text.strip():
                    of_part[passage.passage_id] = passage.text
                else:
                    summary.missing[passage.passage_id] = None
    for passage_id, of_part in cited.items():
        citing = passages[passage_id]
        known = set() if options.regrade else _labelled(citing, grader)
        summary.reused += len(known & of_part.keys())
        to_grade = [(key, text) for key, text in of_part.items() if key not in known]
        if to_grade:
            yield Task(citing, grader.run(CitingPart(citing.text, to_grade)), len(to_grade))


def _labelled(passage: Passage, grader: SupportGrader) -> set[str]:
    """The citations that have a grade by this model and prompt."""
    return {
        item.citation
        for grades in passage.support_grades or ()
        if (grades.model, grades.prompt_class, grades.prompt_hash)
        == (grader.model, grader.prompt.name, grader.prompt.hash)
        if _same_options(grades.model_options, grader.options)
        for item in grades.supports
        if item.support is not None
    }


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
class ScoreSummary(_Summary):
    """Counts of scored claims.

    ``claim_cut``: Claims that were shortened themselves, and the number of their removed tokens.
    """

    scored: int = 0
    source_cut: int = 0
    claim_cut: int = 0
    claim_tokens_cut: int = 0
    missing: dict[str, None] = field(default_factory=dict)

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
    queries = read_passages(files.passages)
    summary.asked = write_answered(
        files,
        llm,
        lambda answer: with_grades(
            queries,
            answer,
            "consistency_grades",
            lambda query: claim_tasks(query, grader, options, summary),
            summary.add,
        ),
        advance,
        lambda: _check_answers(summary, files, options.systems),
    )
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


def claim_tasks(
    query: QueryPassages, grader: ConsistencyGrader, options: ScoreOptions, summary: ScoreSummary
) -> Iterator[Task]:
    """The claims to score, with the passages at which their grades are stored; counts in ``summary``."""
    for answer in outputs_of(query).values():
        if not answer.parts or (options.systems and answer.system not in options.systems):
            continue
        summary.answers += 1
        for passage, unit in _claims(answer, options):
            known = passage.consistency_grades or ()
            if not options.regrade and any(_has_scored(grade, unit, grader) for grade in known):
                summary.reused += 1
            else:
                yield Task(passage, grader.run(unit), unit.requests)


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


def _has_scored(grade: ConsistencyGrade, unit: ClaimUnit, grader: ConsistencyGrader) -> bool:
    """Whether a stored grade scores this claim against these sources by this model and prompt."""
    return (
        grade.error is None
        and (grade.system, grade.claim, grade.model) == (unit.system, unit.claim, grader.model)
        and grade.prompt_hash == (grader.prompt.hash if grader.prompt else None)
        and _same_options(grade.model_options, grader.options, "positive_class")
        and grade.source_ids == [key for key, _ in unit.with_text]
    )


def _grade_citations(
    files: GradeFiles, model: ModelOptions, prompt: Prompt | None, options: dict[str, Any], advance: Advance
) -> CitationSummary:
    chosen = CitationOptions(prompt, options["systems"], options["regrade"])
    return grade_citations(files, model, chosen, advance)


def _grade_by_criteria(
    files: GradeFiles, model: ModelOptions, _prompt: Prompt | None, options: dict[str, Any], advance: Advance
) -> AnswerSummary:
    own = options["criteria_file"]
    criteria = None if own is None else read_criteria_file(own)
    chosen = CriteriaOptions(criteria, options["systems"], options["max_passages"], options["regrade"])
    return grade_answers(files, model, chosen, advance)


def _score_claims(
    files: GradeFiles, model: ModelOptions, prompt: Prompt | None, options: dict[str, Any], advance: Advance
) -> ScoreSummary:
    named = {name: options[name] for name in ("sources", "systems", "soft", "regrade")}
    return score_answers(files, model, ScoreOptions(prompt=prompt, **named), advance)


GRADERS = {"support": _grade_citations, "criteria": _grade_by_criteria, "claim": _score_claims}
"""What ``exam-pp grade`` does with the kinds of prompts about answers."""
