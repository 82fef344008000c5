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
from exam_pp.cli.game_options import GAMES_BY, SCORED, SELECTION, scored_games, scored_options
from exam_pp.cli.leaderboard_options import OFFICIAL, SEED
from exam_pp.cli.options import (
    FIGURE_PATH,
    FILE,
    SCRIPT_FORMATS,
    emit,
    emit_figure,
    emit_report,
    format_option,
    grade_filter,
    grades_options,
    log_notes,
    output_option,
    plot_option,
    take,
    together,
)
from exam_pp.cli.ranges import NumberRange, Repetitions

if TYPE_CHECKING:
    from exam_pp.phases.tournaments.ratings import RatingOptions, Ratings

_selection = together(
    click.option(
        "--grader",
        "graders",
        shell_complete=model_names,
        multiple=True,
        metavar="NAME",
        help="Only games judged by this model, or person (human:NAME), or only its grades; may be repeated, "
        "for columns of each.",
    ),
    click.option(
        "--prompt-class",
        "prompt_classes",
        shell_complete=prompt_names,
        multiple=True,
        metavar="NAME",
        help="Only games judged, or only grades, with this prompt class; may be repeated, for columns of "
        "each.",
    ),
    grades_options,
    click.option(
        "--system",
        "systems",
        multiple=True,
        metavar="NAME",
        help="Only games between the systems that are named by this option; may be repeated.",
    ),
)
_from_grades = together(
    click.option(
        "--from-grades",
        is_flag=True,
        help="Make the games from scores: for each query and two systems, the higher score wins. GAMES is a "
        "graded file, or files with scores of single queries.",
    ),
    click.option(
        "--games-by",
        metavar="NAME",
        help=f"Measure that decides the games of --from-grades: {GAMES_BY}",
    ),
    scored_options,
)
_method = together(
    click.option(
        "-m",
        "--measure",
        "methods",
        type=click.Choice(["elo", "bradley-terry"]),
        multiple=True,
        default=["elo"],
        help="Elo, averaged over tournaments (elo), or maximum likelihood, which does not depend on the "
        "order of games (bradley-terry); may be repeated. The first one orders the systems.  [default: elo]",
    ),
    click.option(
        "--elo tournaments",
        "tournaments",
        type=Repetitions(),
        default=500,
        show_default=True,
        help="Number of tournaments over which Elo ratings are averaged; each has a random order of games.",
    ),
    click.option(
        "--elo k",
        "k_factor",
        type=NumberRange(0, 10_000, min_open=True),
        default=32.0,
        show_default=True,
        help="K of Elo: the most points that a system can win in a game.",
    ),
    click.option(
        "--elo start",
        "start_rating",
        type=NumberRange(-1_000_000, 1_000_000),
        default=1000.0,
        show_default=True,
        help="Elo rating of every system before its first game.",
    ),
    click.option(
        "--elo integer",
        "elo_integer",
        type=bool,
        default=False,
        help="Truncate Elo ratings to integers after every game, as published by RAGElo.",
    ),
)
_METHOD = ("methods", "tournaments", "k_factor", "start_rating", "elo_integer", "intervals", "confidence",
           "samples", "seed")  # fmt: skip
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
        "-S confidence",
        "confidence",
        type=NumberRange(0.5, 1, max_open=True),
        default=0.95,
        show_default=True,
        help="Confidence level of the intervals.",
    ),
    click.option(
        "-S samples",
        "samples",
        type=Repetitions(100),
        default=1000,
        show_default=True,
        help="Number of bootstrap samples.",
    ),
    SEED,
)


@click.command("elo", cls=Command)
@click.argument("games", nargs=-1, required=True, type=FILE)
@_selection
@_from_grades
@_method
@_pairs
@_statistics
@click.option(
    "--families",
    type=FILE,
    help="Families of models and systems (TOML or JSON), for the note on the judge's own family.",
)
@click.option(
    "--official",
    type=FILE,
    help=f"{OFFICIAL} Adds a column of these ranks, and the correlation with them.",
)
@plot_option("the ratings with their intervals")
@click.option(
    "--plot matrix", "plot_matrix", type=FIGURE_PATH, help="Also draw the win matrix as a heat map (.svg)."
)
@format_option("trec_eval")
@output_option()
def command(
    *,
    games: tuple[Path, ...],
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    pairs: tuple[tuple[str, str], ...],
    all_pairs: bool,
    families: Path | None,
    official: Path | None,
    plot: Path | None,
    plot_matrix: Path | None,
    form: str,
    output: Path,
    **chosen: Any,
) -> None:
    """Rate systems by games between their answers, with Elo or Bradley-Terry ratings.

    GAMES are games files, as exam-pp or RAGElo writes them. The report also has the number of games of each
    system and the win matrix. Ungraded games are not played. Two games of a pair in both orders are one game:
    a tie, if their verdicts differ. Notes have the biases of the judge, as of `exam-pp analyze audit`.

    With `--from-grades`, the systems of a graded file play: every rubric grading is also a tournament. `-m`
    is the kind of rating, `--games-by` the measure of the grades that decides a game.

    `--elo integer=yes` repeats the published figures of RAGElo, whose ratings sink below 1000.

    Examples:

    \b
      exam-pp evaluate elo games.jsonl.gz
      exam-pp evaluate elo games.jsonl.gz -m bradley-terry --all-pairs \\
        --format html -o ratings.html
      exam-pp evaluate elo graded.jsonl.gz --from-grades --bank questions.jsonl --cutoff 5
    """
    from exam_pp.phases.tournaments.ratings import compare_pairs, scores_of, together

    method = take(chosen, *_METHOD)
    compares = bool(pairs) or all_pairs
    _check_usage(
        form,
        method["methods"],
        method["intervals"],
        compares=compares,
        official=official,
        several=len(_columns(graders, prompt_classes)) > 1,
        plot_matrix=plot_matrix,
    )
    options = _options(**method)
    boards = _boards(games, _columns(graders, prompt_classes), options, families=families, **chosen)
    compared = {
        judge: compare_pairs(board, None if all_pairs else pairs, options.statistics.confidence)
        for judge, board in boards.items()
        if compares
    }
    standings = together(boards)
    inputs = [*games, families, official, chosen["bank"], chosen["queries"]]
    if plot is not None:
        from exam_pp.reports.evaluation.leaderboards import leaderboard_picture

        emit_figure([leaderboard_picture(standings)], plot, inputs)
    if plot_matrix is not None:
        from exam_pp.reports.tournaments.ratings import win_matrix_picture

        (board,) = boards.values()
        emit_figure([win_matrix_picture(board.matrix)], plot_matrix, inputs)
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


def _columns(graders: tuple[str, ...], prompt_classes: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Name of each column to the grader and the prompt class of its games; "" selects all."""
    models, prompts = list(dict.fromkeys(graders)) or [""], list(dict.fromkeys(prompt_classes)) or [""]
    columns = {}
    for model, prompt in product(models, prompts):
        parts = (model if len(models) > 1 else "", prompt if len(prompts) > 1 else "")
        columns[" ".join(part for part in parts if part)] = (model, prompt)
    return columns


def _boards(
    games: tuple[Path, ...],
    columns: dict[str, tuple[str, str]],
    options: RatingOptions,
    *,
    families: Path | None,
    systems: tuple[str, ...],
    from_grades: bool,
    games_by: str | None,
    **chosen: Any,
) -> dict[str, Ratings]:
    """Column name to the ratings by its games."""
    from exam_pp.phases.tournaments.biases import known_families
    from exam_pp.phases.tournaments.outcomes import GameFilter, judged_games
    from exam_pp.phases.tournaments.ratings import rate, rate_scored

    known = known_families(families)
    if not from_grades:
        grades_only = (name for name in SELECTION if name != "prompt_hash")
        refuse_without("--from-grades", "games_by", *SCORED, *grades_only)
        return {
            name: rate(
                judged_games(
                    games, GameFilter(model or None, prompt or None, chosen["prompt_hash"], systems)
                ),
                options,
                families=known,
            )
            for name, (model, prompt) in columns.items()
        }
    selection = take(chosen, *SELECTION)
    boards = {}
    for name, (model, prompt) in columns.items():
        criteria = grade_filter(model or None, prompt or None, **selection)
        scored = scored_games(games, criteria, measure=games_by, measure_option="--games-by", **chosen)
        boards[name] = rate_scored(scored, options, systems=systems, families=known)
    return boards


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
            "--plot matrix draws the games of one judge; use --grader and --prompt-class once."
        )


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
