"""``exam-pp strip``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import PASSAGES, filter_options, grade_filter, log_summary, output_option

PARTS = ("grades", "human", "texts", "prompts", "replies", "judgments", "rankings")


@click.command("strip", cls=Command)
@PASSAGES
@output_option("File to write.  [default: standard output]")
@click.option(
    "--remove",
    "parts",
    multiple=True,
    type=click.Choice(PARTS),
    help="Part to remove; may be repeated: all grades, or only those that --grader, --prompt-class and "
    "similar options select (grades); the grades of reviewers (human); the texts of passages, and prompts "
    "that contain them (texts); the prompts of failed requests (prompts); the replies of models, also "
    "extracted answers, which may quote passages (replies); the judgments; or the rankings.",
)
@filter_options
def command(passages: Path, output: Path, parts: tuple[str, ...], **options: Any) -> None:
    """Remove grades, texts, replies or other parts from a passages file or games file before sharing it.

    Ids are kept. Ratings and the reasons of ungraded pairs are kept, too, unless their grades are removed.
    `exam-pp merge` adds the texts again from a file that has them. In a games file, grades are sets of games,
    and texts are the texts of queries; winners and numbers of words are kept.

    Example:

    \b
      exam-pp strip graded.jsonl.gz --remove texts --remove replies -o shared.jsonl.gz
    """
    from exam_pp.phases.passages.games import strip_games
    from exam_pp.phases.passages.strip import StripOptions, strip_file
    from exam_pp.store.games import is_games_file

    if "grades" not in parts and any(options[name] for name in options if name != "grade_choice"):
        raise click.UsageError("--grader, --prompt-class and the other grade options need --remove grades.")
    if not parts:
        raise click.UsageError("Select what to remove, for example with --remove grades or --remove texts.")
    grades = grade_filter(**options) if "grades" in parts else None
    strip_options = StripOptions(grades=grades, **{part: part in parts for part in PARTS if part != "grades"})
    dropped = (strip_games if is_games_file(passages) else strip_file)(passages, output, strip_options)
    removed = ", ".join(f"{part} ({count})" for part, count in dropped.items())
    log_summary([f"Removed: {removed or 'the file has none of these parts'}."])
