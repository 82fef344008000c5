"""Demo reports, and AutoJudge without downloads."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nltk
import pytest
from click.testing import CliRunner, Result

from scripts.autojudge_demo import write_demo
from tests.nltk_data import write_nltk_data


@pytest.fixture(scope="session", autouse=True)
def autojudge(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip without the packages; autojudge-base downloads data of NLTK at its import unless they exist."""
    if not all(importlib.util.find_spec(name) for name in ("autojudge_base", "autojudge_evaluate")):
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
