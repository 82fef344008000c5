"""Retrieved segments of rank_llm, UMBRELA and AutoNuggetizer, one record per query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from exam_pp.data_model import (
    Id,
    Integer,
    Judgment,
    Number,
    Passage,
    PassageData,
    QueryPassages,
    RankingEntry,
)
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Source, make_writer, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import with_keys
from exam_pp.models import Record
from exam_pp.store.files import read_lines, read_text
from exam_pp.store.parsing import parse_json, read_records, valid, write_records
from exam_pp.store.trec.runs import check_has_name, method_of

_TEXT_KEYS = ("segment", "contents", "text", "passage", "content")


class CandidateQuery(Record):
    """The query of a line."""

    qid: Id
    text: str = ""


class Candidate(Record):
    """A retrieved segment; its text is in ``doc`` as ``segment``, ``contents``, ``text`` or ``passage``."""

    docid: Id
    score: Number | None = None
    judgment: Integer | None = None
    doc: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_a_text(self) -> Candidate:
        if self.text is None:
            raise ValueError(f"doc needs one of the keys {', '.join(_TEXT_KEYS)}")
        return self

    @property
    def text(self) -> str | None:
        """The text of the segment; None if no key has a text."""
        return next((str(self.doc[key]) for key in _TEXT_KEYS if isinstance(self.doc.get(key), str)), None)


class CandidateLine(Record):
    """A query and its segments, best first."""

    query: CandidateQuery
    candidates: list[Candidate]


def read_candidates(path: str | Path) -> Iterator[tuple[int, CandidateLine]]:
    """Read the lines with their numbers, in file order; raises :class:`~exam_pp.errors.DataError`.

    A file that is one JSON array is read, too; the number is then that of the element.
    """
    with suppress(StopIteration):
        if next(read_lines(path))[1].startswith(b"["):
            return _array(path)
    return read_records(CandidateLine, path, "candidates")


def _array(path: str | Path) -> Iterator[tuple[int, CandidateLine]]:
    values = parse_json(read_text(path), path)
    if not values:
        raise DataError("has no candidates.", file=str(path))
    for number, value in enumerate(values, 1):
        yield number, valid(CandidateLine.model_validate, value, path, within=f"element {number}")


def pool_candidates(
    files: Iterable[Path], dropped: DroppedFields
) -> tuple[list[QueryPassages], dict[str, str]]:
    """Return the segments of the files as passages, and a mapping of query id to query text.

    Raises :class:`DataError`, also for a segment with two different texts.
    """
    pool: dict[str, dict[str, Passage]] = {}
    texts: dict[str, str] = {}
    for file in files:
        check_has_name(file)
        system = method_of(file).removesuffix(".jsonl").removesuffix(".json")
        lines: dict[str, int] = {}
        for number, line in read_candidates(file):
            if (first := lines.setdefault(line.query.qid, number)) != number:
                problem = (
                    f"the query {line.query.qid!r} is also on line {first}; "
                    "a query must have all segments on one line."
                )
                raise DataError(problem, file=str(file), line=number, field="query")
            dropped.keys(line.model_extra)
            dropped.keys(line.query.model_extra)
            texts.setdefault(line.query.qid, line.query.text)
            passages = pool.setdefault(line.query.qid, {})
            for rank, candidate in enumerate(line.candidates, 1):
                _add(passages, candidate, system, line.query.qid, rank, file, number)
                dropped.keys(candidate.model_extra)
                dropped.keys(candidate.doc, _TEXT_KEYS)
    return [QueryPassages(query_id, list(passages.values())) for query_id, passages in pool.items()], texts


def _add(
    passages: dict[str, Passage],
    candidate: Candidate,
    system: str,
    query_id: str,
    rank: int,
    file: Path,
    number: int,
) -> None:
    text = candidate.text or ""
    new = Passage(passage_id=candidate.docid, text=text, data=PassageData(judgments=[], rankings=[]))
    passage = passages.setdefault(candidate.docid, new)
    problem = None
    if passage.text != text:
        problem = f"the segment {candidate.docid!r} has another text in an earlier ranking."
    elif any(entry.method == system for entry in passage.rankings):
        problem = f"the segment {candidate.docid!r} occurs twice for the query {query_id!r}."
    if problem:
        raise DataError(problem, file=str(file), line=number, field="candidates")
    score = float(-rank) if candidate.score is None else candidate.score
    passage.rankings.append(
        RankingEntry(method=system, passage_id=candidate.docid, query_id=query_id, rank=rank, score=score)
    )
    if candidate.judgment is not None and not any(
        judgment.relevance == candidate.judgment for judgment in passage.judgments
    ):
        judgment = Judgment(
            passage_id=candidate.docid,
            query_id=query_id,
            relevance=candidate.judgment,
            title_query=query_id,
        )
        passage.judgments.append(judgment)


def _read(source: Source) -> list[QueryPassages]:
    queries, texts = pool_candidates([source.path], source.dropped)
    source.dropped.add("query texts", sum(map(bool, texts.values())))
    return queries


register(
    Format(
        "candidates", "passages", "retrieved segments of rank_llm, UMBRELA and AutoNuggetizer",
        with_keys("query", "candidates", arrays=True), read_candidates, "query", _read,
        make_writer(write_records),
    ),
)  # fmt: skip
