"""Demo reports, and AutoJudge without downloads."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nltk
import pytest
from click.testing import CliRunner, Result

from exam_pp.llm import retries
from scripts.autojudge_demo import write_demo
from tests.llm.endpoint_server import Answer, completion
from tests.nltk_data import write_nltk_data


@pytest.fixture(scope="session", autouse=True)
def autojudge(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip without the packages; autojudge-base downloads data of NLTK at its import unless they exist."""
    if importlib.util.find_spec("autojudge_base") is None:
        pytest.skip("the packages of AutoJudge are not installed")
    folder = tmp_path_factory.mktemp("nltk")
    write_nltk_data(folder)
    nltk.data.path.insert(0, str(folder))


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep replies out of the user's cache folder."""
    for name in ("CACHE_DIR", "LLM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports, topics, a bank and a truth that are made from the demo collection."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder)
    return folder


@pytest.fixture(scope="session")
def topics(demo: Path) -> list[Any]:
    from autojudge_base import load_requests_from_file

    return load_requests_from_file(demo / "topics.jsonl")  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def reports(demo: Path) -> list[Any]:
    from autojudge_base.report import load_report

    return [report for path in sorted((demo / "reports").iterdir()) for report in load_report(path)]


AutoJudge = Callable[..., Result]


@pytest.fixture
def auto_judge(demo: Path, tmp_path: Path) -> AutoJudge:
    """Run ``auto-judge run`` on the reports of the demo; the output folder is ``tmp_path``."""

    def run(workflow: Path, *arguments: object) -> Result:
        from autojudge_base.cli import main

        files = ["--rag-responses", demo / "reports", "--rag-topics", demo / "topics.jsonl"]
        words = ["run", "--workflow", workflow, *files, "--out-dir", tmp_path, *arguments]
        return CliRunner().invoke(main, [str(word) for word in words])

    return run


def chat(body: dict[str, Any], _count: int = 0) -> Answer:
    """Replies that every prompt of the nugget workflow can read; labels depend only on the prompt."""
    prompt = body["messages"][-1]["content"]
    asked = re.search(r"label each of the (\d+) nuggets", prompt)
    if "Generate" in prompt:
        return completion(json.dumps({"nuggets": [f"fact {number} of it" for number in range(10)]}))
    if asked is None:
        return completion(str(sum(prompt.encode()) % 6))
    labels = ("vital", "okay") if "vital" in prompt else ("support", "not_support")
    numbers = range(sum(prompt.encode()), sum(prompt.encode()) + int(asked[1]))
    return completion(str([labels[number // 3 % 2] for number in numbers]))


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint with a model and a key, but without an address."""
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_MODEL", "chat-model")
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.01)
