"""Settings of the judge in a workflow file of AutoJudge."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from exam_pp.banks import EntryKind
from exam_pp.data_model import WHOLE, Integer
from exam_pp.errors import DataError, ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.prompt_files import read_prompt
from exam_pp.phases.grading.settings_files import ModelSettings, SettingsFile
from exam_pp.phases.interchange.answer_units import Unit
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.store.parsing import valid

WORK_FOLDER = "exam_pp_work"
"""Default name of the folder of grades and journals, in the output folder of ``auto-judge run``."""

SOURCE = "the settings of the workflow"
"""The place of a wrong setting, for messages."""

_FILE = SettingsFile(SOURCE, Path(), again="OPENAI_BASE_URL=")
"""Paths start in the working folder, because AutoJudge does not pass the folder of the workflow file."""

_ENDPOINT = "openai"
_ENDPOINTS = (_ENDPOINT, "openai-completions")


class LlmConfig(Protocol):
    """The fields of AutoJudge's ``llm_config`` that are used; :func:`model_of` treats others as missing."""

    model: str


class Settings(BaseModel):
    """All settings; docs/how-to/autojudge.md explains them.

    ``model``: Name of the model; None: the model of ``llm_config``, behind its endpoint. ``pipeline``:
    Backend of the model; None: ``text2text`` for a named model, else ``openai``. ``bank``: File of questions
    or nuggets; None: that of AutoJudge, else the model writes one. ``count``: Number of entries per topic
    that the model writes; None: 10. ``importance``: Whether the model labels entries without importance as
    vital or okay. ``prompt_class``: Name of the grading prompt, or a prompt file (.toml); None: that of the
    kind of entry. ``assignment_class``: Prompt of the nugget assignment, in the same way; None: the listwise
    prompt for models that can read lists, else the pointwise one. ``min_grade``: Lowest grade that covers an
    entry; None: 4.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model: str | None = None
    pipeline: str | None = None
    model_options: dict[str, Any] = {}
    seed: Integer | None = None
    bank: Path | None = None
    entries: Literal["questions", "nuggets"] = "questions"
    count: Annotated[int, Field(ge=1), WHOLE] | None = None
    importance: bool = False
    topic_text: Literal["title", "problem_statement", "all"] = "title"
    unit: Unit = "paragraph"
    prompt_class: str | None = None
    assignment_class: str | None = None
    min_grade: Annotated[int, Field(ge=1), WHOLE] | None = None
    cutoff: Annotated[int, Field(ge=1), WHOLE] | None = None
    label: Literal["max", "count", "binary"] = "max"
    retry_failed: bool = False
    work: Path = Path(WORK_FOLDER)
    outdir: Path = Path()
    filebase: str = ""
    description: str = ""

    @property
    def kind(self) -> EntryKind:
        """The kind of the entries that the model writes."""
        return "nugget" if self.entries == "nuggets" else "question"


INJECTED = ("outdir", "filebase", "description")
"""Settings of AutoJudge itself."""


def read_settings(values: Mapping[str, Any]) -> Settings:
    """Check settings."""
    own = [name for name in Settings.model_fields if name not in INJECTED]
    for name in values:
        if name not in Settings.model_fields:
            raise DataError(f"is unknown; the settings are {', '.join(own)}.", file=SOURCE, field=name)
    settings = valid(Settings.model_validate, dict(values), SOURCE)
    _FILE.table(ModelSettings, {"model": "-", **settings.model_options}, "model_options.")
    for name in ("bank", "prompt_class", "assignment_class"):
        path = values.get(name)
        # Python may pass any Path; the values of a workflow file are texts.
        if isinstance(path, str) and (name == "bank" or path.endswith(".toml")):
            _FILE.path(path, name)
    SettingsFile(SOURCE, settings.outdir).path(str(settings.work), "work")
    return settings


def model_of(settings: Settings, llm_config: LlmConfig | None) -> ModelOptions:
    """The model of the settings, or that of ``llm_config``."""
    pipeline = settings.pipeline or (_ENDPOINT if settings.model is None else ModelOptions("").pipeline)
    model = settings.model or getattr(llm_config, "model", None)
    if not model:
        raise DataError("is missing, and llm_config names no model.", file=SOURCE, field="model")
    if settings.model is not None:
        model = _FILE.model_name(settings.model, "model", pipeline)
    values = {"model": model, "pipeline": pipeline, **settings.model_options}
    if settings.seed is not None:
        values = {"sampling_seed": settings.seed} | values
    server = getattr(llm_config, "base_url", None)
    source = replace(_FILE, servers=[server] if server else [])
    options = source.model(values, "model_options.")
    if options.pipeline in _ENDPOINTS:
        _check_key(getattr(llm_config, "api_key", None))
        options = replace(options, base_url=options.base_url or server)
    return options


def _check_key(key: str | None) -> None:
    if key and os.environ.get("OPENAI_API_KEY") != key:
        raise ModelError(
            "The key of llm_config is not in the environment; set OPENAI_API_KEY to it, because exam_pp "
            "reads keys only there."
        )


def prompt_of(name: str) -> Prompt:
    """The prompt of a name, or of a prompt file (.toml); raises :class:`exam_pp.errors.ExamError`."""
    return read_prompt(Path(name)) if name.endswith(".toml") else PROMPTS.get(name)
