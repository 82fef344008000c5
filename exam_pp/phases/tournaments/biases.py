"""Biases of the judges of games files: place, length, own family and order of the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.games import Game, QueryGames
from exam_pp.grade_filter import GradeKey
from exam_pp.metrics.game_biases import Biases, QueryTally, Share, biases, tally
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.tournaments.outcomes import JudgedGames, distinct_games
from exam_pp.provenance import Provenance
from exam_pp.store.families import Families, read_families
from exam_pp.text.wording import counted, listed


@dataclass(frozen=True)
class JudgeBiases:
    """The biases of one judge.

    ``family``: Its family; None if it has none, or without a families file.
    """

    judge: GradeKey
    family: str | None
    queries: int
    biases: Biases


@dataclass(frozen=True)
class GameBiases:
    """The biases of all judges of games.

    ``notes``: Sentences on judges without a family and on games without lengths.
    """

    judges: Sequence[JudgeBiases]
    confidence: float = CONFIDENCE
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)


def game_biases(
    games: Iterable[PathLike | QueryGames],
    *,
    families: PathLike | Families | None = None,
    confidence: float = CONFIDENCE,
) -> GameBiases:
    """Measure the biases of all judges of games.

    ``families``: Families file, or families, for the share of the judge's own family. Default: this share is
    not computed.
    """
    known = known_families(families)
    played: dict[GradeKey, dict[str, list[Game]]] = {}
    for query_id, of_judge, game, is_first in distinct_games(games):
        if is_first:
            of_query = played.setdefault(of_judge.judge, {}).setdefault(query_id, [])
            of_query.append(game.model_copy(update={"answer": None}))
    if not played:
        raise SelectionError("The input has no games.")
    summed = partial(biases, confidence=confidence)
    rows = [_judge_biases(judge, of_judge, known, summed) for judge, of_judge in played.items()]
    provenance = Provenance(
        tuple(dict.fromkeys(judge.model for judge in played)),
        tuple(dict.fromkeys(judge.prompt_class for judge in played if judge.prompt_class)),
        queries=len({query_id for of_judge in played.values() for query_id in of_judge}),
    )
    notes = list(_notes(rows, with_families=known is not None))
    return GameBiases(rows, confidence, notes, provenance)


def _judge_biases(
    judge: GradeKey,
    played: Mapping[str, Sequence[Game]],
    families: Families | None,
    summed: Callable[[list[QueryTally]], Biases],
) -> JudgeBiases:
    family = None if families is None else families.of_model(judge.model)
    is_own = None
    if families is not None and family is not None:
        games = chain.from_iterable(played.values())
        systems = {name for game in games for name in (game.system_a, game.system_b)}
        own = {name for name in systems if families.of_system(name) == family}
        is_own = own.__contains__
    counts = [tally(of_query, is_own) for of_query in played.values()]
    return JudgeBiases(judge, family, len(counts), summed(counts))


def _notes(rows: Sequence[JudgeBiases], *, with_families: bool) -> Iterator[str]:
    found = [row.biases for row in rows]
    if any(row.longer.total < row.games - row.ungraded - row.by_rule - row.ties for row in found):
        yield (
            "Games with answers of equal or unknown length do not count for the share of the longer answer."
        )
    if by_rule := sum(row.by_rule for row in found):
        have = counted(by_rule, "game was", "games were")
        yield f"{have} decided by a rule without a judge (empty answer, same text): counted in no share."
    without = [row.judge.model for row in rows if row.family is None]
    if with_families and without:
        have = counted(len(without), "judge has", "judges have")
        yield f"{have} no family in the families file ({listed(without)}): no share of the own family."


def known_families(families: PathLike | Families | None) -> Families | None:
    """The families of a file, or those given."""
    return read_families(families) if isinstance(families, PathLike) else families


def bias_notes(result: GameBiases) -> list[str]:
    """The biases as sentences, to show beside a leaderboard made from the games.

    Returns for each judge at most four sentences: place A, the longer answer, the judge's own family, and the
    order of the answers. Biases without games have no sentence.
    """
    level = f"{100 * result.confidence:.4g} % interval"
    prompts = len({row.judge.model for row in result.judges}) < len(result.judges)
    notes = []
    for row in result.judges:
        model, prompt_class = row.judge
        name = f"{model} ({prompt_class}): " if prompts else f"{model}: "
        notes += [f"{name if len(result.judges) > 1 else ''}{text}" for text in _sentences(row, level)]
    return notes


def bias_notes_of(games: JudgedGames, families: Families | None, statistics: Statistics) -> list[str]:
    """The biases of the judge of games as sentences, with intervals if the statistics have some."""
    with_intervals = statistics.intervals is not None
    summed = partial(biases, intervals=with_intervals, confidence=statistics.confidence)
    row = _judge_biases(games.judge, games.games, families, summed)
    notes = bias_notes(GameBiases([row], statistics.confidence))
    played = [game for of_query in games.games.values() for game in of_query if game.decided_by != "ratings"]
    places = Counter((game.system_a, game.system_b) for game in played)
    # Six games of two systems rarely all have the same places by chance.
    fixed = sum(number > 5 and (b, a) not in places for (a, b), number in places.items())
    if fixed:
        notes.append(
            f"In all games of {counted(fixed, 'pair of systems', 'pairs of systems')} one system has place "
            "A, so the ratings contain the judge's preference for a place, which no interval contains."
        )
    if families is not None and row.family is None:
        notes.append(f"The judge {row.judge.model} has no family in the families file.")
    return notes


def _sentences(row: JudgeBiases, level: str) -> Iterator[str]:
    found = row.biases
    if found.place_a.total:
        yield f"Place A wins {_share(found.place_a, level)} of the decided games."
    if found.longer.total:
        yield f"The longer answer wins {_share(found.longer, level)} of the games with different lengths."
    if found.own_family.total:
        yield (
            f"The judge's own family ({row.family}) wins {_share(found.own_family, level)} of the games "
            "against other systems."
        )
    if found.flipped.total:
        yield (
            f"Flip rate: the verdicts differ in {_share(found.flipped, level)} of the pairs of answers in "
            "both orders."
        )


def _share(share: Share, level: str) -> str:
    assert share.share is not None
    details = [f"{share.count} of {share.total}"]
    if share.interval is not None:
        low, high = share.interval
        details.append(f"{level} {100 * low:.1f} to {100 * high:.1f}")
    if share.p_value is not None:
        details.append(f"p = {share.p_value:.2g}")
    return f"{100 * share.share:.1f} % ({', '.join(details)})"
