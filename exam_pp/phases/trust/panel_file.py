"""Panel files: the graders of a panel and their options, as TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from exam_pp.errors import DataError, ExamError
from exam_pp.graders.listwise import REPAIRS
from exam_pp.llm.base import Dtype, Engine, ModelOptions, NoAnswerAt
from exam_pp.phases.grading.prompt_files import choose_prompts
from exam_pp.prompts.answer_key import with_answer_match
from exam_pp.prompts.base import AnswerMatch, Prompt, Unparsed
from exam_pp.store.files import read_text
from exam_pp.store.parsing import data_error

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Name = Annotated[str, Field(min_length=1)]

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class GraderTable(BaseModel):
    """A table ``[[grader]]``: the options of `exam-pp grade` for the model, the prompts and the reading.

    Names, meanings and defaults are those of the options, with ``_`` in place of ``-``. ``prompt_class`` and
    ``prompt_file`` are a name or a list of names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: Name
    prompt_class: Name | list[Name] = []
    prompt_file: Name | list[Name] = []
    unparsed: Unparsed | None = None
    answer_match: AnswerMatch = "paper"
    soft: bool | None = None
    repairs: Annotated[int, Field(ge=0, le=5)] = REPAIRS
    choose: bool = False
    calibrate: bool = False
    model_pipeline: str = "text2text"
    revision: str | None = None
    engine: Engine = "auto"
    compute_type: str | None = None
    device: str | None = None
    device_map: Literal["auto"] | None = None
    dtype: Dtype = "auto"
    batch_tokens: Count | None = None
    threads: Count | None = None
    greedy: bool = False
    thinking_tokens: Annotated[int, Field(ge=0)] = 0
    base_url: str | None = None
    timeout: Positive = 120.0
    concurrency: Count = 16
    max_reply_mb: Positive = 16.0
    allow_redirects: bool = False
    temperature: Annotated[float, Field(ge=0)] = 0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    sampling_seed: int | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    max_tokens: Count | None = None
    stop: list[Name] = []
    reasoning_effort: Effort | None = None
    response_format: Name | None = None
    no_answer_at: NoAnswerAt = "auto"

    def model_options(self, folder: Path) -> ModelOptions:
        """The options of the model; a file of ``response_format`` is relative to ``folder``."""
        names = {field.name for field in fields(ModelOptions)}
        values = {key: value for key, value in vars(self).items() if key in names}
        values |= {"pipeline": self.model_pipeline, "stop": tuple(self.stop)}
        if self.greedy:
            values["num_beams"] = 1
        if self.response_format not in (None, "text", "json"):
            values["response_format"] = str(folder / self.response_format)
        return ModelOptions(**values)


@dataclass(frozen=True)
class PanelGrader:
    """A grader of a panel: a model with its prompts.

    Attributes:
        number: Number of its table, from 1.
        model: Options of the model.
        prompts: The prompts.
        table: The table of the file.
    """

    number: int
    model: ModelOptions
    prompts: Sequence[Prompt]
    table: GraderTable


def read_panel(path: str | Path) -> list[PanelGrader]:
    """Read the graders of a panel file; files that it names are relative to its folder.

    Args:
        path: TOML file with a table ``[[grader]]`` for each grader.

    Returns:
        The graders, in the order of the file.

    Raises:
        DataError: The file is not TOML or has no graders, or a grader has an unknown key, a wrong value, an
            unknown prompt, or the model and prompt class of another grader; the message names the table.
    """
    try:
        values = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # also for integers of more than 4,300 digits
        raise DataError(f"is not valid TOML: {error}.", file=str(path)) from error
    for key in values:
        if key != "grader":
            raise DataError(_unknown(key, ["grader"], "a panel file"), file=str(path), field=key)
    tables = values.get("grader", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DataError("is not a list of tables; write [[grader]].", file=str(path), field="grader")
    if not tables:
        raise DataError(
            "has no graders; write a table [[grader]] with model and prompt_class for each.", file=str(path)
        )
    graders = [_grader(number, table, path) for number, table in enumerate(tables, start=1)]
    _check_different(graders, path)
    return graders


def _grader(number: int, values: Mapping[str, Any], path: str | Path) -> PanelGrader:
    where = f"grader {number}"
    known = list(GraderTable.model_fields)
    for key in values:
        if key not in known:
            problem = _unknown(key, known, "a grader")
            raise DataError(problem, file=str(path), field=f"{where} {key}")
    try:
        table = GraderTable.model_validate(values)
    except ValidationError as error:
        raise data_error(error, path, within=where) from error
    if not table.prompt_class and not table.prompt_file:
        raise DataError("needs prompt_class or prompt_file.", file=str(path), field=where)
    if table.greedy and table.temperature > 0:
        raise DataError("has greedy and a temperature above 0; use one of them.", file=str(path), field=where)
    folder = Path(path).parent
    try:
        chosen = choose_prompts(
            _several(table.prompt_class), [folder / name for name in _several(table.prompt_file)]
        )
    except DataError:  # names the prompt file
        raise
    except ExamError as error:
        raise DataError(str(error), file=str(path), field=f"{where} prompt_class") from error
    prompts = [with_answer_match(prompt, table.answer_match) for prompt in chosen]
    return PanelGrader(number, table.model_options(folder), prompts, table)


def _several(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _unknown(key: str, known: Sequence[str], owner: str) -> str:
    close = get_close_matches(key.replace("-", "_"), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"{owner} can have {', '.join(known)}."
    return f"is unknown; {hint}"


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
