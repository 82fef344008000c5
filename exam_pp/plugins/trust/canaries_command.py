"""``exam-pp canaries``: add canaries to a pool, and report what graders gave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.options import (
    FILTER,
    MIN_GRADE,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    SCRIPT_FORMATS,
    bank_option,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    log_summary,
    output_option,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.plugins.trust.canary_texts import CANARIES

_KINDS = {
    "add": Kind(
        """Add the canaries as systems to PASSAGES.

        The canaries are systems `canary:NAME` at the end of each query: an empty passage (empty), a passage
        of another query (other-query), the bank entries (bank), the repeated query (query), keywords without
        sentences (keywords), instructions to the grader in a passage of another query (injection-en, -de,
        -fr, -es, -zh), claims of authority before it (authority), a good passage of the query (original) with
        its text twice (doubled) and with negated facts (negated, English only).

        Grade the output with `exam-pp grade`. Leaderboards have canaries only with `--canaries`. `exam-pp
        filter --remove canaries` removes canaries again.

        Examples:

        \b
          exam-pp canaries add passages.jsonl.gz --bank questions.jsonl -o with-canaries.jsonl.gz
          exam-pp canaries add passages.jsonl.gz --bank questions.jsonl --canary empty \\
            --canary keywords --top 3 -o with-canaries.jsonl.gz
          exam-pp canaries add passages.jsonl.gz --queries queries.jsonl -o with-canaries.jsonl.gz
        """,
        ("bank", "queries", "names", "depth", "seed"),
    ),
    "report": Kind(
        """Show what every grader in the graded PASSAGES gave to the canaries.

        For each grader and canary: the mean rating, the share of pairs of passage and entry that are covered,
        and Cover, next to the same for the passages of all real systems, and for the unchanged passages
        (control).

        Examples:

        \b
          exam-pp canaries report graded-canaries.jsonl.gz
          exam-pp canaries report graded-canaries.jsonl.gz --min-grade 3 --format html -o canaries.html
        """,
        ("min_grade", *FILTER,
         "form"),
    ),
}  # fmt: skip


@click.command("canaries", cls=Command, kinds=_KINDS)
@click.argument("kind", type=click.Choice(list(_KINDS)))
@PASSAGES
@bank_option("Test bank with the texts of queries and entries.")
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"{QUERY_TEXTS} In place of --bank, for direct prompts.",
)
@output_option()
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
@MIN_GRADE
@filter_options
@format_option()
def command(
    *,
    kind: Literal["add", "report"],
    passages: Path,
    bank: Path | None,
    queries: Path | None,
    output: Path,
    names: tuple[str, ...],
    depth: int,
    seed: int,
    min_grade: int | None,
    form: str,
    **criteria: Any,
) -> None:
    """Add systems that deserve no score, and show what graders gave them.

    `add` writes PASSAGES with the canaries. Grade them, and `report` shows what the graders can be made to
    believe.

    Examples:

    \b
      exam-pp canaries add passages.jsonl.gz --bank questions.jsonl -o with-canaries.jsonl.gz
      exam-pp canaries report graded-canaries.jsonl.gz
    """
    if kind == "report":
        from exam_pp.plugins.trust.canary_report import canary_report

        report = canary_report(
            passages,
            grade_filter=grade_filter(**criteria),
            min_grade=min_grade,
            formatted=form not in SCRIPT_FORMATS,
        )
        emit_report(report, form, output, [passages])
        return
    from exam_pp.plugins.trust.canaries import CanaryOptions, add_canaries

    if (bank is None) == (queries is None):
        raise click.UsageError("Use either --bank or --queries for the texts of the queries.")
    options = CanaryOptions(names, seed, depth)
    log_summary(add_canaries(passages, bank, output, options, queries=queries).lines())
