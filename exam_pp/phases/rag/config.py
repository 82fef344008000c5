"""Options of all steps of `exam-pp evaluate rag`, from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from exam_pp.errors import DataError
from exam_pp.graders.nuggetize import KEPT_NUGGETS, MAX_NUGGETS, PER_CALL
from exam_pp.llm.base import ModelOptions
from exam_pp.metrics.citations import CitationRule
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.grading.score_answers import Claims, Sources
from exam_pp.prompts import ANSWER_ATTEMPT, GRADED_RELEVANCE
from exam_pp.prompts.claims import CITATION_SUPPORT
from exam_pp.store.files import read_text
from exam_pp.store.parsing import data_error

Count = Annotated[int, Field(ge=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _model_table() -> type[_Table]:
    """A table with the fields of ModelOptions, whose types are checked when the options are made."""
    named: dict[str, Any] = {field.name: (Any, None) for field in fields(ModelOptions)}
    named["model"] = (str, ...)
    return create_model("ModelTable", __base__=_Table, **named)


ModelTable = _model_table()
"""The table ``[model]``: the fields of :class:`~exam_pp.llm.base.ModelOptions`."""


class _Step(_Table):
    """A step: whether it runs, and its model in place of that of the table ``[model]``."""

    enabled: bool = True
    model: ModelTable | None = None  # type: ignore[valid-type]  # made of the fields of a dataclass


class RetrievalStep(_Step):
    """Labels and measures of the passages that each system retrieved.

    Attributes:
        labels: ``grades``: direct grades of the model, or of the file without a model. ``judgments``: those
            of the file.
        prompt_class: Prompt of the labels.
        k_values: Cutoffs of precision and average precision.
        min_label: Lowest label of a relevant passage.
    """

    labels: Literal["grades", "judgments"] = "grades"
    prompt_class: str = GRADED_RELEVANCE.name
    k_values: list[Count] = Field(default=[1, 3, 5], min_length=1)
    min_label: Count = 2


class NuggetStep(_Step):
    """Nuggets and their assignment to answers.

    Attributes:
        bank: Test bank of nuggets.
        create: Whether the model lists the nuggets of the labelled passages, if there is no bank.
        prompt_class: Prompt of the assignment; None: NuggetAssignment, or NuggetAssignmentPointwise for
            models that cannot read lists.
        min_label: Lowest label of the passages whose nuggets are listed.
        max_nuggets: Maximum length of the list of a query.
        keep: Maximum number of nuggets of a query.
        window_size: Number of passages that the model reads at a time.
        iterations: How often the list is updated with all passages.
    """

    bank: Path | None = None
    create: bool = False
    prompt_class: str | None = None
    min_label: Count = 1
    max_nuggets: Count = MAX_NUGGETS
    keep: Count = KEPT_NUGGETS
    window_size: Count = PER_CALL
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

    Attributes:
        enabled: Whether the step runs.
        rouge: Whether answers are compared by ROUGE.
        stem: Whether ROUGE compares stems of words.
        encoder: Encoder of BERTScore; None for no BERTScore.
        layer: Layer of the encoder; None: that of bert-score, else the last one.
        rescale: Whether BERTScore is rescaled with a baseline.
        variance: Variance of scores.
        metrics: Metrics whose spread is computed; empty for all.
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

    Attributes:
        queries: File with the texts of the queries.
        model: The model of all steps without a model of their own; None: only what the file has.
        retrieval: Measures of the retrieved passages.
        nuggets: Nugget scores of the answers.
        citations: Citation support.
        hallucination: Factual consistency.
        no_answer: Share of answered questions.
        consistency: Consistency over repeats.
    """

    queries: Path | None = None
    model: ModelTable | None = None  # type: ignore[valid-type]  # made of the fields of a dataclass
    retrieval: RetrievalStep = RetrievalStep()
    nuggets: NuggetStep = NuggetStep()
    citations: CitationStep = CitationStep()
    hallucination: HallucinationStep = HallucinationStep()
    no_answer: NoAnswerStep = NoAnswerStep()
    consistency: ConsistencyStep = ConsistencyStep()

    def model_of(self, step: _Step) -> ModelOptions | None:
        """The model of a step; None if neither the step nor the configuration has one."""
        table: BaseModel | None = step.model or self.model
        return None if table is None else ModelOptions(**table.model_dump(exclude_unset=True))


def read_config(path: PathLike) -> RagConfig:
    """Read the options of a TOML file; paths in it are relative to its folder.

    Raises:
        DataError: The file is not TOML, or has an unknown key or a wrong value; the message names the field.
    """
    try:
        values = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"is not valid TOML: {error}.", file=str(path)) from error
    return config_of(values, path)


def config_of(values: Mapping[str, Any], path: PathLike | None = None) -> RagConfig:
    """Check options, and return them as a configuration.

    Args:
        values: The tables of the options, as in the TOML file.
        path: The file of the options, for messages and relative paths.

    Raises:
        DataError: A key is unknown, or a value is wrong.
    """
    name = None if path is None else str(path)
    for field, known in _unknown(values, RagConfig):
        table = field.rpartition(".")[0]
        where = f"the table [{table}]" if table else "the file"
        problem = f"is unknown; {where} can have {known}." if known else "is not a table of options."
        raise DataError(problem, file=name, field=field)
    try:
        config = RagConfig.model_validate(values)
    except ValidationError as error:
        raise data_error(error, path) from error
    for step in ("", "retrieval", "nuggets", "citations", "hallucination", "no_answer"):
        table = getattr(config, step).model if step else config.model
        if table is not None:
            _check_model(table, path, f"{step}.model" if step else "model")
    base = Path() if path is None else Path(path).parent
    bank = config.nuggets.bank
    return config.model_copy(
        update={
            "queries": config.queries and base / config.queries,
            "nuggets": config.nuggets.model_copy(update={"bank": bank and base / bank}),
        }
    )


def _unknown(
    values: Mapping[str, Any], table: type[BaseModel], within: str = ""
) -> Iterator[tuple[str, str]]:
    """The unknown keys, as pairs of the whole key and the keys that its table can have.

    A value in place of a table has no such keys.
    """
    for key, value in values.items():
        if key not in table.model_fields:
            yield f"{within}{key}", ", ".join(table.model_fields)
            continue
        annotation = table.model_fields[key].annotation
        inner = ModelTable if key == "model" and table is not ModelTable else annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            if isinstance(value, Mapping):
                yield from _unknown(value, inner, f"{within}{key}.")
            else:
                yield f"{within}{key}", ""


def _check_model(table: BaseModel, path: PathLike | None, within: str) -> None:
    try:
        TypeAdapter(ModelOptions).validate_python(table.model_dump(exclude_unset=True))
    except ValidationError as error:
        problem = data_error(error, path)
        raise DataError(problem.problem, file=problem.file, field=f"{within}.{problem.field}") from error
