"""Settings files: the model settings, servers and paths that a file may name."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from exam_pp.errors import DataError, ModelError, SelectionError
from exam_pp.llm.backends import may_be_local
from exam_pp.llm.base import Dtype, Engine, ModelOptions, NoAnswerAt
from exam_pp.llm.transport import check_url, default_url, is_same_server
from exam_pp.store.files import check_ends
from exam_pp.store.parsing import data_error
from exam_pp.text.wording import did_you_mean

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Name = Annotated[str, Field(min_length=1)]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

REFUSED: Mapping[str, str] = {
    "trust_remote_code": "would run code of the model, which only you can permit: remove it, and use "
    "`exam-pp grade --trust-remote-code` for this model.",
    "api_key": "is not read from files: remove it, and set OPENAI_API_KEY in the environment.",
}
"""Settings that a file never has, with the reason and the remedy."""


class ModelSettings(BaseModel):
    """All settings of a model that a file may hold: fields of :class:`ModelOptions`, but for :data:`REFUSED`.

    Names, meanings and defaults are those of the fields. Those with a description are keys of ``-M``; the
    others, ``model_pipeline`` included, are options of commands.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=True, protected_namespaces=(),
        allow_inf_nan=False,
    )  # fmt: skip

    model: Name
    pipeline: str = Field(default="text2text", alias="model_pipeline")
    device: str | None = None
    threads: Count | None = None
    base_url: str | None = None
    reply: Literal["written", "chosen"] = "written"
    revision: Name | None = Field(None, description="Branch, tag or commit of a Hugging Face model.")
    engine: Engine = Field(
        "auto",
        description="Library that runs the checkpoint: transformers, ctranslate2, or auto, which is "
        "CTranslate2 for T5-like models if possible.",
    )
    compute_type: str | None = Field(
        None, description="Type in which CTranslate2 computes, such as float32, bfloat16 or int8."
    )
    device_map: Literal["auto"] | None = Field(
        None, description="auto spreads a model that is too large for one GPU over all (transformers only)."
    )
    dtype: Dtype = Field(
        "auto",
        description="Precision of the weights: float32, bfloat16 or float16; auto is bfloat16 on GPUs that "
        "support it, else float32.",
    )
    batch_tokens: Count | None = Field(
        None,
        description="Maximum number of tokens in a batch, with padding; by default it depends on the device.",
    )
    max_input_tokens: Count | None = Field(
        None, description="Maximum number of tokens in a prompt; by default the limit of the model."
    )
    num_beams: Count | None = Field(
        None, description="Beams of the search; by default 5 for text2text, as published, else 1."
    )
    greedy: bool = Field(False, description="true is greedy decoding in place of the published beam search.")
    thinking_tokens: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Tokens for thinking before each reply, with text-generation and openai; 0 switches "
        "thinking off.",
    )
    timeout: Positive = Field(
        120.0,
        description="Seconds to wait for a reply of an endpoint before the request is repeated, and for a "
        "connection before the run stops.",
    )
    concurrency: Count = Field(16, description="Number of simultaneous requests to an endpoint.")
    max_reply_mb: Positive = Field(
        16.0, description="Maximum size of a reply of an endpoint in megabytes; larger ones are failures."
    )
    temperature: Annotated[float, Field(ge=0)] = Field(
        0,
        description="Temperature of sampling; 0 takes the likeliest reply. Endpoints, and local models with "
        "transformers.",
    )
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None,
        description="Sample from the likeliest tokens with this probability; by default from all, for "
        "endpoints as the server does.",
    )
    sampling_seed: int | None = Field(
        None, description="Seed of sampling; by default 0, for endpoints that of the server."
    )
    presence_penalty: Penalty | None = Field(
        None,
        description="Penalty for tokens that the reply contains (endpoints); by default that of the server.",
    )
    frequency_penalty: Penalty | None = Field(
        None,
        description="Penalty for each occurrence of a token in the reply (endpoints); by default that of the "
        "server.",
    )
    max_tokens: Count | None = Field(
        None,
        description="Maximum number of tokens in a reply, without thinking; by default that of the prompt.",
    )
    stop: list[Name] = Field([], description="Text at which a reply ends (endpoints; may be repeated).")
    reasoning_effort: Effort | None = Field(
        None,
        description="How much a model reasons before a reply (openai): none, minimal, low, medium, high, "
        "xhigh or max; by default as the server does.",
    )
    response_format: Name | None = Field(
        None, description="Form of the replies (openai): text, json, or a file with a JSON Schema."
    )
    no_answer_at: NoAnswerAt = Field(
        "auto",
        description='Token at which question-answering models score "no answer": cls puts the classification '
        "token before the question, first is the first token; auto is cls for T5-like models that have this "
        "token.",
    )
    positive_class: str | None = Field(
        None,
        description="Class of a text-classification model whose probability is the score (entailment).",
    )
    cut_points: list[float] = Field(
        [],
        description="Lowest cosines of the grades from 1 on, ascending (sentence-similarity and e5), such as "
        ".81,.84,.86,.88,.90, which are those of e5.",
    )
    query_prefix: str | None = Field(
        None, description="Text before questions (sentence-similarity), such as query: for E5 models."
    )
    passage_prefix: str | None = Field(
        None, description="Text before passages (sentence-similarity), such as passage: for E5 models."
    )


SETTINGS: Mapping[str, str] = {
    name: field.description for name, field in ModelSettings.model_fields.items() if field.description
}
"""Keys of ``-M KEY=VALUE`` with their meanings."""


def as_options(settings: ModelSettings) -> ModelOptions:
    """The settings as options of a model."""
    names = {field.name for field in fields(ModelOptions)}
    values = {key: value for key, value in vars(settings).items() if key in names}
    values["choose"] = settings.reply != "written"
    values |= {"stop": tuple(settings.stop), "cut_points": tuple(settings.cut_points)}
    return ModelOptions(**values | ({"num_beams": 1} if settings.greedy else {}))


def setting_defaults() -> dict[str, Any]:
    """The default of each key of :data:`SETTINGS`."""
    return {key: ModelSettings.model_fields[key].default for key in SETTINGS}


def typed_settings(texts: Collection[str]) -> ModelSettings:
    """The settings of texts such as ``temperature=0.7``; a key with ``-`` in place of ``_`` is the same.

    Raises :class:`SelectionError`. Numbers are those of JSON.
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        key = name.replace("-", "_")
        if key not in SETTINGS or not equals:
            raise SelectionError(f"-M {name}: {_not_a_setting(key)}")  # without the value, maybe a key
        if key == "stop":
            values.setdefault("stop", []).append(value)
        elif key == "cut_points":
            values[key] = _numbers(value)
        elif key in values:
            raise SelectionError(f"-M {text}: {key} is set twice.")
        else:
            values[key] = value
    try:
        return ModelSettings(model="-", **values)
    except ValidationError as error:  # a text for a number or a flag
        values |= {str(wrong["loc"][0]): _number(wrong["input"]) for wrong in error.errors()}
    try:
        return ModelSettings(model="-", **values)
    except ValidationError as error:
        found = data_error(error, "-M")
        name = str(found.field).partition(".")[0]
        raise SelectionError(f"-M {name}={values[name]}: {found.problem}") from error


def _number(text: Any) -> Any:
    """The number or flag that a text writes as JSON does; other values stay."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float) else text


def _numbers(text: str) -> list[float] | str:
    """The numbers of a list with commas, also in brackets; other texts stay."""
    try:
        return [float(part) for part in text.strip("[]").split(",")]
    except ValueError:
        return text


def _not_a_setting(key: str) -> str:
    if key in SETTINGS:
        return f"has no value; write {key}=VALUE."
    if key in ModelSettings.model_fields or key in ("model_pipeline", "trust_remote_code"):
        return f"use the option --{'model_pipeline' if key == 'pipeline' else key}.".replace("_", "-")
    if key in REFUSED:
        return f"{key} {REFUSED[key]}"
    hint = did_you_mean(key, SETTINGS, "`exam-pp list settings` shows all.", begins=False)
    return f"{key!r} is no setting of models; {hint}"


T = TypeVar("T", bound=BaseModel)


def is_below(path: Path, *folders: Path) -> bool:
    """Whether a path leads into one of the folders, and not out of them by a link."""
    try:
        real = path.resolve()
        return any(real.is_relative_to(folder.resolve()) for folder in folders)
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a null byte
        return False


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
        """The path of a file or folder; raises DataError if it leads out of the folder, also by a link.

        A pipe or a device raises DataError, too, because it may never end.
        """
        path = self.folder / name
        if not is_below(path, self.folder) or Path(name).is_absolute():
            raise self._error(
                f"{name!r} leads out of the folder {str(self.folder)!r}: put it there, and name its path "
                "from there.",
                field,
            )
        check_ends(path)
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

    def table(
        self, kind: type[T], values: Mapping[str, Any], within: str, has: str = "the table can have"
    ) -> T:
        """Check the keys and values of a table; ``within`` is the start of its fields in messages.

        ``has`` is the start of the list of its keys.
        """
        aliases = [field.alias for field in kind.model_fields.values() if field.alias]
        known = [*kind.model_fields, *aliases]
        for key in values:
            if key in REFUSED:
                raise self._error(REFUSED[key], within + key)
            if key not in known:
                others = f"{has} {', '.join(known)}."
                hint = did_you_mean(key.replace("-", "_"), known, others, begins=False)
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
        paths = {"model": self.model_name(settings.model, f"{within}model", settings.pipeline)}
        if settings.response_format not in (None, "text", "json"):
            path = self.path(str(settings.response_format), f"{within}response_format")
            paths["response_format"] = str(path)
        return as_options(settings.model_copy(update=paths))

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
