"""Answers and documents of a query, the pairs of systems to compare, and the judges of their games."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import combinations
from math import comb
from typing import Any, Literal, NamedTuple

from exam_pp.data_model import DIRECT_ID, DirectGrade, Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.grade_filter import GradeSelector
from exam_pp.graders.pairwise import AnswerText, Document, PairGrader, PairUnit
from exam_pp.pair_sample import draw
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.prompts.markup import without_thinking
from exam_pp.roles import System, SystemOutput, outputs_of, role_of

Pair = tuple[str, str]
"""Two systems, in the order of their names."""


class PlannedGame(NamedTuple):
    """A game before it is played: the answers in place A and in place B.

    ``order`` is 1 or 2 if both orders are played; else None.
    """

    a: System
    b: System
    order: Literal[1, 2] | None = None


def drawn_pairs(
    systems: Collection[str], query_id: str, seed: int, games_per_query: int | None = None
) -> list[Pair]:
    """The pairs of systems that play for a query, by name.

    ``games_per_query``: Number of pairs to draw; None for all.
    """
    pairs = combinations(sorted(systems), 2)
    if games_per_query is None or games_per_query >= comb(len(systems), 2):
        return list(pairs)
    return sorted(nsmallest(games_per_query, pairs, key=lambda pair: draw(seed, "pair", query_id, *pair)))


def planned_games(
    pair: Pair, query_id: str, repeats: Mapping[str, Sequence[int | None]], seed: int, both_orders: bool
) -> list[PlannedGame]:
    """The games of a pair for a query: one with drawn places, or one in each order."""
    first, second = (
        System(
            system, repeats[system][int(draw(seed, "repeat", query_id, *pair, system) * len(repeats[system]))]
        )
        for system in pair
    )
    if draw(seed, "place", query_id, *pair) < 0.5:
        first, second = second, first
    if both_orders:
        return [PlannedGame(first, second, 1), PlannedGame(second, first, 2)]
    return [PlannedGame(first, second)]


@dataclass(frozen=True)
class DocumentRule:
    """Labels and reasons of documents, and the lowest label of a document that is shown.

    ``selector``: Selects the direct grades that hold labels and reasons; None for no grades.
    ``min_relevance``: The lowest label; None shows all documents.
    """

    selector: GradeSelector | None = None
    min_relevance: int | None = None

    def document(self, passage: Passage) -> Document:
        """The passage with its label and reason."""
        label, reason = None, None
        for grades in self.selector.select(passage) if self.selector else ():
            label = grades.entry_ratings().get(DIRECT_ID, label)
            if isinstance(grades, DirectGrade) and grades.answer is not None:
                reason = without_thinking(grades.answer)
        return Document(passage.passage_id, passage.text, label, reason)

    def keeps(self, document: Document, query_id: str) -> bool:
        """Whether the document is shown; raises :class:`SelectionError` for a document without a label."""
        if self.min_relevance is None:
            return True
        if document.label is None:
            raise SelectionError(
                f"The document {document.passage_id!r} of the query {query_id!r} has no label, which "
                "--min-judgment needs; grade it with `exam-pp grade` and a direct prompt, or leave out "
                "--min-judgment."
            )
        return document.label >= self.min_relevance


@dataclass
class Contest:
    """The answers of systems to a query.

    ``answers``: System and repeat to the answer with its passages; empty answers are included. ``shared``:
    Passages of the query without rankings and judgments, such as documents of RAGElo's files without agents.
    They are the documents of a game if its systems retrieved and cite no passages.
    """

    query_id: str
    query_text: str
    answers: dict[System, SystemOutput]
    shared: list[Passage] = field(default_factory=list)
    rule: DocumentRule = field(default_factory=DocumentRule)

    @property
    def repeats(self) -> dict[str, list[int | None]]:
        """System to its repeats that answered, in order."""
        repeats: dict[str, list[int | None]] = {}
        for system, repeat in sorted(self.answers, key=lambda key: (key.name, key.repeat or 0)):
            repeats.setdefault(system, []).append(repeat)
        return repeats

    def unit(self, game: PlannedGame) -> PairUnit:
        """The answers of a game, with the documents of both systems."""
        a, b = self.answers[game.a], self.answers[game.b]
        documents = [self.rule.document(passage) for passage in pooled([a, b]) or self.shared]
        return PairUnit(
            self.query_id,
            self.query_text,
            AnswerText(a.system, a.text, a.repeat),
            AnswerText(b.system, b.text, b.repeat),
            [document for document in documents if self.rule.keeps(document, self.query_id)],
            game.order,
        )


def pooled(outputs: Iterable[SystemOutput]) -> list[Passage]:
    """The retrieved and cited passages of several systems, each once, by their best rank.

    Equal ranks are in the order of the names of systems, so both orders of a game have the same documents.
    """
    ranked: dict[str, tuple[int, Passage]] = {}
    for output in sorted(outputs, key=lambda output: output.name):
        for rank, passage in enumerate(output.sources):
            best = ranked.get(passage.passage_id)
            if best is None or rank < best[0]:
                ranked[passage.passage_id] = (rank, passage)
    return [passage for _, passage in sorted(ranked.values(), key=lambda item: item[0])]


def contest_of(
    query: QueryPassages, texts: Mapping[str, str], systems: Collection[str], rule: DocumentRule
) -> Contest:
    """The contest of a query.

    ``systems``: The systems that play; empty for all. Returns the contest with all answers, also empty ones.
    """
    answers = {
        key: output
        for key, output in outputs_of(query).items()
        if output.answered and (not systems or output.system in systems)
    }
    for output in answers.values():
        _check_single(query.query_id, output)
    shared = [passage for passage in query.passages if not passage.rankings and not passage.judgments]
    return Contest(query.query_id, texts.get(query.query_id) or query.query_text, answers, shared, rule)


def _check_single(query_id: str, output: SystemOutput) -> None:
    """Raise SelectionError if parts of an answer have the same rank, or one of them is a whole answer."""
    whole = f"{output.name}/{query_id}"
    ranks: dict[int, str] = {}
    for passage, _ in output.parts:
        other = ranks.setdefault(_rank(query_id, passage, output), passage.passage_id)
        if other != passage.passage_id or (passage.passage_id == whole and len(output.parts) > 1):
            raise SelectionError(
                f"The system {output.name!r} has two answers to the query {query_id!r}, which cannot be "
                f"distinguished (see {passage.passage_id!r}); import them as repeats or as two systems."
            )


def _rank(query_id: str, passage: Passage, output: SystemOutput) -> int:
    """The best rank of a part in an answer."""
    return min(
        entry.rank
        for entry in passage.rankings
        if entry.method == output.system
        and entry.repeat in (None, output.repeat)
        and role_of(query_id, passage.passage_id, entry) == "answer"
    )


_IDENTITY = ("prompt_class", "prompt_hash", "evidence", "factors", "unparsed", "min_relevance", "reasons_by")
"""Keys of ``prompt_info`` that games of the same judge share."""


Played = tuple[PlannedGame, Game]
"""A planned game that the games file has."""


@dataclass(frozen=True)
class GamesJudge:
    """A model with a prompt, as games record it, and its games in the games file."""

    grader: PairGrader
    model: str
    model_options: dict[str, Any]
    prompt_info: dict[str, Any]
    known: Mapping[str, QueryGames] = field(default_factory=dict)

    def played(self, query_id: str, plans: Iterable[PlannedGame]) -> list[Played]:
        """The planned games that have a winner in the games file.

        A game has the same repeats. If both orders are played, it also has the same places.
        """
        line = self.known.get(query_id)
        sets = [of_set for of_set in line.game_sets if self._made(of_set)] if line else []
        games = [game for of_set in sets for game in of_set.games]
        by_places = {(game.a, game.b): game for game in games if game.winner is not None}
        played = []
        for plan in plans:
            game = by_places.get((plan.a, plan.b))
            if game is None and plan.order is None:
                game = by_places.get((plan.b, plan.a))
            if game is not None:
                played.append((plan, game))
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
