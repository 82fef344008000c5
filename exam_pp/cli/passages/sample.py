"""``exam-pp sample``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import PASSAGES, log_summary, output_option


@click.command("sample")
@PASSAGES
@output_option()
@click.option("--queries", type=click.IntRange(min=1), help="So many queries.")
@click.option("--passages", "count", type=click.IntRange(min=1), help="So many passages of every query.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another sample.")
@click.option(
    "--by-judgment",
    type=click.Choice(["proportional", "equal"]),
    help="Draw passages of every level of judgment: in the query's proportions, or as many of each.",
)
def command(
    passages: Path, output: Path, queries: int | None, count: int | None, seed: int, by_judgment: Any
) -> None:
    """Draw queries, and passages of each, at random from PASSAGES.

    The same seed draws the same, whatever the order of the file.
    """
    from exam_pp.phases.passages.sample import SampleOptions, sample_file

    log_summary([sample_file(passages, output, SampleOptions(queries, count, seed, by_judgment))])
