"""Python API for grading passages and for your own prompts."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from exam_pp.banks import TestBank
from exam_pp.data_model import QueryPassages
from exam_pp.llm import LLM, ModelOptions, load_llm
from exam_pp.phases.grading import grading_run as files
from exam_pp.phases.grading.grade import Exam, GradeOptions, GradeSummary
from exam_pp.phases.grading.grade import grade as grade_queries
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.prompts.answer_key import with_answer_match
from exam_pp.prompts.base import AnswerMatch, Unparsed
from exam_pp.prompts.custom import PromptFile, prompt_from_keys
from exam_pp.records import replace
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import read_text
from exam_pp.store.parsing import data_error
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import Journal
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

PathLike = str | Path
Prompts = str | Prompt | Sequence[str | Prompt]
"""Prompts, or names of :data:`exam_pp.PROMPTS`."""


def grade(
    passages: PathLike | Iterable[QueryPassages],
    bank: PathLike | TestBank | None = None,
    *,
    prompts: Prompts,
    model: str | ModelOptions,
    queries: PathLike | Mapping[str, str] | None = None,
    unparsed: Unparsed | None = None,
    soft: bool | None = None,
    regrade: bool = False,
    answer_match: AnswerMatch = "paper",
) -> Iterator[QueryPassages]:
    """Grade passages in memory, against every bank entry of their query or directly.

    The call checks the arguments and loads the model. Passages are graded while you iterate over the result,
    a window of queries at a time. :func:`exam_pp.grade_file` grades from file to file, and continues
    interrupted runs.

    Args:
        passages: Passages file, or queries with passages. The objects are not changed.
        bank: Test bank, as a file or an object. None: direct prompts with the texts in ``queries``.
        prompts: Prompts, or their names in :data:`exam_pp.PROMPTS`.
        model: Name of a model (``lexical``, ``e5``, a Hugging Face name, a checkpoint folder), or its
            options such as pipeline, device and dtype.
        queries: Query file, or a mapping of query id to text. None: the texts of the bank.
        unparsed: How to rate replies that are not a number: the ``default`` of the papers, ``ungraded``, the
            rule of the ``published`` code, or ``chat``, which reads sentences of chat models. None: ``chat``
            for decoder-only models and endpoints, else ``default``.
        soft: Whether to store the probabilities of all grades. None: only if they take no extra time.
        regrade: Whether to grade pairs again that already have a grade.
        answer_match: How to compare extracted answers with gold answers: ``paper`` (an edit distance below
            20 %, as EXAM++ prints it) or ``strict`` (equal numbers, synonyms of true and false).

    Returns:
        An iterator of the queries in input order, with the new grades after the grades of the input.
        ``errors`` of a passage's grades gives the reasons of ungraded pairs.

    Raises:
        SelectionError: The prompts do not fit the bank or the model.
        UnknownNameError: A prompt or a pipeline is unknown.
        MissingExtraError: The model needs a package that is not installed.
        ModelError: The model cannot be loaded.
        DataError: A file cannot be read or has the wrong format.
    """
    options = GradeOptions(_prompts(prompts, answer_match), unparsed, soft, regrade)
    texts = {} if queries is None else _texts(queries)
    exam = Exam(_bank(bank), texts)
    files.check_prompts(options.prompts, bank=bank is not None, queries=queries is not None)
    files.check_kinds(exam.bank, options.prompts)
    if bank is not None:
        for match in {prompt.answer_match for prompt in options.prompts if prompt.answer_key}:
            files.check_answer_keys(exam.bank, bank if isinstance(bank, PathLike) else "the bank", match)
    model_options = _model(model)
    files.check_fit(model_options, options)
    llm = load_llm(model_options)
    options = files.resolve_options(options, llm, model_options)
    return _graded(_queries(passages), exam, llm, options)


def _graded(
    queries: Iterable[QueryPassages], exam: Exam, llm: LLM, options: GradeOptions
) -> Iterator[QueryPassages]:
    summary = GradeSummary()
    with Journal(None) as journal:
        yield from grade_queries(
            (QueryPassages(query.query_id, [replace(p) for p in query.passages]) for query in queries),
            exam.bank,
            Answerer(llm, journal),
            model=llm.name,
            provenance=llm.provenance(),
            options=options,
            query_texts=exam.query_texts,
            summary=summary,
        )
    for query_ids, missing in ((summary.without_bank, "bank entries"), (summary.without_text, "text")):
        if query_ids:
            count = counted(len(query_ids), "query has", "queries have")
            log.warning("Not graded: %s no %s, such as %r.", count, missing, query_ids[0])


def grade_file(
    passages: PathLike,
    output: PathLike,
    *,
    bank: PathLike | None = None,
    prompts: Prompts,
    model: str | ModelOptions,
    queries: PathLike | None = None,
    unparsed: Unparsed | None = None,
    soft: bool | None = None,
    regrade: bool = False,
    answer_match: AnswerMatch = "paper",
) -> files.FileSummary:
    """Grade a passages file into a graded file, like ``exam-pp grade``.

    A journal next to the output keeps the replies until the output is complete. To continue an interrupted
    grading, repeat the call; the result is the same.

    Args:
        passages: Passages file.
        output: Graded file to write. Names that end in ``.gz`` are compressed.
        bank: Test bank file. None: direct prompts with the texts in ``queries``.
        prompts: Prompts, or their names in :data:`exam_pp.PROMPTS`.
        model: Name of a model, or its options.
        queries: Query file with the texts for direct prompts. None: the texts of the bank.
        unparsed: How to rate replies that are not a number, as in :func:`exam_pp.grade`.
        soft: Whether to store the probabilities of all grades. None: only if they take no extra time.
        regrade: Whether to grade pairs again that already have a grade.
        answer_match: How to compare extracted answers with gold answers, as in :func:`exam_pp.grade`.

    Returns:
        Counts such as ``queries``, ``passages``, ``graded``, ``ungraded`` and ``reasons``.

    Raises:
        OutputError: The output cannot be written.
        ExamError: The other errors of :func:`exam_pp.grade`.
    """
    return files.grade_file(
        files.GradeFiles(Path(passages), Path(output), _path(bank), queries=_path(queries)),
        _model(model),
        GradeOptions(_prompts(prompts, answer_match), unparsed, soft, regrade),
    )


def make_prompt(**keys: Any) -> Prompt:
    """Make your own prompt from the keys of a prompt file (see docs/reference/prompts.md).

    Args:
        **keys: Required: ``name``, ``kind`` (such as ``question``, ``nugget`` or ``direct``), ``template``
            with its placeholders or ``template_file``, and ``reading``, the rule to read replies. Optional:
            ``system`` or ``system_file``, ``placeholders`` (their texts in the template), ``scale`` (the
            highest rating), ``rating_names``, ``choices``, ``examples``, ``repair``, ``version`` and
            ``cite``.

    Returns:
        The prompt. ``PROMPTS.add(prompt.name, prompt)`` makes it available by its name.

    Raises:
        DataError: A key is missing, unknown or of the wrong type, or the template has unknown placeholders.
    """
    try:
        prompt_file = PromptFile.model_validate(keys)
    except ValidationError as error:
        raise data_error(error, None) from error
    return prompt_from_keys(prompt_file, read=lambda name, _field: read_text(Path(name)))


def _prompts(prompts: Prompts, match: AnswerMatch) -> list[Prompt]:
    items = [prompts] if isinstance(prompts, str | Prompt) else prompts
    named = [PROMPTS.get(item) if isinstance(item, str) else item for item in items]
    return [with_answer_match(prompt, match) for prompt in named]


def _model(model: str | ModelOptions) -> ModelOptions:
    return ModelOptions(model) if isinstance(model, str) else model


def _queries(passages: PathLike | Iterable[QueryPassages]) -> Iterable[QueryPassages]:
    return read_passages(passages) if isinstance(passages, PathLike) else passages


def _bank(bank: PathLike | TestBank | None) -> TestBank:
    if bank is None:
        return TestBank({})
    return read_bank(bank) if isinstance(bank, PathLike) else bank


def _texts(queries: PathLike | Mapping[str, str]) -> Mapping[str, str]:
    if isinstance(queries, PathLike):
        return read_query_texts(queries)
    return queries


def _path(path: PathLike | None) -> Path | None:
    return None if path is None else Path(path)
