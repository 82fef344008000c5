"""``exam-pp import``: runs, texts, judgments and answers in; a passages file out."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import output_option

log = logging.getLogger(__name__)

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True)


@click.command(name="import")
@output_option("The passages file to write (.jsonl or .jsonl.gz; default: standard output).")
@click.option(
    "--runs",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="A TREC run file, or a folder of them; may be repeated.",
)
@click.option(
    "--texts", type=_FILE, help="Passage texts: TSV `id<TAB>text`, or JSON lines with an id and a text."
)
@click.option("--qrels", type=_FILE, help="Manual judgments, noted with the pooled passages.")
@click.option(
    "--queries", type=_FILE, help="Only these queries, in this order (default: all, as they appear)."
)
@click.option(
    "--top", type=click.IntRange(min=1), default=20, show_default=True, help="Passages pooled of each run."
)
@click.option("--judged", is_flag=True, help="Pool every passage of --qrels too.")
@click.option("--answers", multiple=True, type=_FILE, help="Answers of RAG systems; may be repeated.")
@click.option(
    "--unit",
    type=click.Choice(["paragraph", "sentence", "whole"]),
    default="paragraph",
    show_default=True,
    help="What of an answer is one passage; a paragraph has at most about 400 words.",
)
@click.option(
    "--method-name",
    type=click.Choice(["stem", "tag"]),
    default="stem",
    show_default=True,
    help="Name a run's system by its file, or by the tag in its lines.",
)
@click.option("--skip-missing-texts", is_flag=True, help="Drop passages without a text instead of refusing.")
def command(output: Path, **options: Any) -> None:
    """Build a passages file from runs, texts, judgments and answers.

    The best passages of every run are pooled, with their text, their judgments and their rank in
    every run; answers of RAG systems become passages that the system ranked in order.
    """
    from exam_pp.phases.import_ import ImportSources, import_passages

    if not (options["runs"] or options["answers"] or options["judged"]):
        raise click.UsageError("Nothing to import: name --runs, --answers, or --qrels with --judged.")
    if options["judged"] and not options["qrels"]:
        raise click.UsageError("--judged needs --qrels.")
    summary = import_passages(ImportSources(**options), output)
    log.info(
        "Imported %d queries, %d passages (%d judged), %d systems.",
        summary.queries, summary.passages, summary.judged, summary.systems,
    )  # fmt: skip
