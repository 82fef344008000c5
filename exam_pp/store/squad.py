"""Test banks and passages from SQuAD2-style files (Rajpurkar et al., ACL 2018)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from exam_pp.data_model import Id, Passage, PassageData, QueryPassages, Record
from exam_pp.errors import DataError
from exam_pp.store.files import read_text
from exam_pp.store.validation import data_error, parse_json
from exam_pp.test_bank import BankLine, Question


class _Answer(Record):
    text: str


class _Qa(Record):
    id: Id
    question: str
    is_impossible: bool = False
    answers: list[_Answer] = Field(default_factory=list)


class _Paragraph(Record):
    context: str
    qas: list[_Qa]


class _Article(Record):
    title: str = "untitled"
    paragraphs: list[_Paragraph]


class _File(Record):
    data: list[_Article]


@dataclass(frozen=True)
class SquadParagraph:
    """A paragraph as a query of its own: its questions, and itself as the only passage."""

    bank: BankLine
    passages: QueryPassages


def read_squad(path: str | Path) -> Iterator[SquadParagraph]:
    """One query a paragraph, called ``title:number`` (from 1), as is its passage.

    The query text is the article's title, question ids are the file's, gold answers its distinct answers;
    an impossible question has none, which means that "unanswerable" is right. Raises :class:`DataError`.
    """
    value = parse_json(read_text(path), path)
    if not isinstance(value, dict) or "data" not in value:
        raise DataError('is not a SQuAD2-style file: a JSON object with "data".', file=str(path))
    try:
        file = _File.model_validate(value)
    except ValidationError as error:
        raise data_error(error, path) from error
    numbers: Counter[str] = Counter()
    for article in file.data:
        for paragraph in article.paragraphs:
            title = "_".join(article.title.split())
            numbers[title] += 1
            yield _paragraph(f"{title}:{numbers[title]}", article.title, paragraph)


def _paragraph(query_id: str, title: str, paragraph: _Paragraph) -> SquadParagraph:
    bank = BankLine(
        query_id=query_id,
        test_collection="squad2",
        query_text=" ".join(title.replace("_", " ").split()),
        info={"prompt_target": "questions"},
        items=[Question(**_question(query_id, qa)) for qa in paragraph.qas],
    )
    passage = Passage(
        passage_id=query_id, text=paragraph.context, data=PassageData(judgments=[], rankings=[])
    )
    return SquadParagraph(bank, QueryPassages(query_id, [passage]))


def _question(query_id: str, qa: _Qa) -> dict[str, Any]:
    golds = [] if qa.is_impossible else list(dict.fromkeys(answer.text.strip() for answer in qa.answers))
    return {
        "query_id": query_id,
        "question_id": qa.id,
        "question_text": qa.question.strip(),
        "gold_answers": golds,
    }
