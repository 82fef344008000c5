"""Retrieved segments of rank_llm, UMBRELA and AutoNuggetizer, one record per query, from and to passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Format, Source, make_writer, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import with_keys
from exam_pp.models import Record
from exam_pp.roles import DistinctNames, System, outputs_of
from exam_pp.store.files import check_output
from exam_pp.store.parsing import read_objects, valid, write_records
from exam_pp.store.passages.graded_file import write_passages
from exam_pp.store.trec.queries import write_queries
from exam_pp.store.trec.runs import check_has_name, method_of
from exam_pp.text.wording import counted, listed

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
    def _check_text(self) -> Candidate:
        if not any(isinstance(self.doc.get(key), str) for key in _TEXT_KEYS):
            raise ValueError(f"doc needs one of the keys {', '.join(_TEXT_KEYS)}")
        return self

    @property
    def text(self) -> str:
        """The text of the segment."""
        return next(text for key in _TEXT_KEYS if isinstance(text := self.doc.get(key), str))


class CandidateLine(Record):
    """A query and its segments, best first."""

    query: CandidateQuery
    candidates: list[Candidate]


def read_candidates(path: str | Path) -> Iterator[tuple[int, CandidateLine]]:
    """Read the lines, or the elements of a JSON array, with their numbers, in file order.

    Raises :class:`~exam_pp.errors.DataError`.
    """
    number = 0
    for number, (line, value) in enumerate(read_objects(path, "a query with candidates"), 1):
        within = "" if line else f"element {number}"
        yield line or number, valid(CandidateLine.model_validate, value, path, line, within)
    if not number:
        raise DataError("has no candidates.", file=str(path))


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
        system = method_of(file)
        lines: dict[str, int] = {}
        for number, line in read_candidates(file):
            if (first := lines.setdefault(line.query.qid, number)) != number:
                problem = (
                    f"the query {line.query.qid!r} is also on line {first}; "
                    "a query must have all segments on one line."
                )
                raise DataError(problem, file=str(file), line=number, field="query")
            for record in (line, line.query, *line.candidates):
                dropped.keys(record.model_extra)
            texts.setdefault(line.query.qid, line.query.text)
            passages = pool.setdefault(line.query.qid, {})
            for rank, candidate in enumerate(line.candidates, 1):
                _add(passages, candidate, system, line.query.qid, rank, file, number)
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
    new = Passage(
        passage_id=candidate.docid, text=candidate.text, data=PassageData(judgments=[], rankings=[])
    )
    passage = passages.setdefault(candidate.docid, new)
    if passage.text != candidate.text or any(entry.method == system for entry in passage.rankings):
        raise DataError(
            f"the segment {candidate.docid!r} occurs twice for the query {query_id!r}, or with another text "
            "in an earlier ranking.",
            file=str(file), line=number, field="candidates",
        )  # fmt: skip
    score = float(-rank) if candidate.score is None else candidate.score
    passage.rankings.append(
        RankingEntry(method=system, passage_id=candidate.docid, query_id=query_id, rank=rank, score=score)
    )
    known = {judgment.relevance for judgment in passage.judgments}
    if candidate.judgment is not None and candidate.judgment not in known:
        judgment = Judgment(
            passage_id=candidate.docid,
            query_id=query_id,
            relevance=candidate.judgment,
            title_query=query_id,
        )
        passage.judgments.append(judgment)


def import_candidates(
    files: Sequence[Path], output: Path, *, queries_output: Path | None = None
) -> list[str]:
    """Write the segments as a passages file, and return the lines of the summary.

    The name of a file is the name of its system; the order of the segments on a line is the ranking. Segments
    of several files are pooled. Raises :class:`~exam_pp.errors.DataError` for a query that a file has twice,
    a segment that a query lists twice, and an id with two texts.
    """
    for path in (output, queries_output):
        if path is not None:
            check_output(path, files)
    dropped = DroppedFields()
    queries, texts = pool_candidates(files, dropped)
    if queries_output is not None:
        write_queries(texts, queries_output, inputs=files)
    write_passages(queries, output, inputs=files)
    count = sum(len(query.passages) for query in queries)
    imported = f"Imported {counted(len(queries), 'query')}, {counted(count, 'passage')}."
    return [imported, *dropped.lines()]


def segments_of(queries: Iterable[QueryPassages], dropped: DroppedFields, of: Any) -> list[CandidateLine]:
    """The ranking of a system as segments, best first; ``of`` is the conversion.

    The highest of several judgments is kept. Raises :class:`~exam_pp.errors.SelectionError` unless the
    conversion names one system with rankings, or the file has no other, and for a query without a text.
    """
    rankings: dict[str, dict[str, list[Candidate]]] = {}
    distinct = DistinctNames()
    for query in queries:
        for passage in query.passages:
            dropped.add("sets of grades", sum(1 for _ in passage.grade_sets()))
            dropped.add("judgments other than the highest", max(0, len(passage.judgments) - 1))
        for system, output in outputs_of(query).items():
            dropped.add("parts of answers", len(output.parts))
            for passage in output.retrieved:
                of_system = rankings.setdefault(distinct(system), {})
                of_system.setdefault(query.query_id, []).append(_candidate(system, passage))
    named = of.systems or [*rankings]
    if len(named) != 1 or named[0] not in rankings:
        raise SelectionError(
            f"Candidates are the ranking of one system; name it with --system. {of.source} has: "
            f"{listed([*rankings]) or 'no rankings'}."
        )
    ranking = rankings.pop(named[0])
    others = (segments for of_system in rankings.values() for segments in of_system.values())
    dropped.add("ranking entries of other systems", sum(map(len, others)))
    if missing := [query_id for query_id in ranking if query_id not in of.query_texts]:
        raise SelectionError(f"--queries has no text for the query {missing[0]!r} of {of.source}.")
    return [
        CandidateLine(query=CandidateQuery(qid=query_id, text=of.query_texts[query_id]), candidates=segments)
        for query_id, segments in ranking.items()
    ]


def _candidate(system: System, passage: Passage) -> Candidate:
    entries = (e for e in passage.rankings if e.method == system.name and e.repeat in (None, system.repeat))
    judged = [judgment.relevance for judgment in passage.judgments]
    judgment = {"judgment": max(judged)} if judged else {}
    score = next(entry.score for entry in entries if entry.role != "answer")
    doc = {"segment": passage.text}
    return Candidate.model_validate({"docid": passage.passage_id, "score": score, **judgment, "doc": doc})


def _read(source: Source) -> list[QueryPassages]:
    queries, texts = pool_candidates([source.path], source.dropped)
    source.dropped.add("query texts", sum(map(bool, texts.values())))
    return queries


register(
    Format(
        "candidates", "passages", "retrieved segments of rank_llm, UMBRELA and AutoNuggetizer",
        with_keys("query", "candidates", arrays=True), read_candidates, "query", _read,
        make_writer(write_records),
        of_passages=segments_of,
        imports=import_candidates,
    ),
)  # fmt: skip
