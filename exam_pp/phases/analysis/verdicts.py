"""Agreement of judges on the same games: share of equal verdicts, κ and rank correlation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.data_model import is_human
from exam_pp.defaults import SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.formats.games import read_any_games
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.grade_filter import GradeKey, grader_names
from exam_pp.metrics.agreement import kappa_interval
from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.analysis.grader_pairs import GraderPair, Ratings, compare_graders
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.provenance import Provenance, graded_by
from exam_pp.wording import counted, listed

_VERDICTS = (-1, 0, 1)
"""The first system loses, a tie, the first system wins; systems are in the order of their names."""


@dataclass(frozen=True)
class JudgePair:
    """Agreement of two judges on the games of both.

    ``equal``: Share of games with the same verdict; None without common games. ``second_ties``: Share of ties
    of the second judge. ``interval``: 95 % interval of κ over resampled queries; None if κ is undefined in
    every sample.
    """

    pair: GraderPair
    equal: float | None
    opposite: float | None
    first_ties: float | None
    second_ties: float | None
    interval: Interval | None


@dataclass(frozen=True)
class VerdictAgreement:
    """Agreement of every two judges."""

    pairs: Sequence[JudgePair]
    samples: int = SAMPLES
    seed: int = 0
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)


def verdict_agreement(
    files: Sequence[PathLike],
    *,
    models: Collection[str] = (),
    samples: int = SAMPLES,
    seed: int = 0,
) -> VerdictAgreement:
    """Compare the verdicts of every two judges on the same games.

    Games are the same if they compare the same two systems (and repeats) on the same query, in whatever
    places. If a judge decided a game several times, as in both orders, unequal verdicts are a tie. Ungraded
    games do not count.

    ``models``: Compare only these models and people. Default: all.
    """
    verdicts, ungraded = _verdicts(query for path in files for query in read_any_games(path))
    names = ", ".join(str(Path(path)) for path in files)
    keys = sorted(verdicts, key=lambda key: (is_human(key.model), key))
    known = list(dict.fromkeys(key.model for key in keys))
    for model in models:
        if model not in known:
            raise SelectionError(f"{names} has no decided games of {model!r} (judges: {listed(known)}).")
    keys = [key for key in keys if not models or key.model in models]
    if len(keys) < 2:
        found = f" ({keys[0].model})" if keys else ""
        raise SelectionError(
            f"A comparison needs the games of two judges, but {names} has those of "
            f"{counted(len(keys), 'judge')}{found}."
        )
    name = grader_names(keys)
    ratings: dict[str, Ratings] = {name(key): verdicts[key] for key in keys}
    pairs = compare_graders(ratings, samples=samples, seed=seed)
    notes = [f"{counted(ungraded, 'ungraded game')} left out."] if ungraded else []
    notes += [note for pair in pairs for note in pair.notes]
    provenance = graded_by(keys)
    queries = len({unit[0] for of_judge in ratings.values() for unit in of_judge})
    return VerdictAgreement(
        [_judge_pair(pair, samples, seed) for pair in pairs],
        samples,
        seed,
        notes,
        Provenance(provenance.models, provenance.prompt_classes, queries=queries),
    )


def _verdicts(queries: Iterable[QueryGames]) -> tuple[dict[GradeKey, dict[tuple[str, ...], int]], int]:
    """The verdict of each judge on each game, and the number of ungraded games."""
    verdicts: dict[GradeKey, dict[tuple[str, ...], int]] = {}
    ungraded = 0
    for query in queries:
        for games in query.game_sets:
            of_judge = verdicts.setdefault(_key(games), {})
            for game in games.games:
                if game.winner is None:
                    ungraded += 1
                    continue
                unit, verdict = _verdict(query.query_id, game)
                of_judge[unit] = verdict if of_judge.get(unit, verdict) == verdict else 0
    return {key: of_judge for key, of_judge in verdicts.items() if of_judge}, ungraded


def _key(games: GameSet) -> GradeKey:
    return GradeKey(games.model or "(no model)", games.prompt_class or "(no prompt class)")


def _verdict(query_id: str, game: Game) -> tuple[tuple[str, ...], int]:
    """The query and the systems in the order of their names; 1, 0 or -1 if the first wins, ties or loses."""
    value = int(2 * (0.5 if game.score is None else game.score) - 1)
    first, second = sorted((game.a, game.b), key=lambda system: (str(system), system.name))
    unit = (query_id, first.name, str(first.repeat), second.name, str(second.repeat))
    return unit, value if game.a == first else -value


def _judge_pair(pair: GraderPair, samples: int, seed: int) -> JudgePair:
    items = pair.comparisons[0].items
    if not items:
        return JudgePair(pair, None, None, None, None, None)
    tables: dict[str, list[list[int]]] = {}
    for query_id, first, second in items:
        table = tables.setdefault(query_id, [[0] * len(_VERDICTS) for _ in _VERDICTS])
        table[_VERDICTS.index(int(first))][_VERDICTS.index(int(second))] += 1
    count = len(items)
    return JudgePair(
        pair,
        sum(item.first == item.second for item in items) / count,
        sum(item.first * item.second < 0 for item in items) / count,
        sum(item.first == 0 for item in items) / count,
        sum(item.second == 0 for item in items) / count,
        kappa_interval(list(tables.values()), samples=samples, seed=seed) if len(tables) > 1 else None,
    )
