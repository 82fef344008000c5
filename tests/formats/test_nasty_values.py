"""Every format with nasty values: each value is refused, counted as dropped, or survives a round trip."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import BankLine, Nugget, Question, entry_id
from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import ExamError
from exam_pp.formats.base import FORMATS, Source, Target, all_formats, known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.results import Qrel, RunLine, Score
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.store.trec.queries import Query

NASTY = [
    "", " ", " a", "a\tb", "a\nb", "a\rb", "a\r\nb", "\u2028", "a\x85", "\x00", '"', '"a" b', "'", "=1",
    "a,b", "\ufeffa", "e\u0301", "1e3", "00", "nan", "[1]", "a [1].", "{", "#", "1. a", "all", "C",
]  # fmt: skip
nasty = st.sampled_from(NASTY)
value = st.sampled_from([0.0, -0.0, 0.5, 1 / 3, 1e308, -1e308, 5e-324])


def _passages(query_id: str, passage_id: str, text: str, system: str) -> list[QueryPassages]:
    entry = RankingEntry(method=system, passage_id=passage_id, query_id=query_id, rank=1, score=1.0)
    data = PassageData(judgments=[], rankings=[entry])
    return [QueryPassages(query_id, [Passage(passage_id=passage_id, text=text, data=data)])]


def _bank(query_id: str, other: str, text: str, word: str) -> list[BankLine]:
    question = Question(query_id=query_id, question_id=entry_id(query_id, text), question_text=text)
    nugget = Nugget(query_id=query_id, nugget_id=other, nugget_text=word, importance="vital")
    return [BankLine(query_id=query_id, query_text=text, test_collection=word, items=[question, nugget])]


def _games(query_id: str, one: str, two: str, text: str) -> list[QueryGames]:
    game = Game(system_a=one, system_b=two, **({"answer": text} if text else {}))
    return [QueryGames(query_id=query_id, game_sets=[GameSet(model=text or None, games=[game])])]


MADE: dict[str, Callable[[str, str, str, str, float], Any]] = {
    "bank": lambda a, b, c, d, _: _bank(a, b, c, d),
    "queries": lambda a, _b, c, _d, _: [Query(query_id=a, query_text=c)] if c.strip() and a.strip() else [],
    "answers": lambda a, b, c, d, _: [
        Answer(a, b, (AnswerPart(c, (d,)),) if c.strip() else (), query_text=d, references=(d,))
    ],
    "scores": lambda a, b, c, _d, value: [Score(a, b, c, value)],
    "ranks": lambda a, _b, _c, _d, value: {a: value + 0.0},  # no rank is -0
    "qrels": lambda a, b, _c, _d, _: [Qrel(a, b, -1)],
    "runs": lambda a, b, c, _d, value: {a: [RunLine(b, c, 0, value, a)]},
    "games": lambda a, b, c, d, _: _games(a, b, c, d) if b != c else [],
    "passages": lambda a, b, c, d, _: _passages(a, b, c, d),
}
ALWAYS_DROPPED = {
    "rag24": {"field 'response_length'"},
}
"""Fields that a writer of the format always writes, and its reader always counts as dropped."""


def comparable(content: str, value: Any) -> Any:
    """A form to compare: -0.0 differs from 0.0, and ``info`` is ignored, as readers set it.

    An answer with one part is the same as text and as a list.
    """
    if content == "answers":
        return repr([replace(answer, by_sentence=len(answer.parts) > 1) for answer in value])
    if content == "bank":
        entries = [item.model_dump(exclude={"info"}) for line in value for item in line.items]
        return [(line.query_id, line.query_text, line.test_collection) for line in value], entries
    if content == "passages":
        return [(query.query_id, list(query.passages)) for query in value]
    return repr(value)


WRITTEN = [form.name for form in all_formats() if form.read and form.write and not form.of_passages]


@pytest.mark.parametrize("name", WRITTEN)
@given(nasty, nasty, nasty, nasty, value)
def test_nasty_values(name: str, one: str, two: str, three: str, four: str, number: float) -> None:
    form = FORMATS.get(name)
    assert form.read is not None
    assert form.write is not None
    before = MADE[form.content](one, two, three, four, number)
    dropped = DroppedFields()
    with tempfile.TemporaryDirectory() as folder:
        # A run's system is named by its file.
        path = Path(folder) / (quote(one, safe="") + ".run" if name == "run" and one else "file")
        try:
            form.write(before, Target(path, dropped))
        except ExamError:
            assert not path.exists()
            return
        # The reader reads every file of the writer, except for empty files.
        if not before or (form.content == "bank" and dropped):
            return
        detected = known_format(path)
        assert (detected and detected.name) in _detectable(name)
        after = form.read(Source(path, dropped))
        after = after if isinstance(after, dict) else list(after)
    if not dropped.counts.keys() - ALWAYS_DROPPED.get(name, set()):
        assert comparable(form.content, after) == comparable(form.content, before)


def _detectable(name: str) -> set[str | None]:
    """The formats that may be detected for a file: its own, those with the same reader, or None."""
    read = FORMATS.get(name).read
    same = {other for other in FORMATS if FORMATS.get(other).read is read}
    return {None, name, *same, *({"official-tsv"} if name == "queries-tsv" else ())}
