"""``exam-pp analyze``: the group of commands that compare leaderboards and graders."""

from __future__ import annotations

from exam_pp.cli.command import group_of_files

command = group_of_files(
    "analyze",
    "Compare leaderboards, graders and settings: correlation, agreement, sweeps.",
    "analysis",
    {
        "correlation": "Correlate a leaderboard with an official leaderboard, measure by measure.",
        "compare": "Compare several leaderboards side by side.",
        "distributions": "Compare the scores of systems over queries: means, medians and intervals.",
        "sweep": "Correlate the leaderboards of all settings with an official leaderboard.",
        "agreement": "Measure the agreement of labels with judgments: tables of counts and Cohen's κ.",
        "graders": "Measure the agreement of the graders of a file with each other and with the judgments.",
        "panel": "Show how far the leaderboard depends on the grader.",
        "verdicts": "Measure the agreement of judges, models and people, on the same games.",
        "biases": "Measure whether judges prefer a place, the longer answer, or systems of their own family.",
        "audit": "Audit a grader: length, families, calibration.",
        "paired": "Test for each criterion whether two systems differ in the ratings of their answers.",
        "nuggets": "Measure the agreement of two conditions of nugget evaluation.",
    },
)
