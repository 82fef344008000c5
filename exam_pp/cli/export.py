"""``exam-pp export``: what a passages file holds, for other tools."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from exam_pp.cli.options import GRADED

log = logging.getLogger(__name__)


@click.group(name="export")
def command() -> None:
    """Write what a passages file holds in the formats of other tools."""


@command.command()
@GRADED
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the run files; made where it does not exist.",
)
def runs(graded: Path, output: Path) -> None:
    """Write one TREC run file per system, from the rankings of GRADED.

    The files hold the passages of GRADED alone. Characters of a system's name that are not safe in a
    file name are percent-encoded.
    """
    from exam_pp.phases.export import export_runs

    log.info("Wrote %d run files to %s.", len(export_runs(graded, output)), output)
