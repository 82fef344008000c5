"""Generation of answers: a model answers every query, with citations of the top passages of a system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.graders.generation import AnswerUnit, GeneratedAnswer, generate_answer
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.banks.generate import ModelSummary, answering, nothing_written
from exam_pp.phases.banks.relevant_passages import ranked_passages
from exam_pp.phases.grading.grading_run import Advance, GradeFiles
from exam_pp.phases.grading.scheduler import Answer as AnswerRequests
from exam_pp.phases.grading.scheduler import run_requests
from exam_pp.prompts.answers import ANSWER_PROMPTS, Style, has_contexts
from exam_pp.prompts.base import CUT_SLOT, Prompt
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answers import Answer, AnswerFormat, AnswerPart, write_answers
from exam_pp.store.trec.queries import Query, read_queries
from exam_pp.text.citation_marks import cited_sentences
from exam_pp.text.sentences import sentences
from exam_pp.text.wording import counted, noted

DEFAULT_CONTEXTS = 5
"""Default number of passages that an answer can cite."""


@dataclass(frozen=True)
class AnswerOptions:
    """Options of the generation.

    Each of ``styles`` and ``prompts`` makes a system. Its name is ``system_name``, by default that of the
    model, followed by the style (with contexts ``STYLE-cited``) or the name of the prompt; a ``system_name``
    of a single system is the whole name.

    ``contexts`` is a passages file. Its first ``max_passages`` passages of a query are the contexts, in the
    order of the system ``ranking``, or of reciprocal rank fusion over all systems. ``form`` is the format of
    the answers; None means ``rag24`` with contexts, otherwise ``plain``.
    """

    styles: Sequence[Style] = ()
    prompts: Sequence[Prompt] = ()
    system_name: str | None = None
    contexts: Path | None = None
    ranking: str | None = None
    max_passages: int = DEFAULT_CONTEXTS
    max_queries: int | None = None
    form: AnswerFormat | None = None

    @property
    def answer_format(self) -> AnswerFormat:
        """The format of the answers."""
        return self.form or ("plain" if self.contexts is None else "rag24")

    def systems(self, model: str) -> dict[str, Prompt]:
        """System to its prompt; raises :class:`SelectionError` for prompts that do not fit the options."""
        cited = self.contexts is not None
        suffix = "-cited" if cited else ""
        named: dict[str, Prompt] = {f"{style}{suffix}": ANSWER_PROMPTS[style, cited] for style in self.styles}
        for prompt in self.prompts:
            _check_prompt(prompt, cited=cited)
            if prompt.name in named:
                raise SelectionError(
                    f"The prompt {prompt.name!r} has the name of a selected style, so two systems would have "
                    "the same name. Rename the prompt in its file."
                )
            named[prompt.name] = prompt
        if not named:
            raise SelectionError("No styles and no prompts are selected; use at least one.")
        if self.system_name is not None and len(named) == 1:
            return {self.system_name: next(iter(named.values()))}
        name = self.system_name or "-".join(model.rstrip("/").rpartition("/")[2].split())
        return {f"{name}-{style}": prompt for style, prompt in named.items()}


def _check_prompt(prompt: Prompt, *, cited: bool) -> None:
    if prompt.kind != "answer":
        raise SelectionError(f"The prompt {prompt.name!r} does not write answers; it needs kind = 'answer'.")
    if has_contexts(prompt) and not cited:
        raise SelectionError(
            f"The prompt {prompt.name!r} has the placeholder {{{CUT_SLOT}}}; name a passages file with "
            "--passages."
        )
    if cited and not has_contexts(prompt):
        raise SelectionError(
            f"The prompt {prompt.name!r} has no placeholder {{{CUT_SLOT}}} for the passages of --passages."
        )


@dataclass
class AnswersSummary(ModelSummary):
    """Counts for the summary.

    ``answers`` counts answers with a text, ``asked`` model calls, ``invalid`` citations of passages that the
    prompt lacks, ``shortened`` prompts whose contexts were truncated, and ``dropped`` citations that the
    format cannot hold. ``empty`` and ``failed`` map system and query to the reason; an empty answer is
    written, a failed one is not.
    """

    systems: int = 0
    queries: int = 0
    answers: int = 0
    citations: int = 0
    invalid: int = 0
    shortened: int = 0
    dropped: int = 0
    empty: dict[tuple[str, str], str] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        cited = f" with {counted(self.citations, 'citation')}" if self.citations else ""
        yield (
            f"{counted(self.answers, 'answer')}{cited} of {counted(self.systems, 'system')} to "
            f"{counted(self.queries, 'query')} ({counted(self.asked, 'model call')})."
        )
        yield from noted(self.invalid, "Dropped: {} of passages that the prompt does not have.", "citation")
        yield from noted(self.dropped, "Dropped: {}, which the format plain cannot hold.", "citation")
        shortened = "{} too long for the model, and the last contexts were shortened."
        yield from noted(self.shortened, shortened, "prompt was", "prompts were")
        for (system, query_id), reason in self.empty.items():
            yield f"Empty answer of {system!r} to {query_id!r}: {reason}."
        for (system, query_id), reason in self.failed.items():
            yield f"No answer of {system!r} to {query_id!r}: {reason}."
        yield from self.written()


def generate_answers(
    units: Sequence[AnswerUnit],
    systems: Mapping[str, Prompt],
    answer: AnswerRequests,
    summary: AnswersSummary | None = None,
    *,
    by_sentence: bool = True,
) -> Iterator[Answer]:
    """Yield the answers of all systems, system by system; all requests are sent together.

    A query without contexts is not asked if the prompt needs them. The parts of an answer are its sentences;
    without ``by_sentence`` the text of an answer without contexts is one part. An answer without text has no
    parts. Failed calls yield no answer; ``summary`` lists them.
    """
    counts = summary if summary is not None else AnswersSummary()
    counts.systems, counts.queries = len(systems), len(units)
    asked = []
    for (system, prompt), unit in product(systems.items(), units):
        if has_contexts(prompt) and not unit.contexts:
            counts.failed[system, unit.query_id] = "the file of contexts has no passages of this query"
        else:
            asked.append((system, prompt, unit))
    results = run_requests((generate_answer(prompt, unit) for _, prompt, unit in asked), answer)
    for (system, prompt, unit), result in zip(asked, results, strict=True):
        counts.shortened += result.tokens_cut > 0
        if result.failed:
            counts.failed[system, unit.query_id] = result.reason or "no reply"
            continue
        if result.reason is not None:
            counts.empty[system, unit.query_id] = result.reason
        pieces = sentences(result.text) if by_sentence else [result.text]
        parts = tuple(AnswerPart(piece.strip(" ")) for piece in pieces if piece.strip())
        if has_contexts(prompt):
            parts = _cited_parts(result, unit, counts)
        counts.answers += bool(parts)
        references = tuple(passage_id for passage_id, _ in unit.contexts)
        yield Answer(unit.query_id, system, parts, query_text=unit.query_text, references=references)


def _cited_parts(result: GeneratedAnswer, unit: AnswerUnit, counts: AnswersSummary) -> tuple[AnswerPart, ...]:
    """The sentences with the ids of the passages that they cite."""
    docids = {str(number): passage_id for number, (passage_id, _) in enumerate(unit.contexts, 1)}
    parts = []
    for text, numbers in cited_sentences(result.text)[0]:
        cited = tuple(dict.fromkeys(docids[number] for number in numbers if number in docids))
        counts.citations += len(cited)
        counts.invalid += sum(number not in docids for number in numbers)
        parts.append(AnswerPart(text, cited))
    return tuple(parts)


def generate_answers_file(
    queries: Path,
    output: Path,
    model: ModelOptions,
    options: AnswerOptions,
    *,
    journal: Path | None = None,
    retry_failed: bool = False,
    advance: Advance = lambda _steps, _total: None,
) -> AnswersSummary:
    """Write the answers to the queries of a file; an interrupted run continues from its journal.

    The summary lists empty answers and failed calls. Raises :class:`exam_pp.errors.ExamError`, for example if
    no answer has a text.
    """
    files = GradeFiles(options.contexts or queries, output, None, journal, retry_failed, queries=queries)
    check_output(output, files.inputs)
    systems = options.systems(model.model)
    units = _units(list(read_queries(queries).values())[: options.max_queries], options)
    advance(0, len(units) * len(systems))
    summary = AnswersSummary(output=str(output))
    with answering(files, model, advance, summary) as (llm, answer):
        by_sentence = options.answer_format != "plain"
        answers = list(generate_answers(units, systems, answer, summary, by_sentence=by_sentence))
        if not summary.answers:
            what = f"answers to {counted(summary.queries, 'query')}"
            raise nothing_written(llm.name, what, [*summary.failed.values(), *summary.empty.values()])
        if options.answer_format == "plain":
            summary.dropped, summary.citations = summary.citations, 0
        write_answers(answers, output, options.answer_format, inputs=files.inputs)
    return summary


def _units(queries: Iterable[Query], options: AnswerOptions) -> list[AnswerUnit]:
    contexts: Mapping[str, Sequence[tuple[str, str]]] = {}
    if options.contexts is not None:
        contexts = ranked_passages(
            read_passages(options.contexts),
            str(options.contexts),
            ranking=options.ranking,
            limit=options.max_passages,
        )
    units = [
        AnswerUnit(query.query_id, query.query_text, contexts.get(query.query_id, ())) for query in queries
    ]
    if options.contexts is not None and not any(unit.contexts for unit in units):
        raise SelectionError(
            f"{options.contexts} has no passages"
            + (f" of the system {options.ranking!r}" if options.ranking else "")
            + " for any of the queries. Check that both files use the same query ids."
        )
    return units
