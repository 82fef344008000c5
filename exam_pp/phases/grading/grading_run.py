"""A grading run from file to file: journal, atomic output, and the closing summary."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from exam_pp.errors import DataError, ExamError, OutputError, SelectionError
from exam_pp.graders.make import make_grader
from exam_pp.llm.backends import load_llm, reads_lists
from exam_pp.llm.base import LLM, HasExpensiveLabels, LearnsFromPassages, ModelOptions
from exam_pp.messages import Completion
from exam_pp.phases.grading.distributed import ALONE, ProcessGroup
from exam_pp.phases.grading.grade import Exam, GradeOptions, GradeSummary, count_pairs, grade, select
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.phases.grading.sharding import Shard
from exam_pp.prompts.answer_key import checkable_golds
from exam_pp.prompts.base import Prompt
from exam_pp.prompts.nuggets import NUGGET_ASSIGNMENT_POINTWISE, is_listwise
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import STDIO, check_output, is_stream
from exam_pp.store.passages.graded_file import Line, passages_writer
from exam_pp.store.passages.journal import Journal, journal_path, rank_journal, rank_journals
from exam_pp.store.passages.raw_passages import read_raw_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.test_bank import TestBank
from exam_pp.wording import counted

log = logging.getLogger(__name__)

Advance = Callable[[int, int | None], None]


@dataclass(frozen=True)
class GradeFiles:
    """What a grading reads and writes. ``passages`` and ``output`` may be ``-``.

    Direct prompts need no ``bank`` where ``queries`` has the texts.
    """

    passages: Path
    output: Path
    bank: Path | None = None
    journal: Path | None = None
    keep_journal: bool = False
    retry_failed: bool = False
    queries: Path | None = None

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [path for path in (self.passages, self.bank, self.queries) if path is not None]


@dataclass
class FileSummary(GradeSummary):
    """Counts of a whole file."""

    asked: int = 0
    output: str = ""
    soft_left_out: bool = False

    def lines(self) -> Iterator[str]:
        """The closing summary for people."""
        yield (
            f"{counted(self.graded, 'pair')} graded, {self.ungraded} ungraded, {self.reused} answered before "
            f"({counted(self.queries, 'query')}, {counted(self.passages, 'passage')}, "
            f"{counted(self.asked, 'model call')})."
        )
        for option, count in self.otherwise.items():
            yield (
                f"{counted(count, 'of the pairs answered before has', 'of the pairs answered before have')} "
                f"another {option} than this model: --regrade asks again."
            )
        if self.judged:
            yield f"Not asked, of passages with judgments: {counted(self.judged, 'pair')}."
        if self.not_numbers:
            defaults = ", ".join(
                f"{count} × {source}" for source, count in sorted(self.sources.items()) if source != "number"
            )
            replies = counted(self.not_numbers, "reply was no number", "replies were not numbers")
            yield f"{replies} of the scale: {defaults}."
        if self.soft_left_out:
            yield "No soft grades: this engine takes as long for them as for the grades (--soft stores them)."
        if self.shortened:
            prompts = counted(self.shortened, "prompt was", "prompts were")
            yield f"{prompts} too long for the model: the passage was shortened."
        for reason, count in self.reasons.most_common():
            yield f"{counted(count, 'pair is', 'pairs are')} ungraded: {reason}."
        if self.without_bank:
            some = _some(self.without_bank)
            queries = counted(len(self.without_bank), "query has", "queries have")
            yield f"{queries} no bank entry, nothing is asked: {some}"
        if self.without_text:
            yield (
                f"{counted(len(self.without_text), 'query has', 'queries have')} no text, which the prompt "
                f"needs (name --queries): {_some(self.without_text)}"
            )
        if self.output != STDIO:
            yield f"Written: {self.output}"


def grade_file(
    files: GradeFiles,
    model: ModelOptions,
    options: GradeOptions,
    advance: Advance = lambda _steps, _total: None,
    *,
    shard: Shard | None = None,
    group: ProcessGroup = ALONE,
) -> FileSummary:
    """Grade a passages file into another; returns the counts.

    Replies are kept in a journal next to the output until the output stands. Everything that can be
    wrong with the files is found before the model is loaded. With ``shard`` only its queries are graded
    and written. In a team every process calls this, and rank 0 writes what one process would write.
    Raises :class:`exam_pp.errors.ExamError`.
    """
    exam = check_files(files, options)
    check_lists(model, options.prompts)
    streamed = is_stream(files.passages)
    if streamed and (shard or group.size > 1):
        raise SelectionError("A shard, and several processes, read the passages more than once: name a file.")
    options = in_shard(options, shard, files, exam)
    if not streamed:
        advance(0, count_pairs(read_raw_passages(files.passages), exam, model.model, options))
    llm = prepare_llm(group.place(model), files)
    wanted, options = options, resolve_soft(options, llm, model)
    left_out = not model.thinking_tokens and _leaves_out_soft(wanted, options)
    summary = FileSummary(output=str(files.output), soft_left_out=left_out)
    with open_journal(files, group) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None), group)
        graded = grade(
            read_raw_passages(files.passages),
            exam.bank,
            answer,
            model=llm.name,
            provenance=llm.provenance(),
            options=options,
            summary=summary,
            query_texts=exam.query_texts,
        )
        with _writer(files, group) as write:
            for query in graded:
                write(query)
            _check_queries(summary, files, shard)
        summary.asked = answer.asked
    return summary


def check_files(files: GradeFiles, options: GradeOptions) -> Exam:
    """The bank and the texts that passages are graded against, once everything about the files fits."""
    check_output(files.output, files.inputs)
    check_prompts(options.prompts, bank=files.bank is not None, queries=files.queries is not None)
    bank = TestBank({}) if files.bank is None else read_bank(files.bank, packed=True)
    check_kinds(bank, options.prompts)
    if files.bank is not None and any(prompt.answer_key for prompt in options.prompts):
        check_answer_keys(bank, files.bank)
    return Exam(bank, {} if files.queries is None else read_query_texts(files.queries))


def check_lists(model: ModelOptions, prompts: Iterable[Prompt]) -> None:
    """Raise :class:`SelectionError` for a prompt that lists more than models of this kind can read."""
    for prompt in prompts:
        if is_listwise(prompt) and not reads_lists(model):
            alone = f", or the prompt {NUGGET_ASSIGNMENT_POINTWISE.name}" if prompt.entry_kind else ""
            raise SelectionError(
                f"The prompt {prompt.name} lists many texts, which is not for the model {model.model!r}: "
                f"use one with --model-pipeline text-generation or openai{alone}."
            )


def in_shard(options: GradeOptions, shard: Shard | None, files: GradeFiles, exam: Exam) -> GradeOptions:
    """The options for the queries of a shard alone."""
    if shard is None:
        return options
    queries = select(read_raw_passages(files.passages), options)
    return replace(options, positions=shard.positions(queries, exam.bank))


def resolve_soft(options: GradeOptions, llm: LLM, model: ModelOptions) -> GradeOptions:
    """Unless the options say it: soft grades where they come with the grades, not where they cost as much.

    A model that thinks first has none: likelihoods are those of labels at once. Raises
    :class:`SelectionError` if they are asked of it.
    """
    if model.thinking_tokens and options.soft:
        raise SelectionError("A model that thinks aloud gives no soft grades: --soft or --thinking-tokens.")
    if options.soft is not None or model.thinking_tokens:
        return replace(options, soft=bool(options.soft))
    return replace(options, soft=not (isinstance(llm, HasExpensiveLabels) and llm.labels_are_expensive))


def _leaves_out_soft(options: GradeOptions, settled: GradeOptions) -> bool:
    return options.soft is None and not settled.soft and any(prompt.labels for prompt in options.prompts)


def prepare_llm(model: ModelOptions, files: GradeFiles) -> LLM:
    """The loaded model, which has seen all passages if it is one that learns from them."""
    llm = load_llm(model)
    if isinstance(llm, LearnsFromPassages):
        if is_stream(files.passages):
            raise SelectionError(f"The model {model.model!r} reads the passages twice: name a file.")
        llm.learn(passage.text for query in read_raw_passages(files.passages) for passage in query.passages)
    return llm


@contextmanager
def _writer(files: GradeFiles, group: ProcessGroup) -> Iterator[Callable[[Line], None]]:
    """Writes the output; in all processes of a team but the first, does nothing."""
    if not group.leads:
        yield lambda _query: None
        return
    with passages_writer(files.output, inputs=files.inputs) as writer:
        yield writer.write


def journal_of(files: GradeFiles) -> Path | None:
    """Where the journal of a grading lies; None where it is kept in memory."""
    if files.journal is None:
        return None if is_stream(files.output) else journal_path(files.output)
    check_output(files.journal, files.inputs)
    if files.journal.resolve() == files.output.resolve():
        raise OutputError(f"{files.journal} is the output: name another file with --journal.")
    return files.journal


def check_status(status: Path, files: GradeFiles, prompt_files: Iterable[Path] = ()) -> None:
    """Raise :class:`OutputError` where the status would replace what the grading reads or writes."""
    others = [*files.inputs, *prompt_files, files.output, journal_of(files)]
    if any(other is not None and other.resolve() == status.resolve() for other in others):
        raise OutputError(f"{status} is read or written by this grading: name another file with --status.")


@contextmanager
def open_journal(files: GradeFiles, group: ProcessGroup = ALONE) -> Iterator[Journal]:
    """The journal of an output; it goes when the block ends without an error, unless it holds more.

    In a team every process gets a journal of its own, and rank 0 takes over what an earlier run's
    processes left, however many they were.
    """
    main = journal_of(files)
    path = main and rank_journal(main, group.rank)
    if not group.leads:
        group.gather(None)  # rank 0 first clears what an earlier run left
    with Journal(path) as journal:
        if group.leads:
            _take_over(journal, group)
        else:
            group.gather(journal.everything())  # on a machine with a disk of its own
        if group.leads and files.retry_failed:
            log.info("%s will be asked again", counted(journal.forget_failures(), "failed request"))
        try:
            yield journal
            group.gather(None)  # the output stands
        except ExamError:
            if not len(journal):  # nothing to continue with
                journal.remove()
            raise
        if not (files.keep_journal and group.leads):
            _clear(journal)


def _clear(journal: Journal) -> None:
    """The journal goes; what another model answered, which may have taken days, stays."""
    others = journal.others()
    if not others:
        journal.remove()
        return
    journal.forget_own()
    words = counted(others, "reply", "replies")
    log.info(
        "%s stays: it holds %s of other models or options; remove it if they are of no use.",
        journal.path,
        words,
    )


def _take_over(journal: Journal, group: ProcessGroup) -> None:
    for leftover in rank_journals(journal.path) if journal.path else ():
        journal.take_over(leftover)
    group.gather(None)
    nothing: dict[str, Completion] = {}
    for replies in group.gather(nothing)[1:]:
        journal.add(replies)


def check_prompts(prompts: Iterable[Prompt], *, bank: bool, queries: bool) -> None:
    """Raise :class:`SelectionError` for prompts that grade no passages, or need a bank or query texts.

    ``bank`` and ``queries`` tell whether there are any.
    """
    for prompt in prompts:
        make_grader(prompt, "", {})  # refuses prompts that grade no passages
        if prompt.entry_kind and not bank:
            raise SelectionError(f"The prompt {prompt.name} grades {prompt.entry_kind}s: name their --bank.")
    if not bank and not queries:
        raise SelectionError("Direct prompts need the texts of the queries: name --queries, or a --bank.")


def check_kinds(bank: TestBank, prompts: Iterable[Prompt]) -> None:
    """Raise :class:`SelectionError` for a prompt that grades another kind of entry than the bank holds."""
    for prompt in prompts:
        if prompt.entry_kind and prompt.entry_kind not in bank.kinds:
            held = " and ".join(f"{kind}s" for kind in sorted(bank.kinds))
            raise SelectionError(
                f"The prompt {prompt.name} grades {prompt.entry_kind}s, but the bank holds {held}."
            )


def check_answer_keys(bank: TestBank, file: Path | str) -> None:
    """Raise :class:`DataError` for a question without ``gold_answers``; log those that cannot be checked."""
    questions = [entry for query in bank for entry in query.entries.values() if entry.kind == "question"]
    for question in questions:
        if question.gold_answers is None:
            raise DataError(
                f"the question {question.entry_id!r} has no gold_answers, which the prompt compares "
                "replies with ([] stands for unanswerable).",
                file=str(file),
            )
    unclear = [question.entry_id for question in questions if checkable_golds(question) is None]
    if unclear:
        log.warning(
            "%s not asked: the gold answer cannot be compared with text "
            '(such as "all of the above"): %s',
            counted(len(unclear), "question is", "questions are"), _some(unclear),
        )  # fmt: skip


def _check_queries(summary: GradeSummary, files: GradeFiles, shard: Shard | None) -> None:
    if shard:  # there may be more shards than queries, and a shard without a bank entry says nothing
        return
    if not summary.queries:
        raise DataError("holds no queries with passages.", file=str(files.passages))
    if summary.queries and len(summary.without_bank) == summary.queries:
        raise SelectionError(
            f"None of the {summary.queries} queries in {files.passages} (the first is "
            f"{summary.without_bank[0]!r}) has an entry in {files.bank}."
        )
    if summary.queries and len(summary.without_text) == summary.queries:
        raise SelectionError(
            f"None of the {summary.queries} queries in {files.passages} (the first is "
            f"{summary.without_text[0]!r}) has a text in {files.queries or files.bank}."
        )


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:5]) + (" ..." if len(ids) > 5 else "")
