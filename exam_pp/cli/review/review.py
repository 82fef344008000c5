"""``exam-pp review``: write the review page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    ANSWERS_CLASS,
    CUTOFF,
    FILE,
    GRADED,
    MIN_GRADE,
    ONLY_QUERY,
    bank_option,
    emit,
    filter_options,
    grade_filter,
    log_notes,
    log_summary,
    prompt_file_option,
    required_output,
    take,
)
from exam_pp.cli.ranges import IntRange


@click.command("review", cls=Command)
@GRADED
@bank_option("Test bank, whose entries the page shows with their texts, for editing.")
@required_output("HTML file to write.")
@ONLY_QUERY
@click.option("--limit", type=IntRange(min=1), help="Maximum number of passages per query.  [default: all]")
@filter_options
@ANSWERS_CLASS
@prompt_file_option("TOML file with your own prompt, for its text and scale; may be repeated.")
@click.option("--blind", is_flag=True, help="Hide the grades and systems until the reviewer has rated.")
@click.option(
    "--reviewer", default="", metavar="NAME", help="Name of the reviewer, which can be changed on the page."
)
@click.option("--pairs", type=FILE, help="File of `exam-pp sample-pairs`: ask only about these pairs.")
@click.option(
    "--force", is_flag=True, help="Also accept --pairs that were drawn from another version of GRADED."
)
@MIN_GRADE
@CUTOFF
def command(
    *,
    graded: Path,
    bank: Path | None,
    pairs: Path | None,
    output: Path,
    prompt_files: tuple[Path, ...],
    **options: Any,
) -> None:
    """Write an HTML page to read, correct and comment on the grades in GRADED.

    The page opens from disk in any browser of 2023 or later, without a network. It shows one prompt,
    with all models that graded with it. The reviewer saves ratings, comments and changes of the bank as an
    edits file: `exam-pp apply` adds the ratings to GRADED, and `exam-pp bank apply` changes the bank.
    Beside parts of answers, the page shows the cited passages, so that the reviewer labels their support.

    To collect ratings for passages without grades, use --prompt and --bank. To label a sample of pairs,
    use --pairs and --blind, so that the labels do not depend on the grades.

    Examples:

    \b
      exam-pp review graded.jsonl.gz --bank questions.jsonl -o review.html
      exam-pp review graded.jsonl.gz --bank questions.jsonl --blind --limit 20 -o blind.html
      exam-pp review graded.jsonl.gz --bank questions.jsonl --pairs pairs.json --blind -o label.html
    """
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.review.review_material import ReviewOptions, review_material
    from exam_pp.reports.review.page import render_page
    from exam_pp.studies.inputs import STUDY_FILE

    names = ("answers_class", "queries", "limit", "blind", "reviewer", "min_grade", "cutoff", "force")
    if pairs is not None and options["limit"] is not None:
        raise click.UsageError("--limit would drop pairs of --pairs; use only one of them.")
    folder = graded.absolute().parent
    study = folder.name if (folder / STUDY_FILE).exists() else ""
    shown = ReviewOptions(**take(options, *names), pairs=pairs, study=study)
    prompts = {prompt.name: prompt for prompt in choose_prompts((), prompt_files)}
    material = review_material(graded, grade_filter(**options), bank=bank, prompts=prompts, options=shown)
    emit(render_page(material.head, material.tables), output, [graded, bank, pairs, *prompt_files])
    of_boards = (note for board in material.head["leaderboards"] for note in board["notes"])
    log_notes(dict.fromkeys(note for note in of_boards if note not in material.head["notes"]))
    if str(output) != "-":
        size = output.stat().st_size / 1e6
        log_summary([f"Review page: {output} ({size:.1f} MB). Open it in a browser."])
