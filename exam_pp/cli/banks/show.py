"""``exam-pp bank show``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    FILE,
    ONLY_QUERY,
    SCRIPT_FORMATS,
    emit_rendered,
    format_option,
    output_option,
)
from exam_pp.errors import SelectionError
from exam_pp.wording import no_query

PARTS = ("counts", "problems", "entries")


@click.command("show", cls=Command)
@click.argument("bank", type=FILE)
@ONLY_QUERY
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(PARTS),
    help="Only this part; may be repeated.  [default: all; the entries in tsv and json, which have one part]",
)
@click.option(
    "--since",
    "old",
    metavar="OLD",
    type=FILE,
    help="Earlier version of the bank: list entries that were added, removed or changed, in place of all.",
)
@format_option()
@output_option()
def command(
    bank: Path, queries: tuple[str, ...], parts: tuple[str, ...], old: Path | None, form: str, output: Path
) -> None:
    """Show the counts, the problems and the entries of BANK.

    Problems are duplicates, outdated ids, long nuggets, empty texts. The exit code is 1 if some of the
    problems on the page are errors. To find bad entries from grades, use `exam-pp bank clinic`.

    Examples:

    \b
      exam-pp bank show questions.jsonl
      exam-pp bank show questions.jsonl --only problems
      exam-pp bank show questions-2.jsonl --since questions.jsonl
    """
    from exam_pp.phases.banks.compare import differences
    from exam_pp.phases.banks.statistics import bank_statistics, lint, select_queries
    from exam_pp.rendering.document import Report
    from exam_pp.reports.banks.statistics import changes, counts, entries, problems
    from exam_pp.store.banks.bank_json import read_bank

    is_flat = form in SCRIPT_FORMATS
    if is_flat and len(set(parts)) > 1:
        raise click.UsageError(f"--format {form} has one table, so --only can name only one part.")
    shown = set(parts) or ({"entries"} if is_flat else set(PARTS))
    new = read_bank(bank)
    before = None if old is None else read_bank(old)
    known = new.queries.keys() | (before.queries.keys() if before is not None else set())
    for query_id in queries:
        if query_id not in known:
            raise SelectionError(no_query(bank, query_id, new.queries))
    selected = select_queries(new, queries)
    found = list(lint(selected)) if "problems" in shown else []
    blocks = []
    if "counts" in shown:
        blocks += counts(bank_statistics(selected))
    if "problems" in shown:
        blocks += problems(found)
    if "entries" in shown and before is not None:
        blocks += changes(differences(select_queries(before, queries), selected), str(old))
    elif "entries" in shown:
        blocks += entries(selected, flat=is_flat)
    emit_rendered(Report("", blocks), form, output, [bank, old])
    if any(problem.severity == "error" for problem in found):
        sys.exit(1)
