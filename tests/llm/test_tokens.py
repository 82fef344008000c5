"""Tokens that an endpoint counts: in files, summaries and reports, and their limit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from exam_pp.cli.main import main
from exam_pp.phases.evaluation.contents import graded_contents
from exam_pp.store.passages.graded_file import read_passages
from tests.llm.endpoint_server import Answer, prompt_of, rating, serve

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


class Meter:
    """A server's answers with the tokens of each, and their sum."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self.lock = threading.Lock()

    def __call__(self, body: dict[str, Any], count: int) -> Answer:
        status, value, headers = rating(body, count)
        usage = {"prompt_tokens": len(prompt_of(body).split()), "completion_tokens": 1, "total_tokens": 0}
        with self.lock:
            self.spent["prompts"] += usage["prompt_tokens"]
            self.spent["replies"] += 1
        return status, {**value, "usage": usage}, headers


@pytest.fixture
def many(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    texts = [{"paragraph_id": f"p{i}", "text": f"This text number {i % 35} was written."} for i in range(40)]
    return write_jsonl("many.jsonl", [["q1", texts[:25]], ["007", texts[25:]]])


def command(many: Path, bank: Path, output: Path, url: str, *more: str) -> list[str]:
    return ["grade", str(many), "-o", str(output), "--bank", str(bank), "--model", "m", "--prompt", RATING,
            "--model-pipeline", "openai", "--base-url", url, *more]  # fmt: skip


def test_tokens_are_in_the_file_the_summary_and_the_report(
    many: Path, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, meter = tmp_path / "graded.jsonl", Meter()
    with serve(meter) as server:
        main(command(many, tiny_bank, output, server.url))
    prompts, replies = meter.spent["prompts"], meter.spent["replies"]
    assert f"Tokens: {prompts:,} of prompts, {replies:,} of replies." in capsys.readouterr().err
    sets = [grades for query in read_passages(output) for p in query.passages for grades in p.grade_sets()]
    assert [sum(count) for count in zip(*(each.tokens or [0, 0] for each in sets), strict=True)] == [
        prompts, replies
    ]  # fmt: skip
    assert [each.tokens for each in graded_contents(output).graders.values()] == [prompts + replies]
    main(["evaluate", "report", str(output), "--bank", str(tiny_bank), "-o", str(tmp_path / "report")])
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert f">{prompts + replies}<" in page.replace(",", "")


def test_a_grading_stops_before_its_limit_and_continues_with_a_higher_one(
    many: Path, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meter = Meter()
    with serve(meter) as server:
        main(command(many, tiny_bank, tmp_path / "whole.jsonl", server.url))
        whole = sum(meter.spent.values())
        meter.spent.clear()
        output, used = tmp_path / "graded.jsonl", 0
        for limit in (21_000, 23_000):
            with pytest.raises(SystemExit, match="1"):
                main(command(many, tiny_bank, output, server.url, "--max-tokens-total", str(limit)))
            assert "repeat the command with a higher limit" in capsys.readouterr().err.replace("\n", " ")
            assert not output.exists()
            assert used < sum(meter.spent.values()) <= limit
            used = sum(meter.spent.values())
        main(command(many, tiny_bank, output, server.url, "--max-tokens-total", "100000"))
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert sum(meter.spent.values()) == whole  # nothing was asked twice


def test_a_plan_names_the_tokens_of_all_prompts_and_replies(
    many: Path, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meter = Meter()
    with serve(meter) as server:
        main(command(many, tiny_bank, tmp_path / "graded.jsonl", server.url, "--plan"))
        rows = dict(
            line.rsplit(maxsplit=1)
            for line in capsys.readouterr().out.splitlines()
            if "(by the sample)" in line
        )
        meter.spent.clear()
        main(command(many, tiny_bank, tmp_path / "graded.jsonl", server.url))
    assert float(rows["tokens of their prompts (by the sample)"]) == pytest.approx(
        meter.spent["prompts"], rel=0.1
    )
    assert float(rows["tokens of their replies (by the sample)"]) == pytest.approx(
        meter.spent["replies"], rel=0.1
    )
