"""The command group ``exam-pp list``: names for ``--model``, ``-M``, ``--prompt-class`` and ``--to``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Group
from exam_pp.cli.options import emit_rendered, format_option, output_option


@click.group("list", cls=Group)
def command() -> None:
    """List the prompts, models and settings to grade with, and the file formats."""


@command.command("models")
@format_option()
@output_option()
def models_command(form: str, output: Path) -> None:
    """List models for --model, with their size and memory.

    The list holds the bundled grader, the baselines without a neural network, and recommended models of
    Hugging Face. --model also accepts other models.

    Example:

    \b
      exam-pp list models
    """
    from exam_pp.llm.catalogue import CATALOGUE
    from exam_pp.reports.grading.catalogue import models_report

    emit_rendered(models_report(CATALOGUE), form, output)


@command.command("settings")
@format_option()
@output_option()
def settings_command(form: str, output: Path) -> None:
    """List the settings of a model for -M KEY=VALUE, with their defaults.

    Files that describe models, such as those of panels, have the same keys, but for allow_redirects.

    Example:

    \b
      exam-pp list settings
    """
    from exam_pp.phases.grading.settings_files import SETTINGS, setting_defaults
    from exam_pp.reports.grading.catalogue import settings_report

    emit_rendered(settings_report(SETTINGS, setting_defaults()), form, output)


@command.command("prompts")
@format_option()
@output_option()
def prompts_command(form: str, output: Path) -> None:
    """List prompts for --prompt-class, with their kind, scale and source.

    `exam-pp show prompt NAME` prints the text of a prompt.

    Example:

    \b
      exam-pp list prompts
    """
    from exam_pp.prompts import PROMPTS
    from exam_pp.reports.grading.catalogue import prompts_report

    emit_rendered(prompts_report(PROMPTS.get(name) for name in PROMPTS), form, output)


@command.command("formats")
@format_option()
@output_option()
def formats_command(form: str, output: Path) -> None:
    """List the file formats, and the conversions between them.

    `exam-pp convert` reads and writes them, if the table does not name another command.

    Example:

    \b
      exam-pp list formats
    """
    from exam_pp.reports.interchange.formats import conversion_report

    emit_rendered(conversion_report(), form, output)
