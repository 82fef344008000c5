"""Comparison of ratings by choice (``--reply chosen``) with written ratings, for ``exam-pp grade --plan``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from exam_pp.graders.make import RATING_TOKENS
from exam_pp.graders.soft import soft_grade
from exam_pp.llm_requests import Completion, Request
from exam_pp.prompts.base import Unparsed
from exam_pp.prompts.rubric import QUESTION_SELF_RATED


@dataclass(frozen=True)
class Choices:
    """Ratings of pairs by choice, compared with the ratings that the model writes.

    ``written`` counts the replies with a rating, ``agreeing`` those among them that equal the choice.
    ``mass`` is the mean probability of all labels together where the choice is made; None if unknown.
    """

    pairs: int
    written: int
    agreeing: int
    mass: float | None


def rating_requests(pairs: Iterable[tuple[str, str]], unparsed: Unparsed) -> list[Request]:
    """The requests for ratings of pairs of a question and a passage.

    The written ratings and the choices get the same requests; a choice ignores how a reply is read.
    """
    prompt = QUESTION_SELF_RATED
    return [
        Request(
            prompt.render({"question": question, "context": passage}),
            prompt.labels,
            RATING_TOKENS,
            one_line=True,
            search=prompt.label_search(unparsed),
        )
        for question, passage in pairs
    ]


def compare_choices(
    replies: Sequence[Completion], choices: Sequence[Completion], unparsed: Unparsed
) -> Choices:
    """Compare the replies to :func:`rating_requests` with the choices of the same model."""
    written, chosen = _ratings(replies, unparsed), _ratings(choices, unparsed)
    both = [(a, b) for a, b in zip(written, chosen, strict=True) if a is not None]
    soft = [grade for choice in choices if (grade := soft_grade(choice.label_logprobs)) is not None]
    mass = fmean(grade.mass for grade in soft) if soft else None
    return Choices(len(choices), len(both), sum(a == b for a, b in both), mass)


def _ratings(replies: Iterable[Completion], unparsed: Unparsed) -> list[int | None]:
    """The ratings of replies; None without a number, where some policies assume a rating."""
    verdicts = (QUESTION_SELF_RATED.parse(reply.text, None, unparsed) for reply in replies)
    return [verdict.rating if verdict.source == "number" else None for verdict in verdicts]
