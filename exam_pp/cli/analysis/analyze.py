"""``exam-pp analyze``: comparisons of leaderboards and graders; one file for each of its commands."""

from __future__ import annotations

from exam_pp.cli.groups import group_of_files

command = group_of_files(
    "analyze",
    "Compare leaderboards, graders and settings: correlation, agreement, sweeps.",
    "analysis",
    ("correlation", "compare", "sweep", "agreement", "graders", "nuggets"),
)
