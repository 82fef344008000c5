"""CSV files of RAGElo: queries, retrieved documents, answers of agents, and reasonings on documents.

Columns: ``qid, query``; ``qid, did, document[, agent]``; ``qid, agent, answer``; ``qid, did, raw_answer,
answer``. Source: RAGElo's readers, which accept further column names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.data_model import DIRECT_ID, DirectGrade, Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Format, Target, csv_format, register
from exam_pp.formats.dropped_fields import (
    count_dropped_answer_fields,
    count_dropped_passage_fields,
    count_dropped_query_fields,
    count_dropped_ranking_fields,
    trimmed,
)
from exam_pp.formats.sample import Fit, Sample, fits, with_columns
from exam_pp.formats.scores import one_measure, read_leaderboard
from exam_pp.metrics.leaderboard import standings
from exam_pp.prompts.reading import NOT_A_LABEL
from exam_pp.prompts.reasoner import find_relevance_label
from exam_pp.records import encode
from exam_pp.results import Score
from exam_pp.roles import DistinctNames, System, is_part_of_answer
from exam_pp.store.csv_cells import checked_id, write_cells
from exam_pp.store.tables import ANSWERS, QUERIES, Cells, Layout
from exam_pp.store.trec.answers import Answer, read_answer_table
from exam_pp.store.trec.queries import Query, read_query_table

_IDS = ("qid", "did")
_NAMES: Mapping[str, Sequence[str]] = {
    "qid": ("query_id", "question_id", "q_id", "queryid", "questionid"),
    "did": ("doc_id", "document_id", "docid", "d_id", "documentid", "passage_id", "pid", "p_id", "passageid"),
    "document": ("document_text", "doc_text", "text"),
    "agent": ("agent_id", "system"),
}
DOCUMENTS = Layout(("qid", "did", "document"), ("agent",), ("qid", "did"), _NAMES)
REASONINGS = Layout(("qid", "did", "raw_answer", "answer"), (), ("qid", "did"), _NAMES)


def _with_ids(*names: str) -> Callable[[Sample], bool]:
    """Whether a table has all these columns, those of ids by any of their names."""

    def test(sample: Sample) -> bool:
        known = (({name, *_NAMES[name]} if name in _IDS else {name}) for name in names)
        return all(sample.columns & any_of for any_of in known)

    return test


def _are_queries(sample: Sample) -> Fit:
    """Other columns hold metadata, so that only a table of two columns is certainly one of queries.

    Scores of Open RAG Eval, and others, begin with query_id and query, too.
    """
    if not sample.has(QUERIES) or sample.object:
        return Fit.NOT
    if len(sample.names) == 2:
        return Fit.LOOSE if "text" in sample.names else Fit.FAIR
    return Fit.FAINT if {"query_id", "query"} <= set(sample.names) else Fit.LOOSE


class Reasoning(NamedTuple):
    """An evaluator's rating of a document: the reply, and the answer that RAGElo read from it."""

    query_id: str
    passage_id: str
    raw_answer: str
    answer: str


def passages_of(cells: Cells, path: str | Path) -> list[QueryPassages]:
    """Parse documents. The rows of an agent are its ranking, best first; scores count down to 1.

    Raises :class:`DataError` for a document with two texts, and for a document that an agent has twice.
    """
    queries: dict[str, dict[str, Passage]] = {}
    totals = Counter((row["qid"], row.get("agent")) for _, row in cells)
    ranks: Counter[tuple[str, str | None]] = Counter()
    for line, row in cells:
        qid, did, agent = row["qid"], row["did"], row.get("agent")
        passages = queries.setdefault(qid, {})
        new = Passage(passage_id=did, text=row["document"], data=PassageData(judgments=[], rankings=[]))
        passage = passages.setdefault(did, new)
        if passage.text != row["document"]:
            raise DataError(
                f"the document {did!r} has another text on an earlier line.", file=str(path), line=line
            )
        if not agent:
            continue
        if any(ranking.method == agent for ranking in passage.rankings):
            problem = f"the agent {agent!r} has the document {did!r} twice for the query {qid!r}."
            raise DataError(problem, file=str(path), line=line)
        ranks[qid, agent] += 1
        rank = ranks[qid, agent]
        score = float(totals[qid, agent] - rank + 1)
        passage.data.rankings.append(
            RankingEntry(method=agent, passage_id=did, query_id=qid, rank=rank, score=score)
        )
    return [QueryPassages(qid, list(passages.values())) for qid, passages in queries.items()]


def reasonings_of(cells: Cells, path: str | Path) -> list[Reasoning]:
    """Parse reasonings; raises :class:`DataError` for a document that occurs twice for a query."""
    seen: set[tuple[str, str]] = set()
    reasonings: list[Reasoning] = []
    for line, row in cells:
        reasoning = Reasoning(row["qid"], row["did"], row["raw_answer"], row["answer"])
        if reasoning[:2] in seen:
            problem = f"the document {row['did']!r} occurs twice for the query {row['qid']!r}."
            raise DataError(problem, file=str(path), line=line)
        seen.add(reasoning[:2])
        reasonings.append(reasoning)
    return reasonings


EVALUATOR = "ReasonerEvaluator"
"""RAGElo's evaluator that writes reasonings. It is recorded as the model, which the files do not name."""


def _write_queries(queries: Iterable[Query], target: Target) -> None:
    def rows() -> Iterator[tuple[str, str]]:
        for query in queries:
            count_dropped_query_fields(query, target.dropped)
            yield query.query_id, trimmed(query.query_text, target.dropped)

    write_cells(("qid", "query"), rows(), target.path, ids=_IDS, inputs=target.inputs)


def _write_answers(answers: Iterable[Answer], target: Target) -> None:
    distinct = DistinctNames()

    def rows() -> Iterator[tuple[str, str, str]]:
        for answer in answers:
            count_dropped_answer_fields(answer, {"repeats"}, target.dropped)
            text = " ".join(part.text for part in answer.parts)
            system = distinct(System(answer.system, answer.repeat))
            yield answer.query_id, system, trimmed(text, target.dropped)

    write_cells(("qid", "agent", "answer"), rows(), target.path, ids=(*_IDS, "agent"), inputs=target.inputs)


def _write_documents(queries: Iterable[QueryPassages], target: Target) -> None:
    """Write a row for each passage and system that ranks it, in the order of the system's ranks.

    Only the order is kept: a reader numbers the ranks from 1 and sets scores that count down to 1.
    """
    distinct = DistinctNames()

    def rows() -> Iterator[tuple[str, str, str, str]]:
        for query in queries:
            count_dropped_passage_fields(
                query, frozenset({"passage texts", "ranking entries"}), target.dropped
            )
            for passage in query.passages:
                count_dropped_ranking_fields(query.query_id, passage, target.dropped)
                target.dropped.add("parts of answers", is_part_of_answer(passage))
            for system, ranked in _ranked(query).items():
                after = [(rank, float(len(ranked) - rank + 1)) for rank in range(1, len(ranked) + 1)]
                before = [(entry.rank, entry.score) for entry, _ in ranked.values()]
                changed = sum(a != b for a, b in zip(before, after, strict=True))
                target.dropped.add("original ranks or scores", changed)
                for passage_id, (_, passage) in ranked.items():
                    yield (
                        query.query_id,
                        passage_id,
                        trimmed(passage.text, target.dropped),
                        checked_id(distinct(system)),
                    )
            for passage in query.passages:
                if not passage.rankings:
                    text = trimmed(passage.text, target.dropped)
                    yield query.query_id, passage.passage_id, text, ""

    write_cells((*DOCUMENTS.required, "agent"), rows(), target.path, ids=_IDS, inputs=target.inputs)


def _ranked(query: QueryPassages) -> dict[System, dict[str, tuple[RankingEntry, Passage]]]:
    """System to its passages, best first, each at its best rank."""
    entries = [
        (entry, passage) for passage in query.passages for entry in passage.rankings if entry.role != "answer"
    ]
    systems: dict[System, dict[str, tuple[RankingEntry, Passage]]] = {}
    for entry, passage in sorted(entries, key=lambda pair: (pair[0].rank, -pair[0].score)):
        systems.setdefault(System.of(entry), {}).setdefault(passage.passage_id, (entry, passage))
    return systems


def _rating(answer: str) -> int | None:
    """The number, as other evaluators reply, or the rating of the label; None if the text has neither."""
    if answer.isascii() and answer.isdecimal():
        return int(answer)
    return find_relevance_label(answer)


def _grade(raw_answer: str, answer: str) -> DirectGrade:
    """A direct grade; ungraded if the answer is neither a label nor a number."""
    rating = _rating(answer or raw_answer)
    reply = raw_answer or answer
    grade: dict[str, Any] = {
        "correct": bool(rating),
        "answer": reply,
        "model": EVALUATOR,
        "model_options": {},
        "prompt_info": {"prompt_class": EVALUATOR, "is_self_rated": True},
        "prompt_type": "direct_grading",
    }
    if rating is None:
        return DirectGrade(**grade, error={"response": reply, "prompt": "", "failure_reason": NOT_A_LABEL})
    return DirectGrade(**grade, self_ratings=rating, relevance_label=rating)


def _graded(cells: Cells, path: str | Path) -> list[QueryPassages]:
    """The documents with direct grades, without their texts."""
    queries: dict[str, list[Passage]] = {}
    for reasoning in reasonings_of(cells, path):
        grade = _grade(reasoning.raw_answer, reasoning.answer)
        passage = Passage(passage_id=reasoning.passage_id, text="", direct_grades=[grade])
        queries.setdefault(reasoning.query_id, []).append(passage)
    return [QueryPassages(query_id, passages) for query_id, passages in queries.items()]


def _write_reasonings(queries: Iterable[QueryPassages], target: Target) -> None:
    """Write the first direct grade of every passage, with the rating if the reply does not contain it.

    Raises :class:`SelectionError` if there are no direct grades.
    """
    seen: set[tuple[str, str]] = set()

    def rows() -> Iterator[tuple[str, str, str, str]]:
        for query in queries:
            count_dropped_passage_fields(
                query, frozenset({"passage texts", "sets of grades"}), target.dropped
            )
            for passage in query.passages:
                target.dropped.add("passage texts", bool(passage.text))
                grades = list(passage.grade_sets())
                direct = next((grade for grade in grades if isinstance(grade, DirectGrade)), None)
                target.dropped.add("sets of grades", len(grades) - (direct is not None))
                if direct is None:
                    target.dropped.add("passages without a direct grade")
                    continue
                if (query.query_id, passage.passage_id) in seen:
                    target.dropped.add("passages with a duplicate id")
                    continue
                seen.add((query.query_id, passage.passage_id))
                raw = trimmed(direct.answer or "", target.dropped)
                rating = direct.entry_ratings().get(DIRECT_ID)
                answer = raw if rating is None or _rating(raw) == rating else str(rating)
                after = _grade(raw, answer)
                changed = after.entry_ratings() != direct.entry_ratings()
                target.dropped.add("grading failures", changed)
                differs = encode(after) != encode(direct)
                target.dropped.add("grade fields other than rating and reply", differs and not changed)
                yield query.query_id, passage.passage_id, raw, answer

        if not seen:
            raise SelectionError(
                "The format ragelo-reasonings needs direct grades, but the passages have no direct grades."
            )

    write_cells(REASONINGS.required, rows(), target.path, ids=_IDS, inputs=target.inputs)


def _write_ranking(scores: Iterable[Score], target: Target) -> None:
    """Write the means of one measure, best first, under the name ``score``."""
    scores = one_measure(scores, "score", target.dropped)
    rows = sorted(standings(scores), key=lambda row: -row.mean)
    cells = ((row.system, repr(row.mean).removesuffix(".0")) for row in rows)
    write_cells(("agent", "score"), cells, target.path, ids=("agent",), inputs=target.inputs)


def _has_answers(sample: Sample) -> Fit:
    """Whether a table has all columns of answers, and none of documents; the file may name the system."""
    used = ANSWERS.used(sample.names)
    if not sample.has(ANSWERS) or sample.has(DOCUMENTS) or "passage_id" in sample.names:
        return Fit.NOT
    if "system" in used:
        return Fit.GOOD
    return Fit.NOT if used["answer"].lower() == "text" else Fit.LOOSE


register(
    Format(
        "ragelo-queries", "queries", "queries as a table, such as those of RAGElo", _are_queries,
        lambda path: read_query_table(path).values(), "query",
        lambda source: read_query_table(source.path, source.dropped.fields).values(), _write_queries,
    ),
    Format(
        "ragelo-answers", "answers", "answers as a table, such as those of RAGElo", _has_answers,
        read_answer_table, "answer",
        lambda source: read_answer_table(source.path, source.dropped.fields), _write_answers,
    ),
    csv_format(
        "ragelo-documents", "passages", "retrieved documents of RAGElo, CSV",
        fits(_with_ids("qid", "did", "document"), Fit.FAIR), DOCUMENTS, passages_of, "query",
        _write_documents,
    ),
    csv_format(
        "ragelo-reasonings", "passages", "RAGElo's reasonings on documents, CSV",
        with_columns("qid", "did", "raw_answer", "answer"), REASONINGS, reasonings_of, "document",
        _write_reasonings, content_of=_graded,
    ),
    Format(
        "ragelo-ranking", "scores", "ranking of agents of RAGElo, CSV",
        read=read_leaderboard, write=_write_ranking,
    ),
)  # fmt: skip
