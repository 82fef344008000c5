"""Regrading from stored replies, under another policy or with another answer key, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UNSET

from exam_pp.banks import Entry
from exam_pp.data_model import DirectGrade, NuggetAssignment, RubricGrades, SelfRating
from exam_pp.graders.rubric import recorded_policy
from exam_pp.prompts.base import Prompt, ReadReply, Unparsed
from exam_pp.prompts.entry_list import plain_label
from exam_pp.prompts.reading import UNREADABLE
from exam_pp.records import replace

G = TypeVar("G", RubricGrades, DirectGrade)


def reread_rubric(
    grades: RubricGrades, prompt: Prompt, unparsed: Unparsed, entries: Mapping[str, Entry] | None = None
) -> RubricGrades:
    """Read the stored replies again and return the new grades; grades without a stored reply do not change.

    Replies that could not be read before are read again. Failed calls, ratings of a reviewer, and entries
    that occur more than once do not change. Changed ratings get the source ``reread`` and keep their soft
    grade. ``entries`` are the bank entries, which prompts with an answer key need; grades of entries that are
    not in the bank do not change.
    """
    old = {rating.entry_id: rating for rating in grades.self_ratings or ()}
    errors = dict(grades.errors) if isinstance(grades.errors, dict) else None
    answered = dict(grades.answers)
    duplicates = _duplicates(grades)
    replies = {
        key: reply
        for key, reply in (answered | _unread(errors)).items()
        if not (key in old and old[key].source == "human")
        if key not in duplicates
        if not prompt.answer_key or key in (entries or {})
    }
    if not replies:
        return grades
    verdicts = {
        key: prompt.parse(reply, (entries or {}).get(key), unparsed) for key, reply in replies.items()
    }
    read = {key for key, verdict in verdicts.items() if verdict.reason is None}
    order = list(dict.fromkeys([*grades.correct, *grades.wrong, *replies]))
    was_correct = set(grades.correct)
    correct = [key for key in order if (verdicts[key].correct if key in verdicts else key in was_correct)]
    unread = replies.keys() - read
    wrong = [key for key in order if key not in unread and key not in set(correct)]
    new: dict[str, Any] = {
        "correct": correct,
        "wrong": wrong,
        "answers": [
            *((key, answer) for key, answer in grades.answers if key not in unread),
            *((key, reply) for key, reply in replies.items() if key in read and key not in answered),
        ],
        "errors": _errors(errors, verdicts, replies),
        "exam_ratio": len(correct) / (len(correct) + len(wrong)) if correct or wrong else 0.0,
        "prompt_info": _without_policy(grades.prompt_info) | recorded_policy(prompt, unparsed),
    }
    if grades.self_ratings is not None:
        ratings = _ratings(grades.self_ratings, verdicts, prompt)
        new["self_ratings"] = ratings
        new["relevance_label"] = max((rating.self_rating for rating in ratings), default=None)
    else:
        new["relevance_label"] = len(correct)
    if grades.assignments is not None:
        new["assignments"] = [
            *(item for item in grades.assignments if item.nugget_id not in unread),
            *(
                NuggetAssignment(nugget_id=key, assignment=plain_label(reply))
                for key, reply in replies.items()
                if key in read and all(item.nugget_id != key for item in grades.assignments)
            ),
        ]
    return _set(grades, new)


def _duplicates(grades: RubricGrades) -> set[str]:
    lists = (
        [key for key, _ in grades.answers],
        [rating.entry_id for rating in grades.self_ratings or ()],
        [item.nugget_id for item in grades.assignments or ()],
    )
    return {key for keys in lists for key, times in Counter(keys).items() if times > 1}


def _unread(errors: dict[str, Any] | None) -> dict[str, str]:
    return {
        key: str(error.get("response", ""))
        for key, error in (errors or {}).items()
        if isinstance(error, dict) and error.get("failure_reason") in UNREADABLE
    }


def _errors(
    errors: dict[str, Any] | None, verdicts: Mapping[str, ReadReply], replies: Mapping[str, str]
) -> dict[str, Any]:
    kept = {key: error for key, error in (errors or {}).items() if key not in verdicts}
    return kept | {
        key: {
            "prompt": "",
            **((errors or {}).get(key) or {}),
            "response": replies[key],
            "failure_reason": verdict.reason,
        }
        for key, verdict in verdicts.items()
        if verdict.reason is not None
    }


def _ratings(
    old: Sequence[SelfRating], verdicts: Mapping[str, ReadReply], prompt: Prompt
) -> list[SelfRating]:
    ratings = []
    for rating in old:
        verdict = verdicts.get(rating.entry_id)
        if verdict is None:
            ratings.append(rating)
        elif verdict.rating is not None:
            ratings.append(_rating(rating.entry_id, verdict, rating, prompt))
    known = {rating.entry_id for rating in old}
    new = {key: verdict for key, verdict in verdicts.items() if key not in known}
    return ratings + [_rating(key, v, None, prompt) for key, v in new.items() if v.rating is not None]


def _rating(key: str, verdict: ReadReply, old: SelfRating | None, prompt: Prompt) -> SelfRating:
    new: dict[str, Any] = {"self_rating": verdict.rating}
    if old is None:
        new |= {f"{prompt.entry_kind}_id": key, "source": "reread"}
        return SelfRating(**new)
    if old.self_rating != verdict.rating:
        new["source"] = "reread"
    elif old.source is not None or verdict.source != "number":
        new["source"] = verdict.source
    return replace(old, **new)


def _without_policy(info: dict[str, Any] | None) -> dict[str, Any]:
    return {
        key: value
        for key, value in (info or {}).items()
        if key not in ("unparsed", "answer_match", "cut_points")
    }


def reread_direct(grade: DirectGrade, prompt: Prompt, unparsed: Unparsed) -> DirectGrade:
    """Read the stored reply again and return the new grade; without a reply, return the same grade."""
    failed = grade.error is not None and grade.error.get("failure_reason") not in UNREADABLE
    if (failed and grade.error) or not grade.answer:
        return grade
    verdict = prompt.parse(grade.answer, None, unparsed)
    new: dict[str, Any] = {"correct": verdict.correct, "self_ratings": verdict.rating, "error": None}
    if verdict.reason is None:
        new["relevance_label"] = int(verdict.correct) if verdict.rating is None else verdict.rating
    else:
        new["relevance_label"] = None
        new["error"] = {"prompt": "", **(grade.error or {}), "response": grade.answer}
        new["error"]["failure_reason"] = verdict.reason
    return _set(grade, new)


def _set(grade: G, new: dict[str, Any]) -> G:
    """Return a copy with the new values; a key whose new value is None is not written to files."""
    return replace(grade, **{key: UNSET if value is None else value for key, value in new.items()})
