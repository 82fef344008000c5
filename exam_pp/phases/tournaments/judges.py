"""The judge of a comparison: a model with a prompt, and the games that it has played before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.graders.pairwise import PairGrader
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.phases.tournaments.contests import Contest
from exam_pp.phases.tournaments.pairs import PlannedGame

_IDENTITY = ("prompt_class", "prompt_hash", "evidence", "factors", "unparsed", "min_relevance", "reasons_by")
"""Keys of ``prompt_info`` that games of the same judge share."""


class Played(NamedTuple):
    """A planned game that the games file has."""

    plan: PlannedGame
    game: Game


@dataclass(frozen=True)
class Judge:
    """A model with a prompt, as games record it, and its games in the games file."""

    grader: PairGrader
    model: str
    model_options: dict[str, Any]
    prompt_info: dict[str, Any]
    known: Mapping[str, QueryGames] = field(default_factory=dict)

    def games(self, query_id: str) -> list[Game]:
        """The games of the query that this judge has played; also ungraded ones."""
        if query_id not in self.known:
            return []
        sets = [of_set for of_set in self.known[query_id].game_sets if self._made(of_set)]
        return [game for of_set in sets for game in of_set.games]

    def played(self, query_id: str, plans: Iterable[PlannedGame]) -> list[Played]:
        """The planned games that have a winner in the games file.

        A game has the same repeats. If both orders are played, it also has the same places.
        """
        by_places = {(game.a, game.b): game for game in self.games(query_id) if game.winner is not None}
        played = []
        for plan in plans:
            game = by_places.get((plan.a, plan.b))
            if game is None and plan.order is None:
                game = by_places.get((plan.b, plan.a))
            if game is not None:
                played.append(Played(plan, game))
        return played

    def line(self, contest: Contest, new: Sequence[Game], played: Iterable[Played] = ()) -> QueryGames:
        """The line of the query with its new games, and all games of the games file.

        New games replace ungraded ones of this judge. Games that were played before get the order of the
        plan.
        """
        query_id = contest.query_id
        ordered = {
            id(game): game.model_copy(update={"order": plan.order})
            for plan, game in played
            if plan.order is not None and game.order is None
        }
        again = {(game.a, game.b) for game in new}
        sets = []
        line = self.known.get(query_id)
        for of_set in line.game_sets if line else ():
            if self._made(of_set):
                kept = [
                    ordered.get(id(game), game)
                    for game in of_set.games
                    if game.winner is not None or (game.a, game.b) not in again
                ]
                sets.append(of_set.model_copy(update={"games": kept}))
            else:
                sets.append(of_set)
        if new:
            sets = self._with_new(sets, list(new))
        if line is not None:
            return line.model_copy(update={"game_sets": [of_set for of_set in sets if of_set.games]})
        return QueryGames(query_id=query_id, query_text=contest.query_text, game_sets=sets)

    def _with_new(self, sets: list[GameSet], new: list[Game]) -> list[GameSet]:
        """The sets with the new games, in the set with the same metadata or in a new one."""
        metadata = (self.model, self.model_options, self.prompt_info)
        for number, of_set in enumerate(sets):
            if (of_set.model, of_set.model_options, of_set.prompt_info) == metadata:
                extended = of_set.model_copy(update={"games": [*of_set.games, *new]})
                return [*sets[:number], extended, *sets[number + 1 :]]
        own = GameSet(
            model=self.model,
            model_options=self.model_options,
            prompt_info=self.prompt_info,
            prompt_type="pair",
            games=new,
        )
        return [*sets, own]

    def _made(self, of_set: GameSet) -> bool:
        """Whether this model played the games with this prompt and with options that change no reply."""
        info, options = of_set.prompt_info or {}, of_set.model_options or {}
        return (
            of_set.model == self.model
            and all(info.get(key) == self.prompt_info.get(key) for key in _IDENTITY)
            and all(options.get(key) == self.model_options.get(key) for key in DECISIVE)
        )
