"""Measures of graded entries that users declare in TOML files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from exam_pp.errors import DataError, ExamError
from exam_pp.metrics.measures import Measure, known_measures
from exam_pp.store.files import read_file
from exam_pp.store.parsing import data_error
from exam_pp.text.toml import parse_toml

OTHERS = "*"
"""The word for all importances that ``words`` does not name."""


class OwnMeasure(BaseModel):
    """A ``[[measure]]`` of a TOML file: the arguments of :class:`~exam_pp.Measure`.

    ``credit`` is label to credit, such as ``{met = 1, partly_met = 0.25}``, ``words`` importance to weight,
    with ``"*"`` for all others, and ``empty = "none"`` leaves a query out where nothing counts.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    name: Annotated[str, Field(pattern=r"^[^\W\d][\w-]*$")]
    credit: Annotated[dict[str, float], Field(min_length=1)]
    words: dict[str, float] | None = None
    meaning: str = ""
    clip: bool = False
    empty: float | Literal["none"] = 0.0
    clip_mean: bool = False
    lower_is_better: bool = False

    @model_validator(mode="after")
    def _is_possible(self) -> OwnMeasure:
        try:
            known_measures([self.measure])
        except ExamError as error:
            raise PydanticCustomError(
                "measure", "{problem}", {"problem": str(error).removesuffix(".")}
            ) from error
        return self

    @property
    def measure(self) -> Measure:
        """The measure."""
        options: dict[str, Any] = self.model_dump(exclude={"credit", "words", "empty"})
        words: Mapping[str | None, float] | None = None
        if self.words is not None:
            words = {None if word == OTHERS else word: weight for word, weight in self.words.items()}
        return Measure(
            **options, steps=self.credit, words=words, empty=None if self.empty == "none" else self.empty
        )


_MEASURES = TypeAdapter(list[OwnMeasure])


def read_measures(path: Path | None) -> list[Measure]:
    """The measures of the ``[[measure]]`` tables of a TOML file, such as a study file; none without a file.

    Raises :class:`~exam_pp.errors.ExamError`.
    """
    if path is None:
        return []
    try:
        declared = _MEASURES.validate_python(parse_toml(read_file(path), str(path)).get("measure", []))
    except ValidationError as error:
        raise data_error(error, path, within="measure") from error
    if not declared:
        raise DataError("declares no measure: give it a [[measure]] with name and credit.", file=str(path))
    return [each.measure for each in declared]
