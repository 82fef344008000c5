"""``exam-pp list models`` and ``exam-pp list prompts``."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli
from exam_pp.prompts import PROMPTS


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("form", ["text", "json", "md"])
def test_a_card_has_the_figures_with_their_data_and_limits(form: str) -> None:
    output = run("show", "model", "e5", "--format", form)
    for text in ("TREC DL 2019", "0.802 [0.69, 0.87]", "negations", "Chinese", "no judge of single answers"):
        assert text in output
    assert "Not measured" not in output


@pytest.mark.parametrize("name", ["google/flan-t5-large", "my/model"])
def test_a_card_without_figures_names_the_command_that_measures(name: str) -> None:
    assert "Not measured: `exam-pp analyze graders`" in run("show", "model", name)


@pytest.mark.parametrize("form", ["text", "tsv", "json", "md"])
def test_prompts_are_all_listed_in_every_format(form: str) -> None:
    output = run("list", "prompts", "--format", form)
    for name in PROMPTS:
        assert name in output


def test_a_prompt_is_shown_in_full() -> None:
    shown = run("show", "prompt", "Thom")
    for text in ("Thomas", "also called: Thom", "0 to 2", "stays ungraded", "2023", "{query}", "{context}"):
        assert text in shown
