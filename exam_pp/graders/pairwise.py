"""Games: which of two answers to a query is better, as one request to a model or by a rule without a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from exam_pp.games import WINNERS, DecidedBy, Game, Winner
from exam_pp.graders.base import Grading
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Completion, Request
from exam_pp.prompts.base import DOCUMENTS_SLOT, NO_DOCUMENTS, Prompt, Unparsed
from exam_pp.prompts.pairwise import FACTORS, Evidence


@dataclass(frozen=True)
class AnswerText:
    """The whole answer of a system, or of one repeat of it."""

    system: str
    text: str
    repeat: int | None = None


@dataclass(frozen=True)
class Document:
    """A document beside the answers, with the label and the reason of a direct grade if it has one."""

    passage_id: str
    text: str
    label: int | None = None
    reason: str | None = None

    def shown(self, evidence: Evidence) -> str:
        """The id, then the text and the reason, as ``evidence`` says; empty if both are missing."""
        text = self.text.strip() if evidence in ("text", "both") else ""
        reason = (self.reason or "").strip() if evidence in ("reason", "both") else ""
        if evidence == "both" and text and reason:
            reason = f"Reason: {reason}"
        content = "\n".join(part for part in (text, reason) if part)
        return f"[{self.passage_id}] {content}" if content else ""


@dataclass(frozen=True)
class PairUnit:
    """A game to play: two answers to a query, with documents, best first.

    ``order`` is 1 or 2 if the answers are compared in both orders.
    """

    query_id: str
    query_text: str
    a: AnswerText
    b: AnswerText
    documents: Sequence[Document] = ()
    order: Literal[1, 2] | None = None


@dataclass(frozen=True)
class PairGrader:
    """Decides games with a prompt of the kind ``pair``, in one request each.

    ``same_text_is_tie``: Whether two answers with the same words tie without a call. ``max_new_tokens``:
    Maximum number of tokens in a reply.
    """

    prompt: Prompt
    evidence: Evidence = "text"
    factors: str = FACTORS
    unparsed: Unparsed = "ungraded"
    choose: bool = False
    same_text_is_tie: bool = False
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS

    def run(self, unit: PairUnit) -> Grading[Game]:
        """Play the game; an empty answer loses against a text without a request, and two of them tie."""
        decided = self._without_call(unit)
        if decided is not None:
            winner, rule = decided
            return self._game(unit, winner=winner, decided_by=rule)
        request = self._request(unit)
        (reply,) = yield [request]
        return self._played(unit, request, reply)

    def asks(self, unit: PairUnit) -> bool:
        """Whether the game needs a request."""
        return self._without_call(unit) is None

    def _without_call(self, unit: PairUnit) -> tuple[Winner, DecidedBy] | None:
        words_a, words_b = unit.a.text.split(), unit.b.text.split()
        if not words_a or not words_b:
            winner: Winner = "A" if words_a else "B" if words_b else "C"
            return winner, "empty answer"
        return ("C", "same text") if self.same_text_is_tie and words_a == words_b else None

    def _request(self, unit: PairUnit) -> Request:
        shown = [text for document in unit.documents if (text := document.shown(self.evidence))]
        values = {
            "query": unit.query_text,
            DOCUMENTS_SLOT: "\n".join(shown) or NO_DOCUMENTS,
            "answer_a": unit.a.text,
            "answer_b": unit.b.text,
            "factors": self.factors,
        }
        labels = self.prompt.labels if self.choose else ()
        return Request(self.prompt.render(values), labels, self.max_new_tokens)

    def _played(self, unit: PairUnit, request: Request, reply: Completion) -> Game:
        fields: dict[str, Any] = {"answer": reply.text}
        if reply.tokens_cut:
            fields["tokens_cut"] = reply.tokens_cut
        verdict = self.prompt.verdict(reply, None, self.unparsed)
        if verdict.rating is not None:
            decided: DecidedBy = "choice" if self.choose else "reply"
            return self._game(unit, winner=WINNERS[verdict.rating], decided_by=decided, **fields)
        fields["error"] = {"response": reply.text, "prompt": request.text, "failure_reason": verdict.reason}
        return self._game(unit, **fields)

    def _game(self, unit: PairUnit, **fields: Any) -> Game:
        places = {"repeat_a": unit.a.repeat, "repeat_b": unit.b.repeat, "order": unit.order}
        return Game(
            system_a=unit.a.system,
            system_b=unit.b.system,
            **{key: value for key, value in places.items() if value is not None},
            words_a=len(unit.a.text.split()),
            words_b=len(unit.b.text.split()),
            **fields,
        )
