"""Options of all steps of `exam-pp evaluate rag`, from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, ValidationError

from exam_pp.data_model import WHOLE
from exam_pp.errors import DataError
from exam_pp.graders.nuggetize import KEPT_NUGGETS, MAX_NUGGETS
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.transport import address, is_same_server
from exam_pp.metrics.citation_scores import CitationRule
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.grading.score_answers import Claims, Sources
from exam_pp.phases.grading.settings_files import REFUSED, SettingsFile
from exam_pp.phases.grading.steps import is_data_set
from exam_pp.prompts import ANSWER_ATTEMPT, GRADED_RELEVANCE
from exam_pp.prompts.claims import CITATION_SUPPORT
from exam_pp.prompts.nuggets import PER_CALL
from exam_pp.store.files import read_text
from exam_pp.store.parsing import data_error

Count = Annotated[int, Field(ge=1), WHOLE]


def _recorded(model: ModelOptions) -> dict[str, Any]:
    """The options of a model as reports record them: without keys in the URL, and without permissions."""
    values = {key: value for key, value in asdict(model).items() if value is not None and key not in REFUSED}
    return values | ({"base_url": address(model.base_url)} if model.base_url else {})


Model = Annotated[ModelOptions, PlainSerializer(_recorded)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Step(_Table):
    """A step: whether it runs, and its model in place of that of the table ``[model]``."""

    enabled: bool = True
    model: Model | None = None


class RetrievalStep(_Step):
    """Labels and measures of the passages that each system retrieved.

    ``labels``: ``grades``: direct grades of the model, or of the file without a model. ``judgments``: those
    of the file.
    """

    labels: Literal["grades", "judgments"] = "grades"
    prompt_class: str = GRADED_RELEVANCE.name
    k_values: list[Count] = Field(default=[1, 3, 5], min_length=1)
    min_label: Count = 2


class NuggetStep(_Step):
    """Nuggets and their assignment to answers.

    ``prompt_class``: Prompt of the assignment; None: NuggetAssignment, or NuggetAssignmentPointwise for
    models that cannot read lists.
    """

    bank: Path | None = None
    create: bool = False
    prompt_class: str | None = None
    min_label: Count = 1
    max_nuggets: Count = MAX_NUGGETS
    keep: Count = KEPT_NUGGETS
    window_size: Count | Literal["all"] = PER_CALL
    iterations: Count = 1


class CitationStep(_Step):
    """Support of the parts of answers by the passages that they cite."""

    prompt_class: str = CITATION_SUPPORT.name
    citations: CitationRule = "all"


class HallucinationStep(_Step):
    """Factual consistency of answers with their sources."""

    prompt_class: str | None = None
    claims: Claims = "both"
    sources: Sources = "cited"
    soft: bool | None = None


class NoAnswerStep(_Step):
    """Whether answers decline."""

    prompt_class: str = ANSWER_ATTEMPT.name


class ConsistencyStep(_Table):
    """Consistency over repeats.

    ``encoder``: Encoder of BERTScore; None for no BERTScore. ``layer``: Layer of the encoder; None: that of
    bert-score, else the last one. ``metrics``: Metrics whose spread is computed; empty for all.
    """

    enabled: bool = True
    rouge: bool = True
    stem: bool = False
    encoder: str | None = None
    layer: Count | None = None
    rescale: bool = True
    variance: Literal["population", "sample"] = "population"
    metrics: list[str] = []


class RagConfig(_Table):
    """Options of all steps.

    ``model``: The model of all steps without a model of their own; None: only what the file has.
    """

    queries: Path | None = None
    model: Model | None = None
    retrieval: RetrievalStep = RetrievalStep()
    nuggets: NuggetStep = NuggetStep()
    citations: CitationStep = CitationStep()
    hallucination: HallucinationStep = HallucinationStep()
    no_answer: NoAnswerStep = NoAnswerStep()
    consistency: ConsistencyStep = ConsistencyStep()

    @property
    def servers(self) -> list[str]:
        """The URLs that the models name."""
        tables = [getattr(self, name) for name in type(self).model_fields]
        models = [self.model, *(table.model for table in tables if isinstance(table, _Step))]
        return [model.base_url for model in models if model is not None and model.base_url is not None]

    def model_of(self, step: _Step) -> ModelOptions | None:
        """The model of a step; None if neither the step nor the configuration has one."""
        return step.model or self.model


def read_config(path: PathLike, base_url: str | None = None) -> RagConfig:
    """Read the options of a TOML file; paths in it are below its folder."""
    try:
        values = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # also for integers of more than 4,300 digits
        raise DataError(f"is not valid TOML: {error}.", file=str(path)) from error
    return config_of(values, path, base_url)


def config_of(values: Mapping[str, Any], path: PathLike, base_url: str | None = None) -> RagConfig:
    """Check options, and return them as a configuration."""
    servers, again = ([base_url], "OPENAI_BASE_URL=") if base_url else ([], "--base-url ")
    source = SettingsFile(str(path), Path(path).parent, servers, again)
    for field, known in _unknown(values, RagConfig):
        table = field.rpartition(".")[0]
        where = f"the table [{table}]" if table else "the file"
        problem = f"is unknown; {where} can have {known}." if known else "is not a table of options."
        raise DataError(problem, file=source.name, field=field)
    try:
        config = RagConfig.model_validate(_with_models(values, source, base_url))
    except ValidationError as error:
        raise data_error(error, path) from error
    bank, queries, encoder = config.nuggets.bank, config.queries, config.consistency.encoder
    if queries is not None and not is_data_set(queries):
        queries = source.path(str(queries), "queries")
    if bank is not None:
        bank = source.path(str(bank), "nuggets.bank")
    if encoder is not None:
        encoder = source.model_name(encoder, "consistency.encoder")
    return config.model_copy(
        update={
            "queries": queries,
            "nuggets": config.nuggets.model_copy(update={"bank": bank}),
            "consistency": config.consistency.model_copy(update={"encoder": encoder}),
        }
    )


def _with_models(values: Mapping[str, Any], source: SettingsFile, base_url: str | None) -> dict[str, Any]:
    """The values with the options of models in place of their tables."""
    steps = {key: table for key, table in values.items() if isinstance(table, Mapping) and "model" in table}
    steps.pop("model", None)  # the table [model] has the key model
    models = {f"{key}.model.": table["model"] for key, table in steps.items()}
    if "model" in values:
        models = {"model.": values["model"]} | models
        if base_url and not any(is_same_server(table.get("base_url"), base_url) for table in models.values()):
            models["model."] = {**models["model."], "base_url": base_url}
    read = {where: source.model(table, where) for where, table in models.items()}
    own = {"model": read["model."]} if "model" in values else {}
    return {
        **values,
        **own,
        **{key: {**table, "model": read[f"{key}.model."]} for key, table in steps.items()},
    }


def _unknown(
    values: Mapping[str, Any], table: type[BaseModel], within: str = ""
) -> Iterator[tuple[str, str]]:
    """The unknown keys, as pairs of the whole key and the keys that its table can have.

    A value in place of a table has no such keys. Tables of models are checked where they are read.
    """
    for key, value in values.items():
        if key not in table.model_fields:
            yield f"{within}{key}", ", ".join(table.model_fields)
            continue
        annotation = table.model_fields[key].annotation
        inner = annotation if isinstance(annotation, type) and issubclass(annotation, _Table) else None
        if isinstance(value, Mapping):
            if inner is not None:
                yield from _unknown(value, inner, f"{within}{key}.")
        elif inner is not None or key == "model":
            yield f"{within}{key}", ""
