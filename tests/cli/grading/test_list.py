"""``exam-pp list models`` and ``exam-pp list prompts``."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli
from exam_pp.prompts import PROMPTS


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["list", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_models_lists_bundled_baseline_and_recommended_models() -> None:
    output = run("models")
    for name in ("bundled", "lexical", "random", "constant", "google/flan-t5-large"):
        assert name in output


@pytest.mark.parametrize("form", ["text", "tsv", "json", "md"])
def test_prompts_are_all_listed_in_every_format(form: str) -> None:
    output = run("prompts", "--format", form)
    for name in PROMPTS:
        assert name in output


def test_a_prompt_is_shown_in_full() -> None:
    result = CliRunner().invoke(cli, ["show", "prompt", "Thom"], catch_exceptions=False)
    for text in ("Thomas", "also called: Thom", "0 to 2", "stays ungraded", "2023", "{query}", "{context}"):
        assert text in result.output


def test_show_prompt_needs_a_prompt() -> None:
    assert CliRunner().invoke(cli, ["show", "prompt"]).exit_code == 2
