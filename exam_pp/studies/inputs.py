"""Study files: the inputs, the judge and the options of ``exam-pp run``, as TOML for people."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from exam_pp.defaults import CUTOFF
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.judges import LEXICAL
from exam_pp.llm.backends import may_be_local
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.evaluation.own_measures import OwnMeasure
from exam_pp.phases.grading.settings_files import ModelSettings, SettingsFile, as_options, is_below
from exam_pp.phases.grading.steps import is_data_set
from exam_pp.phases.interchange.answer_units import read_any_answers
from exam_pp.phases.interchange.import_passages import ImportSources
from exam_pp.store.files import read_file, write_text
from exam_pp.store.inputs import forget
from exam_pp.store.tables import columns_named
from exam_pp.store.trec.runs import run_files, systems_of
from exam_pp.studies.boards import options
from exam_pp.text.toml import parse_toml
from exam_pp.text.wording import listed

log = logging.getLogger(__name__)

STUDY_FILE = "study.toml"
PATHS = (
    "passages",
    "runs",
    "texts",
    "queries",
    "bank",
    "answers",
    "qrels",
    "official",
    "edits",
    "prompt_file",
)
"""Keys with paths, or lists of them."""


class StudyFile(BaseModel):
    """The options of ``exam-pp run`` under the names of the options, with lists for repeated ones.

    ``model`` is the judge; None until the study is graded first.
    """

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())

    passages: str | None = None
    runs: list[str] = []
    texts: list[str] = []
    queries: str | None = None
    bank: list[str] = []
    answers: list[str] = []
    qrels: list[str] = []
    official: str | None = None
    edits: list[str] = []
    columns: str | None = None
    split_lines: bool = False
    repair: bool = False
    top: int | None = Field(None, ge=1)
    prompt: list[str] = []
    prompt_file: list[str] = []
    games: bool = False
    model: str | None = None
    model_pipeline: str | None = None
    base_url: str | None = None
    settings: dict[str, Any] = {}
    measure: list[OwnMeasure] = []

    @property
    def paths(self) -> list[Path]:
        """All files and folders that it names."""
        found: list[Path] = []

        def keep(_key: str, path: str) -> str:
            found.append(Path(path))
            return path

        self.with_paths(keep)
        return found

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
            skip_missing_texts=self.repair,
        )

    @property
    def columns_of_tables(self) -> dict[str, str]:
        """Meaning to column, as ``columns`` names them."""
        return dict(pair.split("=", 1) for pair in (self.columns or "").split(",") if pair)

    @property
    def model_options(self) -> ModelOptions:
        """The options of the judge."""
        known = self.model_dump(include={"model_pipeline", "base_url"}, exclude_none=True)
        return as_options(ModelSettings(model=self.model or LEXICAL, **known, **self.settings))

    @property
    def words_of_judge(self) -> list[str]:
        """The options of the judge, as words of a command."""
        settings = [
            f"{key}={each if isinstance(each, str) else json.dumps(each)}"
            for key, value in self.settings.items()
            for each in (value if key == "stop" else [value])  # -M stop may be repeated
        ]
        named = {"--model-pipeline": self.model_pipeline, "--base-url": self.base_url, "-M": settings}
        words = (str(word) for name, values in named.items() for word in options(name, values or None))
        return ["--model", self.model or LEXICAL, *words]

    @property
    def has_local_model(self) -> bool:
        """Whether the judge is a path, and no name: it begins with ``.`` or ``/``, or ends with ``.gguf``."""
        model = self.model or ""
        is_path = model.startswith((".", "/")) or model.lower().endswith(".gguf")
        return is_path and may_be_local(model, self.model_pipeline or "text2text")

    def with_paths(self, change: Callable[[str, str], str]) -> StudyFile:
        """A copy with ``change(key, path)`` in place of each path."""
        changes: dict[str, Any] = {}
        for key in PATHS:
            value = getattr(self, key)
            if isinstance(value, list):
                changes[key] = [change(key, path) for path in value]
            elif value is not None and not (key == "queries" and is_data_set(Path(value))):
                changes[key] = change(key, value)
        if self.has_local_model:
            path = change("model", str(self.model))
            changes["model"] = path if path.startswith((".", "/")) else f"./{path}"  # and no name of the Hub
        if (schema := self.settings.get("response_format")) not in (None, "text", "json"):
            changes["settings"] = {**self.settings, "response_format": change("settings", schema)}
        return self.model_copy(update=changes)


def option_of(key: str) -> str:
    """The option of ``exam-pp run`` for a key with paths."""
    return "-M response_format" if key == "settings" else f"--{key.replace('_', '-')}"


def read_study(path: Path, given: Mapping[str, Any], *, outside: bool = False) -> StudyFile:
    """Read a study file whose values under the keys of ``given`` are replaced by what the user named.

    Paths in the file are relative to its folder. They lead into this folder or the working folder, because
    the file may be the work of others, unless the user permits others (``outside``). So may its server, which
    gets neither texts nor a key unless ``given`` names it, too. Raises :class:`DataError`.
    """
    base_url = given.get("base_url")
    source = SettingsFile(str(path), path.parent, [base_url] if base_url else [])
    study = SettingsFile(str(path), path.parent).table(
        StudyFile, parse_toml(read_file(path), str(path)), "", "a study has"
    )
    by_name = study.model is not None and "model" not in given and not study.has_local_model
    table = {
        **study.settings,
        **study.model_dump(include={"model_pipeline", "base_url"}, exclude_none=True),
        "model": study.model if by_name else LEXICAL,
    }
    settings = source.table(ModelSettings, table, "").model_copy(update={"response_format": None})  # a path
    name = source.options(settings, "").model

    def below(key: str, name: str) -> str:
        found = os.path.normpath(path.parent / name)  # what is checked is what is read
        if not outside and key not in given and not is_below(Path(found), path.parent, Path()):
            raise DataError(
                f"{name!r} is neither below the folder of this file nor below the working folder: permit it "
                f"with --outside, or name it again with {option_of(key)}.",
                file=str(path), field=key,
            )  # fmt: skip
        return found

    return study.with_paths(below).model_copy(update={"model": name} if by_name else {})


def words_again(study: StudyFile, folder: Path) -> list[str]:
    """What the command needs beside the study file in a folder: its server, and files elsewhere."""
    words = ["--base-url", study.base_url] if study.base_url else []
    is_closed = all(is_below(path, folder, Path()) for path in study.paths)
    return words if is_closed else [*words, "--outside"]


def with_systems(study: StudyFile, given: Mapping[str, Any], without: Collection[str]) -> StudyFile:
    """The study with systems in addition, in place of others of the same name, or without some.

    The log names those that are replaced or removed. Raises :class:`SelectionError` for systems that share
    their file with others.
    """
    changes: dict[str, list[str]] = {}
    removed: set[str] = set()
    columns = study.model_copy(update=given).columns_of_tables
    for key in ("runs", "answers"):
        named: list[str] = given.get(key, [])
        new = {name for path in named for name in systems_in(key, path, columns)}
        kept: list[str] = []
        for path in (each for each in getattr(study, key) if not _is_among(each, named)):
            files = [str(file) for file in run_files(path)] if Path(path).is_dir() else [path]
            systems = {file: systems_in(key, file, columns) for file in files} if new or without else {}
            leaving = {file: each & (new | set(without)) for file, each in systems.items()}
            for file, gone in leaving.items():
                if gone and gone != systems[file]:
                    raise SelectionError(
                        f"{file} has other systems beside {listed(sorted(gone))}: name files with one "
                        "system each."
                    )
                if replaced := gone & new:
                    log.warning("%s of %s is replaced.", listed(sorted(replaced)), file)
                removed |= gone
            kept += [f for f in files if not leaving.get(f)] if any(leaving.values()) else [path]
        changes[key] = [*kept, *named]
    if unknown := set(without) - removed:
        raise SelectionError(f"--without: the study has no system {listed(sorted(unknown))}.")
    changes["texts"] = [t for t in study.texts if not _is_among(t, given.get("texts", []))]
    changes["texts"] += given.get("texts", [])
    return study.model_copy(update={**given, **changes})


def systems_in(key: str, path: str, columns: Mapping[str, str]) -> set[str]:
    """The systems of runs or answers."""
    if key == "runs":
        return set(systems_of(path))
    with columns_named(columns, quiet=True):
        return {answer.system for answer in read_any_answers(Path(path), DroppedFields())}


def _is_among(path: str, others: Iterable[str]) -> bool:
    return any(os.path.realpath(path) == os.path.realpath(other) for other in others)


def write_study(study: StudyFile, path: Path) -> None:
    """Write a study file, with paths relative to its folder, unless it has this content."""

    def relative(_key: str, name: str) -> str:
        return Path(os.path.relpath(name, path.parent)).as_posix()

    values = study.with_paths(relative).model_dump(exclude_defaults=True)
    settings = values.pop("settings", {})
    values.pop("measure", None)
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    if settings:
        lines += ["", "[settings]", *(f"{key} = {_toml(value)}" for key, value in settings.items())]
    _write_lines([*lines, *_tables_of_measures(study)], path)


def write_measures(study: StudyFile, path: Path) -> None:
    """Write the measures of a study, unless the file has them."""
    _write_lines(_tables_of_measures(study), path)


def _tables_of_measures(study: StudyFile) -> list[str]:
    tables = [measure.model_dump(exclude_defaults=True) for measure in study.measure]
    return [
        line
        for table in tables
        for line in ("", "[[measure]]", *(f"{k} = {_toml(v)}" for k, v in table.items()))
    ]


def _write_lines(lines: Iterable[str], path: Path) -> None:
    text = "\n".join(lines) + "\n"
    if not path.exists() or read_file(path) != text:
        forget(path)  # the command may have read it
        write_text(path, text)


def _toml(value: Any) -> str:
    """A value as TOML; texts, numbers, flags and lists of these are written as in JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
