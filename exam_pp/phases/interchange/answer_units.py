"""Splitting generated answers into passages: whole answers, sentences, or paragraphs of bounded length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from exam_pp.data_model import RankingEntry, Role
from exam_pp.errors import DataError
from exam_pp.formats.base import Source, known_format
from exam_pp.formats.dropped_fields import (
    DroppedFields,
    count_dropped_answer_fields,
    count_unused_keys,
    used,
)
from exam_pp.plugins import offered
from exam_pp.records import replace
from exam_pp.results import RunLine
from exam_pp.roles import System
from exam_pp.store.tables import are_columns_given
from exam_pp.store.trec.answers import Answer, AnswerPart, is_answer_table, read_answers, references_of
from exam_pp.text.sentences import sentences

Unit = Literal["paragraph", "sentence", "whole"]

MAX_WORDS = 400
"""Maximum length of a paragraph in words (between whitespace); only one longer sentence exceeds it."""


def answer_units(answer: Answer, unit: Unit, max_words: int = MAX_WORDS) -> list[AnswerPart]:
    """Split an answer into passages, in order, each with the citations of its parts.

    Joined with single spaces, the passages have the words of the answer. ``sentence`` keeps the parts of an
    answer that the system submitted as a list. An answer without text has no passages.
    """
    return [_joined(group) for group in _groups(answer, unit, max_words)]


_KEPT = {
    *("citations", "boundaries of answer parts", "repeats"),
    *("passage texts", "uncited references", "query texts"),
}


def answer_passages(answer: Answer, unit: Unit, dropped: DroppedFields) -> list[tuple[RankingEntry, str]]:
    """The answer's passages, as pairs of a ranking entry and a text, ranked in order by its system.

    Ids are ``system/query`` or ``system/query#n``. Scores count down to 1. An answer without text becomes an
    empty passage, so that its system is evaluated with 0. Counts the fields that passages cannot hold;
    :func:`answer_documents` returns the references.
    """
    count_dropped_answer_fields(answer, _KEPT, dropped)
    groups = _groups(answer, unit, MAX_WORDS)
    if answer.by_sentence:
        for group in groups:
            dropped.add("boundaries of answer parts", len(group) - 1)
            cited = set(_joined(group).citations)
            apart = sum(bool(part.citations) and set(part.citations) != cited for part in group)
            dropped.add("parts with their own citations", apart)
    units = [_joined(group) for group in groups] or [AnswerPart("")]
    whole = f"{System(answer.system, answer.repeat)}/{answer.query_id}"
    ids = [whole] if unit == "whole" else [f"{whole}#{rank}" for rank in range(1, len(units) + 1)]
    return [
        (_entry(answer, passage_id, rank, len(units), "answer", part.citations), part.text)
        for rank, (passage_id, part) in enumerate(zip(ids, units, strict=True), 1)
    ]


def answer_documents(answer: Answer) -> dict[str, RankingEntry | None]:
    """The documents that the answer lists or cites, in order.

    Returns document to its entry in the ranking of the references; None for a document that is only cited.
    """
    count = len(answer.references)
    listed = {
        docid: _entry(answer, docid, rank, count, "retrieved")
        for rank, docid in enumerate(dict.fromkeys(answer.references), 1)
    }
    return listed | {docid: listed.get(docid) for docid in references_of(answer)}


def _entry(
    answer: Answer, passage_id: str, rank: int, count: int, role: Role, citations: Sequence[str] = ()
) -> RankingEntry:
    """An entry of a ranking of ``count`` passages, whose scores count down to 1."""
    optional: dict[str, Any] = {"citations": list(citations)} if citations else {}
    if answer.repeat is not None:
        optional["repeat"] = answer.repeat
    return RankingEntry(
        method=answer.system,
        passage_id=passage_id,
        query_id=answer.query_id,
        rank=rank,
        score=float(count - rank + 1),
        role=role,
        **optional,
    )


_ELEMENTS = used("text", citations="citation confidences")
_USED = used(
    "query_id system text citations run_id topic_id narrative_id request_id qid topic narrative team_id "
    "response_length references repeat",
    query=used("qid text"),
    metadata=used("team_id run_id topic_id request_id narrative_id narrative repeat"),
    answer=_ELEMENTS,
    responses=_ELEMENTS,
)


def read_any_answers(file: Path, dropped: DroppedFields) -> Iterator[Answer]:
    """Read answers in any format; an unknown format is read as answers of a TREC track.

    A plug-in offers ``answers of unknown files``: a function of the file and the dropped fields, which
    returns the answers, or None if it cannot read them.

    Counts unused keys and confidences of citations as dropped.
    """
    form = known_format(file)
    if form is None or form.content != "answers" or form.records is read_answers or form.read is None:
        is_table = is_answer_table(file)
        is_bank = form is not None and form.content == "bank" and not are_columns_given()
        if is_bank and not is_table:
            raise DataError("has a test bank and no answers: --answers looks like --bank.", file=str(file))
        is_known = is_table or (form is not None and form.content == "answers")
        for read in () if is_known else offered("answers of unknown files"):
            if (found := read(file, dropped)) is not None:
                yield from found
                return
        yield from read_answers(file, dropped.fields)
        if not is_table:
            count_unused_keys(file, dropped, tree=_USED)
    else:
        yield from form.read(Source(file, dropped))


def ranking_entry(line: RunLine, role: Role | None = None) -> RankingEntry:
    """A line of a run as a ranking entry of a passage, with its role if it has one."""
    entry = RankingEntry(
        method=line.system,
        passage_id=line.passage_id,
        query_id=line.query_id,
        rank=line.rank,
        score=line.score,
    )
    return entry if role is None else replace(entry, role=role)


def _groups(answer: Answer, unit: Unit, max_words: int) -> list[list[AnswerPart]]:
    """Group the parts or sentences of an answer; each group becomes a passage."""
    if unit == "whole":
        return [list(answer.parts)] if answer.parts else []
    if unit == "paragraph":
        return list(_packed(answer, max_words))
    if answer.by_sentence:
        return [[part] for part in answer.parts]
    return [[sentence] for part in answer.parts for sentence in _sentence_parts(part)]


def _packed(answer: Answer, max_words: int) -> Iterator[list[AnswerPart]]:
    """Groups of as many parts as fit; parts that are too long are split into sentences."""
    group: list[AnswerPart] = []
    word_count = 0
    for part in _short_parts(answer, max_words):
        length = len(part.text.split())
        if group and word_count + length > max_words:
            yield group
            group, word_count = [], 0
        group.append(part)
        word_count += length
    if group:
        yield group


def _short_parts(answer: Answer, max_words: int) -> Iterator[AnswerPart]:
    for part in answer.parts:
        if len(part.text.split()) <= max_words:
            yield part
        else:
            yield from _sentence_parts(part)


def _sentence_parts(part: AnswerPart) -> Iterator[AnswerPart]:
    # Line ends carry the structure of lists, so only spaces are stripped.
    return (AnswerPart(text.rstrip(" "), part.citations) for text in sentences(part.text) if text.strip())


def _joined(parts: Sequence[AnswerPart]) -> AnswerPart:
    citations = dict.fromkeys(docid for part in parts for docid in part.citations)
    return AnswerPart(" ".join(part.text for part in parts).strip(), tuple(citations))
