"""Grading of a passages file into a graded file, with checks, journal, atomic output and summary."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from exam_pp.banks import TestBank, written_by
from exam_pp.errors import DataError, ExamError, OutputError, SelectionError
from exam_pp.graders.make import RATING_TOKENS, make_grader
from exam_pp.judges import E5, LEXICAL, families_in, own_family
from exam_pp.llm.backends import can_read_lists, load_llm
from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, LOW_MASS, Completion
from exam_pp.phases.grading.distributed import SINGLE_PROCESS, ProcessGroup, Shard
from exam_pp.phases.grading.grade import (
    ANSWER_MATCH,
    Exam,
    GradeOptions,
    GradeSummary,
    count_work,
    grade,
    grading_jobs,
    select,
)
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.plugins import needed
from exam_pp.prompts.answer_key import gold_answers
from exam_pp.prompts.base import AnswerMatch, Prompt, Unparsed
from exam_pp.prompts.nuggets import NUGGET_ASSIGNMENT_POINTWISE, is_listwise
from exam_pp.prompts.rubric import NUGGET_SELF_RATED, QUESTION_SELF_RATED
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import STDIO, check_output, is_stream
from exam_pp.store.inputs import reading
from exam_pp.store.passages.graded_file import WritableQuery, passages_writer
from exam_pp.store.passages.journal import Journal, journal_path, rank_journal_path, rank_journals
from exam_pp.store.passages.query_texts import stored_query_texts
from exam_pp.store.passages.raw_passages import read_raw_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

Advance = Callable[[int, int | None], None]


@dataclass(frozen=True)
class GradeFiles:
    """The files of a grading. ``passages`` and ``output`` may be ``-``.

    Direct prompts need ``queries`` or ``bank`` for the texts of the queries. ``retry_failed`` sends requests
    again whose failure is in the journal. ``batch`` is a folder of batch files in place of calls.
    """

    passages: Path
    output: Path
    bank: Path | None = None
    journal: Path | None = None
    retry_failed: bool = False
    queries: Path | None = None
    batch: Path | None = None

    @property
    def inputs(self) -> list[Path]:
        """The input files."""
        return [path for path in (self.passages, self.bank, self.queries) if path is not None]


@dataclass
class FileSummary(GradeSummary):
    """Counts of a whole file.

    ``asked`` counts model calls. ``without_soft`` is True if the engine was too slow to store soft grades.
    """

    asked: int = 0
    output: str = ""
    without_soft: bool = False

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield (
            f"{counted(self.graded, 'pair')} graded, {self.ungraded} ungraded, {self.reused} graded before "
            f"({counted(self.queries, 'query')}, {counted(self.passages, 'passage')}, "
            f"{counted(self.asked, 'model call')})."
        )
        for options, count in self.other_options.items():
            were = counted(count, "pair was", "pairs were")
            another = " and ".join(f"another {option}" for option in options)
            # Another rule for comparing replies needs no model, because the file has the replies.
            again = "`exam-pp reread` compares" if options == (ANSWER_MATCH,) else "--regrade grades"
            yield f"{were} graded before with {another}; {again} them again."
        if self.judged:
            yield f"Skipped, because the passage has a judgment: {counted(self.judged, 'pair')}."
        if self.not_numbers:
            defaults = ", ".join(
                f"{count} × {source}" for source, count in sorted(self.sources.items()) if source != "number"
            )
            replies = counted(self.not_numbers, "reply is not a number", "replies are not numbers")
            yield f"{replies} of the scale: {defaults}."
        if self.low_masses:
            yield (
                f"{self.low_masses} of {counted(self.soft, 'soft grade has', 'soft grades have')} a mass "
                f"below {LOW_MASS}: the model gave less than this probability to the labels of the scale."
            )
        if self.without_soft:
            yield "Soft grades (expected ratings) double the time and are not stored; --soft stores them."
        if any(self.tokens):
            yield f"Tokens: {self.tokens[0]:,} of prompts, {self.tokens[1]:,} of replies."
        if self.shortened:
            prompts = counted(self.shortened, "prompt was", "prompts were")
            yield f"{prompts} too long for the model, and the passage was shortened."
        for reason, count in self.reasons.most_common():
            yield f"{counted(count, 'pair is', 'pairs are')} ungraded: {reason}."
        if self.without_bank:
            queries = counted(len(self.without_bank), "query", "queries")
            yield f"Not graded, because the bank has no entries: {queries} ({_first_ids(self.without_bank)})."
        if self.without_text:
            queries = counted(len(self.without_text), "query", "queries")
            yield f"Not graded, because the text is missing: {queries} ({_first_ids(self.without_text)})."
        if self.output != STDIO:
            yield f"Written: {self.output}"


@reading()
def grade_file(
    files: GradeFiles,
    model: ModelOptions,
    options: GradeOptions,
    advance: Advance = lambda _steps, _total: None,
    *,
    shard: Shard | None = None,
    group: ProcessGroup = SINGLE_PROCESS,
) -> FileSummary:
    """Grade a passages file into a graded file; returns the counts.

    A journal next to the output keeps the replies until the output is complete. All files are checked before
    the model is loaded. ``advance`` gets the number of pairs to grade before the first request, unless the
    passages are a stream, and then the steps, also those with a reply in the journal.

    With ``shard``, only its queries are graded and written. In a process group every process calls this
    function, and rank 0 writes the same output as a single process would. Raises
    :class:`exam_pp.errors.ExamError`.
    """
    exam = check_files(files, options)
    check_fit(model, options)
    streamed = is_stream(files.passages)
    if streamed and (group.size > 1 or files.batch is not None):
        raise SelectionError(
            "A grading with several processes or batch files reads the passages more than once: use a file "
            "instead of standard input."
        )
    options = in_shard(options, shard, files, exam)
    pairs = None if streamed else check_pairs(files, exam, model, options, shard)
    llm = load_llm(group.assign_device(model))
    # Kept, because messages name defaults only, not what the user has selected.
    requested, options = options, resolve_options(options, llm, model)
    if requested.unparsed != options.unparsed == "chat" and any(
        p.labels and not p.keeps_whole_reply and not is_listwise(p) for p in options.prompts
    ):
        log.info(
            "Ratings are read from sentences, and a reply ends with its rating, or after %d tokens "
            "(--unparsed chat).",
            model.max_tokens or RATING_TOKENS,
        )
    without_soft = not model.thinking_tokens and (
        requested.soft is None and not options.soft and any(prompt.labels for prompt in requested.prompts)
    )
    summary = FileSummary(output=str(files.output), without_soft=without_soft)
    # Around the writer, so that the journal is deleted only after the output is complete.
    with open_journal(files, group) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None), group)
        if files.batch is not None:
            # The plug-in takes replies into the journal, and raises WaitingError if some are missing.
            jobs = grading_jobs(
                read_raw_passages(files.passages), exam, model=llm.name, provenance=llm.provenance(),
                options=options, summary=GradeSummary(),
            )  # fmt: skip
            needed("batch files", "batches")(files.batch, answer, jobs)
        advance(0, pairs)
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
        systems: set[str] = set()
        with _writer(files, group) as write:
            for query in graded:
                write(query)
                if families_in(llm.name):
                    systems |= {entry.method for passage in query.passages for entry in passage.rankings}
            # Inside the block, so that an error leaves no output.
            _check_queries(summary, files, shard)
        summary.asked = answer.asked
    if group.leads and (warning := own_family(llm.name, sorted(systems), written_by(exam.bank))):
        log.warning("%s", warning)
    return summary


def check_files(files: GradeFiles, options: GradeOptions) -> Exam:
    """Check the files and prompts, and return the bank and the query texts.

    Raises :class:`exam_pp.errors.ExamError` if files cannot be read or do not fit the prompts.
    """
    check_output(files.output, files.inputs)
    texts = stored_query_texts(files.passages) if files.queries is None else read_query_texts(files.queries)
    check_prompts(options.prompts, bank=files.bank is not None, queries=bool(texts))
    bank = TestBank({}) if files.bank is None else read_bank(files.bank)
    check_kinds(bank, options.prompts)
    if files.bank is not None:
        for match in {prompt.answer_match for prompt in options.prompts if prompt.answer_key}:
            check_answer_keys(bank, files.bank, match)
    if files.queries is None:
        of_bank = {query_id: bank.queries[query_id].query_text for query_id in texts.keys() & bank.queries}
        texts |= {query_id: text for query_id, text in of_bank.items() if text.strip()}
    return Exam(bank, texts)


def check_pairs(
    files: GradeFiles, exam: Exam, model: ModelOptions, options: GradeOptions, shard: Shard | None
) -> int:
    """Count the pairs to grade before the model is loaded; the passages are not a stream.

    Raises :class:`exam_pp.errors.ExamError` if the file has no queries, or the bank or the query texts fit
    none of them.
    """
    counts = count_work(read_raw_passages(files.passages), exam, model.model, options)
    if not counts.pairs and not counts.reused:
        _check_queries(counts, files, shard)
    return counts.pairs


def check_fit(model: ModelOptions, options: GradeOptions) -> None:
    """Raise :class:`SelectionError` for a prompt or an option that does not fit the model."""
    check_lists(model, options.prompts)
    if model.choose and options.soft is False:
        raise SelectionError("--no-soft cannot be combined with --reply chosen, which computes soft grades.")
    if options.calibrate and not model.choose:
        raise SelectionError("--reply calibrated changes the choice of a label and needs --reply chosen.")
    for prompt in options.prompts:
        if model.choose and (not prompt.labels or is_listwise(prompt)):
            raise SelectionError(
                f"--reply chosen takes the likeliest label of a scale, but the prompt {prompt.name!r} asks "
                "for a text."
            )


def check_lists(model: ModelOptions, prompts: Iterable[Prompt]) -> None:
    """Raise :class:`SelectionError` for a prompt that is too long for models of this pipeline."""
    for prompt in prompts:
        if is_listwise(prompt) and not can_read_lists(model):
            pointwise = f", or the prompt {NUGGET_ASSIGNMENT_POINTWISE.name}" if prompt.entry_kind else ""
            compares = ", which only compares texts" if model.model in (LEXICAL, E5) else ""
            raise SelectionError(
                f"The prompt {prompt.name!r} lists many texts and is too long for the model {model.model!r}"
                f"{compares}. Use a model with --model-pipeline text-generation or openai{pointwise}."
            )


def in_shard(options: GradeOptions, shard: Shard | None, files: GradeFiles, exam: Exam) -> GradeOptions:
    """The options with the positions of the shard's queries; unchanged if ``shard`` is None."""
    if shard is None:
        return options
    queries = select(read_raw_passages(files.passages), options)
    return replace(options, positions=shard.positions(queries, exam.bank))


CHAT_PIPELINES = ("text-generation", "openai", "openai-completions")
"""Pipelines of models that reply in sentences; their default for ``--unparsed`` is ``chat``."""


def resolve_options(options: GradeOptions, llm: LLM, model: ModelOptions) -> GradeOptions:
    """The options with their defaults for the model: ``unparsed``, and ``soft`` as True or False.

    Soft grades are stored unless they are expensive; a choice computes them anyway. Models that think have no
    soft grades, because the thinking text contains numbers. Raises :class:`SelectionError` if both are
    selected.
    """
    if model.choose:
        return replace(options, unparsed=options.unparsed or "default", soft=True)
    if options.unparsed is None:
        policy: Unparsed = "chat" if model.pipeline in CHAT_PIPELINES else "default"
        options = replace(options, unparsed=policy)
    if model.thinking_tokens and options.soft:
        raise SelectionError("--soft cannot be combined with -M thinking_tokens: use only one of them.")
    if options.soft is not None or model.thinking_tokens:
        return replace(options, soft=bool(options.soft))
    return replace(options, soft=not getattr(llm, "labels_are_expensive", False))


@contextmanager
def _writer(files: GradeFiles, group: ProcessGroup) -> Iterator[Callable[[WritableQuery], None]]:
    """A function that writes a query to the output; on ranks other than 0 it has no effect."""
    if not group.leads:
        yield lambda _query: None
        return
    with passages_writer(files.output, inputs=files.inputs) as writer:
        yield writer.write


def journal_of(files: GradeFiles) -> Path | None:
    """The path of a grading's journal, or None if it is kept in memory."""
    if files.journal is None:
        return None if is_stream(files.output) else journal_path(files.output)
    check_output(files.journal, files.inputs)
    if files.journal.resolve() == files.output.resolve():
        raise OutputError(f"--journal and --output are the same file: {files.journal}.")
    return files.journal


@contextmanager
def open_journal(files: GradeFiles, group: ProcessGroup = SINGLE_PROCESS) -> Iterator[Journal]:
    """Open the journal of an output; it is deleted after a block without error, unless it was named.

    Replies of other models in the journal are kept. In a process group every process has its own journal, and
    rank 0 takes over the journals of all processes of an earlier run.
    """
    main = journal_of(files)
    path = main and rank_journal_path(main, group.rank)
    if not group.leads:
        group.gather(None)  # Rank 0 first takes over the journals of an earlier run.
    with Journal(path) as journal:
        if group.leads:
            _take_over(journal, group)
        else:
            group.gather(journal.all_replies())  # Other machines may have local disks.
        if group.leads:
            forget_failures(journal, files)
        try:
            yield journal
            group.gather(None)  # The output is complete.
        except ExamError:
            if not len(journal):  # An empty journal cannot continue a run.
                journal.remove()
            raise
        if files.journal is None or not group.leads:
            _clear(journal)


def write_answered(
    files: GradeFiles,
    llm: LLM,
    lines: Callable[[Answerer], Iterable[WritableQuery]],
    advance: Advance,
    check: Callable[[], None] = lambda: None,
) -> int:
    """Write lines that need the replies of a model; returns the number of model calls.

    ``check`` is called at the end, and may raise an error, which leaves no output.
    """
    # Around the writer, so that the journal is deleted only after the output is complete.
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        with passages_writer(files.output, inputs=files.inputs) as writer:
            for line in lines(answer):
                writer.write(line)
            check()
    return answer.asked


def forget_failures(journal: Journal, files: GradeFiles) -> None:
    """Remove the failed requests from the journal with ``retry_failed``, so that they are sent again."""
    if files.retry_failed:
        log.info("%s will be sent again", counted(journal.forget_failures(), "failed request"))


def _clear(journal: Journal) -> None:
    """Delete the journal, but keep replies by other models, because they may have taken days."""
    others = journal.count_other_replies()
    if not others:
        journal.remove()
        return
    journal.remove_own_replies()
    log.info(
        "The journal %s is kept, because it has %s by other models or with other options.",
        journal.path,
        counted(others, "reply", "replies"),
    )


def _take_over(journal: Journal, group: ProcessGroup) -> None:
    for leftover in rank_journals(journal.path) if journal.path else ():
        journal.take_over(leftover)
    group.gather(None)
    no_replies: dict[str, Completion] = {}
    for replies in group.gather(no_replies)[1:]:
        journal.add(replies)


def check_prompts(prompts: Iterable[Prompt], *, bank: bool, queries: bool) -> None:
    """Raise :class:`SelectionError` for prompts that do not grade passages, or need a bank or query texts.

    ``bank`` and ``queries`` are True if the grading has a bank, and a file of queries.
    """
    for prompt in prompts:
        make_grader(prompt, "", {})  # raises for prompts that do not grade passages
        if prompt.entry_kind and not bank:
            raise SelectionError(
                f"The prompt {prompt.name!r} grades {prompt.entry_kind}s and needs a test bank (--bank)."
            )
    if not bank and not queries:
        raise SelectionError(
            "Direct prompts need the texts of the queries, which the passages file lacks: use --queries or "
            "--bank."
        )


def check_kinds(bank: TestBank, prompts: Iterable[Prompt]) -> None:
    """Raise :class:`SelectionError` for a prompt that grades a kind of entry that the bank does not hold."""
    for prompt in prompts:
        if prompt.entry_kind and prompt.entry_kind not in bank.kinds:
            kinds = " and ".join(f"{kind}s" for kind in sorted(bank.kinds)) or "no entries"
            fitting = " or ".join(
                p.name for p in (QUESTION_SELF_RATED, NUGGET_SELF_RATED) if p.kind in bank.kinds
            )
            raise SelectionError(
                f"The prompt {prompt.name!r} grades {prompt.entry_kind}s, but the bank has {kinds}"
                + (f"; use another prompt, such as {fitting}." if fitting else ".")
            )


def check_answer_keys(bank: TestBank, file: Path | str, match: AnswerMatch = "paper") -> None:
    """Raise :class:`DataError` for questions without ``gold_answers``; log those that cannot be compared.

    ``match`` is the rule that compares replies with gold answers.
    """
    questions = [entry for query in bank for entry in query.entries.values() if entry.kind == "question"]
    for question in questions:
        if question.gold_answers is None:
            raise DataError(
                f"the question {question.entry_id!r} has no gold_answers, but the prompt compares replies "
                "with gold answers ([] means unanswerable).",
                file=str(file),
            )
    unclear = [question.entry_id for question in questions if gold_answers(question, match) is None]
    if unclear:
        log.warning(
            "%s not graded, because replies cannot be compared with a gold answer such as "
            '"all of the above": %s',
            counted(len(unclear), "question is", "questions are"), _first_ids(unclear),
        )  # fmt: skip


def _check_queries(summary: GradeSummary, files: GradeFiles, shard: Shard | None) -> None:
    if shard:  # A shard may have no queries, or only queries without bank entries.
        return
    if not summary.queries:
        raise DataError("has no queries with passages.", file=str(files.passages))
    if len(summary.without_bank) == summary.queries:
        raise SelectionError(
            f"{files.bank} has no entries for the queries in {files.passages}, such as "
            f"{summary.without_bank[0]!r}."
        )
    if len(summary.without_text) == summary.queries:
        raise SelectionError(
            f"{files.queries or files.bank} has no text for the queries in {files.passages}, such as "
            f"{summary.without_text[0]!r}."
        )


def _first_ids(ids: list[str]) -> str:
    return ", ".join(ids[:5]) + (" ..." if len(ids) > 5 else "")


def no_answers(files: GradeFiles, systems: Sequence[str]) -> SelectionError:
    """The error for a file without answers, or without answers of the selected systems."""
    of = f" of the system {systems[0]!r}" if systems else ""
    return SelectionError(
        f"{files.passages} has no answers{of}; import answers with exam-pp import --answers."
    )


def reading_of(model: ModelOptions) -> tuple[Unparsed, int]:
    """How labels in replies of a model are read, and the maximal number of tokens in a reply."""
    if model.pipeline in CHAT_PIPELINES:
        return "chat", RATING_TOKENS
    return "ungraded", DEFAULT_MAX_NEW_TOKENS
