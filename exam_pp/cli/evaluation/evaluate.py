"""The group ``exam-pp evaluate``: scores, qrels and leaderboards."""

from __future__ import annotations

from exam_pp.cli.command import group_of_files

command = group_of_files(
    "evaluate",
    "Compute scores, qrels and leaderboards from grades or judgments.",
    "evaluation",
    (
        "cover",
        "qrels",
        "judgments",
        "corrected",
        "nuggets",
        "citations",
        "criteria",
        "factual_consistency",
        "answered",
        "consistency",
        "elo",
        "rag",
        "report",
    ),
)
