"""Common parts of the grading of citations and of claims."""

from __future__ import annotations

from collections.abc import Sequence

from exam_pp.errors import SelectionError
from exam_pp.graders.make import RATING_TOKENS
from exam_pp.llm.base import ModelOptions
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS
from exam_pp.phases.grading.grading_run import CHAT_PIPELINES, GradeFiles
from exam_pp.prompts.base import Unparsed


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
