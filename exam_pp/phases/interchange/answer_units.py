"""How a generated answer becomes passages: whole, by sentence, or in paragraphs of bounded length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from exam_pp.data_model import RankingEntry
from exam_pp.formats.base import Source, known_format
from exam_pp.formats.dropped_fields import DroppedFields, dropped_answer_fields, unused_keys, used
from exam_pp.results import RunLine
from exam_pp.sentences import sentences
from exam_pp.store.files import is_stream
from exam_pp.store.trec.answers import Answer, AnswerPart, read_answers

Unit = Literal["paragraph", "sentence", "whole"]

MAX_WORDS = 400
"""White-space separated words of a paragraph; only a single longer sentence exceeds it."""


def answer_units(answer: Answer, unit: Unit, max_words: int = MAX_WORDS) -> list[AnswerPart]:
    """The answer's passages, in order, each with the citations of what it holds.

    Joined with single spaces their words are the answer's words. ``sentence`` keeps the system's own
    elements where it handed in a list of them. An answer without text has no units.
    """
    return [_joined(group) for group in _groups(answer, unit, max_words)]


def answer_passages(answer: Answer, unit: Unit, dropped: DroppedFields) -> list[tuple[RunLine, AnswerPart]]:
    """The answer's passages as ranked by its system; ids are ``system/query`` (whole) or ``system/query#n``.

    Parts have no scores of their own: the order, as a score that falls to 1. An empty answer is a whole one,
    of no words: its system keeps its place, and scores 0. Notes what the passages do not say.
    """
    dropped_answer_fields(answer, {"cited documents", "boundaries of parts"}, dropped)
    groups = _groups(answer, unit, MAX_WORDS)
    if answer.by_sentence:
        for group in groups:
            dropped.add("boundaries of parts", len(group) - 1)
            cited = set(_joined(group).citations)
            apart = sum(bool(part.citations) and set(part.citations) != cited for part in group)
            dropped.add("parts with citations of their own", apart)
    units = [_joined(group) for group in groups] or ([AnswerPart("")] if unit == "whole" else [])
    whole = f"{answer.system}/{answer.query_id}"
    return [
        (
            RunLine(
                answer.query_id,
                whole if unit == "whole" else f"{whole}#{rank}",
                rank,
                float(len(units) - rank + 1),
                answer.system,
            ),
            part,
        )
        for rank, part in enumerate(units, 1)
    ]


_ELEMENTS = used("text", citations="confidences of citations")
_USED = used(
    "query_id system text run_id topic_id topic response_length references",
    metadata=used("team_id run_id topic_id request_id narrative_id narrative"),
    answer=_ELEMENTS,
    responses=_ELEMENTS,
)


def noted_answers(file: Path, dropped: DroppedFields) -> Iterator[Answer]:
    """The answers of a file in any format; a stream, or a file of no format, is read as one of a TREC track.

    Notes what the file says beside them, and how sure systems are of their citations.
    """
    form = None if is_stream(file) else known_format(file)
    if form is None or form.content != "answers" or form.records is read_answers or form.read is None:
        yield from read_answers(file)
        unused_keys(file, _USED, dropped)
    else:
        yield from form.read(Source(file, dropped))


def ranking_entry(line: RunLine, citations: Sequence[str]) -> RankingEntry:
    """A line of a run as passages have it, with what the passage cites."""
    entry = RankingEntry(
        method=line.system,
        passage_id=line.passage_id,
        query_id=line.query_id,
        rank=line.rank,
        score=line.score,
    )
    if citations:
        entry.citations = list(citations)
    return entry


def _groups(answer: Answer, unit: Unit, max_words: int) -> list[list[AnswerPart]]:
    """The parts, or sentences, that become a passage together."""
    if unit == "whole":
        return [list(answer.parts)] if answer.parts else []
    if unit == "paragraph":
        return list(_packed(answer, max_words))
    if answer.by_sentence:
        return [[part] for part in answer.parts]
    return [[sentence] for part in answer.parts for sentence in _sentence_parts(part)]


def _packed(answer: Answer, max_words: int) -> Iterator[list[AnswerPart]]:
    """As many sentences a group as fit; elements that are too long count as several sentences."""
    group: list[AnswerPart] = []
    words = 0
    for sentence in _atoms(answer, max_words):
        length = len(sentence.text.split())
        if group and words + length > max_words:
            yield group
            group, words = [], 0
        group.append(sentence)
        words += length
    if group:
        yield group


def _atoms(answer: Answer, max_words: int) -> Iterator[AnswerPart]:
    for part in answer.parts:
        if len(part.text.split()) <= max_words:
            yield part
        else:
            yield from _sentence_parts(part)


def _sentence_parts(part: AnswerPart) -> Iterator[AnswerPart]:
    # Line ends stay: they carry the structure of lists.
    return (AnswerPart(text.rstrip(" "), part.citations) for text in sentences(part.text) if text.strip())


def _joined(parts: Sequence[AnswerPart]) -> AnswerPart:
    citations = dict.fromkeys(docid for part in parts for docid in part.citations)
    return AnswerPart(" ".join(part.text for part in parts).strip(), tuple(citations))
