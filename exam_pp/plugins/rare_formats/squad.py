"""Test banks and passages of SQuAD2-style files (Rajpurkar et al., ACL 2018)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from exam_pp.banks import TARGET, BankLine, Entry, Question
from exam_pp.data_model import Id, Passage, PassageData, QueryPassages
from exam_pp.errors import DataError
from exam_pp.formats.bank import of_kind
from exam_pp.formats.base import Format, Target, make_reader, register
from exam_pp.formats.dropped_fields import count_dropped_bank_fields, used
from exam_pp.formats.sample import Sample, fits
from exam_pp.models import Record
from exam_pp.store.files import read_text, write_text
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


_NUMBERED = re.compile(r"(.+):[1-9][0-9]*")


def _title(query_id: str) -> str:
    """The article of a paragraph: the part of the id before ``:number``, else the whole id."""
    match = _NUMBERED.fullmatch(query_id)
    return match[1] if match else query_id


def _qa(item: Entry, context: str) -> dict[str, Any]:
    """A question; ``answer_start`` is the first occurrence in the paragraph, or -1."""
    answers = [{"text": gold, "answer_start": context.find(gold)} for gold in item.gold_answers or ()]
    return {
        "id": item.entry_id,
        "question": item.text,
        "is_impossible": item.gold_answers == [],
        "answers": answers,
    }


def _is_squad(sample: Sample) -> bool:
    articles = sample.object.get("data")
    return isinstance(articles, list) and all(isinstance(a, dict) and "paragraphs" in a for a in articles[:1])


def _write(lines: Iterable[BankLine], target: Target) -> None:
    """Write one paragraph per query with its questions; the gold answers ``[]`` mark an impossible question.

    The contexts of the target give the texts of the paragraphs; an unknown text is empty.
    """
    lines = of_kind(lines, "question", target.dropped)
    keeps = {"gold answers", "query texts", "queries without entries"}
    count_dropped_bank_fields(lines, keeps, target.dropped, collection="squad2", text=str.strip)
    articles: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        title = _title(line.query_id)
        paragraphs = articles.setdefault(title, [])
        context = next(iter(target.contexts.get(line.query_id, {}).values()), "")
        paragraphs.append({"context": context, "qas": [_qa(item, context) for item in line.items]})
        query_id_when_read = f"{'_'.join(title.split())}:{len(paragraphs)}"
        target.dropped.add("query ids", query_id_when_read != line.query_id)
        query_text_when_read = " ".join(title.replace("_", " ").split())
        target.dropped.add("query texts", query_text_when_read != line.query_text)
        target.dropped.add("paragraphs missing from --passages", line.query_id not in target.contexts)
    data = [{"title": title, "paragraphs": paragraphs} for title, paragraphs in articles.items()]
    text = json.dumps({"version": "v2.0", "data": data}, ensure_ascii=False) + "\n"
    write_text(target.path, text, inputs=target.inputs)


_USED_QA = used("id question is_impossible", answers=used("text"))

register(
    Format(
        "squad2", "bank", "questions of a SQuAD2-style file", fits(_is_squad), read_squad, "paragraph",
        make_reader(read_squad, {"data": used("title", paragraphs={"qas": _USED_QA})}), _write,
    ),
    Format(
        "squad2-paragraphs", "passages", "paragraphs of a SQuAD2-style file",
        read=make_reader(read_paragraphs, {"data": used("title", paragraphs=used("context"))}),
        written_by="--to squad2 --passages",
    ),
)  # fmt: skip
