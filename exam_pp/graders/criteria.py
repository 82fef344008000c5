"""Pointwise criteria: ratings of a system's whole answer by several criteria, in one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exam_pp.data_model import CriteriaGrades, CriterionRating
from exam_pp.graders.base import CriteriaGrading
from exam_pp.prompts.base import CUT_SLOT, NO_DOCUMENTS
from exam_pp.prompts.criteria import ANSWER_SLOT, CriteriaSet, read_criteria
from exam_pp.requests import Completion, Request

MAX_NEW_TOKENS = 1024
"""Enough for an explanation before the ratings."""


@dataclass(frozen=True)
class AnsweredQuery:
    """A system's answer to a query, and its documents as pairs of id and text, most relevant first."""

    system: str
    query_text: str
    answer: str
    documents: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CriteriaGrader:
    """Rates answers by criteria; ``model`` and ``options`` are recorded with the grades."""

    criteria: CriteriaSet
    model: str
    options: dict[str, Any]
    info: dict[str, Any]
    max_new_tokens: int = MAX_NEW_TOKENS

    def run(self, unit: AnsweredQuery) -> CriteriaGrading:
        """Ask once; an empty answer gets the lowest ratings without a request.

        If the request is too long for the model, documents are cut from the end, never the answer.
        """
        if not unit.answer.strip():
            ratings: dict[str, int | str] = {criterion.name: 0 for criterion in self.criteria.criteria}
            return self._grades(unit, ratings)
        (reply,) = yield [self._request(unit)]
        if reply.error is None:
            ratings = read_criteria(reply.text, self.criteria.criteria)
        else:
            ratings = {criterion.name: reply.error for criterion in self.criteria.criteria}
        return self._grades(unit, ratings, reply)

    def _request(self, unit: AnsweredQuery) -> Request:
        documents = "\n".join(f"[{key}] {' '.join(text.split())}" for key, text in unit.documents)
        values = {"query": unit.query_text, ANSWER_SLOT: unit.answer, CUT_SLOT: documents or NO_DOCUMENTS}
        return Request(self.criteria.prompt.render(values), max_new_tokens=self.max_new_tokens)

    def _grades(
        self,
        unit: AnsweredQuery,
        ratings: dict[str, int | str],
        reply: Completion | None = None,
    ) -> CriteriaGrades:
        grades: dict[str, Any] = {
            "system": unit.system,
            "ratings": [_rating(name, rating) for name, rating in ratings.items()],
            "model": self.model,
            "model_options": self.options,
            "prompt_info": self.criteria.prompt.provenance() | self.info,
            "prompt_type": "criteria",
        }
        if reply is not None:
            grades["answer"] = reply.text
            if reply.tokens_cut:
                grades["tokens_cut"] = {CUT_SLOT: reply.tokens_cut}
        return CriteriaGrades(**grades)


def _rating(name: str, rating: int | str) -> CriterionRating:
    if isinstance(rating, int):
        return CriterionRating(criterion=name, rating=rating)
    return CriterionRating(criterion=name, rating=None, error={"failure_reason": rating})
