"""``exam-pp strip``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import PASSAGES, filter_options, grade_filter, log_summary, output_option


@click.command("strip")
@PASSAGES
@output_option()
@click.option("--grades", is_flag=True, help="Drop the grades that --model and its like select; else all.")
@click.option("--human", is_flag=True, help="Drop the grades of people.")
@click.option("--texts", is_flag=True, help="Drop the texts of passages, and the prompts that hold them.")
@click.option("--prompts", is_flag=True, help="Drop the prompts that failed calls recorded.")
@click.option("--replies", is_flag=True, help="Drop the words of models, which may quote texts.")
@click.option("--judgments", is_flag=True, help="Drop manual judgments.")
@click.option("--rankings", is_flag=True, help="Drop the systems' rankings.")
@filter_options
def command(passages: Path, output: Path, grades: bool, **options: Any) -> None:
    """Drop from PASSAGES what is not to be shared, and say what was dropped.

    Ids, ratings and the reasons for failures stay. A file without texts gets them back with `exam-pp merge`.
    """
    from exam_pp.phases.passages.strip import Unwanted, strip_file

    parts = ("human", "texts", "prompts", "replies", "judgments", "rankings")
    dropped_parts = {part: options.pop(part) for part in parts}
    if not grades and any(options[name] for name in options if name != "grade_choice"):
        raise click.UsageError("--model and its like select grades: say --grades, too.")
    if not grades and not any(dropped_parts.values()):
        raise click.UsageError("Say what to drop, such as --grades, --texts or --human.")
    unwanted = Unwanted(grades=grade_filter(**options) if grades else None, **dropped_parts)
    dropped = strip_file(passages, output, unwanted)
    left_out = ", ".join(f"{what} ({count})" for what, count in dropped.items())
    log_summary([f"Dropped: {left_out or 'nothing'}."])
