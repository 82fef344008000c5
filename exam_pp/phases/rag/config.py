"""Options of all steps of `exam-pp evaluate rag`, from a TOML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from exam_pp.data_model import WHOLE
from exam_pp.errors import DataError, MissingExtraError
from exam_pp.graders.nuggetize import KEPT_NUGGETS, MAX_NUGGETS
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.transport import address, is_same_server
from exam_pp.metrics.citation_scores import CitationRule
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.grading.grade_answers import Claims, Sources
from exam_pp.phases.grading.settings_files import REFUSED, SettingsFile
from exam_pp.phases.grading.steps import is_data_set
from exam_pp.prompts.claims import CITATION_SUPPORT
from exam_pp.prompts.direct import ANSWER_ATTEMPT, GRADED_RELEVANCE
from exam_pp.prompts.nuggets import PER_CALL
from exam_pp.store.files import read_text
from exam_pp.store.parsing import valid
from exam_pp.text.toml import parse_toml

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
    return config_of(parse_toml(read_text(path), str(path)), path, base_url)


def config_of(values: Mapping[str, Any], path: PathLike, base_url: str | None = None) -> RagConfig:
    """Check options, and return them as a configuration."""
    servers, again = ([base_url], "OPENAI_BASE_URL=") if base_url else ([], "--base-url ")
    source = SettingsFile(str(path), Path(path).parent, servers, again)
    for field, known in _unknown(values, RagConfig):
        table = field.rpartition(".")[0]
        where = f"the table [{table}]" if table else "the file"
        problem = f"is unknown; {where} can have {known}." if known else "is not a table of options."
        raise DataError(problem, file=source.name, field=field)
    config = valid(RagConfig.model_validate, _with_models(values, source, base_url), path)
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


METRICS = {
    "mean_umbrela_score": "MeanLabel",
    "vital_nuggetizer_score": "V",
    "mean_nugget_assignment_score": "A",
    "hallucination_score": "FactualConsistency",
    "citation_f1_score": "citation_F1",
    "no_answer_score": "Answered",
}
"""Names of metrics in Open RAG Eval, without the prefix of their column, to those of exam_pp."""

_MODEL_KWARGS = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "max_tokens")


def read_open_rag_eval_config(path: PathLike, base_url: str | None = None) -> tuple[RagConfig, list[str]]:
    """Read the blocks ``evaluator`` of a configuration of Open RAG Eval."""
    try:
        import yaml  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingExtraError("A YAML configuration", "hf", ", or write the options in TOML") from error
    try:
        text = read_text(path)
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):  # a few lines of aliases can stand for billions of values
                raise DataError(
                    f"has the alias *{event.anchor}. Write the value itself in its place.",
                    file=str(path), line=event.start_mark.line + 1,
                )  # fmt: skip
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise DataError(f"is not valid YAML: {' '.join(str(error).split())}.", file=str(path)) from error
    if not isinstance(content, dict) or "evaluator" not in content:
        raise DataError("is missing; it holds the options of the metrics.", file=str(path), field="evaluator")
    values: dict[str, Any] = {"consistency": {"enabled": False}}
    left_out = [str(key) for key in content if key not in ("evaluator", "model")]
    blocks = content["evaluator"]
    for block in blocks if isinstance(blocks, list) else [blocks]:
        if not isinstance(block, dict):
            raise DataError("is not a table of options.", file=str(path), field="evaluator")
        left_out += _read_block(block, values, path)
    if "model" not in values and isinstance(content.get("model"), dict):
        left_out += _read_model(content["model"], values, "model")
    return config_of(values, path, base_url), left_out


def _read_block(block: Mapping[str, Any], values: dict[str, Any], path: PathLike) -> Iterator[str]:
    """Add the options of an evaluator to ``values``; yields the keys without a counterpart."""
    kind = str(block.get("name", block.get("type", ""))).lower().removesuffix("evaluator")
    options = block.get("options") or {}
    if kind == "goldenanswer":
        yield f"evaluator {block.get('name', block.get('type'))}"
        return
    if kind not in ("trec", "trecrag", "consistency") or not isinstance(options, dict):
        raise DataError(
            f"is {kind!r}, not trecrag or consistency with a table of options.",
            file=str(path),
            field="evaluator.name",
        )
    yield from (f"evaluator.{key}" for key in block if key not in ("name", "type", "options", "model"))
    if isinstance(block.get("model"), dict):
        yield from _read_model(block["model"], values, "evaluator.model")
    read = _read_consistency if kind == "consistency" else _read_trec
    yield from read(options, values)


_NUGGETS: Mapping[str, Any] = {"create": True, "iterations": 5, "window_size": "all"}
"""The evaluator always lists nuggets itself, from all relevant passages in one context, five times."""


def _read_trec(options: Mapping[str, Any], values: dict[str, Any]) -> Iterator[str]:
    values["nuggets"] = dict(_NUGGETS)
    for key, value in options.items():
        if key == "k_values":
            values["retrieval"] = {"k_values": value}
        elif key == "run_consistency":
            values["consistency"]["enabled"] = value
        elif key == "metrics_to_run_consistency" and isinstance(value, list):
            known = [(name, METRICS.get(_bare(str(name)))) for name in value]
            values["consistency"]["metrics"] = [metric for _, metric in known if metric is not None]
            yield from (f"evaluator.options.{key}: {name}" for name, metric in known if metric is None)
        else:
            yield f"evaluator.options.{key}"


def _bare(name: str) -> str:
    """The name of a metric without the prefix of its column."""
    return name.removeprefix("generation_score_").removeprefix("retrieval_score_")


def _read_consistency(options: Mapping[str, Any], values: dict[str, Any]) -> Iterator[str]:
    chosen = values["consistency"]
    chosen |= {"enabled": True, "rouge": False}
    metrics = options.get("metrics") or []
    yield from (f"evaluator.options.{key}" for key in options if key != "metrics")
    for metric in metrics if isinstance(metrics, list) else [metrics]:
        named = metric if isinstance(metric, dict) else {str(metric): {}}
        for name, given in named.items():
            settings = given if isinstance(given, dict) else {}
            where = f"evaluator.options.metrics.{name}"
            if name == "rouge_score":
                chosen["rouge"] = True
                yield from (f"{where}.{key}" for key in settings)
            elif name == "bert_score":
                chosen["encoder"] = settings.get("model_type", "xlm-roberta-large")
                chosen["rescale"] = settings.get("rescale_with_baseline", True)
                known = {"model_type", "rescale_with_baseline"}
                known |= {"lang"} if settings.get("lang") == "en" else set()
                yield from (f"{where}.{key}" for key in settings if key not in known)
            else:
                yield where


def _read_model(model: Mapping[str, Any], values: dict[str, Any], where: str) -> Iterator[str]:
    """The judge, which is behind an endpoint; its API key is read from the environment."""
    if "name" not in model:
        yield where
        return
    table = {"model": model["name"], "pipeline": "openai"}
    if "base_url" in model:
        table["base_url"] = model["base_url"]
    settings = model.get("model_kwargs")
    if isinstance(settings, dict):
        table |= {key: settings[key] for key in _MODEL_KWARGS if key in settings}
        table |= {"sampling_seed": settings["seed"]} if "seed" in settings else {}
        yield from (f"{where}.model_kwargs.{key}" for key in settings if key not in (*_MODEL_KWARGS, "seed"))
    yield from (f"{where}.{key}" for key in model if key not in ("type", "name", "base_url", "model_kwargs"))
    values["model"] = table
