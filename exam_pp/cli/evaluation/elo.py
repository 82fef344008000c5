"""``exam-pp evaluate elo``: ratings of systems by games between their answers."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.completion import model_names, prompt_names
from exam_pp.cli.leaderboard_options import ELO_INTEGER, OFFICIAL, RATING, SEED
from exam_pp.cli.options import (
    FIGURE_PATH,
    FILE,
    PROMPT_HASH,
    SCRIPT_FORMATS,
    emit,
    emit_figure,
    emit_report,
    format_option,
    log_notes,
    output_option,
    plot_option,
    together,
)
from exam_pp.cli.ranges import IntRange, NumberRange

if TYPE_CHECKING:
    from exam_pp.phases.tournaments.outcomes import GameFilter
    from exam_pp.phases.tournaments.ratings import RatingOptions

_selection = together(
    click.option(
        "--grader",
        "graders",
        shell_complete=model_names,
        multiple=True,
        metavar="NAME",
        help="Only games judged by this model, or person (human:NAME); may be repeated, for columns of each.",
    ),
    click.option(
        "--prompt-class",
        "prompt_classes",
        shell_complete=prompt_names,
        multiple=True,
        metavar="NAME",
        help="Only games judged with this prompt class; may be repeated, for columns of each.",
    ),
    PROMPT_HASH,
    click.option(
        "--system",
        "systems",
        multiple=True,
        metavar="NAME",
        help="Only games between the systems that are named by this option; may be repeated.",
    ),
)
_method = together(
    RATING,
    click.option(
        "--tournaments",
        type=IntRange(min=1),
        default=500,
        show_default=True,
        help="Number of tournaments over which Elo ratings are averaged; each has a random order of games.",
    ),
    click.option(
        "--k-factor",
        type=NumberRange(0, 10_000, min_open=True),
        default=32.0,
        show_default=True,
        help="K of Elo: the most points that a system can win in a game.",
    ),
    click.option(
        "--start-rating",
        type=NumberRange(-1_000_000, 1_000_000),
        default=1000.0,
        show_default=True,
        help="Elo rating of every system before its first game.",
    ),
    ELO_INTEGER,
)
_pairs = together(
    click.option(
        "--head-to-head",
        "pairs",
        nargs=2,
        multiple=True,
        metavar="SYSTEM SYSTEM",
        help="Compare these two systems by their games, with a sign test; may be repeated.",
    ),
    click.option(
        "--all-pairs", is_flag=True, help="Compare every two systems in the same way, with Holm's correction."
    ),
)
_statistics = together(
    click.option(
        "--intervals",
        type=click.Choice(["queries", "none"]),
        default="queries",
        show_default=True,
        help="Confidence intervals of ratings and ranks, from bootstrap samples of the queries.",
    ),
    click.option(
        "--confidence",
        type=NumberRange(0.5, 1, max_open=True),
        default=0.95,
        show_default=True,
        help="Confidence level of the intervals.",
    ),
    click.option(
        "--samples",
        type=IntRange(min=100),
        default=1000,
        show_default=True,
        help="Number of bootstrap samples.",
    ),
    SEED,
)


@click.command("elo", cls=Command)
@click.argument("games", nargs=-1, required=True, type=FILE)
@_selection
@_method
@_pairs
@_statistics
@click.option(
    "--official",
    type=FILE,
    help=f"{OFFICIAL} Adds a column of these ranks, and the correlation with them.",
)
@plot_option("the ratings with their intervals")
@click.option(
    "--plot-matrix", type=FIGURE_PATH, help="Also draw the win matrix as a heat map (.png or .svg)."
)
@format_option("trec_eval")
@output_option()
def command(
    *,
    games: tuple[Path, ...],
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    prompt_hash: str | None,
    systems: tuple[str, ...],
    pairs: tuple[tuple[str, str], ...],
    all_pairs: bool,
    official: Path | None,
    plot: Path | None,
    plot_matrix: Path | None,
    form: str,
    output: Path,
    **method: Any,
) -> None:
    """Rate systems by games between their answers, with Elo or Bradley-Terry ratings.

    GAMES are games files, as exam-pp or RAGElo writes them. The report also has the number of games of each
    system and the win matrix. Ungraded games are not played. Two games of a pair in both orders are one game:
    a tie, if their verdicts differ.

    `--elo-integer` repeats the published figures of RAGElo, whose ratings sink below 1000.

    Examples:

    \b
      exam-pp evaluate elo games.jsonl.gz
      exam-pp evaluate elo games.jsonl.gz -m bradley-terry --all-pairs \\
        --format html -o ratings.html
    """
    from exam_pp.phases.tournaments.outcomes import judged_games
    from exam_pp.phases.tournaments.ratings import compare_pairs, rate, scores_of, together

    compares = bool(pairs) or all_pairs
    _check_usage(
        form,
        method["methods"],
        method["intervals"],
        compares=compares,
        official=official,
        several=_columns(graders, prompt_classes) > 1,
        plot_matrix=plot_matrix,
    )
    options = _options(**method)
    filters = _filters(graders, prompt_classes, prompt_hash, systems)
    boards = {judge: rate(judged_games(games, selection), options) for judge, selection in filters.items()}
    compared = {
        judge: compare_pairs(board, None if all_pairs else pairs, options.statistics)
        for judge, board in boards.items()
        if compares
    }
    standings = together(boards)
    inputs = [*games, official]
    if plot is not None:
        from exam_pp.reports.evaluation.leaderboards import leaderboard_figure

        emit_figure(leaderboard_figure(standings), plot, inputs)
    if plot_matrix is not None:
        from exam_pp.reports.tournaments.ratings import win_matrix_figure

        (board,) = boards.values()
        emit_figure(win_matrix_figure(board.matrix), plot_matrix, inputs)
    if form == "trec_eval":
        from exam_pp.reports.evaluation.score_layouts import trec_eval_text

        log_notes([*standings.uncertainty.notes, *standings.notes])
        emit(trec_eval_text(scores_of(standings), per_query=False), output, inputs)
        return
    from exam_pp.reports.tournaments.ratings import ratings_report

    extra = None
    if official is not None:
        from exam_pp.phases.analysis.official_ranks import ranked
        from exam_pp.reports.analysis.official_ranks import rank_column

        extra = rank_column(ranked(scores_of(standings), official))
    # TSV has the leaderboard alone, so that other commands can read it.
    shown = {} if form == "tsv" else boards
    report = ratings_report(standings, shown, compared, formatted=form not in SCRIPT_FORMATS, extra=extra)
    emit_report(report, form, output, inputs)


def _columns(graders: tuple[str, ...], prompt_classes: tuple[str, ...]) -> int:
    return max(1, len(set(graders))) * max(1, len(set(prompt_classes)))


def _check_usage(
    form: str,
    methods: Collection[str],
    intervals: str,
    *,
    compares: bool,
    official: Path | None,
    several: bool,
    plot_matrix: Path | None,
) -> None:
    """Raise click.UsageError for options that contradict each other, or have no effect."""
    if "elo" not in methods:
        refuse_without("-m elo", "tournaments", "k_factor", "start_rating", "elo_integer")
    if intervals == "none" and not compares:
        refuse_without("--intervals queries", "confidence", "samples")
    if form in ("tsv", "trec_eval") and compares:
        raise click.UsageError(
            f"--format {form} has only ratings; use --format json for --head-to-head and --all-pairs."
        )
    if form == "trec_eval" and official is not None:
        raise click.UsageError("--official cannot be combined with --format trec_eval.")
    if several and plot_matrix is not None:
        raise click.UsageError(
            "--plot-matrix draws the games of one judge; use --grader and --prompt-class once."
        )


def _filters(
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    prompt_hash: str | None,
    systems: tuple[str, ...],
) -> dict[str, GameFilter]:
    """Column name to the filter of its games."""
    from exam_pp.phases.tournaments.outcomes import GameFilter

    models, prompts = list(dict.fromkeys(graders)) or [""], list(dict.fromkeys(prompt_classes)) or [""]
    filters = {}
    for model, prompt in product(models, prompts):
        parts = (model if len(models) > 1 else "", prompt if len(prompts) > 1 else "")
        name = " ".join(part for part in parts if part)
        filters[name] = GameFilter(model or None, prompt or None, prompt_hash, systems)
    return filters


def _options(
    *,
    methods: Any,
    tournaments: int,
    k_factor: float,
    start_rating: float,
    elo_integer: bool,
    intervals: str,
    confidence: float,
    samples: int,
    seed: int,
) -> RatingOptions:
    from exam_pp.metrics.elo import EloRules
    from exam_pp.phases.evaluation.uncertainty import Statistics
    from exam_pp.phases.tournaments.ratings import RatingOptions

    statistics = Statistics(
        "queries" if intervals == "queries" else None, confidence=confidence, samples=samples, seed=seed
    )
    return RatingOptions(methods, EloRules(k_factor, start_rating, elo_integer), tournaments, statistics)
