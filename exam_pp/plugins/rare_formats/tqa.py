"""Test banks of Textbook Question Answering (Kembhavi et al., CVPR 2017): JSON files of lessons."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from exam_pp.banks import BankLine, Question
from exam_pp.data_model import Id
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, make_reader, register
from exam_pp.formats.dropped_fields import used
from exam_pp.formats.sample import fits
from exam_pp.models import Record
from exam_pp.store.files import read_text
from exam_pp.store.parsing import parse_json, valid
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

_PREFIX = "tqa2:"
"""Prefix of the query ids of lessons."""


class _Text(Record):
    processedText: str  # noqa: N815 - the key of the file, as below


class _NonDiagramQuestion(Record):
    beingAsked: _Text  # noqa: N815
    correctAnswer: _Text  # noqa: N815
    answerChoices: dict[str, _Text] = Field(default_factory=dict)  # noqa: N815


class _Questions(Record):
    nonDiagramQuestions: dict[str, _NonDiagramQuestion] = Field(default_factory=dict)  # noqa: N815


class _Lesson(Record):
    globalID: Id  # noqa: N815
    lessonName: str = ""  # noqa: N815
    questions: _Questions


def read_tqa(path: str | Path) -> Iterator[BankLine]:
    """Read one bank line per lesson with its non-diagram questions; lessons without questions are skipped.

    The query id is ``tqa2:<globalID>``, the query text the lesson's name, question ids are the ``NDQ_``
    keys, and the gold answer is the text of the correct choice. A question whose answer key is not one of its
    choices gets no gold answer; a warning counts these. Raises :class:`DataError`.
    """
    value = parse_json(read_text(path), path)
    lessons = value if isinstance(value, list) else [value]
    without_key: list[str] = []
    for number, lesson_value in enumerate(lessons, 1):
        lesson = _lesson(lesson_value, path, number)
        query_id = _PREFIX + lesson.globalID
        items = [
            _question(query_id, question_id, question, without_key)
            for question_id, question in lesson.questions.nonDiagramQuestions.items()
        ]
        if items:
            yield BankLine(
                query_id=query_id,
                test_collection="tqa",
                query_text=lesson.lessonName.strip(),
                info={"prompt_target": "questions"},
                items=items,
            )
    if without_key:
        log.warning(
            "%s: %s no gold answer, as the correct answer is not one of the choices (first: %s).",
            path, counted(len(without_key), "question gets", "questions get"), without_key[0],
        )  # fmt: skip


def _lesson(value: Any, path: str | Path, number: int) -> _Lesson:
    if not isinstance(value, dict):
        raise DataError(
            "is not a lesson of Textbook Question Answering, which is a JSON object.",
            file=str(path),
            field=f"lesson {number}",
        )
    return valid(_Lesson.model_validate, value, path, within=f"lesson {number}")


def _question(
    query_id: str, question_id: str, question: _NonDiagramQuestion, without_key: list[str]
) -> Question:
    values: dict[str, Any] = {
        "query_id": query_id,
        "question_id": question_id,
        "question_text": question.beingAsked.processedText.strip(),
    }
    key = question.correctAnswer.processedText.strip()
    choices = {label.strip().lower(): text for label, text in question.answerChoices.items()}
    chosen = choices.get(key.lower().strip(". )("))
    if chosen is not None:
        values["gold_answers"] = [chosen.processedText.strip()]
    elif key and not choices:
        values["gold_answers"] = [key]
    else:
        without_key.append(question_id)
    return Question(**values)


_QUESTION = {
    "beingAsked": used("processedText"),
    "correctAnswer": used("processedText"),
    "answerChoices": {"*": used("processedText")},
}
_USED = used("globalID lessonName", questions={"nonDiagramQuestions": {"*": _QUESTION}})

register(
    Format(
        "tqa", "bank", "lessons of Textbook Question Answering",
        fits(lambda sample: sample.item.keys() >= {"globalID", "questions"}), read_tqa, "lesson",
        make_reader(read_tqa, _USED),
    ),
)  # fmt: skip
