"""Question banks of collections: SQuAD2 with its paragraphs, TQA, and the first publication of the workbench.

Each is one JSON document. Sources: Rajpurkar et al. (ACL 2018), and Kembhavi et al. (CVPR 2017).
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import AliasPath, Field, TypeAdapter

from exam_pp.banks import TARGET, BankLine, Question, published_id
from exam_pp.data_model import Id, Passage, PassageData, QueryPassages
from exam_pp.formats.base import Format, make_reader, register
from exam_pp.formats.dropped_fields import used
from exam_pp.formats.sample import Fit, Sample, fits
from exam_pp.models import Record
from exam_pp.store.files import read_text
from exam_pp.store.parsing import parse_json, valid
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)
_INFO = {TARGET: "questions"}


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


class SquadFile(Record):
    """The articles of SQuAD2."""

    data: list[_Article]


def _paragraphs(path: str | Path) -> Iterator[tuple[str, str, _Paragraph]]:
    """Yield query id, title of the article, and paragraph."""
    numbers: Counter[str] = Counter()
    for article in valid(SquadFile.model_validate, parse_json(read_text(path), path), path).data:
        for paragraph in article.paragraphs:
            title = "_".join(article.title.split())
            numbers[title] += 1
            yield f"{title}:{numbers[title]}", article.title, paragraph


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
            info=_INFO,
            items=[
                _question(
                    query_id, qa.id, qa.question, [] if qa.is_impossible else _distinct(qa.answers) or None
                )
                for qa in paragraph.qas
            ],
        )


def _distinct(answers: list[_Answer]) -> list[str]:
    return list(dict.fromkeys(answer.text.strip() for answer in answers))


def read_paragraphs(path: str | Path) -> Iterator[QueryPassages]:
    """Read each paragraph as the only passage of its query; raises :class:`DataError`."""
    for query_id, _, paragraph in _paragraphs(path):
        data = PassageData(judgments=[], rankings=[])
        yield QueryPassages(query_id, [Passage(passage_id=query_id, text=paragraph.context, data=data)])


class _Text(Record):
    text: str = Field(alias="processedText")


class _LessonQuestion(Record):
    text: str = Field(validation_alias=AliasPath("beingAsked", "processedText"))
    key: str = Field(validation_alias=AliasPath("correctAnswer", "processedText"))
    choices: dict[str, _Text] = Field(default_factory=dict, alias="answerChoices")


class _Questions(Record):
    without_diagram: dict[str, _LessonQuestion] = Field(default_factory=dict, alias="nonDiagramQuestions")


class Lesson(Record):
    """A lesson of TQA."""

    id: Id = Field(alias="globalID")
    name: str = Field(default="", alias="lessonName")
    questions: _Questions


def read_tqa(path: str | Path) -> Iterator[BankLine]:
    """Read one bank line per lesson with its non-diagram questions; lessons without questions are skipped.

    The query id is ``tqa2:<globalID>``, the query text the lesson's name, question ids are the ``NDQ_``
    keys, and the gold answer is the text of the correct choice. A question whose answer key is not one of its
    choices gets no gold answer; a warning counts these. Raises :class:`DataError`.
    """
    value = parse_json(read_text(path), path)
    without_key: list[str] = []
    for number, each in enumerate(value if isinstance(value, list) else [value], 1):
        lesson = valid(Lesson.model_validate, each, path, within=f"lesson {number}")
        query_id = f"tqa2:{lesson.id}"
        golds = {key: _gold(question) for key, question in lesson.questions.without_diagram.items()}
        without_key += [key for key, gold in golds.items() if gold is None]
        items = [
            _question(query_id, key, lesson.questions.without_diagram[key].text, gold)
            for key, gold in golds.items()
        ]
        if items:
            yield BankLine(
                query_id=query_id,
                test_collection="tqa",
                query_text=lesson.name.strip(),
                info=_INFO,
                items=items,
            )
    if without_key:
        log.warning(
            "%s: %s no gold answer, as the correct answer is not one of the choices (first: %s).",
            path, counted(len(without_key), "question gets", "questions get"), without_key[0],
        )  # fmt: skip


def _gold(question: _LessonQuestion) -> list[str] | None:
    """The text of the correct choice, or the key of a question without choices."""
    choices = {label.strip().lower(): choice.text.strip() for label, choice in question.choices.items()}
    key = question.key.strip()
    chosen = choices.get(key.lower().strip(". )("), None if choices else key or None)
    return None if chosen is None else [chosen]


class _Facet(Record):
    title: str = ""
    facet: str = ""
    questions: list[str]


_GENQ = TypeAdapter(dict[str, dict[str, _Facet]])
_NUMBER = re.compile(r"^\s*\d+[.)]\s*")


def read_genq(path: str | Path) -> Iterator[BankLine]:
    """Read a bank line for each facet of ``{query: {facet: {"title", "facet", "questions"}}}``.

    The list number in front of a question is removed from the text; whitespace at its end is kept. The id is
    the published one: the digest of the question as it stands in the file. Raises :class:`DataError`.
    """
    for query_id, facets in valid(_GENQ.validate_python, parse_json(read_text(path), path), path).items():
        for facet_id, facet in facets.items():
            # The empty name means the query itself.
            of_facet = {"facet_id": facet_id} if facet_id else {}
            yield BankLine(
                query_id=query_id,
                **of_facet,
                **({"facet_text": facet.facet} if facet_id or facet.facet else {}),
                query_text=facet.title,
                info=_INFO,
                items=[
                    Question(
                        query_id=query_id,
                        **of_facet,
                        question_id=published_id(query_id, text, facet_id or None),
                        question_text=_NUMBER.sub("", text),
                    )
                    for text in facet.questions
                    if text.strip()
                ],
            )


def _question(query_id: str, question_id: str, text: str, golds: list[str] | None) -> Question:
    known = {} if golds is None else {"gold_answers": golds}
    return Question(query_id=query_id, question_id=question_id, question_text=text.strip(), **known)


def _is_squad(sample: Sample) -> bool:
    articles = sample.object.get("data")
    return isinstance(articles, list) and all(isinstance(a, dict) and "paragraphs" in a for a in articles[:1])


def _is_genq(sample: Sample) -> bool:
    facets = [facet for value in sample.values if isinstance(value, dict) for facet in value.values()]
    return bool(facets) and all(isinstance(facet, dict) and "questions" in facet for facet in facets)


_QA = used("id question is_impossible", answers=used("text"))
_TEXT = used("processedText")
_OF_LESSON = {"beingAsked": _TEXT, "correctAnswer": _TEXT, "answerChoices": {"*": _TEXT}}

register(
    Format(
        "squad2", "bank", "questions of a SQuAD2-style file", fits(_is_squad), read_squad, "paragraph",
        make_reader(read_squad, {"data": used("title", paragraphs={"qas": _QA})}),
    ),
    Format(
        "squad2-paragraphs", "passages", "paragraphs of a SQuAD2-style file",
        read=make_reader(read_paragraphs, {"data": used("title", paragraphs=used("context"))}),
    ),
    Format(
        "tqa", "bank", "lessons of Textbook Question Answering",
        fits(lambda sample: sample.item.keys() >= {"globalID", "questions"}), read_tqa, "lesson",
        make_reader(
            read_tqa, used("globalID lessonName", questions={"nonDiagramQuestions": {"*": _OF_LESSON}})
        ),
    ),
    Format(
        "genq", "bank", "question bank by facet, JSON", fits(_is_genq, Fit.LOOSE), read_genq, "facet",
        make_reader(read_genq, {"*": {"*": used("title facet questions")}}),
    ),
)  # fmt: skip
