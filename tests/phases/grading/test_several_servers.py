"""A grading in shards, each by a server of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from exam_pp.cli.main import main
from exam_pp.phases.evaluation.contents import graded_contents
from exam_pp.store.passages.graded_file import read_passages
from tests.llm.endpoint_server import serve


def test_shards_by_two_servers_are_the_grades_of_one(
    write_jsonl: Callable[[str, list[Any]], Path],
    tiny_bank: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = [{"paragraph_id": f"p{i}", "text": f"This text number {i} was written."} for i in range(12)]
    passages = write_jsonl("many.jsonl", [["q1", texts[:7]], ["007", texts[7:]]])
    parts = [tmp_path / f"part-{number}.jsonl" for number in (1, 2)]
    merged, alone = tmp_path / "graded.jsonl", tmp_path / "alone.jsonl"

    def grade(source: Path, output: Path, url: str, *more: str) -> None:
        main(
            ["grade", str(source), "-o", str(output), "--bank", str(tiny_bank), "--prompt", "self-rated",
             "--model", "m", "--model-pipeline", "openai", "--base-url", url, *more]
        )  # fmt: skip

    with ExitStack() as stack:
        servers = [stack.enter_context(serve()) for _ in parts]
        for number, (part, server) in enumerate(zip(parts, servers, strict=True), 1):
            grade(passages, part, server.url, "--shard", f"{number}/2")
        main(["merge", *map(str, parts), "-o", str(merged), "--passages", str(passages)])
        asked = [len(server.bodies) for server in servers]
        assert min(asked) > 0
        capsys.readouterr()
        grade(merged, tmp_path / "again.jsonl", servers[0].url)
        assert [len(server.bodies) for server in servers] == asked
        assert "0 pairs graded, 0 ungraded, 19 graded before" in capsys.readouterr().err
        grade(passages, alone, servers[0].url)
    (grader,) = graded_contents(merged).graders.values()
    assert (grader.queries, grader.passages, grader.grades) == (2, 12, 19)

    def ratings(path: Path) -> list[Any]:
        return [
            (query.query_id, passage.passage_id, grades.entry_ratings())
            for query in read_passages(path)
            for passage in query.passages
            for grades in passage.grade_sets()
        ]

    assert ratings(merged) == ratings(alone)
