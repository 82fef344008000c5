"""Grading of whole answers: a language model rates the answers of systems by several criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from exam_pp.data_model import CriteriaGrades, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.graders.answers import AnsweredQuery, CriteriaGrader
from exam_pp.graders.base import Grading
from exam_pp.llm.base import LLM, ModelOptions, PairScorer
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.phases.grading.grading_run import Advance, GradeFiles, no_answers, open_journal, prepare_llm
from exam_pp.phases.grading.scheduler import WINDOW_REQUESTS, Answer, Answerer, results_in_windows
from exam_pp.prompts.criteria import RAGELO, CriteriaSet, parse_criteria
from exam_pp.roles import SystemOutput, outputs_of
from exam_pp.store.files import check_output, read_text
from exam_pp.store.parsing import data_error
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery, read_raw_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, listed


@dataclass(frozen=True)
class AnswerOptions:
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
class AnswerSummary:
    """Counts of rated answers.

    ``empty``: Answers without text, which get the lowest ratings without a model call. ``without_text``:
    Queries whose text is missing; their answers are not graded. ``has_texts``: Whether any passage has a
    text; a file without texts has no empty answers.
    """

    answers: int = 0
    empty: int = 0
    rated: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    without_text: list[str] = field(default_factory=list)
    queries: int = 0
    has_texts: bool = False
    asked: int = 0
    output: str = ""

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
    options: AnswerOptions,
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
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        with passages_writer(files.output, inputs=files.inputs) as writer:
            queries = read_raw_passages(files.passages)
            for query in rated_queries(queries, query_texts, answer, grader, options, summary):
                writer.write(query)
            _check_answers(summary, files, options)
        summary.asked = answer.asked
    return summary


def make_criteria_grader(llm: LLM, options: AnswerOptions) -> CriteriaGrader:
    """The grader for a loaded model; raises SelectionError for a pair scorer, which has no prompt."""
    if isinstance(llm, PairScorer):
        raise SelectionError(
            "Criteria are rated by a language model; a classifier of pairs scores claims, without "
            "--prompt and --prompt-file."
        )
    info: dict[str, Any] = {} if options.max_passages is None else {"max_passages": options.max_passages}
    return CriteriaGrader(options.criteria or RAGELO, llm.name, llm.provenance(), info)


def rated_queries(
    queries: Iterable[RawQuery],
    query_texts: Mapping[str, str],
    answer: Answer,
    grader: CriteriaGrader,
    options: AnswerOptions,
    summary: AnswerSummary,
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[RawQuery]:
    """Yield the queries with new ratings at the first parts of answers, in input order."""

    def tasks() -> Iterator[tuple[tuple[RawQuery, list[RawPassage]], list[Grading[CriteriaGrades]], int]]:
        for query in queries:
            full = QueryPassages(query.query_id, [passage.full() for passage in query.passages])
            summary.has_texts |= any(passage.text.strip() for passage in query.passages)
            text = (query_texts.get(query.query_id) or full.query_text).strip()
            units = list(_units(full, text, grader, options, summary))
            by_id = {passage.passage_id: passage for passage in query.passages}
            places = [by_id[first] for first, _ in units]
            requests = sum(bool(unit.answer) for _, unit in units)
            yield (query, places), [grader.run(unit) for _, unit in units], requests

    for (query, places), results in results_in_windows(tasks(), answer, window_requests):
        for passage, grades in zip(places, results, strict=True):
            summary.add(grades)
            passage.add("criteria_grades", [grades])
        yield query


def _units(
    query: QueryPassages, text: str, grader: CriteriaGrader, options: AnswerOptions, summary: AnswerSummary
) -> Iterator[tuple[str, AnsweredQuery]]:
    """The answers to rate, each with the id of its first part."""
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
        if not options.regrade and any(_is_same(grades, output.name, grader) for grades in known):
            summary.reused += 1
            continue
        summary.empty += not output.text
        documents = _documents(output, options.max_passages)
        yield first.passage_id, AnsweredQuery(output.name, text, output.text, documents)


def _documents(output: SystemOutput, max_passages: int | None) -> list[tuple[str, str]]:
    """The first retrieved passages, then others that the answer cites; those with text."""
    first = {passage.passage_id: passage for passage in output.retrieved[:max_passages]}
    passages = (first | output.cited).values()
    return [(passage.passage_id, passage.text) for passage in passages if passage.text.strip()]


def _is_same(grades: CriteriaGrades, system: str, grader: CriteriaGrader) -> bool:
    """Whether stored grades rate this answer by all criteria, by this model and prompt."""
    prompt = grader.criteria.prompt
    rated = {item.criterion for item in grades.ratings if item.rating is not None}
    return (
        (grades.system, grades.model, grades.prompt_class, grades.prompt_hash)
        == (system, grader.model, prompt.name, prompt.hash)
        and rated >= {criterion.name for criterion in grader.criteria.criteria}
        and all((grades.model_options or {}).get(key) == grader.options.get(key) for key in DECISIVE)
        and (grades.prompt_info or {}).get("max_passages") == grader.info.get("max_passages")
    )


def _check_answers(summary: AnswerSummary, files: GradeFiles, options: AnswerOptions) -> None:
    if not summary.answers:
        raise no_answers(files, options.systems)
    if len(summary.without_text) == summary.queries:
        raise SelectionError(
            f"{files.queries or files.passages} has no text for the queries in {files.passages}, such as "
            f"{summary.without_text[0]!r}."
        )
    if not summary.has_texts:
        raise SelectionError(f"{files.passages} has no texts of passages, so that no answer can be graded.")
