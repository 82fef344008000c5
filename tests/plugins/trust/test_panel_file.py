"""Panel files: the options of graders, and messages that name the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from exam_pp.cli.grading.grade import command as grade
from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.settings_files import SETTINGS
from exam_pp.plugins.trust.grade_panel import GraderTable, read_panel
from tests.cli.grading.test_settings_files import folder, toml, written
from tests.llm.endpoint_server import Server, serve

__all__ = ["folder"]

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTED = "QuestionCompleteConciseUnanswerablePromptWithChoices"
FOR_THE_FILE = {
    *("passages", "output", "bank", "queries", "role", "regrade", "only_unjudged", "max_queries"),
    *("max_passages", "journal", "retry_failed", "shard_text", "status_file", "planned", "again"),
    *("form", "help", "systems", "sources", "trust_remote_code", "closed_book", "batch", "max_tokens_total"),
    "settings",
}
"""Options of `exam-pp grade` that are not those of a grader."""


def panel(folder: Path, text: str) -> Path:
    path = folder / "panel.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_has_the_options_of_grade_with_their_defaults() -> None:
    renamed = {"prompt_classes": "prompt_class", "prompt_files": "prompt_file"}
    options = {
        renamed.get(param.name or "", str(param.name)): param
        for param in grade.params
        if isinstance(param, click.Option) and param.name not in FOR_THE_FILE
    }
    assert set(options) | set(SETTINGS) == set(GraderTable.model_fields)
    fields = GraderTable.model_fields
    defaults = grade.make_context("grade", [__file__, "-o", "-", "--model", "m"]).params
    for name, option in options.items():
        if name not in ("model", "prompt_class", "prompt_file"):
            assert fields[name].default == defaults[str(option.name)], name


def test_the_options_of_a_grader(tmp_path: Path) -> None:
    first, second = read_panel(
        panel(
            tmp_path,
            f"""
            [[grader]]
            model = "a"
            prompt_class = "{RATED}"
            model_pipeline = "openai"
            base_url = "http://localhost:1/v1"
            temperature = 0.5
            max_tokens = 9
            stop = ["END"]
            unparsed = "ungraded"
            soft = false
            response_format = "schema.json"
            [[grader]]
            model = "b"
            prompt_class = ["{RATED}", "{EXTRACTED}"]
            greedy = true
            reply = "chosen"
            """,
        ),
        ["http://localhost:1"],
    )
    model = first.model
    assert (model.model, model.pipeline, model.base_url) == ("a", "openai", "http://localhost:1/v1")
    assert (model.temperature, model.max_tokens, model.stop, model.num_beams) == (0.5, 9, ("END",), None)
    assert model.response_format == str(tmp_path / "schema.json")
    assert (first.table.unparsed, first.table.soft) == ("ungraded", False)
    assert [prompt.name for prompt in second.prompts] == [RATED, EXTRACTED]
    assert (second.model.num_beams, second.model.choose, second.number) == (1, True, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "panel.toml: has no graders; write a table [[grader]] with model and prompt_class for each."),
        ("grader = [", "panel.toml: is not valid TOML: "),
        ("[grader]\nmodel = 'a'", "panel.toml, grader: is not a list of tables; write [[grader]]."),
        ("[[graders]]\nmodel = 'a'", "panel.toml, graders: is unknown; did you mean 'grader'?"),
        (
            "[[grader]]\nmodel = 'a'\npromt_class = 'x'",
            "panel.toml, grader 1 promt_class: is unknown; did you mean 'prompt_class'?",
        ),
        (
            "[[grader]]\nmodel = 'a'\nmodel-pipeline = 'x'",
            "panel.toml, grader 1 model-pipeline: is unknown; did you mean 'model_pipeline'?",
        ),
        (
            "[[grader]]\nmodel = 'a'\nxyz = 1",
            "panel.toml, grader 1 xyz: is unknown; the table can have model, ",
        ),
        ("[[grader]]\nprompt_class = 'x'", "panel.toml, grader 1 model: is missing."),
        ("[[grader]]\nmodel = 'a'", "panel.toml, grader 1: needs prompt_class or prompt_file."),
        (
            f"[[grader]]\nmodel = 'a'\nprompt_class = '{RATED}x'",
            f"panel.toml, grader 1 prompt_class: No prompt named '{RATED}x'. Did you mean 'self-rated'?",
        ),
        (
            f"[[grader]]\nmodel = 'a'\nprompt_class = '{RATED}'\ntemperature = 'hot'",
            "panel.toml, grader 1 temperature: input should be a valid number.",
        ),
        (
            f"[[grader]]\nmodel = 'a'\nprompt_class = '{RATED}'\nmax_tokens = 0",
            "panel.toml, grader 1 max_tokens: input should be greater than or equal to 1.",
        ),
        (
            f"[[grader]]\nmodel = 'a'\nprompt_class = '{RATED}'\ngreedy = true\ntemperature = 1.0",
            "panel.toml, grader 1: has greedy and a temperature above 0; use one of them.",
        ),
        (
            f"[[grader]]\nmodel = 'a'\nprompt_class = '{RATED}'\n" * 2,
            f"panel.toml, grader 2: asks 'a' with {RATED}, like grader 1: ",
        ),
    ],
)
def test_messages_name_file_table_and_field(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        read_panel(panel(tmp_path, text))
    assert str(error.value).startswith(f"{tmp_path}/{message}")


def test_prompt_files_are_relative_to_the_panel(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "Mine"\nkind = "question"\nreading = "rating"\nscale = 3\n'
        'template = "Rate {context} for {question}: "\n'
    )
    (grader,) = read_panel(panel(tmp_path, "[[grader]]\nmodel = 'a'\nprompt_file = 'mine.toml'"))
    assert [prompt.name for prompt in grader.prompts] == ["Mine"]


@pytest.mark.parametrize("path", ["../scorer/schema.json", "/etc/hostname", "link/schema.json"])
def test_paths_of_prompts_stay_in_the_folder(path: str, folder: Path) -> None:
    file = panel(folder, f'[[grader]]\nmodel = "m"\nprompt_file = "{path}"')
    with pytest.raises(DataError, match=r"leads out of the folder '.*': put it there"):
        read_panel(file)


@pytest.fixture
def server() -> Iterator[Server]:
    pytest.importorskip("openai")
    with serve() as server:
        yield server


def test_only_a_server_that_the_user_names_gets_passages_and_key(
    folder: Path, server: Server, tiny_passages: Path, tiny_bank: Path, capfd: Any
) -> None:
    values = {"model": "m", "pipeline": "openai", "base_url": server.url, "prompt_class": RATED}
    file = panel(folder, f"[[grader]]\n{toml(values)}")
    command = ["grade-panel", str(tiny_passages), "--config", str(file), "--bank", str(tiny_bank)]
    command += ["-o", "o.jsonl"]
    with pytest.raises(SystemExit) as stopped:
        main(command)
    assert stopped.value.code == 1
    assert f"name the server again: --base-url {server.url}\n" in capfd.readouterr().err
    assert server.bodies == []
    main([*command, "--base-url", server.url])
    assert {headers["authorization"] for headers in server.headers} == {"Bearer sk-victim"}
    assert f"go to the server {server.url}." in capfd.readouterr().err


def test_paths_start_in_the_folder_of_the_file(folder: Path) -> None:
    Path("conf/scorer").mkdir(parents=True)
    Path("models").mkdir()
    grader = f'[[grader]]\nprompt_class = "{RATED}"\nmodel = '
    file = written("conf/panel.toml", f'{grader}"scorer"\n')
    assert read_panel(file)[0].model == ModelOptions("conf/scorer")
    written("conf/panel.toml", f'{grader}"models"\n')
    with pytest.raises(DataError, match=r"model: 'models' is in the working folder: put it into"):
        read_panel(file)
