"""Settings files of others run no code, and name neither servers nor paths outside of their folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import exam_pp
from exam_pp.errors import DataError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.transport import is_same_server
from exam_pp.phases.grading.prompt_files import read_prompt
from exam_pp.phases.grading.settings_files import REFUSED, ModelSettings

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
Values = dict[str, Any]


def toml(values: Values) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def written(name: str, text: str) -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def of_panel(values: Values, *servers: str) -> ModelOptions:
    from exam_pp.plugins.trust.grade_panel import read_panel

    file = written("panel.toml", f"[[grader]]\nprompt_class = '{RATED}'\n{toml(values)}")
    return read_panel(file, servers)[0].model


def of_autojudge(values: Values, *servers: str) -> ModelOptions:
    from exam_pp.plugins.autojudge.settings import model_of, read_settings

    config = SimpleNamespace(model="m", base_url=servers[0]) if servers else None
    return model_of(read_settings({"model": "m", "model_options": values}), config)


Reader = Callable[..., ModelOptions]
READERS: list[Reader] = [
    reader
    for name, reader in (("autojudge", of_autojudge), ("trust", of_panel))
    if (Path(exam_pp.__file__).parent / "plugins" / name).is_dir()
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with files outside of it and a link to them."""
    own = tmp_path / "own"
    for name in ("own/scorer", "scorer"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "schema.json").write_text("{}")
    (own / "link").symlink_to(tmp_path / "scorer")
    monkeypatch.chdir(own)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-victim")
    return own


def test_every_option_of_a_model_is_a_setting_of_files_or_refused() -> None:
    options = {field.name: field.default for field in fields(ModelOptions)}
    settings = ModelSettings.model_fields
    # any_server is set by the judge for AutoJudge, and a limit is for one command
    refused = {*REFUSED, "any_server", "max_tokens_total"} - {"api_key"}
    assert options.keys() - {"choose"} == (settings.keys() - {"greedy", "reply"}) | refused
    for name in settings.keys() - {"greedy", "reply", "model", "stop", "cut_points"}:
        assert settings[name].default == options[name], name


OUTSIDE = ("../scorer", "{}/../scorer", "link", "link/../scorer", "scorer/../../scorer", "loop", "~/scorer/x")
ENDPOINT = {"model": "m", "pipeline": "openai"}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("values", "key", "about"),
    [
        *(({"model": "m", key: True}, key, "remove it, and") for key in REFUSED),
        ({"model": "m", "gpu": 1}, "gpu", "is unknown; "),
        ({"model": "m", "revision": "../../x"}, "revision", "neither a branch nor a tag nor a commit."),
        *(({"model": path}, "model", "leads out of the folder '.': put it there") for path in OUTSIDE[:-2]),
        *(
            ({**ENDPOINT, "response_format": f"{path}/schema.json"}, "response_format", "leads out of")
            for path in OUTSIDE[:-1]
        ),
        ({**ENDPOINT, "response_format": "a\0b"}, "response_format", "leads out of"),
        *(
            ({**ENDPOINT, "base_url": url}, "base_url", f"name the server again: {{again}}{shown}")
            for url, shown in (
                ("http://127.0.0.1:9/v1?x=1", "http://127.0.0.1:9/v1"),
                ("http://api.openai.com/v1", "http://api.openai.com/v1"),
                ("https://api.openai.com:8443", "https://api.openai.com:8443"),
                ("http://h/$(rm x)", "'http://h/$(rm x)'"),
            )
        ),
        ({**ENDPOINT, "base_url": "http://me:secret@h/v1"}, "base_url", "must not contain credentials"),
        ({**ENDPOINT, "base_url": "file:///etc/passwd"}, "base_url", "must be a URL such as "),
    ],
)
def test_a_file_is_data(reader: Reader, values: Values, key: str, about: str, folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    values = {
        name: value.format(folder) if str(value).startswith("{}") else value for name, value in values.items()
    }
    with pytest.raises(DataError) as caught:
        reader(values)
    message = str(caught.value)
    assert caught.value.file in ("panel.toml", "the settings of the workflow")
    assert str(caught.value.field).endswith(key)
    assert about.format(again="OPENAI_BASE_URL=" if reader is of_autojudge else "--base-url ") in message
    assert "secret" not in message.replace("OPENAI", "")
    assert "\n" not in message


@pytest.mark.parametrize("reader", READERS)
def test_names_and_paths_below_the_folder_are_accepted(reader: Reader, folder: Path) -> None:
    for name in ("scorer", "google/flan-t5-large", "lexical", "smollm2"):
        assert reader({"model": name}).model == name
    assert reader({"model": "./scorer/../scorer"}).model == "scorer/../scorer"
    assert reader({**ENDPOINT, "model": "/models/of/the/server"}).model == "/models/of/the/server"
    assert reader({**ENDPOINT, "response_format": "json"}).response_format == "json"
    asked = reader(
        {**ENDPOINT, "response_format": "scorer/schema.json", "base_url": "https://api.openai.com"}
    )
    assert (asked.response_format, asked.base_url) == ("scorer/schema.json", "https://api.openai.com")
    for server in ("http://127.0.0.1:9", "http://127.0.0.1:9/other"):
        assert reader({**ENDPOINT, "base_url": "http://127.0.0.1:9/v1"}, server).base_url is not None


PROMPT = 'name = "P"\nkind = "direct"\nreading = "relevance-label"\n{} = "{}"\n'


@pytest.mark.parametrize("path", ["../scorer/schema.json", "/etc/hostname", "link/schema.json"])
@pytest.mark.parametrize(
    "read",
    [
        lambda path: read_prompt(written("p.toml", PROMPT.format("template_file", path))),
        lambda path: read_prompt(
            written("p.toml", 'template = "{query} {context}"\n' + PROMPT.format("system_file", path))
        ),
    ],
)
def test_other_paths_in_settings(read: Callable[[str], object], path: str) -> None:
    with pytest.raises(DataError, match=r"leads out of the folder '\.': put it there"):
        read(path)


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("http://Host:80/v1", "http://host", True),
        ("https://host/v1", "http://host/v1", False),
        ("http://host.evil/v1", "http://host/v1", False),
        ("http://host:81", "http://host", False),
        ("http://host:x", "http://host", False),
        (None, "http://host", False),
    ],
)
def test_servers_are_compared_by_scheme_host_and_port(url: object, other: str, same: bool) -> None:
    assert is_same_server(url, other) is same
