"""Reading of families files: which models and systems are of one family, by patterns.

TOML or JSON, a table for each family::

    [gpt]
    models = ["gpt-*", "openai/*"]
    systems = ["*-gpt4*"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr, TypeAdapter

from exam_pp.errors import DataError
from exam_pp.store.files import read_text
from exam_pp.store.parsing import parse_json, valid
from exam_pp.text.toml import parse_toml

_Pattern = Annotated[StrictStr, Field(min_length=1)]


class Family(BaseModel):
    """The patterns of a family; ``*`` stands for any characters and ``?`` for one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: list[_Pattern] = []
    systems: list[_Pattern] = []


_FAMILIES = TypeAdapter(dict[str, Family])


@dataclass(frozen=True)
class Families:
    """Families of models and systems."""

    families: Mapping[str, Family]
    file: str | None = None

    def of_model(self, name: str) -> str | None:
        """The family of a model; None if no pattern fits. Upper and lower case are the same."""
        return self._family("model", name, {key: family.models for key, family in self.families.items()})

    def of_system(self, name: str) -> str | None:
        """The family of a system, as :meth:`of_model` that of a model."""
        return self._family("system", name, {key: family.systems for key, family in self.families.items()})

    def _family(self, noun: str, name: str, patterns: Mapping[str, Sequence[str]]) -> str | None:
        matches = [
            key for key, of_family in patterns.items() if any(_fits(name, pattern) for pattern in of_family)
        ]
        if len(matches) > 1:
            raise DataError(
                f"the {noun} {name!r} fits the patterns of the families {matches[0]!r} and {matches[1]!r}; "
                "make the patterns narrower.",
                file=self.file,
            )
        return matches[0] if matches else None


@cache
def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name.casefold(), pattern.casefold())


def known_families(families: str | Path | Families | None) -> Families | None:
    """The families of a file, or those given."""
    return read_families(families) if isinstance(families, str | Path) else families


def read_families(path: str | Path) -> Families:
    """Read a families file, TOML or JSON."""
    families = _validated(_values(path), path)
    if not families:
        raise DataError("has no families; write a table for each family, such as [gpt].", file=str(path))
    for name, family in families.items():
        if not (family.models or family.systems):
            raise DataError("has no patterns; add models or systems.", file=str(path), field=name)
    return Families(families, str(path))


def _values(path: str | Path) -> Any:
    text = read_text(path)
    if text.lstrip().startswith("{"):
        return parse_json(text, path)
    return parse_toml(text, str(path), "is neither valid TOML nor a JSON object")


def _validated(values: Any, path: str | Path) -> dict[str, Family]:
    for name, family in values.items():
        unknown = sorted(set(family) - set(Family.model_fields)) if isinstance(family, dict) else []
        if unknown:
            raise DataError(
                "is unknown; a family can have models and systems.",
                file=str(path),
                field=f"{name}.{unknown[0]}",
            )
        if not isinstance(family, dict):
            raise DataError(
                "is not a table; write models = [...] and systems = [...] below its name.",
                file=str(path), field=name,
            )  # fmt: skip
    return valid(_FAMILIES.validate_python, values, path)
