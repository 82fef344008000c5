"""Configurations of Open RAG Eval (YAML) as options of `exam-pp evaluate rag`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exam_pp.errors import DataError, MissingExtraError
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.rag.config import RagConfig, config_of
from exam_pp.store.files import read_text

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
