"""``exam-pp evaluate``: scores, qrels and leaderboards; one file for each of its commands."""

from __future__ import annotations

from exam_pp.cli.groups import group_of_files

command = group_of_files(
    "evaluate",
    "Scores, qrels and leaderboards from grades or judgments.",
    "evaluation",
    ("cover", "qrels", "judgments", "nuggets", "report"),
)
