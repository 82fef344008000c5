"""Games from scores of single queries: of two systems, the one with the higher score wins.

Every evaluation is thereby also a tournament.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from exam_pp.errors import SelectionError
from exam_pp.formats.scores import read_query_scores
from exam_pp.games import Game, GameSet, QueryGames, Winner
from exam_pp.phases.evaluation.inputs import Queries, query_ids
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.provenance import Provenance, file_names
from exam_pp.results import OVERALL_SYSTEM, Score
from exam_pp.text.wording import counted, listed

_ROUNDING = 1e-9
"""Scores that differ by a smaller share are equal, so that rounding errors decide no game."""


@dataclass(frozen=True)
class ScoredGames:
    """Games from scores, with sentences on missing ones."""

    queries: Sequence[QueryGames]
    notes: Sequence[str]
    provenance: Provenance


def winner_of(score_a: float, score_b: float, tie_margin: float = 0.0) -> Winner:
    """The place of the higher score; C if the scores differ by at most the margin.

    >>> winner_of(0.5, 0.25), winner_of(0.25, 0.5), winner_of(0.5, 0.25, tie_margin=0.25)
    ('A', 'B', 'C')
    """
    difference = score_a - score_b
    if abs(difference) <= tie_margin + _ROUNDING * max(abs(score_a), abs(score_b)):
        return "C"
    return "A" if difference > 0 else "B"


def games_from_scores(
    files: PathLike | Sequence[PathLike],
    *,
    measure: str | None = None,
    tie_margin: float = 0.0,
    queries: Queries | None = None,
) -> ScoredGames:
    """Games between all systems of files with scores of single queries, such as outputs of ``trec_eval -q``.

    Args:
        files: Files that ``exam-pp evaluate ... --per-query`` or ``trec_eval -q`` writes.
        measure: Measure, by its name in the files, or by its name without parameters if only one has it, such
            as ``Cover``. Default: the only one.
        tie_margin: Largest difference of two scores that is a tie, in units of the measure.
        queries: Query file or query ids to restrict the games to.

    Returns:
        A game for every query and two systems with a score. Place A has the system whose name sorts first.
        The prompt class of the games is the measure.

    Raises:
        SelectionError: The files have no scores or several measures, or no query has scores of two systems.
        DataError: A file is not in its format.
    """
    paths = [files] if isinstance(files, PathLike) else list(files)
    read = {path: _query_scores(path) for path in paths}
    measures = list(dict.fromkeys(score.metric for scores in read.values() for score in scores))
    short = [name for name in measures if measure in (None, name.partition("(")[0].partition("@")[0])]
    fitting = [measure] if measure in measures else short
    if len(fitting) != 1:
        names = listed([str(path) for path in paths])
        raise SelectionError(f"{names} has the measures {listed(measures)}; select one with --by.")
    selected = None if queries is None else query_ids(queries)
    by_query: dict[str, dict[str, float]] = {}
    for path, scores in read.items():
        for system, query_id, metric, value in scores:
            if metric == fitting[0] and (selected is None or query_id in selected):
                of_query = by_query.setdefault(query_id, {})
                if system in of_query:
                    raise SelectionError(
                        f"{path} has a score of the system {system!r} for the query {query_id!r}, and so has "
                        "another file; leave out one of them."
                    )
                of_query[system] = value
    info = {"prompt_class": fitting[0], "measure": fitting[0], "tie_margin": tie_margin}
    played = []
    for query_id, of_query in by_query.items():
        games = [
            Game(
                system_a=a,
                system_b=b,
                winner=winner_of(of_query[a], of_query[b], tie_margin),
                decided_by="ratings",
            )
            for a, b in combinations(sorted(of_query), 2)
        ]
        if games:
            of_files = GameSet(llm=listed(file_names(*paths)), prompt_info=dict(info), games=games)
            played.append(QueryGames(query_id=query_id, game_sets=[of_files]))
    if not played:
        raise SelectionError("Games need scores of at least two systems on a common query.")
    systems = {system for of_query in by_query.values() for system in of_query}
    notes = []
    if missing := sum(len(systems) - len(of_query) for of_query in by_query.values()):
        have = counted(missing, "score is", "scores are")
        notes.append(f"{have} missing: such a system has no games for the query.")
    provenance = Provenance(leaderboards=file_names(*paths), queries=len(by_query))
    return ScoredGames(played, notes, provenance)


def _query_scores(path: PathLike) -> list[Score]:
    scores = [score for score in read_query_scores(path) if score.system != OVERALL_SYSTEM]
    if not scores:
        raise SelectionError(
            f"{path} has no scores of single queries; write them with `exam-pp evaluate ... --per-query`."
        )
    return scores
