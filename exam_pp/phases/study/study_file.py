"""Study files: the inputs, the judge and the options of ``exam-pp run``, as TOML for people."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from exam_pp.defaults import CUTOFF
from exam_pp.errors import DataError
from exam_pp.phases.grading.settings_files import ModelSettings, SettingsFile, is_below
from exam_pp.phases.grading.steps import is_data_set
from exam_pp.store.files import read_text, write_text
from exam_pp.store.guarded_inputs import forget

STUDY_FILE = "study.toml"
PATHS = ("runs", "texts", "queries", "bank", "answers", "qrels", "official", "edits", "prompt_file")
"""Keys with paths, or lists of them."""


class Study(BaseModel):
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

        Below the depth of the pool, a ranking has only passages that another system ranked higher.
        """
        return self.top if self.runs and self.top and self.top < CUTOFF else None

    def with_paths(self, change: Callable[[str, str], str]) -> Study:
        """A copy with ``change(key, path)`` in place of each path."""
        changes: dict[str, Any] = {}
        for key in PATHS:
            value = getattr(self, key)
            if isinstance(value, list):
                changes[key] = [change(key, path) for path in value]
            elif value is not None:
                changes[key] = change(key, value)
        return self.model_copy(update=changes)


def recorded_study(path: Path) -> Study:
    """The content of a study file, with paths relative to its folder; raises :class:`DataError`."""
    try:
        values = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # also for integers of more than 4,300 digits
        raise DataError(f"is not valid TOML: {error}.", file=str(path)) from error
    return SettingsFile(str(path), path.parent).table(Study, values, "", "a study has")


def read_study(path: Path, given: Mapping[str, Any]) -> Study:
    """Read a study file; ``given`` replaces values with what the user named.

    Paths in the file are relative to its folder. They lead into this folder or the working folder, because
    the file may be the work of others; so may its server, which gets texts only if ``given`` names it, too.
    Raises :class:`DataError`.
    """
    study = recorded_study(path)
    base_url = given.get("base_url")
    source = SettingsFile(str(path), path.parent, [base_url] if base_url else [])
    if study.model is not None:
        table = {"model": study.model, **study.settings}
        table |= {"model_pipeline": study.model_pipeline} if study.model_pipeline else {}
        table |= {"base_url": study.base_url} if study.base_url else {}
        name = source.options(source.table(ModelSettings, table, ""), "").model
        study = study.model_copy(update={"model": name})

    def below(key: str, name: str) -> str:
        return name if key in given or is_data_set(Path(name)) else str(_inside(path, key, name))

    return study.with_paths(below).model_copy(update=dict(given))


def _inside(file: Path, key: str, name: str) -> Path:
    path = file.parent / name
    if not is_below(path, file.parent, Path()):
        raise DataError(
            f"{name!r} is neither below the folder of this file nor below the working folder: go to a folder "
            f"above both, or name it again with --{key.replace('_', '-')}.",
            file=str(file), field=key,
        )  # fmt: skip
    return Path(os.path.normpath(path))


def write_study(study: Study, path: Path) -> None:
    """Write a study file, with paths relative to its folder, unless it has this content."""

    def relative(_key: str, name: str) -> str:
        return name if is_data_set(Path(name)) else Path(os.path.relpath(name, path.parent)).as_posix()

    values = study.with_paths(relative).model_dump(exclude_defaults=True)
    settings = values.pop("settings", {})
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    if settings:
        lines += ["", "[settings]", *(f"{key} = {_toml(value)}" for key, value in settings.items())]
    text = "\n".join(lines) + "\n"
    if not path.exists() or read_text(path) != text:
        forget(path)  # the command may have read it
        write_text(path, text)


def _toml(value: Any) -> str:
    """A value as TOML; texts, numbers, flags and lists of these are written as in JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
