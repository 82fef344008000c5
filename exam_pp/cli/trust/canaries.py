"""``exam-pp canaries``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    bank_option,
    log_summary,
    output_option,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.phases.trust.canary_texts import CANARIES


@click.command("canaries", cls=Command)
@PASSAGES
@bank_option("Test bank with the texts of queries and entries.")
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"{QUERY_TEXTS} In place of --bank, for direct prompts.",
)
@output_option("Passages file to write.  [default: standard output]")
@click.option(
    "--canary",
    "names",
    type=click.Choice(list(CANARIES)),
    multiple=True,
    help="Only this canary; may be repeated.  [default: all]",
)
@click.option(
    "--top",
    "depth",
    type=IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Number of passages of each canary and query.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the choice of other queries and answers."
)
def command(
    passages: Path,
    bank: Path | None,
    queries: Path | None,
    output: Path,
    names: tuple[str, ...],
    depth: int,
    seed: int,
) -> None:
    """Add systems that deserve no score, to see what the grader can be made to believe.

    The canaries are systems `canary:NAME` at the end of each query: an empty passage (empty), a passage of
    another query (other-query), the bank entries (bank), the repeated query (query), keywords without
    sentences (keywords), instructions to the grader in a passage of another query (injection-en, -de, -fr,
    -es, -zh), claims of authority before it (authority), a good passage of the query (original) with its text
    twice (doubled) and with negated facts (negated, English only).

    Grade the output with `exam-pp grade`. Leaderboards have canaries only with `--canaries`; `exam-pp
    canary-report` shows what the graders gave them. `exam-pp filter --remove canaries` removes them again.

    Examples:

    \b
      exam-pp canaries passages.jsonl.gz --bank questions.jsonl -o with-canaries.jsonl.gz
      exam-pp canaries passages.jsonl.gz --bank questions.jsonl --canary empty --canary keywords \\
        --top 3 -o with-canaries.jsonl.gz
      exam-pp canaries passages.jsonl.gz --queries queries.jsonl -o with-canaries.jsonl.gz
    """
    from exam_pp.phases.trust.canaries import CanaryOptions, add_canaries

    if (bank is None) == (queries is None):
        raise click.UsageError("Use either --bank or --queries for the texts of the queries.")
    options = CanaryOptions(names, seed, depth)
    log_summary(add_canaries(passages, bank, output, options, queries=queries).lines())
