"""The commands of ``exam-pp bank`` that inspect, compare, merge, edit and split test banks."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    FILE,
    ONLY_QUERY,
    OUTPUT_PATH,
    emit_rendered,
    format_option,
    log_summary,
    output_option,
    required_output,
)
from exam_pp.cli.ranges import NumberRange

_BANK = click.argument("bank", type=FILE)


@click.command("show", cls=Command)
@_BANK
@ONLY_QUERY
@format_option()
@output_option()
def show_command(bank: Path, queries: tuple[str, ...], form: str, output: Path) -> None:
    """List the entries of BANK, query by query.

    Example:

    \b
      exam-pp bank show questions.jsonl
    """
    from exam_pp.phases.banks.statistics import bank_queries
    from exam_pp.reports.banks.statistics import show_report

    emit_rendered(show_report(bank_queries(bank, queries)), form, output, [bank])


@click.command("stats", cls=Command)
@_BANK
@format_option()
@output_option()
def stats_command(bank: Path, form: str, output: Path) -> None:
    """Count the queries, questions, nuggets and importance labels in BANK.

    Example:

    \b
      exam-pp bank stats questions.jsonl
    """
    from exam_pp.phases.banks.statistics import bank_statistics
    from exam_pp.reports.banks.statistics import stats_report

    emit_rendered(stats_report(bank_statistics(bank)), form, output, [bank])


@click.command("lint", cls=Command)
@_BANK
@format_option()
@output_option()
def lint_command(bank: Path, form: str, output: Path) -> None:
    """List problems in the texts and ids of BANK: duplicates, outdated ids, long nuggets, empty texts.

    The exit code is 1 if there are errors. To find bad entries from grades, use `exam-pp bank clinic`.

    Example:

    \b
      exam-pp bank lint questions.jsonl
    """
    from exam_pp.phases.banks.statistics import lint_file
    from exam_pp.reports.banks.statistics import lint_report

    lint = lint_file(bank)
    emit_rendered(lint_report(lint), form, output, [bank])
    if lint.errors:
        sys.exit(1)


@click.command("diff", cls=Command)
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@format_option()
@output_option()
def diff_command(old: Path, new: Path, form: str, output: Path) -> None:
    """List the entries that were added, removed or changed between the banks OLD and NEW.

    Example:

    \b
      exam-pp bank diff questions.jsonl questions-2.jsonl
    """
    from exam_pp.phases.banks.compare import compare_banks
    from exam_pp.reports.banks.compare import diff_report

    emit_rendered(diff_report(old, new, compare_banks(old, new)), form, output, [old, new])


@click.command("merge", cls=Command)
@click.argument("banks", nargs=-1, required=True, type=FILE)
@required_output("Test bank to write.")
def merge_command(banks: tuple[Path, ...], output: Path) -> None:
    """Merge BANKS into one bank, without duplicates.

    If an entry differs between the banks, the entry of the first bank is kept.

    Example:

    \b
      exam-pp bank merge questions.jsonl questions-2.jsonl -o merged.jsonl
    """
    from exam_pp.phases.banks.compare import merge_banks

    log_summary(merge_banks(banks, output).lines())


@click.command("apply", cls=Command)
@_BANK
@click.argument("edits", type=FILE)
@required_output("Test bank to write.")
@click.option(
    "--force", is_flag=True, help="Also apply edits that were made for another version of the bank."
)
def apply_command(bank: Path, edits: Path, output: Path, force: bool) -> None:
    """Apply the changes of an edits file to BANK.

    EDITS is a file of the page of `exam-pp review`, or of `exam-pp bank clinic --also edits`. If an edit
    does not fit the bank, no edit is applied. Every edit is recorded in the history of the bank. A reworded
    entry gets a new id, so that `exam-pp grade` grades only this entry again.

    Example:

    \b
      exam-pp bank apply questions.jsonl edits.json -o new-questions.jsonl
    """
    from exam_pp.phases.banks.edit import edit_bank

    log_summary(edit_bank(bank, edits, output, force=force).lines())


@click.command("split", cls=Command)
@_BANK
@click.option(
    "--secret",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    required=True,
    help="Share of the entries of each query that become secret, such as 0.3.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random split.")
@required_output("Test bank to write, with the public part.")
@click.option(
    "--also secret",
    "secret_output",
    type=OUTPUT_PATH,
    required=True,
    help="Test bank to write, with the secret part.",
)
def split_command(bank: Path, secret: float, seed: int, output: Path, secret_output: Path) -> None:
    """Split BANK into a public and a secret part, so that no system can be trained on all of it.

    The secret entries of a query depend only on the seed and the entries of this query. `exam-pp bank merge`
    merges the parts again.

    Example:

    \b
      exam-pp bank split questions.jsonl --secret 0.3 -o public.jsonl --also secret=secret.jsonl
    """
    from exam_pp.phases.banks.edit import split_file

    log_summary(split_file(bank, output, secret_output, secret, seed).lines())


COMMANDS = (
    show_command,
    stats_command,
    lint_command,
    diff_command,
    merge_command,
    apply_command,
    split_command,
)
