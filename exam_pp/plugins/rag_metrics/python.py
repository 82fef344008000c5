"""Python API for grading answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exam_pp.llm.base import ModelOptions
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.plugins.rag_metrics import grading
from exam_pp.prompts import PROMPTS, Prompt


def grade_citations(
    passages: PathLike,
    output: PathLike,
    *,
    model: str | ModelOptions,
    prompt: str | Prompt | None = None,
    systems: Sequence[str] = (),
    regrade: bool = False,
) -> grading.AnswerSummary:
    """Grade the citations of answers in a passages file, as ``exam-pp grade`` with ``CitationSupport``.

    The model labels each part of an answer with each passage that it cites: full, partial or no support.
    :func:`exam_pp.citations` scores the systems. To continue an interrupted grading, repeat the call.

    Args:
        passages: Passages file with answers and the passages that they cite.
        output: Graded file to write. Names that end in ``.gz`` are compressed.
        model: Name of a model, or its options.
        prompt: Prompt of the kind ``support``, or its name. None: ``CitationSupport``.
        systems: Names of the systems to grade; empty for all.
        regrade: Whether to grade citations again that have a label by this model with this prompt.

    Returns:
        Counts such as ``answers``, ``graded`` (by label), ``reasons`` and ``missing``.

    Raises:
        OutputError: The output cannot be written.
        ExamError: The file has no answers, the prompt is of another kind, or the model cannot be loaded.
    """
    chosen = PROMPTS.get(prompt) if isinstance(prompt, str) else prompt
    return grading.grade_answers(
        "support",
        GradeFiles(Path(passages), Path(output)),
        ModelOptions(model) if isinstance(model, str) else model,
        grading.AnswerOptions(chosen, systems=systems, regrade=regrade),
    )


def grade_answers(
    passages: PathLike,
    output: PathLike,
    *,
    queries: PathLike,
    model: str | ModelOptions,
    criteria: PathLike | None = None,
    systems: Sequence[str] = (),
    max_passages: int | None = None,
    regrade: bool = False,
) -> grading.AnswerSummary:
    """Rate the whole answers in a passages file by criteria, as ``exam-pp grade``.

    The model reads the query, the documents of the system and its answer, and rates all criteria in one
    reply. :func:`exam_pp.criteria` scores the systems. To continue an interrupted grading, repeat the call.

    Args:
        passages: Passages file with answers.
        output: Graded file to write. Names that end in ``.gz`` are compressed.
        queries: Query file with the texts.
        model: Name of a model, or its options.
        criteria: TOML file with your own criteria. None: those of RAGElo (Rackauckas et al., 2024).
        systems: Names of the systems to grade; empty for all.
        max_passages: The number of retrieved passages that the model reads at most; None for all.
        regrade: Whether to rate answers again that have ratings by this model with these criteria.

    Returns:
        Counts such as ``answers``, ``graded`` (by criterion), ``reasons`` and ``empty``.

    Raises:
        OutputError: The output cannot be written.
        ExamError: The file has no answers, no query has a text, the criteria cannot be read, or the model
            cannot be loaded.
    """
    own = None if criteria is None else grading.read_criteria_file(Path(criteria))
    return grading.grade_answers(
        "criteria",
        GradeFiles(Path(passages), Path(output), queries=Path(queries)),
        ModelOptions(model) if isinstance(model, str) else model,
        grading.AnswerOptions(None, own, systems, max_passages, regrade=regrade),
    )
