"""``exam-pp sample``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse
from exam_pp.cli.options import PASSAGES, log_summary, output_option
from exam_pp.cli.ranges import IntRange


@click.command("sample", cls=Command)
@PASSAGES
@output_option("Passages file, or queries file, to write.  [default: standard output]")
@click.option("--max-queries", type=IntRange(min=1), help="Number of queries to draw.  [default: all]")
@click.option(
    "--max-passages",
    type=IntRange(min=1),
    help="Number of passages to draw per query.  [default: all]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random sample.")
@click.option(
    "--by judgment",
    "by_judgment",
    type=click.Choice(["equal"]),
    help="Draw equal numbers of the passages of a query with each judgment.",
)
@click.option(
    "--by",
    "strata",
    metavar="FIELD=VALUE:N,...",
    help="PASSAGES is a queries file instead: draw N queries of each VALUE of a field, such as "
    "model=gpt-4:100,opus:50.",
)
def command(
    passages: Path,
    output: Path,
    max_queries: int | None,
    max_passages: int | None,
    seed: int,
    by_judgment: str | None,
    strata: str | None,
) -> None:
    """Draw a random sample of queries, and of passages of each query.

    The sample depends only on the seed and the ids, not on the order of the file. Unjudged passages are a
    stratum of --by judgment. With --by another field, the file has queries, and the sample is written as JSON
    lines.

    Examples:

    \b
      exam-pp sample passages.jsonl.gz --max-queries 5 --max-passages 10 --by judgment=equal \\
        -o sample.jsonl.gz
      exam-pp sample generated.jsonl --by model=fake:3 --seed 1 -o test-queries.jsonl
    """
    from exam_pp.phases.passages.sample import SampleOptions, parse_strata, sample_file, sample_queries_file

    if strata is not None:
        of_passages = ("max_queries", "max_passages", "by_judgment")
        why = "cannot be combined with --by FIELD=VALUE:N"
        refuse(click.get_current_context(), of_passages.__contains__, why)
        log_summary(sample_queries_file(passages, output, parse_strata(strata), seed))
        return
    log_summary(
        [
            sample_file(
                passages, output, SampleOptions(max_queries, max_passages, seed, by_judgment is not None)
            )
        ]
    )
