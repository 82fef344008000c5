"""``auto-judge run`` with the ready workflow files, and ``auto-judge-evaluate`` on its outputs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_pp.plugins.autojudge import WORKFLOWS
from tests.llm.endpoint_server import serve
from tests.plugins.autojudge.conftest import AutoJudge, chat


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


@pytest.mark.filterwarnings("ignore::RuntimeWarning:autojudge_evaluate")
def test_the_baseline(auto_judge: AutoJudge, demo: Path, tmp_path: Path) -> None:
    done = auto_judge(WORKFLOWS / "lexical.yml", "--nugget-banks", demo / "bank.jsonl", "--limit-topics", 2)
    assert done.exit_code == 0, done.output
    verify_outputs(tmp_path, "tmp-default", ["007", "d01"], ("Cover", "label_mean", "V_strict"))
    rows = correlations(demo, tmp_path / "tmp-default.eval.txt", tmp_path / "correlations.jsonl")
    assert rows.keys() == {"Cover", "label_mean", "V_strict"}
    assert rows["Cover"]["kendall"] > 0.2


@pytest.mark.usefixtures("endpoint")
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
