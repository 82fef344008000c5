"""``exam-pp analyze``: the group of commands that compare leaderboards and graders."""

from __future__ import annotations

from exam_pp.cli.command import group_of_files

command = group_of_files(
    "analyze",
    "Compare leaderboards, graders and settings: correlation, agreement, sweeps.",
    "analysis",
    (
        "correlation",
        "compare",
        "distributions",
        "sweep",
        "agreement",
        "graders",
        "panel",
        "verdicts",
        "biases",
        "audit",
        "paired",
        "nuggets",
    ),
)
