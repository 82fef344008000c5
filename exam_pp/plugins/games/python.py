"""Python API for tournaments: games between answers, and ratings by games."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from exam_pp.api.evaluation import leaderboard_of
from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.games import QueryGames
from exam_pp.grade_filter import AnswerFilter
from exam_pp.llm import ModelOptions
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.plugins.games import ELO_K, ELO_START, TOURNAMENTS
from exam_pp.plugins.games import compare as comparisons
from exam_pp.plugins.games.elo_bradley_terry import EloRules
from exam_pp.plugins.games.outcomes import judged_games
from exam_pp.plugins.games.prompts import Evidence
from exam_pp.plugins.games.ratings import NAMES, Method, RatingOptions, rate
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.results import Leaderboard
from exam_pp.store.families import known_families

PathLike = str | Path


def compare(
    passages: PathLike,
    output: PathLike,
    *,
    queries: PathLike,
    model: str | ModelOptions,
    prompt: str | Prompt | None = None,
    systems: Sequence[str] = (),
    games_per_query: int | None = None,
    both_orders: bool = False,
    evidence: Evidence | None = None,
    min_relevance: int | None = None,
    games: PathLike | None = None,
    seed: int = 0,
) -> comparisons.CompareSummary:
    """Let a model decide which of two answers to a query is better, like ``exam-pp compare``.

    :func:`exam_pp.elo` rates the systems by these games. To continue an interrupted run, repeat the call.

    Args:
        passages: Passages file with answers of at least two systems.
        output: Games file to write. Names that end in ``.gz`` are compressed.
        queries: Query file with the texts.
        model: Name of a model, or its options.
        prompt: Prompt of the kind ``pair``, or its name. None: ``PairwiseAnswers``.
        systems: Names of the systems that play; empty for all.
        games_per_query: Number of pairs of systems that are drawn for each query; None for all.
        both_orders: Whether each pair plays a game in both orders.
        evidence: Contents of the documents beside the answers: ``text``, ``reason``, ``both`` or ``none``.
            None: what the prompt shows.
        min_relevance: Lowest label of these documents; None shows all.
        games: Games file; games with a winner that the same judge played in it are left out of the output.
        seed: Seed of all draws.

    Returns:
        Counts such as ``winners``, ``reasons`` of ungraded games, and ``asked`` model calls.

    Raises:
        OutputError: The output cannot be written.
        ExamError: The file has no answers of two systems, the prompt is of another kind, or the model cannot
            be loaded.
    """
    options = comparisons.CompareOptions(
        PROMPTS.get(prompt) if isinstance(prompt, str) else prompt,
        evidence=evidence,
        min_relevance=min_relevance,
        systems=systems,
        games_per_query=games_per_query,
        both_orders=both_orders,
        seed=seed,
        games=None if games is None else Path(games),
    )
    paths = GradeFiles(Path(passages), Path(output), queries=Path(queries))
    return comparisons.compare(paths, ModelOptions(model) if isinstance(model, str) else model, options)


def elo(
    games: PathLike | Iterable[PathLike | QueryGames],
    *,
    method: Method | Sequence[Method] = "elo",
    grader: str | None = None,
    prompt_class: str | None = None,
    systems: Sequence[str] = (),
    families: PathLike | None = None,
    tournaments: int = TOURNAMENTS,
    k_factor: float = ELO_K,
    start_rating: float = ELO_START,
    integer: bool = False,
    intervals: bool = True,
    confidence: float = CONFIDENCE,
    samples: int = 1000,
    seed: int = 0,
) -> Leaderboard:
    """Rate systems by games, like ``exam-pp evaluate elo``.

    Args:
        games: A games file of exam_pp or RAGElo, or several files or queries with their games, such as
            ``exam_pp.games_from_scores(...).queries``.
        method: ``elo``: the mean over tournaments; ``bradley-terry``: maximum likelihood, which does not
            depend on the order of games. Several methods give several metrics.
        grader: Only games judged by this model or person; required if there are several judges.
        prompt_class: Only games judged with this prompt.
        systems: Only games between these systems; empty for all.
        families: Families file, for the note on wins of the judge's own family.
        tournaments: Number of tournaments over which Elo ratings are averaged.
        k_factor: K of Elo: the most points that a system can win in a game.
        start_rating: Elo rating of every system before its first game.
        integer: Whether Elo ratings are truncated after every game, as published by RAGElo.
        intervals: Whether to add intervals of ratings and ranks, from bootstrap samples of the queries.
        confidence: Confidence level of the intervals.
        samples: Number of bootstrap samples.
        seed: Random seed of tournaments and samples.

    Returns:
        A row for each method and system, best system first; ``queries`` is the number of queries on which
        the system played. The notes have the biases of the judge.

    Raises:
        SelectionError: No games are selected, those of several judges, or the method is unknown.
        DataError: A file is not in its format.
    """
    methods: list[Method] = [method] if isinstance(method, str) else list(method)
    if unknown := [name for name in methods if name not in NAMES]:
        raise SelectionError(f"The method {unknown[0]!r} is unknown; the methods are {', '.join(NAMES)}.")
    statistics = Statistics(
        "queries" if intervals else None, confidence=confidence, samples=samples, seed=seed
    )
    played = judged_games(
        [games] if isinstance(games, PathLike) else games,
        AnswerFilter(grader, prompt_class, systems=systems),
    )
    options = RatingOptions(methods, EloRules(k_factor, start_rating, integer), tournaments, statistics)
    rated = rate(played, options, families=known_families(families))
    queries: dict[str, set[str]] = {}
    for outcome in played.outcomes:
        for system in (outcome.system_a, outcome.system_b):
            queries.setdefault(system, set()).add(outcome.query_id)
    board = leaderboard_of(rated.standings)
    return Leaderboard((row._replace(queries=len(queries[row.system])) for row in board), board.notes)
