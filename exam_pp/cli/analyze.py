"""``exam-pp analyze``: comparisons of leaderboards and graders; one file for each of its commands."""

from __future__ import annotations

import click

from exam_pp.cli import (
    analyze_agreement,
    analyze_compare,
    analyze_correlation,
    analyze_graders,
    analyze_nuggets,
    analyze_sweep,
)
from exam_pp.cli.groups import Group


@click.group("analyze", cls=Group)
def command() -> None:
    """Compare leaderboards, graders and settings: correlation, agreement, sweeps."""


command.add_command(analyze_correlation.command)
command.add_command(analyze_compare.command)
command.add_command(analyze_sweep.command)
command.add_command(analyze_agreement.command)
command.add_command(analyze_graders.command)
command.add_command(analyze_nuggets.command)
