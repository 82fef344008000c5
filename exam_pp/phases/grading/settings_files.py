"""Settings files: the model settings, servers and paths that a file may name."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from exam_pp.errors import DataError, ModelError
from exam_pp.llm.backends import may_be_local
from exam_pp.llm.base import Dtype, Engine, ModelOptions, NoAnswerAt
from exam_pp.llm.transport import check_url, default_url, is_same_server
from exam_pp.store.parsing import data_error

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Name = Annotated[str, Field(min_length=1)]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

REFUSED: Mapping[str, str] = {
    "trust_remote_code": "would run code of the model, which only you can permit: remove it, and use "
    "`exam-pp score-answers --trust-remote-code` for this model.",
    "allow_redirects": "would send passages to servers without a name: remove it, and name the server to "
    "which the other one redirects.",
    "api_key": "is not read from files: remove it, and set OPENAI_API_KEY in the environment.",
}
"""Settings that a file never has, with the reason and the remedy."""


class ModelSettings(BaseModel):
    """All settings of a model that a file may hold: fields of :class:`ModelOptions`, but for :data:`REFUSED`.

    Names, meanings and defaults are those of the fields. ``model_pipeline`` and ``greedy`` are those of the
    options of commands.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=True, protected_namespaces=()
    )

    model: Name
    pipeline: str = Field(default="text2text", alias="model_pipeline")
    revision: Name | None = None
    engine: Engine = "auto"
    compute_type: str | None = None
    device: str | None = None
    device_map: Literal["auto"] | None = None
    dtype: Dtype = "auto"
    batch_tokens: Count | None = None
    max_input_tokens: Count | None = None
    threads: Count | None = None
    num_beams: Count | None = None
    greedy: bool = False
    thinking_tokens: Annotated[int, Field(ge=0)] = 0
    base_url: str | None = None
    timeout: Positive = 120.0
    concurrency: Count = 16
    max_reply_mb: Positive = 16.0
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
    choose: bool = False
    positive_class: str | None = None


T = TypeVar("T", bound=ModelSettings)


@dataclass(frozen=True)
class SettingsFile:
    """A file of settings, which may be the work of others.

    ``servers``: URLs of the servers that the user named again. Those of the environment need not be.
    """

    name: str
    folder: Path
    servers: Collection[str] = ()
    again: str = "--base-url "

    def path(self, name: str, field: str | None = None) -> Path:
        """The path of a file or folder; raises DataError if it leads out of the folder, also by a link."""
        path = self.folder / name
        try:
            inside = path.resolve().is_relative_to(self.folder.resolve())
        except (OSError, RuntimeError, ValueError):  # a loop of links, or a null byte
            inside = False
        if not inside or Path(name).is_absolute():
            raise self._error(
                f"{name!r} leads out of the folder {str(self.folder)!r}: put it there, and name its path "
                "from there.",
                field,
            )
        return path

    def model_name(self, name: str, field: str, pipeline: str = "text2text") -> str:
        """The name of a model, or the path of a local one; raises DataError as :meth:`path` does."""
        if not may_be_local(name, pipeline):
            return name
        is_path = Path(name).is_absolute() or name.startswith((".", "~")) or name.count("/") > 1
        if is_path or ".." in Path(name).parts or (self.folder / name).exists():
            return str(self.path(name, field))
        if Path(name).exists():
            raise self._error(
                f"{name!r} is in the working folder: put it into the folder of this file, or name it with "
                "--model.",
                field,
            )
        return str(self.path(name, field)) if name.lower().endswith(".gguf") else name

    def table(self, kind: type[T], values: Mapping[str, Any], within: str) -> T:
        """Check the keys and values of a table; ``within`` is the start of its fields in messages."""
        aliases = [field.alias for field in kind.model_fields.values() if field.alias]
        known = [*kind.model_fields, *aliases]
        for key in values:
            if key in REFUSED:
                raise self._error(REFUSED[key], within + key)
            if key not in known:
                close = get_close_matches(key.replace("-", "_"), known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"the table can have {', '.join(known)}."
                raise self._error(f"is unknown; {hint}", within + key)
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            found = data_error(error, self.name)
            raise self._error(found.problem, within + (found.field or "")) from error

    def options(self, settings: ModelSettings, within: str) -> ModelOptions:
        """The options of a model."""
        if settings.greedy and settings.temperature > 0:
            raise self._error(
                "has greedy and a temperature above 0; use one of them.", within.rstrip(". ") or None
            )
        if settings.revision is not None and (".." in settings.revision or settings.revision[0] == "/"):
            raise self._error("is neither a branch nor a tag nor a commit.", f"{within}revision")
        if settings.base_url is not None:
            self._check_server(settings.base_url, f"{within}base_url")
        names = {field.name for field in fields(ModelOptions)}
        values = {key: value for key, value in vars(settings).items() if key in names}
        values["stop"] = tuple(settings.stop)
        values["model"] = self.model_name(settings.model, f"{within}model", settings.pipeline)
        if settings.response_format not in (None, "text", "json"):
            path = self.path(str(settings.response_format), f"{within}response_format")
            values["response_format"] = str(path)
        return ModelOptions(**values | ({"num_beams": 1} if settings.greedy else {}))

    def model(self, values: Mapping[str, Any], within: str) -> ModelOptions:
        """The options of a model from a table; raises DataError as :meth:`table` and :meth:`options` do."""
        return self.options(self.table(ModelSettings, values, within), within)

    def _check_server(self, url: str, field: str) -> None:
        try:
            check_url(url)
        except ModelError as error:
            raise self._error(str(error), field) from None
        if not any(is_same_server(url, named) for named in (*self.servers, default_url())):
            raise self._error(
                "only this file names this server, so it gets neither passages nor a key: name the server "
                f"again: {self.again}{shlex.quote(url.partition('?')[0])}",
                field,
            )

    def _error(self, problem: str, field: str | None) -> DataError:
        return DataError(problem, file=self.name, field=field)
