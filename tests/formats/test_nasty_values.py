"""Every format and nasty values: what is neither refused nor named as lost is what comes back."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import ExamError
from exam_pp.formats.base import FORMATS, Source, Target, known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.ragelo_games import Game
from exam_pp.results import Qrel, RunLine, Score
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.store.trec.queries import Query
from exam_pp.test_bank import BankLine, Nugget, Question, entry_id

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
    "games": lambda a, b, c, d, _: (
        [Game.model_validate({"qid": a, "agent_a": b, "agent_b": c, "raw_answer": d or None})]
        if b != c
        else []
    ),
    "passages": lambda a, b, c, d, _: _passages(a, b, c, d),
}
SAID_ANYWAY = {
    "squad2": {"field 'version'", "paragraphs missing from --contexts"},
    "tqa": {"field 'questions.nonDiagramQuestions.*.globalID'"},
    "rag24": {"field 'response_length'"},
}
"""What every file of a format has, and is said to be lost again."""


def shown(content: str, found: Any) -> Any:
    """For comparison; -0.0 is another number than 0.0, and infos are what readers say of themselves."""
    if content == "bank":
        entries = [item.model_dump(exclude={"info"}) for line in found for item in line.items]
        return [(line.query_id, line.query_text, line.test_collection) for line in found], entries
    if content == "passages":
        return [(query.query_id, [p.model_dump() for p in query.passages]) for query in found]
    return repr(found)


WRITTEN = [name for name in FORMATS if FORMATS.get(name).read and FORMATS.get(name).write]


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
            form.write(before, Target(path, dropped, (), {}, {one: "a query"}))
        except ExamError:
            assert not path.exists()
            return
        # What one writes the other reads, unless it is empty, as no bank, run or table is.
        if not before or (form.content == "bank" and dropped):
            return
        told = known_format(path)
        assert (told and told.name) in _kinds(name)
        after = form.read(Source(path, dropped))
        after = after if isinstance(after, dict) else list(after)
    if not dropped.counts.keys() - SAID_ANYWAY.get(name, set()):
        assert shown(form.content, after) == shown(form.content, before)


def _kinds(name: str) -> set[str | None]:
    """What a file of the format may be taken for: itself or nothing, or what the same reader reads."""
    read = FORMATS.get(name).read
    same = {other for other in FORMATS if FORMATS.get(other).read is read}
    return {None, name, *same, *({"official-tsv"} if name == "queries-tsv" else ())}
