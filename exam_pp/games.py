"""Data model of games files: games between the answers of two systems, decided by a judge.

One line of the file is a query with the sets of its games (:class:`QueryGames`); a set has the games that one
model or person decided with one prompt. Unknown keys are kept. Source: Rackauckas et al.: Evaluating
RAG-Fusion with RAGElo, 2024, section 5.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from exam_pp.data_model import WHOLE, Id, Integer, OfOneModel, Repeat
from exam_pp.grade_filter import GradeKey
from exam_pp.models import Record
from exam_pp.roles import System

Winner = Literal["A", "B", "C"]
"""The place of the winner; C is a tie."""
WINNERS: tuple[Winner, ...] = ("A", "B", "C")

DecidedBy = Literal["reply", "choice", "empty answer", "same text", "ratings", "person"]
"""The origin of a verdict: a reply, the likeliest label, a rule without a call, ratings, or a person."""

_SCORES: dict[Winner, float] = {"A": 1.0, "B": 0.0, "C": 0.5}

EVALUATION = "ragelo_evaluation"
"""The key of a game for the structured answer of RAGElo's evaluator without the winner."""

Count = Annotated[int, Field(ge=0), WHOLE]


class Game(Record):
    """A comparison of the answers of two systems to one query.

    Attributes:
        system_a: The system whose answer stood in place A, which a judge reads first.
        system_b: The system in place B.
        repeat_a: The repeat of system A, from 1; None for a system with a single run.
        repeat_b: The repeat of system B.
        winner: The place of the better answer, or C for a tie; None for an ungraded game, which is not a tie.
        order: 1 or 2 if the judge compared the answers in both orders, each as a game of its own; else None.
        decided_by: A reply, the likeliest label, a rule without a model call, ratings, or a person.
        words_a: Number of words in the answer of system A.
        words_b: Number of words in the answer of system B.
        answer: The reply of the model.
        error: Why the game is ungraded, in ``failure_reason``.
        tokens_cut: Number of tokens of the prompt that were removed to fit the model.
        comment: Remark of a person.
    """

    system_a: Id
    system_b: Id
    repeat_a: Repeat | None = None
    repeat_b: Repeat | None = None
    winner: Winner | None = None
    order: Annotated[Literal[1, 2], WHOLE] | None = None
    decided_by: DecidedBy | None = None
    words_a: Count | None = None
    words_b: Count | None = None
    answer: str | None = None
    error: dict[str, Any] | None = Field(default=None, alias="llm_response_error")
    tokens_cut: Integer | None = None
    comment: str | None = None

    @model_validator(mode="after")
    def _of_two_systems(self) -> Game:
        if self.system_a == self.system_b:
            raise ValueError(
                f"system_a and system_b are both {self.system_a!r}, but a game needs two different systems"
            )
        return self

    @property
    def a(self) -> System:
        """The system in place A with its repeat."""
        return System(self.system_a, self.repeat_a)

    @property
    def b(self) -> System:
        """The system in place B with its repeat."""
        return System(self.system_b, self.repeat_b)

    @property
    def pair(self) -> frozenset[System]:
        """Both systems, in whatever places."""
        return frozenset((self.a, self.b))

    @property
    def score(self) -> float | None:
        """The score of the system in place A: 1, 0.5 for a tie, 0; None for an ungraded game."""
        return None if self.winner is None else _SCORES[self.winner]


class GameSet(OfOneModel, Record):
    """The games that one model or person decided with one prompt."""

    model: str | None = Field(default=None, alias="llm")
    model_options: dict[str, Any] | None = Field(default=None, alias="llm_options")
    prompt_info: dict[str, Any] | None = None
    prompt_type: str | None = None
    games: list[Game]

    @property
    def judge(self) -> GradeKey:
        """The model or person, ``(no model)`` if it is unknown, and the prompt class or ""."""
        return GradeKey(self.model or "(no model)", self.prompt_class or "")


class QueryGames(Record):
    """A line of a games file: a query, and its games by judge."""

    query_id: Id
    query_text: str | None = None
    game_sets: list[GameSet]
