"""Nugget scores of files: means over the bank's queries, what is missing, several graders, layouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.phases.evaluation.test_nugget_scores import Run, run  # noqa: F401 - a fixture


def test_published_scores_of_a_real_run_from_assignments_to_metrics(
    run: Run, shared_data: Path, tmp_path: Path
) -> None:
    """TREC RAG 2024: assignments in, metrics out; all 301 topics within 1e-9 of the published metrics."""
    source, graded, bank = shared_data / "rag24", tmp_path / "graded.jsonl.gz", tmp_path / "bank.jsonl"
    run(
        "import", "--from", "nuggetizer-assignments", source / "assignments.command-r-plus.jsonl",
        "-o", graded, "--also", f"bank={bank}",
    )  # fmt: skip
    run("evaluate", "nuggets", graded, "--bank", bank, "--format", "nuggetizer", "-o", tmp_path / "m.jsonl")

    published, computed = (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in (source / "metrics.command-r-plus.jsonl", tmp_path / "m.jsonl")
    )
    assert len(computed) == 302
    for line, expected in zip(computed, published, strict=True):
        assert line.keys() == expected.keys()
        assert line.pop("qid") == expected.pop("qid")
        assert line == pytest.approx(expected, abs=1e-9)


def test_published_scores_with_a_topic_without_vital_nuggets(
    run: Run, shared_data: Path, tmp_path: Path
) -> None:
    """TREC RAG 2024, with all nuggets of a topic made okay: its V is 0, and the means follow from the file.

    The file of metrics is nuggetizer's, and the rule that of its metrics.py: no vital nugget, no score.
    """
    source, graded, bank = shared_data / "rag24", tmp_path / "graded.jsonl.gz", tmp_path / "bank.jsonl"
    assignments = (source / "assignments.command-r-plus.jsonl").read_text("utf-8").splitlines()
    topics = [json.loads(line) for line in assignments]
    changed = next(t for t in topics if {n["importance"] for n in t["nuggets"]} == {"vital", "okay"})
    for nugget in changed["nuggets"]:
        nugget["importance"] = "okay"
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(topic) + "\n" for topic in topics), "utf-8")
    run(
        "import",
        "--from",
        "nuggetizer-assignments",
        tmp_path / "in.jsonl",
        "-o",
        graded,
        "--also",
        f"bank={bank}",
    )
    run("evaluate", "nuggets", graded, "--bank", bank, "--format", "nuggetizer", "-o", tmp_path / "m.jsonl")

    metrics = (source / "metrics.command-r-plus.jsonl").read_text("utf-8").splitlines()
    published = {row.pop("qid"): row for row in map(json.loads, metrics)}
    before = published[changed["qid"]]
    # Equal weights make W equal to A.
    after = before | {
        "strict_vital_score": 0.0,
        "vital_score": 0.0,
        "strict_weighted_score": before["strict_all_score"],
        "weighted_score": before["all_score"],
    }
    expected = published | {
        changed["qid"]: after,
        "all": {key: mean + (after[key] - before[key]) / 301 for key, mean in published["all"].items()},
    }
    assert before["vital_score"] > 0
    computed = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]
    assert [line["qid"] for line in computed] == list(published)
    for line in computed:
        assert line == pytest.approx({"qid": line["qid"]} | expected[line["qid"]], abs=1e-9)
