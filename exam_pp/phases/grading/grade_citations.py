"""Grading of citations: a language model labels how far cited passages support the parts of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from exam_pp.data_model import Passage, QueryPassages, SupportGrades
from exam_pp.errors import SelectionError
from exam_pp.graders.answers import CitingPart, SupportGrader
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
from exam_pp.prompts.claims import CITATION_SUPPORT
from exam_pp.roles import outputs_of
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery, read_raw_passages
from exam_pp.text.wording import counted, listed


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
class CitationSummary:
    """Counts of graded citations."""

    answers: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    uncited: int = 0
    cut: int = 0
    missing: dict[str, None] = field(default_factory=dict)
    asked: int = 0
    output: str = ""

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
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        with passages_writer(files.output, inputs=files.inputs) as writer:
            for query in graded_queries(read_raw_passages(files.passages), answer, grader, options, summary):
                writer.write(query)
            if not summary.answers:
                raise no_answers(files, options.systems)
        summary.asked = answer.asked
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


def graded_queries(
    queries: Iterable[RawQuery],
    answer: Answer,
    grader: SupportGrader,
    options: CitationOptions,
    summary: CitationSummary,
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[RawQuery]:
    """Yield the queries with new grades at the parts of answers, in input order; counts in ``summary``."""

    def tasks() -> Iterator[tuple[tuple[RawQuery, list[RawPassage]], list[Grading[SupportGrades]], int]]:
        for query in queries:
            full = QueryPassages(query.query_id, [passage.full() for passage in query.passages])
            parts = dict(_parts(full, grader, options, summary))
            by_id = {passage.passage_id: passage for passage in query.passages}
            gradings = [grader.run(part) for part in parts.values()]
            requests = sum(len(part.cited) for part in parts.values())
            yield (query, [by_id[passage_id] for passage_id in parts]), gradings, requests

    for (query, places), results in results_in_windows(tasks(), answer, window_requests):
        for passage, grades in zip(places, results, strict=True):
            summary.add(grades)
            passage.add("support_grades", [grades])
        yield query


def _parts(
    query: QueryPassages, grader: SupportGrader, options: CitationOptions, summary: CitationSummary
) -> Iterator[tuple[str, CitingPart]]:
    """The id and the citations to grade of each part of an answer that has some."""
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
        known = set() if options.regrade else _graded(citing, grader)
        summary.reused += len(known & of_part.keys())
        to_grade = [(key, text) for key, text in of_part.items() if key not in known]
        if to_grade:
            yield passage_id, CitingPart(citing.text, to_grade)


def _graded(passage: Passage, grader: SupportGrader) -> set[str]:
    """The citations that have a grade by this model and prompt."""
    return {
        item.citation
        for grades in passage.support_grades or ()
        if (grades.model, grades.prompt_class, grades.prompt_hash)
        == (grader.model, grader.prompt.name, grader.prompt.hash)
        if all((grades.model_options or {}).get(key) == grader.options.get(key) for key in DECISIVE)
        for item in grades.supports
        if item.support is not None
    }
