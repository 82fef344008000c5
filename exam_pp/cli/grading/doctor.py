"""``exam-pp doctor``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import emit, format_option, output_option


@click.command("doctor")
@model_options(required=False)
@format_option()
@output_option()
def command(form: str, output: Path, **options: Any) -> None:
    """Show the machine and, for --model, whether its replies depend on anything but the prompt.

    The probe grades the same built-in items one by one, in one batch, beside a long prompt, and with
    the reference engine in float32, and counts replies that change. The exit code is 1 where one changes
    in float32, which is a fault; in reduced precision near ties may.
    """
    from exam_pp.phases.grading.doctor import doctor
    from exam_pp.rendering.render import render
    from exam_pp.reports.grading.doctor import doctor_report

    model = take_model_options(options) if options["model"] is not None else None
    found = doctor(model)
    emit(render(doctor_report(found), form), output)
    if not found.sound:
        sys.exit(1)
