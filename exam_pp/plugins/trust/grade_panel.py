"""Grading by a panel of a TOML file: several graders, one after the other, into one file."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from exam_pp.errors import (
    DataError,
    ExamError,
    MissingExtraError,
    ModelError,
    SelectionError,
    UnknownNameError,
)
from exam_pp.graders.listwise import REPAIRS
from exam_pp.llm.backends import check_packages
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.transport import is_same_server
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import Advance, GradeFiles, check_files, check_fit, grade_file
from exam_pp.phases.grading.prompt_files import choose_prompts
from exam_pp.phases.grading.settings_files import ModelSettings, Name, SettingsFile
from exam_pp.phases.grading.steps import Progress, Steps, asked, no_progress
from exam_pp.phases.passages.transform import rewrite
from exam_pp.prompts.answer_key import with_answer_match
from exam_pp.prompts.base import AnswerMatch, Prompt, Unparsed
from exam_pp.store.files import STDIO, check_output, is_stream, read_text
from exam_pp.store.inputs import model_files, reading
from exam_pp.store.locks import temporary_folder
from exam_pp.text.toml import parse_toml
from exam_pp.text.wording import did_you_mean


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
class PanelModel:
    """A grader of a panel: a model with its prompts.

    ``number``: Number of its table, from 1.
    """

    number: int
    model: ModelOptions
    prompts: Sequence[Prompt]
    table: GraderTable


def read_panel(path: str | Path, servers: Collection[str] = ()) -> list[PanelModel]:
    """Read the graders of a panel file; files that it names are in its folder.

    Returns the graders, in the order of the file.
    """
    values = parse_toml(read_text(path), str(path))
    for key in values:
        if key != "grader":
            hint = did_you_mean(key, ["grader"], "a panel file can have grader.", begins=False)
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


def _grader(number: int, values: Mapping[str, Any], source: SettingsFile) -> PanelModel:
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
    return PanelModel(number, source.options(table, f"{where} "), prompts, table)


def _several(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _check_different(graders: Sequence[PanelModel], path: str | Path) -> None:
    """Raise DataError if two graders have the same model and prompt class."""
    asked: dict[tuple[str, str], int] = {}
    for grader in graders:
        for prompt in grader.prompts:
            first = asked.setdefault((grader.model.model, prompt.name), grader.number)
            if first != grader.number:
                raise DataError(
                    f"asks {grader.model.model!r} with {prompt.name}, like grader {first}: a file has one "
                    "grade of a pair by a model with a prompt.",
                    file=str(path), field=f"grader {grader.number}",
                )  # fmt: skip


log = logging.getLogger(__name__)


def _options_of(grader: PanelModel, options: GradeOptions) -> GradeOptions:
    """The options of the grading by a grader."""
    table = grader.table
    return replace(
        options,
        prompts=grader.prompts,
        unparsed=table.unparsed,
        soft=table.soft,
        repairs=table.repairs,
        calibrate=table.reply == "calibrated",
    )


@reading()
def grade_panel(
    files: GradeFiles,
    panel: Path,
    options: GradeOptions | None = None,
    progress: Progress = no_progress,
    *,
    servers: Collection[str] = (),
) -> list[PanelModel]:
    """Grade passages with every grader of a panel, and write the grades of all into one file.

    All graders and their packages are checked before the first model is loaded. Each grader has a journal of
    its own. The files of finished graders are in the folder OUTPUT.panel until the output is complete, so
    that a repeated call continues an interrupted panel. Grades that the passages already have are kept.

    ``options``: The passages to grade; prompts and the reading of replies are those of each grader.
    ``servers``: Servers that the panel may use.
    """
    options = options or GradeOptions([])
    graders = read_panel(panel, servers)
    for server in servers:
        if not any(is_same_server(server, grader.model.base_url) for grader in graders):
            raise SelectionError(
                f"No grader of {panel} names the server of --base-url {server}: write base_url into "
                "its table."
            )
    for grader in graders:
        with _named(panel, grader):
            check_files(files, _options_of(grader, options))
            check_fit(grader.model, _options_of(grader, options))
            check_packages(grader.model)
    with ExitStack() as stack:
        stack.enter_context(reading(_model_inputs(graders)))
        # Again, because the files of models are inputs now, too.
        check_output(files.output)
        streamed, work_folder = is_stream(files.output), files.output.with_name(f"{files.output.name}.panel")
        folder = stack.enter_context(temporary_folder()) if streamed else work_folder
        steps = Steps(folder, progress)
        try:
            graded = _grade(files, panel, graders, options, steps)
        except ExamError:
            if not streamed and not steps.remove_if_empty():
                log.info("The replies so far are kept in %s: repeat the command to continue.", folder)
            raise
        # A copy, because the output may be a stream, or have another compression than the file of a step.
        rewrite(graded, files.output, lambda query: query, inputs=[files.passages])
        steps.remove()
    return graders


def _model_inputs(graders: Iterable[PanelModel]) -> Iterator[Path]:
    """The files of local models and the JSON Schemas that a panel names."""
    for grader in graders:
        yield from model_files(grader.model.model) or ()
        if grader.table.response_format not in (None, "text", "json"):
            yield Path(str(grader.model.response_format))


def _grade(
    files: GradeFiles, panel: Path, graders: Sequence[PanelModel], options: GradeOptions, steps: Steps
) -> Path:
    """The file with the grades of all graders, in the work folder."""
    graded = files.passages
    for grader in graders:
        of_grader = _options_of(grader, options)

        def work(
            path: Path,
            advance: Advance,
            # As default values, because the loop changes these variables.
            source: Path = graded,
            grader: PanelModel = grader,
            of_grader: GradeOptions = of_grader,
        ) -> Iterable[str]:
            step = GradeFiles(
                source, path, files.bank, queries=files.queries, retry_failed=files.retry_failed
            )
            with _named(panel, grader):
                summary = grade_file(step, grader.model, of_grader, advance)
            summary.output = STDIO  # the file of a step is of no interest
            return summary.lines()

        inputs = [path for path in (graded, files.bank, files.queries) if path is not None]
        settings: dict[str, Any] = vars(of_grader) | asked(grader.model, *grader.prompts)
        name = f"Grader {grader.number}, {grader.model.model}"
        graded = steps.run(name, f"grader-{grader.number}.jsonl.gz", inputs, settings, work)
    return graded


@contextmanager
def _named(panel: Path, grader: PanelModel) -> Iterator[None]:
    """Add the table of the grader to errors inside the block that are not about a file."""
    try:
        yield
    except (ModelError, MissingExtraError, SelectionError, UnknownNameError) as error:
        kind = SelectionError if isinstance(error, SelectionError) else ModelError
        raise kind(f"{panel}, grader {grader.number} ({grader.model.model}): {error}") from error
