"""Grading passages from Python, and prompts of one's own."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from exam_pp.data_model import QueryPassages
from exam_pp.llm import LLM, ModelOptions, load_llm
from exam_pp.llm.base import LearnsFromPassages
from exam_pp.phases.grading import grading_run as files
from exam_pp.phases.grading.grade import Exam, GradeOptions, GradeSummary
from exam_pp.phases.grading.grade import grade as grade_queries
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.prompts.base import Unparsed
from exam_pp.prompts.custom import PromptFile, prompt_of
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.parsing import data_error
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import Journal
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.test_bank import TestBank
from exam_pp.wording import counted

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
    unparsed: Unparsed = "default",
    soft: bool | None = None,
    regrade: bool = False,
) -> Iterator[QueryPassages]:
    """Grade passages in memory: each against every bank entry of its query, or directly.

    Arguments are checked and the model is loaded at once; passages are graded while the result is iterated
    over, a window of queries at a time. :func:`exam_pp.grade_file` does the same from file to file, and
    continues after an interruption.

    Args:
        passages: A passages file, or queries with passages; the objects are not changed.
        bank: Test bank (a file, or an object); direct prompts need none where ``queries`` has the texts.
        prompts: One or several prompts, or their names.
        model: A model's name (``lexical``, ``bundled``, a Hugging Face name, a checkpoint folder), or
            options with its pipeline, device, dtype ...
        queries: Query file, or query id to text; default: the texts of the bank.
        unparsed: What replies that are no number become: the papers' defaults, ``ungraded``, or the
            ``published`` code's rule.
        soft: Whether to store the probabilities of all grades; None: where they cost no extra time.
        regrade: Ask again what the passages have a grade for.

    Returns:
        The queries with the new grades after those that their passages had, in the order of the input. A
        pair that stays ungraded has its reason in ``errors``.

    Raises:
        SelectionError: The prompts do not fit the bank or the model.
        UnknownNameError: There is no such prompt or model.
        MissingExtraError: The model needs a package that is not installed.
        ModelError: The model cannot be loaded.
        DataError: A file is not in its format.
    """
    options = GradeOptions(_prompts(prompts), unparsed, soft, regrade)
    texts = {} if queries is None else _texts(queries)
    exam = Exam(_bank(bank), texts)
    files.check_prompts(options.prompts, bank=bank is not None, queries=queries is not None)
    files.check_kinds(exam.bank, options.prompts)
    if bank is not None and any(prompt.answer_key for prompt in options.prompts):
        files.check_answer_keys(exam.bank, bank if isinstance(bank, PathLike) else "the bank")
    chosen = _model(model)
    files.check_lists(chosen, options.prompts)
    llm = load_llm(chosen)
    if isinstance(llm, LearnsFromPassages):
        passages = passages if isinstance(passages, PathLike) else list(passages)
        llm.learn(passage.text for query in _queries(passages) for passage in query.passages)
    options = files.resolve_soft(options, llm, chosen)
    return _graded(_queries(passages), exam, llm, options)


def _graded(
    queries: Iterable[QueryPassages], exam: Exam, llm: LLM, options: GradeOptions
) -> Iterator[QueryPassages]:
    summary = GradeSummary()
    with Journal(None) as journal:
        yield from grade_queries(
            (QueryPassages(query.query_id, [p.model_copy() for p in query.passages]) for query in queries),
            exam.bank,
            Answerer(llm, journal),
            model=llm.name,
            provenance=llm.provenance(),
            options=options,
            query_texts=exam.query_texts,
            summary=summary,
        )
    for query_ids, missing in ((summary.without_bank, "bank entry"), (summary.without_text, "text")):
        if query_ids:
            count = counted(len(query_ids), "query has", "queries have")
            log.warning("%s no %s and no new grades (first: %s)", count, missing, query_ids[0])


def grade_file(
    passages: PathLike,
    output: PathLike,
    *,
    bank: PathLike | None = None,
    prompts: Prompts,
    model: str | ModelOptions,
    queries: PathLike | None = None,
    unparsed: Unparsed = "default",
    soft: bool | None = None,
    regrade: bool = False,
) -> files.FileSummary:
    """Grade a passages file into another, as ``exam-pp grade`` does.

    Replies are kept in a journal beside the output until the output stands: the same call continues a
    grading that was interrupted, with the same result.

    Args:
        passages: Passages file.
        output: Graded file; a name that ends in ``.gz`` is compressed.
        bank: Test bank file.
        prompts: As :func:`exam_pp.grade`, and so are the arguments that follow.
        model: A model's name, or its options.
        queries: Query file with the texts for direct prompts.
        unparsed: What replies that are no number become.
        soft: Whether to store the probabilities of all grades.
        regrade: Ask again what the file has a grade for.

    Returns:
        Counts: ``queries``, ``passages``, ``graded`` and ``ungraded`` pairs, ``reasons`` ...

    Raises:
        ExamError: As :func:`exam_pp.grade`; and OutputError where the output cannot be written.
    """
    return files.grade_file(
        files.GradeFiles(Path(passages), Path(output), _path(bank), queries=_path(queries)),
        _model(model),
        GradeOptions(_prompts(prompts), unparsed, soft, regrade),
    )


def make_prompt(**keys: Any) -> Prompt:
    """A prompt of one's own, from the keys that a prompt file has (docs/prompts.md).

    Args:
        **keys: ``name``, ``kind`` (``question``, ``nugget`` or ``direct``), ``template`` with its
            placeholders and ``reading``, the rule by which replies are read; where they apply ``scale`` (the
            highest rating), ``choices``, ``examples``, ``version`` and ``cite``.

    Returns:
        The prompt. ``PROMPTS.add(prompt.name, prompt)`` lets functions find it by its name.

    Raises:
        DataError: A key is missing, unknown or of the wrong type, or the template has other placeholders.
    """
    try:
        given = PromptFile.model_validate(keys)
    except ValidationError as error:
        raise data_error(error, None) from error
    return prompt_of(given)


def _prompts(prompts: Prompts) -> list[Prompt]:
    several = [prompts] if isinstance(prompts, str | Prompt) else prompts
    return [PROMPTS.get(prompt) if isinstance(prompt, str) else prompt for prompt in several]


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
