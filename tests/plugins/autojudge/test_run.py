"""``auto-judge run`` with the ready workflow files, and ``auto-judge-evaluate`` on its outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from exam_pp.errors import StoppedError
from exam_pp.plugins.autojudge import WORKFLOWS
from tests.llm.endpoint_server import Answer, Server, completion, failure, serve
from tests.plugins.autojudge.conftest import AutoJudge, chat


def contents(folder: Path) -> dict[str, bytes]:
    """All files of an output folder; autojudge-base writes the time into its record of settings."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".config.yml")
    }


@pytest.mark.usefixtures("endpoint")
def test_a_second_run_needs_only_the_cache(
    auto_judge: AutoJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "new" / "cache"
    monkeypatch.setenv("CACHE_DIR", str(cache))

    def judged(name: str) -> dict[str, bytes]:
        done = auto_judge(
            WORKFLOWS / "endpoint-nuggets.yml", "--topic", "007", "--run", "tf", "--run", "gen-short",
            "--out-dir", tmp_path / name,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        return contents(tmp_path / name)

    with serve(chat) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        first = judged("first")
        assert server.bodies
    assert {"tmp-default.eval.txt", "exam_pp_work/graded.jsonl.gz", "exam_pp_work/steps.json"} <= first.keys()
    assert [file.name for file in cache.iterdir()] == ["exam_pp.journal"]
    assert not [name for name in first if "journal" in name]

    assert judged("off") == first
    with serve(chat) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert judged("another-url") == first
        assert not server.paths
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert judged("no-url") == first


def test_an_unknown_setting_ends_the_command_with_one_sentence(auto_judge: AutoJudge, demo: Path) -> None:
    done = auto_judge(WORKFLOWS / "lexical.yml", "--nugget-banks", demo / "bank.jsonl", "-S", "prompt=x")
    assert done.exit_code == 1
    assert "Error: the settings of the workflow, prompt: is unknown; the settings are model," in done.output


def topics_asked(server: Server) -> int:
    """The number of requests for questions, without the probes of the endpoint after failures."""
    return sum("Generate" in body["messages"][-1]["content"] for body in server.bodies)


@pytest.mark.usefixtures("endpoint")
def test_failed_requests_are_sent_again_on_request(
    auto_judge: AutoJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model writes no questions for one of two topics, and gets another chance."""

    def forgets(body: dict[str, Any], count: int) -> Answer:
        prompt = body["messages"][-1]["content"]
        return failure(400, "no idea") if "Hubble" in prompt else questions(body, count)

    def questions(body: dict[str, Any], _count: int) -> Answer:
        if "Generate" not in body["messages"][-1]["content"]:
            return chat(body)
        return completion(json.dumps({"questions": [f"Which fact {number}?" for number in range(10)]}))

    arguments = ("--topic", "007", "--topic", "d01", "--no-judge", "--no-create-qrels")
    with serve(forgets) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for _ in range(2):
            stopped = auto_judge(WORKFLOWS / "endpoint.yml", *arguments)
            assert stopped.exit_code == 1
            assert (
                "Error: 1 topic has no questions by the model 'chat-model', such as 'd01': " in stopped.output
            )
        assert topics_asked(server) == 2, "a failure stays in the journal"
        server.script = questions
        done = auto_judge(WORKFLOWS / "endpoint.yml", *arguments, "-S", "retry_failed=true")
        assert done.exit_code == 0, done.output
        assert topics_asked(server) in (3, 4), "the batch of the failed request is sent again"
    banks = (tmp_path / "tmp-default.nuggets.jsonl").read_text(encoding="utf-8").splitlines()
    assert [len(json.loads(bank)["nugget_bank"]) for bank in banks] == [10, 10]


def test_a_stop_ends_the_command() -> None:
    from exam_pp.plugins.autojudge.judge import _command

    @click.command()
    def command() -> None:
        with _command():
            raise StoppedError("stopped by SIGTERM.")

    done = CliRunner().invoke(command)
    assert (done.exit_code, done.output) == (143, "Error: stopped by SIGTERM.\n")
