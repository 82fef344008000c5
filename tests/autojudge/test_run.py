"""``auto-judge run`` with the ready workflow files, and ``auto-judge-evaluate`` on its outputs."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_pp.autojudge import WORKFLOWS
from exam_pp.llm import retries
from tests.autojudge.conftest import AutoJudge
from tests.llm.endpoint_server import Answer, Server, completion, failure, serve


def verify_outputs(folder: Path, name: str, topics: list[str], measures: tuple[str, ...]) -> None:
    """Check the written files by autojudge-base."""
    from autojudge_base import Leaderboard, LeaderboardVerification
    from autojudge_base.nugget_data import NuggetBanksVerification, load_nugget_banks_from_file
    from autojudge_base.qrels import QrelsVerification
    from autojudge_base.qrels.qrels import read_qrel_file

    banks = load_nugget_banks_from_file(folder / f"{name}.nuggets.jsonl")
    NuggetBanksVerification(banks, topics).all()
    QrelsVerification(read_qrel_file(folder / f"{name}.qrels.txt"), topics).all()
    board = Leaderboard.load(folder / f"{name}.eval.txt", format="ir_measures")
    LeaderboardVerification(board, on_missing="error", expected_topic_ids=topics).all()
    assert board.measures == measures
    assert len({entry.run_id for entry in board.entries}) == 12


def correlations(demo: Path, board: Path, output: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Evaluated measure to the row of ``auto-judge-evaluate meta-evaluate``."""
    from autojudge_evaluate import main

    words = ["meta-evaluate", "--truth-leaderboard", demo / "truth.txt", "--truth-format", "ir_measures",
             "--eval-format", "ir_measures", "-i", board, "--on-missing", "skip", "--output", output,
             *options]  # fmt: skip
    done = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = map(json.loads, output.read_text(encoding="utf-8").splitlines())
    return {row["EvalMeasure"]: row for row in rows}


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::RuntimeWarning:autojudge_evaluate")
def test_the_baseline(auto_judge: AutoJudge, demo: Path, tmp_path: Path) -> None:
    done = auto_judge(WORKFLOWS / "lexical.yml", "--nugget-banks", demo / "bank.jsonl", "--limit-topics", 2)
    assert done.exit_code == 0, done.output
    verify_outputs(tmp_path, "tmp-default", ["007", "d01"], ("Cover", "label_mean", "V_strict"))
    rows = correlations(demo, tmp_path / "tmp-default.eval.txt", tmp_path / "correlations.jsonl")
    assert rows.keys() == {"Cover", "label_mean", "V_strict"}
    assert rows["Cover"]["kendall"] > 0.2


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
def _endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_MODEL", "chat-model")
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.01)


@pytest.mark.integration
@pytest.mark.usefixtures("_endpoint")
@pytest.mark.filterwarnings("ignore::RuntimeWarning:autojudge_evaluate")
def test_an_endpoint_writes_nuggets_and_judges(
    auto_judge: AutoJudge, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(chat) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = auto_judge(WORKFLOWS / "endpoint-nuggets.yml", "--topic", "007")
        assert done.exit_code == 0, done.output
        assert {body["model"] for body in server.bodies} == {"chat-model"}
    verify_outputs(tmp_path, "tmp-default", ["007"], ("Cover", "label_mean", "V_strict"))
    lines = (tmp_path / "tmp-default.nuggets.jsonl").read_text(encoding="utf-8").splitlines()
    banks = [json.loads(line) for line in lines]
    importance = Counter(claim["importance"] for bank in banks for claim in bank["claim_bank"].values())
    assert importance.keys() == {"vital", "okay"}
    assert importance.total() == 10
    rows = correlations(demo, tmp_path / "tmp-default.eval.txt", tmp_path / "correlations.jsonl")
    assert rows.keys() == {"Cover", "label_mean", "V_strict"}


def contents(folder: Path) -> dict[str, bytes]:
    """All files of an output folder; autojudge-base writes the time into its record of settings."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".config.yml")
    }


@pytest.mark.usefixtures("_endpoint")
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


@pytest.mark.usefixtures("_endpoint")
def test_a_reply_that_the_cache_lacks_is_asked_of_the_endpoint(
    auto_judge: AutoJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY")
    arguments = ("--topic", "007", "--no-create-qrels", "--no-judge")
    stopped = auto_judge(WORKFLOWS / "endpoint-nuggets.yml", *arguments)
    assert stopped.exit_code == 1
    assert "Error: --base-url is missing. To use api.openai.com, set OPENAI_API_KEY." in stopped.output
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serve(chat) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for model, expected in (("chat-model", 2), ("another", 4), ("chat-model", 4)):
            monkeypatch.setenv("OPENAI_MODEL", model)
            done = auto_judge(WORKFLOWS / "endpoint-nuggets.yml", *arguments)
            assert done.exit_code == 0, done.output
            assert len(server.bodies) == expected, "one request for nuggets, and one for their importance"


@pytest.mark.usefixtures("_endpoint")
def test_an_interrupted_run_continues_from_its_journal(
    auto_judge: AutoJudge, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--nugget-banks", demo / "bank.jsonl", "--topic", "007", "--no-create-qrels")
    monkeypatch.setattr(retries, "ATTEMPTS", 1)

    def refuses(body: dict[str, Any], count: int) -> Answer:
        del count
        return chat(body) if len(server.bodies) < 100 else failure(401, "no money left")

    with serve(refuses) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        stopped = auto_judge(WORKFLOWS / "endpoint.yml", *arguments)
        assert stopped.exit_code == 1
        assert "Traceback" not in stopped.output
        assert "no money left" in stopped.output
        before = +server.answered
        server.script = chat
        server.answered.clear()
        done = auto_judge(WORKFLOWS / "endpoint.yml", *arguments)
        assert done.exit_code == 0, done.output
        assert before.total() > 90
        assert (before & server.answered).total() < 30, "only replies of the last batch are asked for again"


def test_an_unknown_setting_ends_the_command_with_one_sentence(auto_judge: AutoJudge, demo: Path) -> None:
    done = auto_judge(WORKFLOWS / "lexical.yml", "--nugget-banks", demo / "bank.jsonl", "-S", "prompt=x")
    assert done.exit_code == 1
    assert "Error: the settings of the workflow, prompt: is unknown; the settings are model," in done.output


def topics_asked(server: Server) -> int:
    """The number of requests for questions, without the probes of the endpoint after failures."""
    return sum("Generate" in body["messages"][-1]["content"] for body in server.bodies)


@pytest.mark.usefixtures("_endpoint")
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
