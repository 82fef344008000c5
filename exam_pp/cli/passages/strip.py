"""``exam-pp strip``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import PASSAGES, filter_options, grade_filter, log_summary, output_option


@click.command("strip")
@PASSAGES
@output_option("Passages file to write.  [default: standard output]")
@click.option(
    "--grades",
    is_flag=True,
    help="Remove all grades, or only those that --model, --prompt-class and similar options select.",
)
@click.option("--human", is_flag=True, help="Remove the grades of reviewers (human:NAME).")
@click.option("--texts", is_flag=True, help="Remove the texts of passages, and prompts that contain them.")
@click.option("--prompts", is_flag=True, help="Remove the prompts that are recorded for failed requests.")
@click.option(
    "--replies",
    is_flag=True,
    help="Remove the replies of models, also extracted answers, which may quote passages.",
)
@click.option("--judgments", is_flag=True, help="Remove the judgments.")
@click.option("--rankings", is_flag=True, help="Remove the rankings of the systems.")
@filter_options
def command(passages: Path, output: Path, grades: bool, **options: Any) -> None:
    """Remove grades, texts, replies or other parts from a passages file before sharing it.

    Ids are kept. Ratings and the reasons of ungraded pairs are kept, too, unless their grades are removed.
    `exam-pp merge` adds the texts again from a file that has them.

    Example:

    \b
      exam-pp strip graded.jsonl.gz --texts --replies -o shared.jsonl.gz
    """
    from exam_pp.phases.passages.strip import StripOptions, strip_file

    parts = ("human", "texts", "prompts", "replies", "judgments", "rankings")
    dropped_parts = {part: options.pop(part) for part in parts}
    if not grades and any(options[name] for name in options if name != "grade_choice"):
        raise click.UsageError("--model, --prompt-class and the other grade options need --grades.")
    if not grades and not any(dropped_parts.values()):
        raise click.UsageError("Select what to remove, for example with --grades, --texts or --human.")
    strip_options = StripOptions(grades=grade_filter(**options) if grades else None, **dropped_parts)
    dropped = strip_file(passages, output, strip_options)
    removed = ", ".join(f"{part} ({count})" for part, count in dropped.items())
    log_summary([f"Removed: {removed or 'the file has none of these parts'}."])
