"""Families files: patterns of models and systems, and the errors of their reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import DataError
from exam_pp.store.families import read_families
from tests.conftest import data_error

TOML = """
[gpt]
models = ["gpt-*", "openai/*"]
systems = ["*gpt4*"]

["llama 3"]
models = ["*Llama-3?*"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "families.toml"


def test_patterns_ignore_case(file: Path) -> None:
    file.write_text(TOML)
    families = read_families(file)
    assert families.of_model("GPT-4o") == "gpt"
    assert families.of_model("meta/llama-3.1-8b") == "llama 3"
    assert families.of_model("xgpt-4") is None
    assert families.of_system("rag-gpt4-short") == "gpt"
    assert families.of_system("gpt-4o") is None


def test_json_is_the_same(file: Path) -> None:
    file.write_text(TOML)
    from_toml = read_families(file).families
    file.write_text(
        '{"gpt": {"models": ["gpt-*", "openai/*"], "systems": ["*gpt4*"]}, '
        '"llama 3": {"models": ["*Llama-3?*"]}}'
    )
    assert read_families(file).families == from_toml


def test_a_name_of_two_families(file: Path) -> None:
    file.write_text('[a]\nmodels = ["gpt*"]\n[b]\nmodels = ["*4"]\nsystems = ["gpt*"]\n')
    families = read_families(file)
    assert families.of_system("gpt4") == "b"
    with data_error(file, about="'gpt4' fits the patterns of the families 'a' and 'b'"):
        families.of_model("gpt4")


@pytest.mark.parametrize(
    ("content", "field", "problem"),
    [
        ("", None, "has no families; write a table for each family, such as [gpt]."),
        ("{}", None, "has no families; write a table for each family, such as [gpt]."),
        ("[gpt", None, "is neither valid TOML nor a JSON object: "),
        ('["gpt"]\n[', None, "is neither valid TOML nor a JSON object: "),
        ("{gpt", None, "is not valid JSON ("),
        ('gpt = "gpt-*"', "gpt", "is not a table; write models = [...] and systems = [...] below its name."),
        ('gpt = ["gpt-*"]', "gpt", "is not a table; "),
        ("[gpt]", "gpt", "has no patterns; add models or systems."),
        ("[gpt]\nmodels = []", "gpt", "has no patterns; add models or systems."),
        ('[gpt]\nmodel = ["gpt-*"]', "gpt.model", "is unknown; a family can have models and systems."),
        ('[gpt]\nmodels = "gpt-*"', "gpt.models", "input should be a valid list."),
        ("[gpt]\nmodels = [4]", "gpt.models.1", "input should be a valid string."),
        ('[gpt]\nsystems = ["a", ""]', "gpt.systems.2", "string should have at least 1 character."),
    ],
)
def test_errors(file: Path, content: str, field: str | None, problem: str) -> None:
    file.write_text(content)
    with pytest.raises(DataError) as caught:
        read_families(file)
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(file), None, field)
    assert caught.value.problem.startswith(problem)
