"""The group ``exam-pp evaluate``: scores, qrels and leaderboards."""

from __future__ import annotations

from exam_pp.cli.command import group_of_files

command = group_of_files(
    "evaluate",
    "Compute scores, qrels and leaderboards from grades or judgments.",
    "evaluation",
    {
        "cover": "Score systems by Rubric-Cover: the share of bank entries that their top passages cover.",
        "qrels": "Make qrels from grades (Rubric-Qrels), and score runs with them.",
        "judgments": "Score run files by manual judgments.",
        "rubric": "Score answers by their nuggets: V, W and A, strict and lenient, and the length L.",
        "report": "Write the whole evaluation as one page.",
    },
    {"nuggets": "rubric"},
)
