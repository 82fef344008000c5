"""``exam-pp evaluate``: scores, qrels and leaderboards; one file for each of its commands."""

from __future__ import annotations

import click

from exam_pp.cli import (
    evaluate_cover,
    evaluate_judgments,
    evaluate_nuggets,
    evaluate_qrels,
    evaluate_report,
)
from exam_pp.cli.groups import Group


@click.group("evaluate", cls=Group)
def command() -> None:
    """Scores, qrels and leaderboards from grades or judgments."""


command.add_command(evaluate_cover.command)
command.add_command(evaluate_qrels.command)
command.add_command(evaluate_judgments.command)
command.add_command(evaluate_nuggets.command)
command.add_command(evaluate_report.command)
