"""``exam-pp evaluate answered``: share of the questions that each system answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import LeaderboardOutput, leaderboard_options
from exam_pp.cli.options import GRADED, ONLY_QUERIES, filter_options, grade_filter


@click.command("answered", cls=Command)
@GRADED
@ONLY_QUERIES
@leaderboard_options()
@filter_options
def command(*, graded: Path, queries: Path | None, output: LeaderboardOutput, **criteria: Any) -> None:
    """Compute the share of questions that each system answered, rather than declined.

    GRADED holds answers that were graded with the prompt AnswerAttempt: an answer counts as an answer even if
    it is wrong. An empty answer declines. Failures are listed below the table and are in no share: answers
    without a verdict, and queries to which a system has no answer.

    Examples:

    \b
      exam-pp evaluate answered attempted.jsonl.gz
      exam-pp evaluate answered attempted.jsonl.gz --intervals queries
    """
    from exam_pp.phases.evaluation.answered import answered
    from exam_pp.prompts import ANSWER_ATTEMPT

    default = {"prompt_class": ANSWER_ATTEMPT.name} if criteria["prompt_class"] is None else {}
    evaluation = answered(graded, grade_filter=grade_filter(**(criteria | default)), queries=queries)
    output.write(evaluation, "Questions answered", [graded, queries])
