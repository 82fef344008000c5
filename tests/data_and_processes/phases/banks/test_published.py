"""Banks and nuggets that others published."""

from __future__ import annotations

import json
from pathlib import Path

from exam_pp.cli.banks.show import lint
from exam_pp.store.banks.bank_json import read_bank
from tests.phases.banks.test_nuggetize import run, segments, texts


def test_published_banks_have_no_errors(shared_data: Path) -> None:
    """540 questions and 540 nuggets; the ids are the digests of the texts."""
    for name in ("questions", "nuggets"):
        problems = list(lint(read_bank(shared_data / "dl20" / f"dl20-{name}.jsonl.gz")))
        assert not [p for p in problems if p.severity == "error" or p.problem.startswith("the id")]


def test_the_nuggets_of_the_track_pass_unchanged(shared_data: Path) -> None:
    """TREC RAG 2024: 74 of 6,145 nuggets are longer than 12 words; all are kept in their order."""
    source = shared_data / "rag24" / "nuggets.jsonl"
    topics = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    by_topic = {topic["qid"]: [nugget["text"].strip() for nugget in topic["nuggets"]] for topic in topics}
    asked = iter(by_topic.values())
    lines, summary, _ = run(
        [segments(1, topic) for topic in by_topic],
        lambda request: json.dumps(next(asked)),
        for_editing=True,
        max_nuggets=100,
    )
    assert not summary.left_out
    assert [texts(line) for line in lines] == list(by_topic.values())
    assert sum(len(text.split()) > 12 for line in lines for text in texts(line)) == 74
    assert sum(len(line.items) for line in lines) == 6145
