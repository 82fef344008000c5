"""Prompts by name, from prompt files and from the registry."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from exam_pp.banks import EntryKind, TestBank
from exam_pp.errors import DataError, SelectionError
from exam_pp.llm.backends import can_read_lists
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.settings_files import SettingsFile
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.prompts.custom import parse_prompt
from exam_pp.prompts.nuggets import NUGGET_ASSIGNMENT, NUGGET_ASSIGNMENT_POINTWISE
from exam_pp.prompts.requirements import CRITERION, EXPECTED_ANSWERS, REFERENCE
from exam_pp.prompts.rubric import NUGGET_SELF_RATED, QUESTION_SELF_RATED
from exam_pp.store.files import read_text
from exam_pp.store.parsing import data_error
from exam_pp.text.toml import parse_toml


def rating_prompt(kind: EntryKind) -> Prompt:
    """The default prompt for ratings of questions or nuggets."""
    return NUGGET_SELF_RATED if kind == "nugget" else QUESTION_SELF_RATED


def assignment_prompt(model: ModelOptions, bank: TestBank | None = None) -> Prompt:
    """The default prompt that labels the entries of a bank for answers.

    Criteria and reference answers are asked one by one; nuggets and expected answers all at once of models
    that read lists.
    """
    if bank is not None and bank.has_criteria:
        return CRITERION
    if bank is not None and bank.has_references:
        return REFERENCE
    if not can_read_lists(model):
        return NUGGET_ASSIGNMENT_POINTWISE
    return EXPECTED_ANSWERS if bank is not None and "mean" in bank.combined else NUGGET_ASSIGNMENT


def read_prompt(path: Path) -> Prompt:
    """The prompt of a TOML file; raises :class:`exam_pp.errors.DataError`.

    Files that the prompt file names are in its folder.
    """
    text, source = read_text(path), SettingsFile(str(path), path.parent)
    try:
        return parse_prompt(text, str(path), lambda name, field: read_text(source.path(name, field)))
    except ValidationError as error:
        raise data_error(error, path) from error


def has_criteria(path: Path) -> bool:
    """Whether a TOML file has criteria in place of a prompt; raises :class:`exam_pp.errors.DataError`."""
    try:
        return "criteria" in parse_toml(read_text(path), str(path))
    except DataError:  # which the reader of prompts raises, too
        return False


def choose_prompts(names: Iterable[str], files: Iterable[Path]) -> list[Prompt]:
    """The prompts with these names, then the other prompts of the files; raises :class:`ExamError`.

    If a file and the registry have a prompt with the same name, the prompt of the file is used.
    """
    own: dict[str, Prompt] = {}
    for path in files:
        prompt = read_prompt(path)
        if prompt.name in own:
            raise SelectionError(f"Two prompt files define {prompt.name!r}; the second is {path}.")
        own[prompt.name] = prompt
    named = {name: own[name] if name in own else PROMPTS.get(name) for name in names}
    return list(({prompt.name: prompt for prompt in named.values()} | own).values())
