"""``exam-pp list models`` and ``exam-pp list prompts``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli
from exam_pp.judges import CATALOGUE
from exam_pp.prompts import PROMPTS


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["list", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_models_lists_packaged_baseline_and_recommended_models() -> None:
    output = run("models")
    for name in ("e5", "lexical", "random", "constant", "google/flan-t5-large"):
        assert name in output
    assert "0.329" in next(line for line in output.splitlines() if line.startswith("lexical"))


def show_model(name: str, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["show", "model", name, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("form", ["text", "json", "md"])
def test_a_card_has_the_figures_with_their_data_and_limits(form: str) -> None:
    output = show_model("e5", "--format", form)
    for text in ("TREC DL 2019", "0.802 [0.69, 0.87]", "negations", "Chinese", "no judge of single answers"):
        assert text in output
    assert "Not measured" not in output


@pytest.mark.parametrize("name", ["google/flan-t5-large", "my/model"])
def test_a_card_without_figures_names_the_command_that_measures(name: str) -> None:
    assert "Not measured: `exam-pp analyze graders`" in show_model(name)


def test_the_page_of_models_has_the_figures_of_the_cards() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "models.md").read_text("utf-8")
    for info in CATALOGUE:
        for each in info.measured:
            figures = ("–" if figure is None else figure for figure in each.figures)
            cells = (f"`{info.name}`", each.data, *figures)
            assert f"| {' | '.join(map(str, cells))} |" in page


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
