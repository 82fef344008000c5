"""``exam-pp review``: write the review page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    GRADED,
    MIN_GRADE,
    ONLY_QUERY,
    answers_class_option,
    emit,
    filter_options,
    grade_filter,
    log_notes,
    log_summary,
    prompt_file_option,
    required_output,
    take,
)


@click.command(name="review")
@GRADED
@click.option(
    "--bank", type=FILE, help="Test bank: shows the texts of its entries and lets reviewers edit them."
)
@required_output("HTML file to write.")
@ONLY_QUERY
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of passages per query.")
@filter_options
@answers_class_option
@prompt_file_option("TOML file with the prompt, for its text and scale; may be repeated.")
@click.option("--blind", is_flag=True, help="Hide ratings, replies and systems until the reviewer has rated.")
@click.option("--reviewer", default="", metavar="NAME", help="Name of the reviewer; the page can change it.")
@MIN_GRADE
@CUTOFF
def command(
    *,
    graded: Path,
    bank: Path | None,
    output: Path,
    prompt_files: tuple[Path, ...],
    **options: Any,
) -> None:
    """Write an HTML page to read, correct and comment on the grades of a graded file.

    The page needs no network and no installation: it opens from disk in any browser of 2023 or later.
    It shows one prompt class, with all models that graded with it. The reviewer saves ratings, comments
    and changes of the bank as an edits file: `exam-pp apply-edits` adds the ratings to the graded file,
    `exam-pp bank apply` changes the bank. With --prompt-class NAME and --bank, GRADED may have no grades
    yet: the page then collects the first ratings.

    Examples:

    \b
      exam-pp review graded.jsonl.gz --bank questions.jsonl -o review.html
      exam-pp review graded.jsonl.gz --bank questions.jsonl --blind --limit 20 \\
        -o blind.html
    """
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.review.review_material import ReviewOptions, review_material
    from exam_pp.reports.review.page import render_page

    names = ("answers_class", "queries", "limit", "blind", "reviewer", "min_grade", "cutoff")
    shown = ReviewOptions(**take(options, *names))
    prompts = {prompt.name: prompt for prompt in choose_prompts((), prompt_files)}
    material = review_material(graded, grade_filter(**options), bank=bank, prompts=prompts, options=shown)
    emit(render_page(material.head, material.tables), output, [graded, bank, *prompt_files])
    log_notes(dict.fromkeys(note for board in material.head["leaderboards"] for note in board["notes"]))
    if str(output) != "-":
        size = output.stat().st_size / 1e6
        log_summary([f"Review page: {output} ({size:.1f} MB). Open it in a browser."])
