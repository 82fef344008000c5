"""``exam-pp reread``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import GRADED, filter_options, grade_filter

log = logging.getLogger(__name__)


@click.command("reread")
@GRADED
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, allow_dash=True), required=True, help="Graded file."
)
@click.option(
    "--unparsed",
    type=click.Choice(["default", "ungraded", "published"]),
    default="default",
    show_default=True,
    help="What replies that are no number become.",
)
@click.option(
    "--bank",
    type=click.Path(path_type=Path),
    help="Test bank with gold answers, for answers to prompts with a key.",
)
@filter_options
def command(graded: Path, output: Path, unparsed: Any, bank: Path | None, **criteria: Any) -> None:
    """Read the stored replies of GRADED again, without a model.

    The grades that pass the filter are replaced in the output by what their replies mean under --unparsed,
    or with the gold answers that the bank has now; ratings that change are marked as reread. Failed
    calls and the ratings of people stay as they are.
    """
    from exam_pp.phases.reread import reread

    summary = reread(graded, output, unparsed=unparsed, bank=bank, grade_filter=grade_filter(**criteria))
    for line in summary.lines():
        log.info("%s", line)
