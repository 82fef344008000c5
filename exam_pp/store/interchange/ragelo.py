"""The CSV files of RAGElo: queries, the documents that agents retrieved, what was said of these, answers.

``qid, query``; ``qid, did, document[, agent]``; ``qid, agent, answer``; ``qid, did, raw_answer, answer``.
Source: RAGElo's readers, which take other names of the columns too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import DataError
from exam_pp.store.csv_cells import Cells, Layout
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.store.trec.queries import Query

IDS = ("qid", "did", "agent_a", "agent_b")
_NAMES: Mapping[str, Sequence[str]] = {
    "qid": ("query_id", "question_id", "q_id"),
    "query": ("query_text", "question", "question_text"),
    "did": ("doc_id", "document_id", "docid"),
    "document": ("document_text", "doc_text", "text"),
    "agent": ("agent_id", "system"),
}
QUERIES = Layout(("qid", "query"), (), ("qid", "query"), _NAMES)
DOCUMENTS = Layout(("qid", "did", "document"), ("agent",), ("qid", "did"), _NAMES)
_ANSWER = {"answer": ("answer_text", "response", "text")}
ANSWERS = Layout(("qid", "agent", "answer"), (), ("qid", "agent"), {**_NAMES, **_ANSWER})
REASONINGS = Layout(("qid", "did", "raw_answer", "answer"), (), ("qid", "did"), _NAMES)


class Reasoning(NamedTuple):
    """What an evaluator said of a document: its reply, and the answer that RAGElo read in it."""

    query_id: str
    passage_id: str
    raw_answer: str
    answer: str


def queries_of(cells: Cells, path: str | Path) -> list[Query]:
    """The queries; raises :class:`DataError` for an id that occurs twice."""
    queries: dict[str, Query] = {}
    for line, row in cells.rows:
        if row["qid"] in queries:
            raise DataError(f"the query id {row['qid']!r} occurs twice.", file=str(path), line=line)
        queries[row["qid"]] = Query(query_id=row["qid"], query_text=row["query"])
    return list(queries.values())


def answers_of(cells: Cells, path: str | Path) -> list[Answer]:
    """The answers, each as one part; raises :class:`DataError` for an agent that answers a query twice."""
    answers: dict[tuple[str, str], Answer] = {}
    for line, row in cells.rows:
        key = (row["agent"], row["qid"])
        if key in answers:
            raise DataError(
                f"the agent {row['agent']!r} answers the query {row['qid']!r} twice.",
                file=str(path), line=line,
            )  # fmt: skip
        parts = (AnswerPart(row["answer"]),) if row["answer"] else ()
        answers[key] = Answer(row["qid"], row["agent"], parts, by_sentence=False)
    return list(answers.values())


def passages_of(cells: Cells, path: str | Path) -> list[QueryPassages]:
    """The documents; those of an agent are ranked in the order of the rows, with scores that fall to 1.

    Raises :class:`DataError` for a document with two texts, or twice for an agent.
    """
    queries: dict[str, dict[str, Passage]] = {}
    totals = Counter((row["qid"], row.get("agent")) for _, row in cells.rows)
    ranks: Counter[tuple[str, str | None]] = Counter()
    for line, row in cells.rows:
        qid, did, agent = row["qid"], row["did"], row.get("agent")
        passages = queries.setdefault(qid, {})
        new = Passage(passage_id=did, text=row["document"], data=PassageData(judgments=[], rankings=[]))
        passage = passages.setdefault(did, new)
        if passage.text != row["document"]:
            raise DataError(f"the document {did!r} has another text before.", file=str(path), line=line)
        if not agent:
            continue
        if any(ranking.method == agent for ranking in passage.rankings):
            words = f"the agent {agent!r} has the document {did!r} of the query {qid!r} twice."
            raise DataError(words, file=str(path), line=line)
        ranks[qid, agent] += 1
        rank = ranks[qid, agent]
        score = float(totals[qid, agent] - rank + 1)
        passage.data.rankings.append(
            RankingEntry(method=agent, passage_id=did, query_id=qid, rank=rank, score=score)
        )
    return [QueryPassages(qid, list(passages.values())) for qid, passages in queries.items()]


def reasonings_of(cells: Cells, path: str | Path) -> list[Reasoning]:
    """What was said of documents; raises :class:`DataError` for a document of which it is said twice."""
    seen: set[tuple[str, str]] = set()
    found: list[Reasoning] = []
    for line, row in cells.rows:
        reasoning = Reasoning(row["qid"], row["did"], row["raw_answer"], row["answer"])
        if reasoning[:2] in seen:
            words = f"the document {row['did']!r} of the query {row['qid']!r} occurs twice."
            raise DataError(words, file=str(path), line=line)
        seen.add(reasoning[:2])
        found.append(reasoning)
    return found
