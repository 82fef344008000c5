"""Settings of workflow files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from exam_pp.errors import DataError, ModelError, UnknownNameError
from exam_pp.llm.base import ModelOptions
from exam_pp.plugins.autojudge import WORKFLOWS
from exam_pp.plugins.autojudge.settings import Settings, model_of, prompt_of, read_settings

URL = "http://localhost:1/v1"


@dataclass
class LlmConfig:
    model: str = "big-model"
    base_url: str | None = URL
    api_key: str | None = None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"promptclass": "x"},
            "the settings of the workflow, promptclass: is unknown; the settings are model,",
        ),
        ({"cutoff": 0}, "the settings of the workflow, cutoff: input should be greater than or equal to 1."),
        ({"entries": "facts"}, "entries: input should be 'questions' or 'nuggets'."),
        ({"model_options": {"gpu": 1}}, "model_options.gpu: is unknown; the table can have model,"),
    ],
)
def test_a_wrong_setting_is_one_sentence(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DataError) as raised:
        read_settings(settings)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"model": "lexical", "outdir": "out", "filebase": "{_name}"}, ModelOptions("lexical")),
        (
            {"seed": 3, "model_options": {"concurrency": 2}},
            ModelOptions("big-model", pipeline="openai", base_url=URL, sampling_seed=3, concurrency=2),
        ),
        (
            {"model": "small", "pipeline": "openai-completions"},
            ModelOptions("small", pipeline="openai-completions", base_url=URL),
        ),
    ],
    ids=["local", "that of the configuration", "another one behind the endpoint"],
)
def test_the_model(settings: dict[str, object], expected: ModelOptions) -> None:
    assert model_of(read_settings(settings), LlmConfig()) == expected


def test_a_key_that_exam_pp_cannot_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        model_of(Settings(), LlmConfig(api_key="secret"))


def test_no_model_at_all() -> None:
    with pytest.raises(DataError, match="model: is missing"):
        model_of(Settings(), None)


def test_prompts_by_name_or_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'name = "Own"\nkind = "question"\nreading = "rating"\nscale = 3\n'
        'template = "Rate {question} by {context}:"\n',
        encoding="utf-8",
    )
    assert (prompt_of(str(file)).name, prompt_of("NuggetSelfRatedPrompt").entry_kind) == ("Own", "nugget")
    with pytest.raises(UnknownNameError):
        prompt_of("NoSuchPrompt")


def test_ready_workflow_files_have_known_settings() -> None:
    from autojudge_base.workflow import load_judge_from_workflow, load_workflow, resolve_default

    files = sorted(WORKFLOWS.glob("*.yml"))
    assert [file.name for file in files] == [
        "endpoint-nuggets.yml", "endpoint.yml", "lexical.yml", "local.yml",
    ]  # fmt: skip
    for file in files:
        workflow = load_workflow(file)
        for changes in ({}, *workflow.variants.values()):
            read_settings({**resolve_default(workflow).judge_settings, **changes})
        asks_endpoint = "model" not in workflow.settings
        assert yaml.safe_load(file.read_text("utf-8")).get("uses_llm", True) == asks_endpoint
        components = load_judge_from_workflow(workflow)
        assert type(components.leaderboard_judge).__name__ == "ExamJudge"
        assert components.nugget_creator is components.qrels_creator is components.leaderboard_judge


@pytest.mark.parametrize("path", ["../scorer/schema.json", "/etc/hostname", "link/schema.json"])
@pytest.mark.parametrize(
    ("key", "ending"), [("bank", ""), ("work", ""), ("prompt_class", ".toml"), ("assignment_class", ".toml")]
)
def test_paths_outside_of_the_folder(key: str, ending: str, path: str) -> None:
    Path("link").symlink_to("/etc")
    with pytest.raises(DataError, match=r"leads out of the folder '\.': put it there"):
        read_settings({key: f"{path}{ending}"})
