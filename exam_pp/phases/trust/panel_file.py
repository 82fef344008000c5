"""Panel files: the graders of a panel and their options, as TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from exam_pp.errors import DataError, ExamError
from exam_pp.graders.listwise import REPAIRS
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.prompt_files import choose_prompts
from exam_pp.phases.grading.settings_files import ModelSettings, Name, SettingsFile
from exam_pp.prompts.answer_key import with_answer_match
from exam_pp.prompts.base import AnswerMatch, Prompt, Unparsed
from exam_pp.store.files import read_text


class GraderTable(ModelSettings):
    """A table ``[[grader]]``: the options of `exam-pp grade` for the model, the prompts and the reading.

    Names, meanings and defaults are those of the options, with ``_`` in place of ``-``. ``prompt_class`` and
    ``prompt_file`` are a name or a list of names.
    """

    prompt_class: Name | list[Name] = Field(default=[])
    prompt_file: Name | list[Name] = Field(default=[])
    unparsed: Unparsed | None = None
    answer_match: AnswerMatch = "paper"
    soft: bool | None = None
    repairs: Annotated[int, Field(ge=0, le=5)] = REPAIRS
    reply: Literal["written", "chosen", "calibrated"] = "written"  # type: ignore[assignment]


@dataclass(frozen=True)
class PanelGrader:
    """A grader of a panel: a model with its prompts.

    ``number``: Number of its table, from 1.
    """

    number: int
    model: ModelOptions
    prompts: Sequence[Prompt]
    table: GraderTable


def read_panel(path: str | Path, servers: Collection[str] = ()) -> list[PanelGrader]:
    """Read the graders of a panel file; files that it names are in its folder.

    Returns the graders, in the order of the file.
    """
    try:
        values = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # also for integers of more than 4,300 digits
        raise DataError(f"is not valid TOML: {error}.", file=str(path)) from error
    for key in values:
        if key != "grader":
            close = get_close_matches(key, ["grader"], n=1)
            hint = "did you mean 'grader'?" if close else "a panel file can have grader."
            raise DataError(f"is unknown; {hint}", file=str(path), field=key)
    tables = values.get("grader", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DataError("is not a list of tables; write [[grader]].", file=str(path), field="grader")
    if not tables:
        raise DataError(
            "has no graders; write a table [[grader]] with model and prompt_class for each.", file=str(path)
        )
    source = SettingsFile(str(path), Path(path).parent, servers)
    graders = [_grader(number, table, source) for number, table in enumerate(tables, start=1)]
    _check_different(graders, path)
    return graders


def _grader(number: int, values: Mapping[str, Any], source: SettingsFile) -> PanelGrader:
    where = f"grader {number}"
    table = source.table(GraderTable, values, f"{where} ")
    if not table.prompt_class and not table.prompt_file:
        raise DataError("needs prompt_class or prompt_file.", file=source.name, field=where)
    files = [source.path(name, f"{where} prompt_file") for name in _several(table.prompt_file)]
    try:
        chosen = choose_prompts(_several(table.prompt_class), files)
    except DataError:  # names the prompt file
        raise
    except ExamError as error:
        raise DataError(str(error), file=source.name, field=f"{where} prompt_class") from error
    prompts = [with_answer_match(prompt, table.answer_match) for prompt in chosen]
    return PanelGrader(number, source.options(table, f"{where} "), prompts, table)


def _several(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _check_different(graders: Sequence[PanelGrader], path: str | Path) -> None:
    """Raise DataError if two graders have the same model and prompt class."""
    asked: dict[tuple[str, str], int] = {}
    for number, model, prompt in _asked(graders):
        first = asked.setdefault((model, prompt), number)
        if first != number:
            raise DataError(
                f"asks {model!r} with {prompt}, like grader {first}: a file has one grade of a pair by a "
                "model with a prompt class.",
                file=str(path), field=f"grader {number}",
            )  # fmt: skip


def _asked(graders: Sequence[PanelGrader]) -> Iterator[tuple[int, str, str]]:
    for grader in graders:
        for prompt in grader.prompts:
            yield grader.number, grader.model.model, prompt.name
