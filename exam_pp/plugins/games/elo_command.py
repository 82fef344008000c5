"""``exam-pp evaluate elo``: ratings of systems by games between their answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import OFFICIAL, SEED, confidence_option
from exam_pp.cli.options import (
    CUTOFF_DEFAULT,
    FIGURE_PATH,
    FILE,
    GRADES,
    MIN_GRADE,
    ONLY_QUERIES,
    OUTPUT_PATH,
    ROLE,
    SCRIPT_FORMATS,
    bank_option,
    columns_of,
    emit,
    emit_figure,
    emit_report,
    format_option,
    grade_filter,
    grades_options,
    log_notes,
    log_summary,
    model_names,
    output_option,
    plot_option,
    prompt_option,
    take,
    together,
)
from exam_pp.cli.ranges import IntRange, NumberRange, Repetitions
from exam_pp.plugins.games import ELO_K, ELO_START, TOURNAMENTS
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.evaluation.leaderboards import Standings
    from exam_pp.plugins.games.from_scores import RatedGames
    from exam_pp.plugins.games.ratings import HeadToHead, RatingOptions, Ratings, WinMatrix
    from exam_pp.reports.evaluation.leaderboards import ExtraColumn


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
    prompt_option(
        "Only games judged, or only grades, with this prompt; may be repeated, for columns of each.",
        "prompt_classes",
        multiple=True,
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
_from_scores = together(
    click.option(
        "--by",
        "measure",
        metavar="NAME",
        help="Measure that decides the games of grades or scores: Cover, nCover, SoftCover, MeanRating, or a "
        "nugget score such as V_strict; for files of scores, one of their measures.  [default: Cover, or the "
        "only measure of the scores]",
    ),
    bank_option("Test bank of the grades.", default="the entries that have grades"),
    click.option(
        "--tie-margin",
        type=NumberRange(min=0),
        default=0.0,
        show_default=True,
        help="Largest difference of two scores that is a tie.",
    ),
    MIN_GRADE,
    click.option(
        "--cutoff",
        type=IntRange(min=1),
        help="Depth to which the rankings are evaluated.  "
        f"{CUTOFF_DEFAULT.removesuffix(']')}; all ranks for nugget scores]",
    ),
    ROLE,
    ONLY_QUERIES,
    click.option(
        "--also games",
        "games_output",
        type=OUTPUT_PATH,
        help="Games file with the games of the grades or scores, to write, too.",
    ),
)
_OF_GRADES = ("bank", "min_grade", "cutoff", "role")
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
    games_output: Path | None,
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

    If GAMES is a graded file, its systems play: for each query and two systems, the higher score wins. Every
    rubric grading is thereby also a tournament. The same holds for files with scores of single queries, of
    `exam-pp evaluate ... --per-query` or `trec_eval -q`. `-m` is the kind of rating, `--by` the measure that
    decides the games, such as MeanRating: the mean over the entries of the highest grade of a system's
    passages.

    `--elo integer=yes` repeats the published figures of RAGElo, whose ratings sink below 1000.

    Examples:

    \b
      exam-pp evaluate elo games.jsonl.gz
      exam-pp evaluate elo games.jsonl.gz -m bradley-terry --head-to-head \\
        --format html -o ratings.html
      exam-pp evaluate elo graded.jsonl.gz --bank questions.jsonl --cutoff 5 --also games=games.jsonl.gz
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
        of_one={"--plot matrix": plot_matrix, "--also games": games_output},
    )
    statistics = Statistics(
        "queries" if method["intervals"] == "queries" else None,
        **{name: method[name] for name in ("confidence", "samples", "seed")},
    )
    rules = EloRules(method["k_factor"], method["start_rating"], method["elo_integer"])
    options = RatingOptions(method["methods"], rules, method["tournaments"], statistics)
    inputs = [*games, families, official, chosen["bank"], chosen["queries"]]
    boards = _boards(
        games, columns, options, families=families, games_output=games_output, inputs=inputs, **chosen
    )
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
    games_output: Path | None,
    inputs: list[Path | None],
    **chosen: Any,
) -> dict[str, Ratings]:
    """Column name to the ratings by its games."""
    from exam_pp.grade_filter import AnswerFilter
    from exam_pp.plugins.games.outcomes import judged_games
    from exam_pp.plugins.games.ratings import rate, rate_scored
    from exam_pp.store.families import known_families

    known = known_families(families)
    content = _content(files[0])
    if content == "games":
        of_scores = ("measure", "tie_margin", "queries", "games_output")
        of_grades = (name for name in GRADES if name != "prompt_hash")
        refuse_without("grades or scores", *of_scores)
        refuse_without("a graded file", *_OF_GRADES, *of_grades)
        return {
            name: rate(
                judged_games(files, AnswerFilter(model, prompt, chosen["prompt_hash"], systems)),
                options,
                families=known,
            )
            for name, (model, prompt) in columns.items()
        }
    if content == "scores":
        refuse_without("a graded file", *_OF_GRADES, *GRADES, "graders", "prompt_classes")
    elif len(files) > 1:
        raise click.UsageError(f"{files[0]} is a graded file, of which only one is possible.")
    selection = take(chosen, *GRADES)
    boards = {}
    for name, (model, prompt) in columns.items():
        criteria = grade_filter(model, prompt, **selection)
        played = _games(files, content, criteria, **chosen)
        boards[name] = rate_scored(played, options, systems=systems, families=known)
        if games_output is not None:
            _write_games(played, games_output, inputs)
    return boards


def _content(path: Path) -> Literal["games", "grades", "scores"]:
    """The content of a file."""
    from exam_pp.formats.base import known_format
    from exam_pp.phases.evaluation.judgments import is_passages

    form = known_format(path)
    if form is None:
        return "grades" if is_passages(path) else "games"
    if form.content == "games":
        return "games"
    return "grades" if form.content == "passages" else "scores"


def _games(
    files: tuple[Path, ...],
    content: Literal["grades", "scores"],
    criteria: GradeFilter,
    *,
    measure: str | None,
    bank: Path | None,
    tie_margin: float,
    queries: Path | None,
    **options: Any,
) -> RatedGames:
    """The games between the systems of a graded file, or of files of scores."""
    from exam_pp.plugins.games.from_scores import GRADE_MEASURES, games_from_grades, games_from_scores

    if content == "scores":
        return games_from_scores(files, measure=measure, tie_margin=tie_margin, queries=queries)
    if measure is not None and measure not in GRADE_MEASURES:
        raise click.UsageError(f"--by {measure!r} is not a measure of grades ({', '.join(GRADE_MEASURES)}).")
    return games_from_grades(
        files[0],
        bank,
        measure=measure or "Cover",
        tie_margin=tie_margin,
        grade_filter=criteria,
        queries=queries,
        **options,
    )


def _write_games(played: RatedGames, output: Path, inputs: list[Path | None]) -> None:
    from exam_pp.store.games_files import write_games
    from exam_pp.text.wording import counted

    write_games(played.queries, output, inputs=[path for path in inputs if path is not None])
    games, systems = counted(played.games, "game"), counted(played.systems, "system")
    log_summary([f"Wrote {games} of {systems} to {output}: {counted(played.ties, 'tie')}."])


def _check_usage(
    form: str,
    methods: Collection[str],
    intervals: str,
    *,
    compares: bool,
    official: Path | None,
    several: bool,
    of_one: Mapping[str, Path | None],
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
    for option, path in of_one.items():
        if several and path is not None:
            raise click.UsageError(f"{option} has the games of one judge; use --grader and --prompt once.")


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
