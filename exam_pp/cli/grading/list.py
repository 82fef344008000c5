"""``exam-pp list``: names for options and arguments of other commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.options import emit_rendered, format_option, output_option

if TYPE_CHECKING:
    from exam_pp.rendering.document import Report

_KINDS = {
    "prompts": Kind(
        """List prompts for --prompt-class, with their kind, scale and source.

        `exam-pp show prompt NAME` prints the text of a prompt.

        Example:

        \b
          exam-pp list prompts
        """
    ),
    "models": Kind(
        """List models for --model, with their size and memory.

        The list holds the bundled grader, the baselines without a neural network, and recommended models of
        Hugging Face. --model also accepts other models.

        Example:

        \b
          exam-pp list models
        """
    ),
    "settings": Kind(
        """List the settings of a model for -M KEY=VALUE, with their defaults.

        Files that describe models, such as those of panels, have the same keys, but for allow_redirects.

        Example:

        \b
          exam-pp list settings
        """
    ),
    "formats": Kind(
        """List the file formats, and the conversions between them.

        `exam-pp convert` reads and writes them, if the table does not name another command.

        Example:

        \b
          exam-pp list formats
        """
    ),
    "schemas": Kind(
        """List the file formats that have a JSON Schema.

        `exam-pp show schema NAME` prints the schema.

        Example:

        \b
          exam-pp list schemas
        """
    ),
    "sql": Kind(
        """List example queries for `exam-pp query`, with the questions that they answer.

        `exam-pp show sql NAME` prints the SQL.

        Example:

        \b
          exam-pp list sql
        """
    ),
}


@click.command("list", cls=Command, kinds=_KINDS, chosen_by="what")
@click.argument("what", type=click.Choice(list(_KINDS)))
@format_option()
@output_option()
def command(what: str, form: str, output: Path) -> None:
    """List prompts, models and their settings, formats and schemas of files, or examples of SQL.

    Example:

    \b
      exam-pp list prompts
    """
    emit_rendered(_report(what), form, output)


def _report(what: str) -> Report:
    from exam_pp.reports.grading import catalogue

    match what:
        case "prompts":
            from exam_pp.prompts import PROMPTS

            return catalogue.prompts_report(PROMPTS.get(name) for name in PROMPTS)
        case "models":
            from exam_pp.llm.catalogue import CATALOGUE

            return catalogue.models_report(CATALOGUE)
        case "settings":
            from exam_pp.phases.grading.settings_files import SETTINGS, setting_defaults

            return catalogue.settings_report(SETTINGS, setting_defaults())
        case "formats":
            from exam_pp.reports.interchange.formats import conversion_report

            return conversion_report()
        case "schemas":
            from exam_pp.phases.interchange.schemas import schemas

            known = schemas()
            return _table(("schema", "describes"), [(name, known.get(name).about) for name in known])
        case _:
            from exam_pp.phases.sql.query_examples import EXAMPLES

            examples = [EXAMPLES.get(name) for name in EXAMPLES]
            rows = [(example.name, example.question, example.needs) for example in examples]
            return _table(("name", "question", "needs"), rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Report:
    from exam_pp.rendering.document import Report, Table

    return Report("", [Table(columns, rows)])
