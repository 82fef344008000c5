"""``-M KEY=VALUE``: the settings of models on the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from exam_pp.cli.main import cli, main
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.settings_files import SETTINGS

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


def options_of(*settings: str) -> ModelOptions:
    found: list[ModelOptions] = []

    @click.command()
    @model_options()
    def command(**options: Any) -> None:
        found.append(take_model_options(options))

    words = [word for setting in settings for word in ("-M", setting)]
    command.main(["--model", "m", *words], standalone_mode=False)
    return found[0]


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ([], {}),
        (["greedy=true"], {"num_beams": 1}),
        (["greedy=false", "top-p=0.5"], {"top_p": 0.5}),
        (["stop=a=b", "stop= 7"], {"stop": ("a=b", " 7")}),
        (["revision=1234567", "max_tokens=20"], {"revision": "1234567", "max_tokens": 20}),
        (["greedy=false", "timeout=1e2"], {"timeout": 100.0}),
    ],
)
def test_settings_become_options_of_the_model(settings: list[str], values: dict[str, Any]) -> None:
    assert options_of(*settings) == ModelOptions("m", **values)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("temprature=1", "-M temprature: 'temprature' is no setting of models; did you mean 'temperature'?"),
        ("x=1", "-M x: 'x' is no setting of models; `exam-pp list settings` shows all."),
        ("temperature", "-M temperature: has no value; write temperature=VALUE."),
        ("temperature=hot", "-M temperature=hot: input should be a valid number."),
        ("timeout=NaN", "-M timeout=nan: input should be a finite number."),
        ("timeout=1_0", "-M timeout=1_0: input should be a valid number."),
        ("concurrency=true", "-M concurrency=True: input should be a valid integer."),
        ("device=cpu", "-M device: use the option --device."),
        ("trust_remote_code=true", "-M trust_remote_code: use the option --trust-remote-code."),
        ("api_key=secret", "-M api_key: api_key is not read from files: remove it, and set OPENAI_API_KEY"),
    ],
)
def test_other_settings_are_refused_in_one_sentence(setting: str, sentence: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        options_of(setting)
    assert refused.value.message.startswith(sentence)
    assert "secret" not in refused.value.message


def test_a_setting_has_one_value() -> None:
    with pytest.raises(click.UsageError, match="-M top-p=1: top_p is set twice"):
        options_of("top_p=0.5", "top-p=1")


def test_a_manifest_repeats_the_settings_as_a_command_line(tiny_bank: Path, tmp_path: Path) -> None:
    output = tmp_path / "closed.jsonl"
    words = f"--manifest grade --closed-book --bank {tiny_bank} --prompt {RATING} --model lexical"
    words += " -M concurrency=3 -M timeout=7 -o"
    main([*words.split(), str(output)])
    manifest = json.loads(Path(f"{output}.manifest.json").read_text())
    (settings,) = [option["value"] for option in manifest["options"] if option["name"] == "-M"]
    assert settings == ["concurrency=3", "timeout=7"]


def test_settings_are_completed_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    complete = ShellComplete(cli, {}, "exam-pp", "_EXAM_PP_COMPLETE")
    found = complete.get_completions(["grade", "-M"], "te")
    assert [item.value for item in found] == ["temperature="]
    main(shlex.split("list settings --format tsv"))
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()[1:]] == list(SETTINGS)
