"""The correlation sweep: settings, layouts, intervals, equality with the single commands."""

from __future__ import annotations

import json
from pathlib import Path

from exam_pp.metrics.correlation import correlate
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.sweep import sweep
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_runs
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.trec.ranks import read_ranks


def test_rows_equal_the_single_commands(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "dl19-gpt4"
    files = folder / "dl19-graded.jsonl.gz", folder / "dl19-gpt4-questions.jsonl.gz"
    official = tmp_path / "official.json"
    official.write_text(
        json.dumps({path.stem: n for n, path in enumerate(sorted((folder / "runs").iterdir()))})
    )
    ranks = read_ranks(official)
    swept = sweep(files[0], official, runs=folder / "runs", bank=files[1], measures=["RR"], min_grades=[3])
    settings = swept.settings
    covered = cover(files[0], bank=files[1], min_grade=3)
    labels = rubric_qrels(files[0], bank=files[1])
    qrels = score_runs(labels.qrels, folder / "runs", ["RR"], min_grade=3)
    single = {
        row.metric: {
            r.system: r.mean for r in standings([*covered.scores, *qrels.scores]) if r.metric == row.metric
        }
        for row in standings([*covered.scores, *qrels.scores])
    }
    names = {"RR": "RR(rel=3)", "Cover@20": "Cover(min_grade=3)@20", "nCover@20": "nCover(min_grade=3)@20"}

    assert len(settings) == 3
    for setting in settings:
        leaderboard_file = {s: v for s, v in single[names[setting.measure]].items() if s != OVERALL_SYSTEM}
        assert setting.scores == leaderboard_file
        assert setting.correlation == correlate(leaderboard_file, ranks)
