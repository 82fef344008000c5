"""Games from scores of single queries: of two systems, the one with the higher score wins.

Every grading with a test bank is thereby also a tournament.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from typing import Any

from exam_pp.data_model import Role
from exam_pp.errors import SelectionError
from exam_pp.formats.scores import read_query_scores
from exam_pp.games import Game, GameSet, QueryGames, Winner
from exam_pp.grade_filter import GradeFilter
from exam_pp.judges import REVIEWED
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery
from exam_pp.metrics.measures import NUGGET_METRICS
from exam_pp.phases.evaluation.cover import cover_of
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, loaded, query_ids, views
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.evaluation.result import Evaluation, MissingQueries, PathLike
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, read_selected
from exam_pp.provenance import Provenance, file_names
from exam_pp.results import OVERALL_SYSTEM, Score, Scores
from exam_pp.roles import System
from exam_pp.text.wording import counted, listed

GRADE_MEASURES = ("Cover", "nCover", "SoftCover", "MeanRating", *NUGGET_METRICS)
"""The measures that decide games from grades."""

_ROUNDING = 1e-9
"""Scores that differ by a smaller share are equal, so that rounding errors decide no game."""


@dataclass(frozen=True)
class RatedGames:
    """Games from scores.

    ``notes``: Sentences on the scores and on systems without a score.
    """

    queries: Sequence[QueryGames]
    systems: int
    games: int
    ties: int
    notes: list[str] = field(default_factory=list)
    provenance: Provenance = field(default_factory=Provenance)


def winner_of(score_a: float, score_b: float, tie_margin: float = 0.0) -> Winner:
    """The place of the higher score; C if the scores differ by at most the margin.

    >>> winner_of(0.5, 0.25), winner_of(0.25, 0.5), winner_of(0.5, 0.25, tie_margin=0.25)
    ('A', 'B', 'C')
    """
    difference = score_a - score_b
    if abs(difference) <= tie_margin + _ROUNDING * max(abs(score_a), abs(score_b)):
        return "C"
    return "A" if difference > 0 else "B"


def games_from_grades(
    passages: Passages,
    bank: Bank | None = None,
    *,
    measure: str = "Cover",
    tie_margin: float = 0.0,
    grade_filter: GradeFilter | None = None,
    min_grade: int | None = None,
    cutoff: int | None = None,
    queries: Queries | None = None,
    missing_queries: MissingQueries = "zero",
    role: Role | None = None,
) -> RatedGames:
    """Games between all systems of a graded file, decided by a measure of grades.

    Args:
        passages: Graded passages with the rankings or answers of the systems: a file, or queries.
        bank: Test bank. Required for nugget scores; default else: the entries that have grades.
        measure: ``Cover``, ``nCover`` or ``SoftCover``; ``MeanRating``: the mean over the entries of the
            highest grade of the system's passages; or a nugget score such as ``V_strict``.
        tie_margin: Largest difference of two scores that is a tie, in units of the measure.
        grade_filter: Selects grades; required if the file has grades of several models or prompts.
        min_grade: Threshold of Cover; default as for :func:`exam_pp.cover`.
        cutoff: Number of ranks of each system that count. Default: as for :func:`exam_pp.cover`,
            and all ranks for nugget scores.
        queries: Query file or query ids to restrict the games to.
        missing_queries: ``zero``: a query without results of a system scores 0. ``skip``: the system has no
            games for it.
        role: Only what systems ``retrieved``, or only each ``answer``, as for :func:`exam_pp.cover`.

    Returns:
        A game for every query and two systems with a score, except two repeats of a system. Place A has the
        system whose name sorts first. The prompt class of the games names the measure and the prompt class of
        the grades, such as ``Cover(min_grade=4)@20 of MyPrompt``; words are those of the passages that count.

    Raises:
        SelectionError: The filter selects no grades or several sets of grades, no query has scores of two
            systems, or a nugget score has no bank.
        DataError: A file is not in its format.
    """
    passages = loaded(passages)
    criteria = grade_filter or GradeFilter()
    if measure in NUGGET_METRICS:
        depth = cutoff
        evaluation = _nugget_evaluation(passages, bank, criteria, queries, cutoff, missing_queries, role)
    else:
        soft = measure == "SoftCover"
        data = read_selected(passages, bank, criteria, min_grade, queries, soft=soft, role=role)
        depth = cutoff or data.file.cutoff
        evaluation = _cover_evaluation(data, measure, depth, missing_queries)
    provenance = evaluation.provenance or Provenance()
    if provenance.partly_reviewed:
        judge = provenance.models[0].removeprefix(REVIEWED)
        raise SelectionError(
            f"People checked only some of the grades, which decides no game: name the judge alone (--grader "
            f"{judge}), or let people check all pairs."
        )
    name, scores = _of_measure(evaluation.scores, measure)
    prompt_class = provenance.prompt_classes[0]
    words = response_words(passages, cutoff=depth, role=role)
    # The name of each system, as evaluations list it, to the system and its repeat.
    entries = (entry for query in passages for passage in query.passages for entry in passage.rankings)
    repeats = {str(system): system for system in map(System.of, entries)}

    def recorded(query_id: str, name: str, place: str) -> dict[str, Any]:
        system, repeat = repeats.get(name, System(name))
        of_repeat = {} if repeat is None else {f"repeat_{place}": repeat}
        of_words = {f"words_{place}": words.get(name, {}).get(query_id, 0)} if words else {}
        return {f"system_{place}": system, **of_repeat, **of_words}

    return _rated(
        scores, provenance.models[0], f"{name} of {prompt_class}", name, tie_margin, evaluation.notes,
        provenance, recorded,
    )  # fmt: skip


def games_from_scores(
    files: PathLike | Sequence[PathLike],
    *,
    measure: str | None = None,
    tie_margin: float = 0.0,
    queries: Queries | None = None,
) -> RatedGames:
    """Games between all systems of files with scores of single queries, such as outputs of ``trec_eval -q``.

    ``measure``: Measure, by its name in the files. Default: the only one.
    """
    paths = [files] if isinstance(files, PathLike) else list(files)
    read = {path: _query_scores(path) for path in paths}
    measures = list(dict.fromkeys(score.metric for scores in read.values() for score in scores))
    names = listed([str(path) for path in paths])
    if measure is None and len(measures) > 1:
        raise SelectionError(f"{names} has several measures ({listed(measures)}); select one with --by.")
    chosen = measures[0] if measure is None else measure
    if chosen not in measures:
        raise SelectionError(f"{names} does not have the measure {chosen!r}, only {listed(measures)}.")
    selected = None if queries is None else query_ids(queries)
    by_query: dict[str, dict[str, float]] = {}
    for path, scores in read.items():
        for system, query_id, metric, value in scores:
            if metric == chosen and (selected is None or query_id in selected):
                of_query = by_query.setdefault(query_id, {})
                if system in of_query:
                    raise SelectionError(
                        f"{path} has a score of the system {system!r} for the query {query_id!r}, and so has "
                        "another file; leave out one of them."
                    )
                of_query[system] = value
    grader = listed(file_names(*paths))
    provenance = Provenance(leaderboards=file_names(*paths), queries=len(by_query))
    return _rated(by_query, grader, chosen, chosen, tie_margin, [], provenance)


def _query_scores(path: PathLike) -> list[Score]:
    scores = [score for score in read_query_scores(path) if score.system != OVERALL_SYSTEM]
    if not scores:
        raise SelectionError(
            f"{path} has no scores of single queries; write them with `exam-pp evaluate ... --per-query`."
        )
    return scores


def _rated(
    scores: Mapping[str, Mapping[str, float]],
    grader: str,
    prompt_class: str,
    measure: str,
    tie_margin: float,
    notes: Sequence[str],
    provenance: Provenance,
    recorded: Callable[[str, str, str], dict[str, Any]] = lambda _query, name, place: {
        f"system_{place}": name
    },
) -> RatedGames:
    """The games of the queries with at least one; raises :class:`SelectionError` without games.

    ``scores``: Query to system to score. ``recorded``: What a game records of a system, by query, name and
    place.
    """
    info = {"prompt_class": prompt_class, "measure": measure, "tie_margin": tie_margin}
    played = []
    verdicts: Counter[Winner] = Counter()
    for query_id, of_query in scores.items():
        games = []
        for name_a, name_b in combinations(sorted(of_query), 2):
            values = recorded(query_id, name_a, "a") | recorded(query_id, name_b, "b")
            if values["system_a"] == values["system_b"]:
                continue  # two repeats of a system
            winner = winner_of(of_query[name_a], of_query[name_b], tie_margin)
            games.append(Game(**values, winner=winner, decided_by="ratings"))
            verdicts[winner] += 1
        if games:
            of_grader = GameSet(llm=grader, prompt_info=dict(info), games=games)
            played.append(QueryGames(query_id=query_id, game_sets=[of_grader]))
    if not played:
        raise SelectionError("Games need scores of at least two systems on a common query.")
    systems = {system for of_query in scores.values() for system in of_query}
    notes = list(notes)
    if missing := sum(len(systems) - len(of_query) for of_query in scores.values()):
        have = counted(missing, "score is", "scores are")
        notes.append(f"{have} missing: such a system has no games for the query.")
    return RatedGames(played, len(systems), verdicts.total(), verdicts["C"], notes, provenance)


def _cover_evaluation(
    data: SelectedGrades, measure: str, cutoff: int, missing_queries: MissingQueries
) -> Evaluation:
    if measure != "MeanRating":
        soft = measure == "SoftCover"
        return cover_of(data, cutoff=cutoff, missing_queries=missing_queries, soft=soft)
    levels = range(1, max(data.highest_grade, 1) + 1)
    totals: dict[tuple[str, str], list[float]] = {}
    # A grade is the number of thresholds from 1 that it reaches, so a mean grade is a sum of covers.
    for level in levels:
        metric = Cover(level, cutoff)
        for query in data.queries:
            ranked = data.file.first_ranks
            if missing_queries == "skip":
                ranked = {system: first for system, first in ranked.items() if system in query.rankings}
            for score in metric(query, ranked):
                totals.setdefault((score.system, score.query_id), []).append(score.value)
    name = f"MeanRating@{cutoff}"
    scores = Scores(Score(*key, name, fsum(values)) for key, values in totals.items())
    return Evaluation(scores, list(data.notes), provenance=data.provenance)


def _nugget_evaluation(
    passages: Passages,
    bank: Bank | None,
    criteria: GradeFilter,
    queries: Queries | None,
    cutoff: int | None,
    missing_queries: MissingQueries,
    role: Role | None,
) -> Evaluation:
    if bank is None:
        raise SelectionError("Nugget scores need the bank of the nuggets; name it with --bank.")
    evaluations = nugget_scores(
        passages,
        bank,
        grade_filter=criteria,
        queries=queries,
        cutoff=cutoff,
        missing_queries=missing_queries,
        role=role,
    )
    if len(evaluations) > 1:
        raise SelectionError(
            f"There are assignments of several graders ({listed(list(evaluations))}); select one with "
            "--grader or --prompt."
        )
    return next(iter(evaluations.values()))


def _of_measure(scores: Iterable[Score], measure: str) -> tuple[str, dict[str, dict[str, float]]]:
    """The full name of the measure, such as ``Cover(min_grade=4)@20``, and query to system to score."""
    by_query: dict[str, dict[str, float]] = {}
    name = measure
    for score in scores:
        if score.metric.partition("(")[0].partition("@")[0] == measure and score.system != OVERALL_SYSTEM:
            name = score.metric
            by_query.setdefault(score.query_id, {})[score.system] = score.value
    return name, by_query


def response_words(
    passages: Passages, *, cutoff: int | None = None, role: Role | None = None
) -> dict[str, dict[str, int]]:
    """Count the words of the response of each system to each query.

    ``cutoff``: Number of ranks of each system that count. None: all. Returns system to query id to the number
    of words, for all queries of the file; 0 without results.
    """
    file = GradedFile()
    lengths: dict[tuple[str, int], int] = {}
    for line in views(passages, role):
        query = file.queries.get(line.query_id) or GradedQuery(line.query_id, {})
        for passage in line.passages:
            query.add(passage, [], soft=False, closed=False)
            lengths[line.query_id, len(query.passages) - 1] = len(passage.text.split())
        file.add(query)
    depth = sys.maxsize if cutoff is None else cutoff
    return {
        system: {
            query_id: sum(lengths[query_id, index] for index in query.top(system, first_rank, depth))
            for query_id, query in file.queries.items()
        }
        for system, first_rank in file.first_ranks.items()
    }
