"""Options of all steps of `exam-pp evaluate rag`, from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from exam_pp.data_model import WHOLE
from exam_pp.errors import DataError
from exam_pp.graders.nuggetize import KEPT_NUGGETS, MAX_NUGGETS
from exam_pp.llm.base import ModelOptions
from exam_pp.metrics.citations import CitationRule
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.grading.score_answers import Claims, Sources
from exam_pp.phases.grading.steps import is_data_set
from exam_pp.prompts import ANSWER_ATTEMPT, GRADED_RELEVANCE
from exam_pp.prompts.claims import CITATION_SUPPORT
from exam_pp.prompts.nuggets import PER_CALL
from exam_pp.store.files import read_text
from exam_pp.store.parsing import data_error

Count = Annotated[int, Field(ge=1), WHOLE]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Step(_Table):
    """A step: whether it runs, and its model in place of that of the table ``[model]``."""

    enabled: bool = True
    model: ModelOptions | None = None


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
        window_size: Number of passages that the model reads at a time, or ``all``.
        iterations: How often the list is updated with all passages.
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
    model: ModelOptions | None = None
    retrieval: RetrievalStep = RetrievalStep()
    nuggets: NuggetStep = NuggetStep()
    citations: CitationStep = CitationStep()
    hallucination: HallucinationStep = HallucinationStep()
    no_answer: NoAnswerStep = NoAnswerStep()
    consistency: ConsistencyStep = ConsistencyStep()

    def model_of(self, step: _Step) -> ModelOptions | None:
        """The model of a step; None if neither the step nor the configuration has one."""
        return step.model or self.model


def read_config(path: PathLike) -> RagConfig:
    """Read the options of a TOML file; paths in it are relative to its folder.

    Raises:
        DataError: The file is not TOML, or has an unknown key or a wrong value; the message names the field.
    """
    try:
        values = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # also for integers of more than 4,300 digits
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
    base = Path() if path is None else Path(path).parent
    bank, queries = config.nuggets.bank, config.queries
    return config.model_copy(
        update={
            "queries": queries if queries is None or is_data_set(queries) else base / queries,
            "nuggets": config.nuggets.model_copy(update={"bank": bank and base / bank}),
        }
    )


def _unknown(values: Mapping[str, Any], table: type[Any], within: str = "") -> Iterator[tuple[str, str]]:
    """The unknown keys, as pairs of the whole key and the keys that its table can have.

    A value in place of a table has no such keys.
    """
    names = [field.name for field in fields(table)] if is_dataclass(table) else list(table.model_fields)
    for key, value in values.items():
        if key not in names:
            yield f"{within}{key}", ", ".join(names)
        elif (inner := _table_of(table, key)) is None:
            continue
        elif isinstance(value, Mapping):
            yield from _unknown(value, inner, f"{within}{key}.")
        else:
            yield f"{within}{key}", ""


def _table_of(table: type[Any], key: str) -> type[Any] | None:
    """The table of options that a key holds, or None if it holds a value."""
    if is_dataclass(table):
        return None
    annotation = table.model_fields[key].annotation
    if annotation == ModelOptions | None:
        return ModelOptions
    return annotation if isinstance(annotation, type) and issubclass(annotation, _Table) else None
