"""``exam-pp evaluate qrels``: relevance labels from grades, and leaderboards of runs by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.leaderboard_options import (
    BANK,
    FACETS,
    PLOT_LENGTH,
    QUERIES,
    LeaderboardOutput,
    leaderboard_options,
    run_options,
)
from exam_pp.cli.options import (
    FILE,
    GRADED,
    MIN_GRADE_DEFAULT,
    OUTPUT_PATH,
    filter_options,
    grade_filter,
    log_notes,
)

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.metrics.gains import Ungraded
    from exam_pp.results import Qrel, SubtopicQrel


@click.command("qrels")
@GRADED
@BANK
@QUERIES
@click.option(
    "--label",
    type=click.Choice(["max", "count", "binary"]),
    default="max",
    show_default=True,
    help="Highest grade; number of entries graded at least --min-grade; or whether there is one.",
)
@click.option(
    "--min-grade",
    type=int,
    help="Grade from which an entry counts, for count, binary and --subtopics "
    f"{MIN_GRADE_DEFAULT}; for max, the relevance level of measures that have one.",
)
@FACETS
@click.option(
    "--subtopics",
    is_flag=True,
    help="A label for every bank entry, as subtopics, for alpha_nDCG@20, ERR_IA@20, StRecall@20 and others.",
)
@run_options(required=False)
@click.option(
    "--rankings", is_flag=True, help="In place of --runs: a leaderboard of the rankings that GRADED holds."
)
@click.option("--qrels-output", type=OUTPUT_PATH, help="With --runs: also write the qrels here.")
@click.option(
    "--fill-holes",
    type=FILE,
    help="Qrels of people: their lines stay, and passages that they did not judge get labels from grades.",
)
@PLOT_LENGTH
@leaderboard_options(
    "published",
    output_help="Write the qrels (with --runs: the leaderboard) here instead of standard output.",
)
@filter_options
def command(
    *,
    graded: Path,
    runs: Path | None,
    rankings: bool,
    measures: tuple[str, ...],
    method_name: Any,
    qrels_output: Path | None,
    plot_length: Path | None,
    board: LeaderboardOutput,
    label: Any,
    min_grade: int | None,
    bank: Path | None,
    queries: Path | None,
    facets: Any,
    subtopics: bool,
    fill_holes: Path | None,
    **criteria: Any,
) -> None:
    """Rubric-Qrels: a relevance label for every graded passage, as a trec_eval qrels file.

    With --runs, the leaderboard of the run files under these qrels.
    """
    scored = runs is not None or rankings
    _check_usage(board, scored=scored, only_scored=(*measures, qrels_output, plot_length))
    if runs is not None and rankings:
        raise click.UsageError("--rankings takes the place of --runs.")
    if subtopics and (facets == "facet" or fill_holes or label == "count"):
        raise click.UsageError("--subtopics goes with neither --facets, --fill-holes nor --label count.")
    inputs = [path for path in (graded, bank, queries, fill_holes) if path is not None]
    chosen = grade_filter(**criteria)
    if subtopics:
        labels = _subtopics(graded, bank, queries, chosen, label, min_grade)
    else:
        labels = _labels(graded, bank, queries, chosen, label, min_grade, facets, fill_holes)
    if not scored:
        log_notes(labels.notes)
        labels.write(board.output, inputs=inputs)
        return
    from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs
    from exam_pp.store.trec.runs import run_files

    names = measures or (labels.default_measure,)
    level, ungraded = labels.level, labels.ungraded
    if runs is None:
        evaluation = score_rankings(
            labels.lines, graded, names, min_grade=level, facets=facets, ungraded=ungraded
        )
    else:
        evaluation = score_runs(
            labels.lines, runs, names, min_grade=level, method=method_name, ungraded=ungraded
        )
        inputs += run_files(runs)
    evaluation.notes[:0] = labels.notes
    if qrels_output is not None:
        labels.write(qrels_output, inputs=inputs)
    board.draw_lengths(evaluation, graded, plot_length, inputs)
    board.write(evaluation, f"Rubric-Qrels ({'subtopics' if subtopics else label})", inputs)


@dataclass(frozen=True)
class _Labels:
    """Labels with what scoring them needs; ``level`` is the relevance level of measures."""

    lines: Sequence[Qrel | SubtopicQrel]
    notes: list[str]
    level: int | None
    write: Callable[..., None]
    default_measure: str = "nDCG@10"
    ungraded: Callable[[], Ungraded] | None = None


def _labels(
    graded: Path,
    bank: Path | None,
    queries: Path | None,
    chosen: GradeFilter,
    label: Any,
    min_grade: int | None,
    facets: Any,
    fill_holes: Path | None,
) -> _Labels:
    from exam_pp.phases.evaluation import rubric as evaluate
    from exam_pp.store.trec.runs import write_qrels

    found = evaluate.rubric_qrels(
        graded,
        bank=bank,
        grade_filter=chosen,
        label=label,
        min_grade=min_grade,
        queries=queries,
        facets=facets,
    )
    # Counts and 0/1 labels have passed the threshold already; only grades are compared with it.
    level = min_grade if label == "max" else None
    if fill_holes is None:
        write = partial(write_qrels, found.qrels)
        return _Labels(found.qrels, found.notes, level, write, ungraded=found.ungraded)
    from exam_pp.phases.evaluation import fill_holes as filling

    filled = filling.fill_holes(fill_holes, found.qrels)
    return _Labels(filled.qrels, [*found.notes, *filled.notes], level, partial(filling.write_filled, filled))


def _subtopics(
    graded: Path,
    bank: Path | None,
    queries: Path | None,
    chosen: GradeFilter,
    label: Any,
    min_grade: int | None,
) -> _Labels:
    from exam_pp.phases.evaluation.subtopics import subtopic_labels
    from exam_pp.store.trec.runs import write_qrels

    found = subtopic_labels(
        graded, bank=bank, grade_filter=chosen, label=label, min_grade=min_grade, queries=queries
    )
    level = found.min_grade if label == "max" else None
    return _Labels(found.qrels, found.notes, level, partial(write_qrels, found.qrels), "alpha_nDCG@20")


def _check_usage(board: LeaderboardOutput, *, scored: bool, only_scored: Sequence[object]) -> None:
    """Options that only a leaderboard has a use for."""
    only_scored = (*only_scored, board.per_query, board.plot, board.official, board.intervals)
    if not scored and (any(only_scored) or board.significance):
        raise click.UsageError(
            "-m, --qrels-output, --official, --plot, --plot-length, --per-query, --intervals and "
            "--significance go with --runs or --rankings."
        )
    if not scored and board.form != "text":
        raise click.UsageError(
            f"--format {board.form} is a layout of leaderboards: name --runs or --rankings."
        )
    if board.form == "published" and (board.per_query or board.official is None):
        raise click.UsageError("--format published has official ranks (--official), and no --per-query.")
