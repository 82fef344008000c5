"""``exam-pp analyze``: the group of commands that compare leaderboards and graders."""

from __future__ import annotations

from exam_pp.cli.command import group_of_files

command = group_of_files(
    "analyze",
    "Compare leaderboards, graders and settings: correlation, agreement, sweeps.",
    "analysis",
    {
        "correlation": "Compare leaderboards, or two conditions of nugget evaluation.",
        "sweep": "Correlate the leaderboards of all settings with an official leaderboard.",
        "agreement": "Measure the agreement of labels with judgments: tables of counts and Cohen's κ.",
    },
)
