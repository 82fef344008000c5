"""``exam-pp validate``: checking files for errors and inconsistencies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import COLUMNS, UncheckedPath, emit_rendered, format_option, output_option
from exam_pp.cli.ranges import IntRange
from exam_pp.store.files import check_output
from exam_pp.store.tables import columns_named

_ANY_FILE = UncheckedPath(Path)
"""An unreadable file is a finding, not a usage error."""


class _Kind(click.ParamType[str]):
    """A choice of the formats that can be checked, imported only when the option is used."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the format."""
        from exam_pp.phases.validation.validate import checkable_formats

        return click.Choice(checkable_formats()).convert(value, param, ctx)


@click.command("validate", cls=Command)
@click.argument("files", nargs=-1, required=True, type=_ANY_FILE)
@click.option(
    "--from",
    "kind",
    type=_Kind(),
    help="Format of all FILES: edits, or a format of `exam-pp list formats`.  [default: detected from the "
    "content]",
)
@click.option(
    "--limit",
    type=IntRange(min=0),
    default=10,
    show_default=True,
    help="Maximum number of findings per check and file; 0 lists all.",
)
@click.option("--strict", is_flag=True, help="Exit with code 1 for warnings, too.")
@COLUMNS
@format_option()
@output_option()
def command(
    files: tuple[Path, ...],
    kind: str | None,
    limit: int,
    strict: bool,
    columns: dict[str, str] | None,
    form: str,
    output: Path,
) -> None:
    """Check the format and the consistency of files.

    FILES are passages files, test banks, runs (also folders), qrels, queries, edits, leaderboards, answers,
    games or other formats of `exam-pp list formats`. The report lists the problems with their line numbers,
    and counts them by check. The exit code is 1 if there are errors.

    Example:

    \b
      exam-pp validate graded.jsonl.gz questions.jsonl runs qrels.txt
    """
    from exam_pp.phases.validation.validate import validate
    from exam_pp.reports.validation.findings import findings_report

    check_output(output, files)
    with columns_named(columns):
        findings = validate(files, kind=kind, limit=limit)
    emit_rendered(findings_report(findings, flat=form == "tsv"), form, output, files)
    if findings.number("error") or (strict and findings.number("warning")):
        sys.exit(1)
