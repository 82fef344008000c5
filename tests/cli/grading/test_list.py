"""``exam-pp list models`` and ``exam-pp list prompts``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli
from exam_pp.llm import BACKENDS
from exam_pp.llm.catalogue import CATALOGUE
from exam_pp.prompts import PROMPTS


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["list", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_models_lists_bundled_baseline_and_recommended_models() -> None:
    output = run("models")
    for name in ("bundled", "lexical", "random", "constant", "google/flan-t5-large"):
        assert name in output


def test_memory_is_four_or_two_bytes_per_parameter() -> None:
    rows = {row["model"]: row for row in json.loads(run("models", "--format", "json"))["tables"][0]["rows"]}
    large = rows["google/flan-t5-large"]
    assert large["GB in fp32"] == pytest.approx(3.13, abs=0.01)
    assert large["GB in bf16"] == pytest.approx(large["GB in fp32"] / 2)
    assert rows["lexical"]["GB in fp32"] is None


def test_baselines_of_the_catalogue_can_be_loaded() -> None:
    baselines = [info.name for info in CATALOGUE if info.role == "baseline"]
    assert baselines
    assert set(baselines) <= set(BACKENDS)


@pytest.mark.parametrize("form", ["text", "tsv", "json", "md"])
def test_prompts_are_all_listed_in_every_format(form: str) -> None:
    output = run("prompts", "--format", form)
    for name in PROMPTS:
        assert name in output


def test_prompts_have_kind_and_scale() -> None:
    rows = list(csv.DictReader(io.StringIO(run("prompts", "--format", "tsv")), delimiter="\t"))
    by_name = {row["prompt"]: row for row in rows}
    rated = by_name["NuggetSelfRatedPrompt"]
    assert (rated["kind"], rated["reply"]) == ("nugget", "0 to 5")
    assert "Table 2" in rated["source"]
    assert by_name["NuggetExtractionPrompt"]["reply"] == "text"


def test_all_prompts_have_kind_reply_and_source() -> None:
    rows = json.loads(run("prompts", "--format", "json"))["tables"][0]["rows"]
    assert len(rows) >= 13
    for row in rows:
        assert row["kind"]
        assert row["reply"]
        assert row["source"]


def test_a_prompt_is_shown_in_full() -> None:
    result = CliRunner().invoke(cli, ["show", "prompt", "Thom"], catch_exceptions=False)
    for text in ("Thomas", "also called: Thom", "0 to 2", "stays ungraded", "2023", "{query}", "{context}"):
        assert text in result.output


def test_show_prompt_needs_a_prompt() -> None:
    assert CliRunner().invoke(cli, ["show", "prompt"]).exit_code == 2


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "models.md"
    assert run("models", "--format", "md", "-o", str(target)) == ""
    assert target.read_text(encoding="utf-8").startswith("| model |")
