"""``exam-pp bank``: test banks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

log = logging.getLogger(__name__)


@click.group("bank")
def command() -> None:
    """Test banks: import."""


@command.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["tqa", "squad2"]),
    required=True,
    help="Lessons of Textbook Question Answering, or SQuAD2-style JSON.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, allow_dash=True), required=True, help="Test bank."
)
@click.option(
    "--passages",
    type=click.Path(path_type=Path),
    help="With squad2: also write the paragraphs, as a passages file.",
)
def import_command(files: tuple[Path, ...], form: Any, output: Path, passages: Path | None) -> None:
    """Make a test bank with gold answers from the FILES of a question answering collection.

    TQA: a query for each lesson, with its questions that need no diagram. SQuAD2: a query for each
    paragraph; a question without an answer gets `gold_answers: []`: "unanswerable" is right.
    """
    from exam_pp.phases.import_bank import import_bank

    for line in import_bank(form, files, output, passages).lines():
        log.info("%s", line)
