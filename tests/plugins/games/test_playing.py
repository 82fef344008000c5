"""Games between two answers: the request, the reading, and games without a model call."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.games import Game
from exam_pp.llm_requests import Completion, Request
from exam_pp.plugins.games.compare import CompareOptions, PairGrader, PairUnit
from exam_pp.plugins.games.prompts import PAIRWISE_ANSWERS, PAIRWISE_CHOICE
from exam_pp.prompts.base import NO_DOCUMENTS
from tests.plugins.games.answers import output


def unit(a: str = "Bees dance.", b: str = "Bees sting now.", **more: Any) -> PairUnit:
    return PairUnit("What do bees do?", output("x", a), output("y", b), **more)


def play(grader: PairGrader, game: PairUnit, *replies: Completion | str) -> tuple[list[Request], Game]:
    """The requests of a game, and the game."""
    running = grader.run(game)
    asked: list[Request] = []
    given = [Completion(reply) if isinstance(reply, str) else reply for reply in replies]
    try:
        asked += next(running)
        running.send(given)
    except StopIteration as stop:
        return asked, stop.value
    raise AssertionError("the grader asks again")


GRADER = PairGrader(PAIRWISE_ANSWERS)


def grader(**options: Any) -> PairGrader:
    return PairGrader(PAIRWISE_ANSWERS, CompareOptions(**options))


def test_a_game_is_one_request_about_both_answers() -> None:
    (request,), game = play(GRADER, unit(documents="[d1] Bees dance."), "Both. [[B]]")
    assert request.slot("query") == "What do bees do?"
    assert (request.slot("answer_a"), request.slot("answer_b")) == ("Bees dance.", "Bees sting now.")
    assert request.slot("documents") == "[d1] Bees dance."
    assert not request.labels
    assert not request.one_line, "the reply explains on several lines"
    assert game.model_dump(exclude_unset=True) == {
        "system_a": "x", "system_b": "y", "winner": "B", "decided_by": "reply", "words_a": 2, "words_b": 3,
        "answer": "Both. [[B]]",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "winner"), [("", "text", "B"), ("text", " \n", "A"), ("", "", "C"), (" ", "", "C")]
)
def test_an_empty_answer_loses_without_a_call(a: str, b: str, winner: str) -> None:
    requests, game = play(GRADER, unit(a, b))
    assert not requests
    assert (game.winner, game.decided_by, game.answer) == (winner, "empty answer", None)
    assert (game.words_a, game.words_b) == (len(a.split()), len(b.split()))


def test_the_same_text_ties_without_a_call_only_by_option() -> None:
    same = unit("Bees  dance.", "Bees dance.")
    requests, game = play(GRADER, same, "[[A]]")
    assert (len(requests), game.winner) == (1, "A")
    requests, game = play(grader(same_text_is_tie=True), same)
    assert (requests, game.winner, game.decided_by) == ([], "C", "same text")


@pytest.mark.parametrize(
    ("reply", "response", "reason"),
    [
        (Completion("Both are good."), "Both are good.", "the reply has no verdict [[A]], [[B]] or [[C]]"),
        (Completion(error="timeout"), "", "timeout"),
    ],
)
def test_a_game_without_a_verdict_is_ungraded_with_reply_prompt_and_reason(
    reply: Completion, response: str, reason: str
) -> None:
    (request,), game = play(GRADER, unit(), reply)
    assert (game.winner, game.decided_by) == (None, None)
    assert game.error == {"response": response, "prompt": request.text, "failure_reason": reason}


def test_the_policy_for_structured_replies() -> None:
    reply = '{"final_verdict": "A"}'
    assert play(GRADER, unit(), reply)[1].winner is None
    assert play(grader(unparsed="chat"), unit(), reply)[1].winner == "A"


@pytest.mark.parametrize("prompt", [PAIRWISE_ANSWERS, PAIRWISE_CHOICE], ids=lambda prompt: prompt.name)
def test_a_choice_asks_for_the_labels(prompt: Any) -> None:
    (request,), game = play(PairGrader(prompt, choose=True), unit(), prompt.labels[1])
    assert request.labels == prompt.labels
    assert (game.winner, game.decided_by) == ("B", "choice")


def test_repeats_order_factors_and_shortening_are_recorded() -> None:
    game = PairUnit("?", output("x", "a", 2), output("y", "b"), order=2)
    (request,), played = play(grader(factors="brevity."), game, Completion("[[C]]", tokens_cut=7))
    assert (played.repeat_a, played.repeat_b, played.order, played.tokens_cut) == (2, None, 2, 7)
    assert "consider factors such as brevity.\n" in request.text


def test_only_documents_are_cut() -> None:
    (request,), _ = play(GRADER, unit("a", "b", documents="[d1] first"), "[[A]]")
    assert [part.text for part in request.parts if part.may_be_cut] == ["[d1] first"]
    (request,), _ = play(GRADER, unit("a", "b"), "[[A]]")
    assert request.slot("documents") == NO_DOCUMENTS
