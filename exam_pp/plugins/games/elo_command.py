"""``exam-pp evaluate elo``: ratings of systems by games between their answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import OFFICIAL, SEED, confidence_option
from exam_pp.cli.options import (
    FIGURE_PATH,
    FILE,
    ONLY_QUERIES,
    PROMPT_HASH,
    SCRIPT_FORMATS,
    columns_of,
    emit,
    emit_figure,
    emit_report,
    format_option,
    log_notes,
    model_names,
    output_option,
    plot_option,
    prompt_option,
    take,
    together,
)
from exam_pp.cli.ranges import NumberRange, Repetitions
from exam_pp.plugins.games import ELO_K, ELO_START, TOURNAMENTS
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table

if TYPE_CHECKING:
    from exam_pp.phases.evaluation.leaderboards import Standings
    from exam_pp.plugins.games.ratings import HeadToHead, RatingOptions, Ratings, WinMatrix
    from exam_pp.reports.evaluation.leaderboards import ExtraColumn


_selection = together(
    click.option(
        "--grader",
        "graders",
        shell_complete=model_names,
        multiple=True,
        metavar="NAME",
        help="Only games judged by this model, or person (human:NAME); may be repeated, for columns of each.",
    ),
    prompt_option(
        "Only games judged with this prompt; may be repeated, for columns of each.",
        "prompt_classes",
        multiple=True,
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
_from_scores = together(
    click.option(
        "--by",
        "measure",
        metavar="NAME",
        help="Measure of the scores that decides the games, such as nDCG@10.  [default: the only one]",
    ),
    click.option(
        "--tie-margin",
        type=NumberRange(min=0),
        default=0.0,
        show_default=True,
        help="Largest difference of two scores that is a tie.",
    ),
    ONLY_QUERIES,
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
        default=TOURNAMENTS,
        show_default=True,
        help="Number of tournaments over which Elo ratings are averaged; each has a random order of games.",
    ),
    click.option(
        "--elo k",
        "k_factor",
        type=NumberRange(0, 10_000, min_open=True),
        default=ELO_K,
        show_default=True,
        help="K of Elo: the most points that a system can win in a game.",
    ),
    click.option(
        "--elo start",
        "start_rating",
        type=NumberRange(-1_000_000, 1_000_000),
        default=ELO_START,
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
_statistics = together(
    click.option(
        "--intervals",
        type=click.Choice(["queries", "none"]),
        default="queries",
        show_default=True,
        help="Confidence intervals of ratings and ranks, from bootstrap samples of the queries.",
    ),
    confidence_option(),
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
@_from_scores
@_method
@click.option(
    "--head-to-head",
    is_flag=True,
    help="Compare every two systems by their games, with a sign test and Holm's correction; --system chooses "
    "them.",
)
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
    head_to_head: bool,
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

    If GAMES are files with scores of single queries, of `exam-pp evaluate ... --per-query` or `trec_eval -q`,
    their systems play: for each query and two systems, the higher score wins. `-m` is the kind of rating,
    `--by` the measure that decides the games.

    `--elo integer=yes` repeats the published figures of RAGElo, whose ratings sink below 1000.

    Examples:

    \b
      exam-pp evaluate elo games.jsonl.gz
      exam-pp evaluate elo games.jsonl.gz -m bradley-terry --head-to-head \\
        --format html -o ratings.html
      exam-pp evaluate elo ndcg.tsv --by nDCG@10 --tie-margin 0.05
    """
    from exam_pp.phases.evaluation.leaderboards import Statistics
    from exam_pp.plugins.games.elo_bradley_terry import EloRules
    from exam_pp.plugins.games.ratings import RatingOptions, compare_pairs, scores_of, together
    from exam_pp.rendering.pictures.grids import win_matrix
    from exam_pp.reports.evaluation.leaderboards import leaderboard_picture, trec_eval_text

    method = take(chosen, *_METHOD)
    columns = columns_of(graders, prompt_classes)
    _check_usage(
        form,
        method["methods"],
        method["intervals"],
        compares=head_to_head,
        official=official,
        several=len(columns) > 1,
        plot_matrix=plot_matrix,
    )
    statistics = Statistics(
        "queries" if method["intervals"] == "queries" else None,
        **{name: method[name] for name in ("confidence", "samples", "seed")},
    )
    rules = EloRules(method["k_factor"], method["start_rating"], method["elo_integer"])
    options = RatingOptions(method["methods"], rules, method["tournaments"], statistics)
    inputs = [*games, families, official, chosen["queries"]]
    boards = _boards(games, columns, options, families=families, **chosen)
    compared = {
        judge: compare_pairs(board, options.statistics.confidence)
        for judge, board in boards.items()
        if head_to_head
    }
    standings = together(boards)
    if plot is not None:
        emit_figure([leaderboard_picture(standings)], plot, inputs)
    if plot_matrix is not None:
        (board,) = boards.values()
        picture = win_matrix(board.matrix.systems, board.matrix.shares.tolist(), "Share of games won")
        emit_figure([picture], plot_matrix, inputs)
    if form == "trec_eval":
        log_notes([*standings.uncertainty.notes, *standings.notes])
        emit(trec_eval_text(scores_of(standings), per_query=False), output, inputs)
        return

    extra = None
    if official is not None:
        from exam_pp.phases.analysis.correlation import ranked
        from exam_pp.reports.evaluation.leaderboards import rank_column

        extra = rank_column(ranked(scores_of(standings), official))
    # TSV has the leaderboard alone, so that other commands can read it.
    shown = {} if form == "tsv" else boards
    report = ratings_report(standings, shown, compared, formatted=form not in SCRIPT_FORMATS, extra=extra)
    emit_report(report, form, output, inputs)


def _boards(
    files: tuple[Path, ...],
    columns: dict[str, tuple[str | None, str | None]],
    options: RatingOptions,
    *,
    families: Path | None,
    systems: tuple[str, ...],
    prompt_hash: str | None,
    measure: str | None,
    tie_margin: float,
    queries: Path | None,
) -> dict[str, Ratings]:
    """Column name to the ratings by its games."""
    from exam_pp.formats.base import known_format
    from exam_pp.grade_filter import AnswerFilter
    from exam_pp.plugins.games.from_scores import games_from_scores
    from exam_pp.plugins.games.outcomes import judged_games
    from exam_pp.plugins.games.ratings import rate, rate_scored
    from exam_pp.store.families import known_families

    known, form = known_families(families), known_format(files[0])
    if form is not None and form.content not in ("games", "passages"):
        refuse_without("games of judges", "graders", "prompt_classes", "prompt_hash")
        played = games_from_scores(files, measure=measure, tie_margin=tie_margin, queries=queries)
        return {"": rate_scored(played, options, systems=systems, families=known)}
    refuse_without("scores", "measure", "tie_margin", "queries")
    return {
        name: rate(
            judged_games(files, AnswerFilter(model, prompt, prompt_hash, systems)), options, families=known
        )
        for name, (model, prompt) in columns.items()
    }


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
        raise click.UsageError(f"--format {form} has only ratings; use --format json for --head-to-head.")
    if form == "trec_eval" and official is not None:
        raise click.UsageError("--official cannot be combined with --format trec_eval.")
    if several and plot_matrix is not None:
        raise click.UsageError("--plot matrix has the games of one judge; use --grader and --prompt once.")


_SHADES = 6


def ratings_report(
    standings: Standings,
    boards: Mapping[str, Ratings],
    compared: Mapping[str, Sequence[HeadToHead]] | None = None,
    *,
    formatted: bool = True,
    extra: ExtraColumn | None = None,
) -> Report:
    """The leaderboard, then the games, the win matrix and the compared pairs of each judge.

    ``boards``: Judge to ratings; a single judge may have an empty name.
    """
    from exam_pp.reports.evaluation.leaderboards import leaderboard_pictures, leaderboard_report

    report = leaderboard_report(
        standings,
        "Ratings by games",
        audience="readers" if formatted else "scripts",
        extra=extra,
        decimals=1,
        pictures=leaderboard_pictures(standings) if formatted else (),
    )
    blocks: list[Block] = []
    for judge, board in boards.items():
        tables = [_games_table(board), win_matrix_table(board.matrix)]
        pairs = (compared or {}).get(judge)
        if pairs:
            tables.append(head_to_head_table(pairs, formatted=formatted))
        blocks += [replace(table, title=f"{table.title}, {judge}") if judge else table for table in tables]
    if any((compared or {}).values()):
        blocks.append(Paragraph(_TEST_NOTE))
    return replace(report, blocks=[*report.blocks, *blocks])


_TEST_NOTE = (
    "Head to head: shares of the games of two systems, with intervals over queries (Gaffke's bound, if no "
    "other query has more games than the largest here). The two-sided sign test counts a query for the "
    "system that won more of its games, and drops ties; Holm corrects for all compared pairs."
)


def _games_table(board: Ratings) -> Table:
    columns = ["system", "games", "won", "tied", "lost", "sd of Elo over tournaments"]
    width = len(columns) - all(spread is None for *_, spread in board.records)
    rows: list[list[Cell]] = [[*row[:width]] for row in board.records]
    rows += [[system, 0, *[None] * (width - 2)] for system in board.unrated]
    return Table(columns[:width], rows, title="Games", decimals=1)


def win_matrix_table(matrix: WinMatrix) -> Table:
    """Shares of games that the row's system won against the column's, and the mean of each row."""
    rows: list[list[Cell]] = []
    shades: dict[tuple[int, int], int] = {}
    for number, (system, shares, average) in enumerate(
        zip(matrix.systems, matrix.shares.tolist(), matrix.averages, strict=True)
    ):
        rows.append([system, *(None if isnan(share) else share for share in [*shares, average])])
        for column, share in enumerate(shares, start=1):
            if not isnan(share):
                shades[number, column] = min(_SHADES - 1, int(share * _SHADES))
    return Table(
        ["system", *matrix.systems, "mean"],
        rows,
        title="Share of games that the system of the row won (the rest of both shares are ties)",
        shades=shades,
    )


def head_to_head_table(pairs: Sequence[HeadToHead], *, formatted: bool = True) -> Table:
    """A row for each pair: shares of games with intervals, and the sign test."""
    columns = ["system", "against", "games", "queries"]
    for name in ("won", "tied", "lost"):
        columns += [name] if formatted else [name, f"{name} low", f"{name} high"]
    rows: list[list[Cell]] = []
    for pair in pairs:
        cells: list[Cell] = [pair.system_a, pair.system_b, pair.games, pair.queries]
        for share, interval in (pair.won, pair.tied, pair.lost):
            cells += (
                [f"{share:.3f} [{interval.low:.3f}, {interval.high:.3f}]"]
                if formatted
                else [share, *interval]
            )
        rows.append([*cells, pair.p, pair.adjusted_p])
    columns += ["p (sign test)", "p (Holm)"]
    return Table(
        columns, rows, title="Head to head", decimals=3, significant={len(columns) - 2, len(columns) - 1}
    )
