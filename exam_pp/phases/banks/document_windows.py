"""Windows over long documents: stretches of about equal length that end with a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from pathlib import Path
from typing import NamedTuple

from exam_pp.data_model import QueryPassages
from exam_pp.errors import DataError
from exam_pp.formats.base import Source, known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.roles import is_part_of_answer
from exam_pp.store.trec.texts import read_texts
from exam_pp.text.sentences import sentences

# A Chinese, Japanese or Korean character, a piece of a word, or another sign.
_TOKEN = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W぀-ヿ㐀-鿿가-힯]{1,8}|[^\w\s]")


class Window(NamedTuple):
    """A stretch of a document, from the character ``start`` up to ``end``, which does not belong to it."""

    document_id: str
    start: int
    end: int
    text: str


class _Piece(NamedTuple):
    """A sentence, or a part of a sentence that is longer than a window."""

    end: int
    tokens: int


def count_tokens(text: str) -> int:
    """The approximate number of tokens, independent of a model.

    A token is a sign, a Chinese, Japanese or Korean character, or up to eight characters of a word. English
    texts have about as many tokens for language models.
    """
    return sum(1 for _ in _TOKEN.finditer(text))


def windows_of(document_id: str, text: str, limit: int) -> Iterator[Window]:
    """Divide a document into windows of at most ``limit`` tokens (:func:`count_tokens`).

    The windows have about equal length, so that the last is not much shorter. They end with sentences;
    sentences longer than a window are divided. Documents without tokens have no windows.
    """
    pieces = list(_pieces(text, limit))
    total = sum(piece.tokens for piece in pieces)
    if not total:
        return
    share = total / ceil(total / limit)
    start = end = done = tokens = 0
    goal = share
    for piece in pieces:
        is_full = tokens + piece.tokens > limit or done + piece.tokens / 2 > goal
        if tokens and is_full:
            yield Window(document_id, start, end, text[start:end])
            start, tokens, goal = end, 0, goal + share
        end, tokens, done = piece.end, tokens + piece.tokens, done + piece.tokens
    if tokens:
        yield Window(document_id, start, len(text), text[start:])


def _pieces(text: str, limit: int) -> Iterator[_Piece]:
    """The sentences, of which long ones are divided at tokens."""
    position = 0
    for sentence in sentences(text):
        ends = [match.end() for match in _TOKEN.finditer(sentence)]
        for first in range(limit, len(ends), limit):
            yield _Piece(position + ends[first - 1], limit)
        position += len(sentence)
        yield _Piece(position, len(ends) % limit or min(len(ends), limit))


def read_documents(path: Path) -> dict[str, str]:
    """Read document texts by id, in file order."""
    form = known_format(path)
    if form is None or form.content != "passages" or form.read is None:
        return read_texts(path, None)
    return _texts(form.read(Source(path, DroppedFields())), path)


def _texts(queries: Iterable[QueryPassages], path: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for query in queries:
        for passage in query.passages:
            if is_part_of_answer(passage):
                continue
            if texts.setdefault(passage.passage_id, passage.text) != passage.text:
                raise DataError(
                    f"the passage {passage.passage_id!r} occurs twice, with different texts.", file=str(path)
                )
    if not any(text.strip() for text in texts.values()):
        raise DataError("has no passage texts.", file=str(path))
    return texts


def all_windows(documents: Mapping[str, str], limit: int) -> list[Window]:
    """The windows of all documents, in order."""
    return [window for key, text in documents.items() for window in windows_of(key, text, limit)]
