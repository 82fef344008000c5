"""The command ``exam-pp doctor``, which checks that replies do not depend on batches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import emit_rendered, format_option, output_option
from exam_pp.cli.progress import progress


@click.command("doctor", cls=Command)
@model_options(required=False)
@format_option()
@output_option()
def command(form: str, output: Path, **options: Any) -> None:
    """Show hardware and library versions, and check that replies of a model depend only on the prompt.

    The check needs --model. It sends the same built-in prompts one at a time, in one batch, in a batch with a
    long prompt, and to the reference engine in float32, and counts the replies that change. The exit code is
    1 if a reply changes in float32, which is a defect. In reduced precision, replies may change if two labels
    are almost equally likely. The time of the check is estimated and logged before it starts.

    Examples:

    \b
      exam-pp doctor
      exam-pp doctor --model google/flan-t5-large
    """
    from exam_pp.phases.grading.doctor import doctor
    from exam_pp.reports.grading.doctor import doctor_report

    if options["model"] is None:
        diagnosis = doctor(None)
    else:
        with progress("Examining", "requests") as advance:
            diagnosis = doctor(take_model_options(options), advance=advance)
    emit_rendered(doctor_report(diagnosis), form, output)
    if not diagnosis.sound:
        sys.exit(1)
