"""Study files: the inputs, the judge and the options of ``exam-pp run``, as TOML for people."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from exam_pp.defaults import CUTOFF
from exam_pp.errors import DataError
from exam_pp.judges import LEXICAL
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.settings_files import ModelSettings, SettingsFile, is_below, model_options
from exam_pp.phases.grading.steps import is_data_set
from exam_pp.phases.interchange.import_passages import ImportSources
from exam_pp.store.files import read_file, write_text
from exam_pp.store.guarded_inputs import forget
from exam_pp.text.toml import parse_toml

STUDY_FILE = "study.toml"
PATHS = ("runs", "texts", "queries", "bank", "answers", "qrels", "official", "edits", "prompt_file")
"""Keys with paths, or lists of them."""


class StudyFile(BaseModel):
    """The options of ``exam-pp run`` under the names of the options, with lists for repeated ones.

    ``model`` is the judge; None until the study is graded first.
    """

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())

    runs: list[str] = []
    texts: list[str] = []
    queries: str | None = None
    bank: list[str] = []
    answers: list[str] = []
    qrels: list[str] = []
    official: str | None = None
    edits: list[str] = []
    columns: str | None = None
    top: int | None = Field(None, ge=1)
    prompt: list[str] = []
    prompt_file: list[str] = []
    games: bool = False
    model: str | None = None
    model_pipeline: str | None = None
    base_url: str | None = None
    settings: dict[str, Any] = {}

    @property
    def cutoff(self) -> int | None:
        """The cutoff of its scores; None for the default.

        Below the depth of the pool, a ranking has only passages that another system ranked higher. A cutoff
        that is named would also limit answers.
        """
        is_lower = bool(self.runs and not self.answers) and (self.top or CUTOFF) < CUTOFF
        return self.top if is_lower else None

    @property
    def sources(self) -> ImportSources:
        """The systems, texts and judgments."""
        return ImportSources(
            runs=list(map(Path, self.runs)),
            texts=list(map(Path, self.texts)),
            qrels=list(map(Path, self.qrels)),
            queries=None if self.queries is None else Path(self.queries),
            answers=list(map(Path, self.answers)),
            top=self.top or CUTOFF,
        )

    @property
    def columns_of_tables(self) -> dict[str, str]:
        """Meaning to column, as ``columns`` names them."""
        return dict(pair.split("=", 1) for pair in (self.columns or "").split(",") if pair)

    @property
    def model_options(self) -> ModelOptions:
        """The options of the judge."""
        known = self.model_dump(include={"model_pipeline", "base_url"}, exclude_none=True)
        return model_options(ModelSettings(model=self.model or LEXICAL, **known, **self.settings))

    @property
    def words_of_judge(self) -> list[str]:
        """The options of the judge, as words of a command."""
        named = {"--model": self.model or LEXICAL, "--model-pipeline": self.model_pipeline}
        named["--base-url"] = self.base_url
        return [
            word for key, value in named.items() if value for word in (key, value)
        ] + self.words_of_settings

    @property
    def words_of_settings(self) -> list[str]:
        """The settings of the judge, as words of a command."""
        return [
            word
            for key, value in self.settings.items()
            for each in (value if key == "stop" else [value])  # -M stop may be repeated
            for word in ("-M", f"{key}={each if isinstance(each, str) else json.dumps(each)}")
        ]

    def with_paths(self, change: Callable[[str, str], str]) -> StudyFile:
        """A copy with ``change(key, path)`` in place of each path."""
        changes: dict[str, Any] = {}
        for key in PATHS:
            value = getattr(self, key)
            if isinstance(value, list):
                changes[key] = [change(key, path) for path in value]
            elif value is not None and not (key == "queries" and is_data_set(Path(value))):
                changes[key] = change(key, value)
        if (schema := self.settings.get("response_format")) not in (None, "text", "json"):
            changes["settings"] = {**self.settings, "response_format": change("settings", schema)}
        return self.model_copy(update=changes)


def option_of(key: str) -> str:
    """The option of ``exam-pp run`` for a key with paths."""
    return "-M response_format" if key == "settings" else f"--{key.replace('_', '-')}"


def recorded_study(path: Path) -> StudyFile:
    """The content of a study file as it stands, which sends and reads no file that it names.

    Raises :class:`DataError`.
    """
    return SettingsFile(str(path), path.parent).table(
        StudyFile, parse_toml(read_file(path), str(path)), "", "a study has"
    )


def read_study(path: Path, given: Mapping[str, Any]) -> StudyFile:
    """Read a study file whose values under the keys of ``given`` are replaced by what the user named.

    Paths in the file are relative to its folder. They lead into this folder or the working folder, because
    the file may be the work of others, unless the user named others. So may its server, which gets neither
    texts nor a key unless ``given`` names it, too. Raises :class:`DataError`.
    """
    base_url = given.get("base_url")
    source = SettingsFile(str(path), path.parent, [base_url] if base_url else [])
    study = recorded_study(path)
    own_model = study.model is not None and "model" not in given
    table = {
        **study.settings,
        **study.model_dump(include={"model_pipeline", "base_url"}, exclude_none=True),
        "model": study.model if own_model else LEXICAL,
    }
    settings = source.table(ModelSettings, table, "").model_copy(update={"response_format": None})  # a path
    name = source.options(settings, "").model

    def below(key: str, name: str) -> str:
        found = os.path.normpath(path.parent / name)  # what is checked is what is read
        if key not in given and not is_below(Path(found), path.parent, Path()):
            raise DataError(
                f"{name!r} is neither below the folder of this file nor below the working folder: go to a "
                f"folder above both, or name it again with {option_of(key)}.",
                file=str(path), field=key,
            )  # fmt: skip
        return found

    return study.with_paths(below).model_copy(update={"model": name} if own_model else {})


def typed_again(study: StudyFile, path: Path, given: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The values of a study that its file at ``path`` may not name, so that the user names them again.

    ``given`` are those that are already known.
    """
    given = given or {}
    try:
        read = read_study(path, given)
    except DataError as error:
        key = str(error.field)
        return typed_again(study, path, {**given, key: getattr(study, key)})
    return given if read.model == study.model else {**given, "model": study.model}


def write_study(study: StudyFile, path: Path) -> None:
    """Write a study file, with paths relative to its folder, unless it has this content."""

    def relative(_key: str, name: str) -> str:
        return Path(os.path.relpath(name, path.parent)).as_posix()

    values = study.with_paths(relative).model_dump(exclude_defaults=True)
    settings = values.pop("settings", {})
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    if settings:
        lines += ["", "[settings]", *(f"{key} = {_toml(value)}" for key, value in settings.items())]
    text = "\n".join(lines) + "\n"
    if not path.exists() or read_file(path) != text:
        forget(path)  # the command may have read it
        write_text(path, text)


def _toml(value: Any) -> str:
    """A value as TOML; texts, numbers, flags and lists of these are written as in JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
