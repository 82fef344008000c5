"""Test banks and passages of SQuAD2-style files (Rajpurkar et al., ACL 2018)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from exam_pp.banks import TARGET, BankLine, Question
from exam_pp.data_model import Id, Passage, PassageData, QueryPassages
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, make_reader, register
from exam_pp.formats.dropped_fields import used
from exam_pp.formats.sample import Sample, fits
from exam_pp.models import Record
from exam_pp.store.files import read_text
from exam_pp.store.parsing import parse_json, valid


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


def read_squad(path: str | Path) -> Iterator[BankLine]:
    """Read the questions of each paragraph, whose query has the id ``title:number`` (from 1).

    The query text is the article's title, question ids are those of the file, and gold answers are the
    distinct answers. An impossible question has the gold answers ``[]``, which means "unanswerable"; a
    question whose answers are withheld has no gold answers. Raises :class:`DataError`.
    """
    for query_id, title, paragraph in _paragraphs(path):
        yield BankLine(
            query_id=query_id,
            test_collection="squad2",
            query_text=" ".join(title.replace("_", " ").split()),
            info={TARGET: "questions"},
            items=[Question(**_question(query_id, qa)) for qa in paragraph.qas],
        )


def read_paragraphs(path: str | Path) -> Iterator[QueryPassages]:
    """Read each paragraph as the only passage of its query; raises :class:`DataError`."""
    for query_id, _, paragraph in _paragraphs(path):
        data = PassageData(judgments=[], rankings=[])
        yield QueryPassages(query_id, [Passage(passage_id=query_id, text=paragraph.context, data=data)])


def _paragraphs(path: str | Path) -> Iterator[tuple[str, str, _Paragraph]]:
    """Yield query id, title of the article, and paragraph."""
    value = parse_json(read_text(path), path)
    if not isinstance(value, dict) or "data" not in value:
        raise DataError('is not a SQuAD2-style file, which is a JSON object with "data".', file=str(path))
    file = valid(_File.model_validate, value, path)
    numbers: Counter[str] = Counter()
    for article in file.data:
        for paragraph in article.paragraphs:
            title = "_".join(article.title.split())
            numbers[title] += 1
            yield f"{title}:{numbers[title]}", article.title, paragraph


def _question(query_id: str, qa: _Qa) -> dict[str, Any]:
    golds = list(dict.fromkeys(answer.text.strip() for answer in qa.answers))
    return {
        "query_id": query_id,
        "question_id": qa.id,
        "question_text": qa.question.strip(),
        # A question that is neither impossible nor answered has withheld answers, as in test sets.
        **({"gold_answers": [] if qa.is_impossible else golds} if qa.is_impossible or golds else {}),
    }


def _is_squad(sample: Sample) -> bool:
    articles = sample.object.get("data")
    return isinstance(articles, list) and all(isinstance(a, dict) and "paragraphs" in a for a in articles[:1])


_USED_QA = used("id question is_impossible", answers=used("text"))

register(
    Format(
        "squad2", "bank", "questions of a SQuAD2-style file", fits(_is_squad), read_squad, "paragraph",
        make_reader(read_squad, {"data": used("title", paragraphs={"qas": _USED_QA})}),
    ),
    Format(
        "squad2-paragraphs", "passages", "paragraphs of a SQuAD2-style file",
        read=make_reader(read_paragraphs, {"data": used("title", paragraphs=used("context"))}),
    ),
)  # fmt: skip
