"""``exam-pp review``: the review page."""

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
    log_summary,
    prompt_file_option,
    required_output,
    take,
)


@click.command(name="review")
@GRADED
@click.option("--bank", type=FILE, help="The test bank, for the words of its entries and to edit them.")
@required_output("HTML file.")
@ONLY_QUERY
@click.option("--limit", type=click.IntRange(min=1), help="At most so many passages of each query.")
@filter_options
@answers_class_option
@prompt_file_option("A TOML file with the prompt, for its words and scale; may be repeated.")
@click.option("--blind", is_flag=True, help="Hide ratings, replies and systems until the reviewer has rated.")
@click.option("--reviewer", default="", metavar="NAME", help="Who reviews; can be entered on the page, too.")
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
    """Write one HTML file in which a person reads, corrects and comments on the grades of GRADED.

    The page needs no network and no installation: it opens from disk in any browser of 2023 or later.
    One prompt class is reviewed; all models that graded with it are shown. What the reviewer rates,
    writes and changes in the bank is saved as an edits file: `exam-pp apply-edits` adds the ratings to
    the graded file, `exam-pp bank apply` changes the bank. With --prompt-class NAME and --bank, a file
    without grades gives a page to collect the ratings of people.
    """
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.review.review_material import ReviewOptions, review_material
    from exam_pp.reports.review.page import render_page

    names = ("answers_class", "queries", "limit", "blind", "reviewer", "min_grade", "cutoff")
    shown = ReviewOptions(**take(options, *names))
    prompts = {prompt.name: prompt for prompt in choose_prompts((), prompt_files)}
    material = review_material(graded, grade_filter(**options), bank=bank, prompts=prompts, options=shown)
    emit(render_page(material.head, material.tables), output, [graded, bank, *prompt_files])
    if str(output) != "-":
        size = output.stat().st_size / 1e6
        log_summary([f"Review page: {output} ({size:.1f} MB). Open it in a browser."])
