"""The CSV files that RAGElo reads: queries, the documents that agents retrieved, and their answers.

``qid, query``; ``qid, did, document[, agent]``; ``qid, agent, answer``. Source: RAGElo's readers, which take
other names of the columns too.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import DataError
from exam_pp.store.answers import Answer, AnswerPart
from exam_pp.store.files import read_text, write_text
from exam_pp.store.queries import Query

Column = Literal["qid", "query", "did", "document", "agent", "answer"]

_NAMES: Mapping[Column, tuple[str, ...]] = {
    "qid": ("qid", "query_id", "question_id", "q_id"),
    "query": ("query", "query_text", "question", "question_text"),
    "did": ("did", "doc_id", "document_id", "docid"),
    "document": ("document", "document_text", "doc_text", "text"),
    "agent": ("agent", "agent_id", "system"),
    "answer": ("answer", "answer_text", "response", "text"),
}
QUERIES: tuple[Column, ...] = ("qid", "query")
DOCUMENTS: tuple[Column, ...] = ("qid", "did", "document")
ANSWERS: tuple[Column, ...] = ("qid", "agent", "answer")


@dataclass
class Cells:
    """The rows of a file by our names of the columns, each with its line, and what the other columns hold."""

    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)


def read_cells(path: str | Path, required: Sequence[Column], optional: Sequence[Column] = ()) -> Cells:
    """The rows of a CSV file, white space around cells removed.

    Raises :class:`DataError` for a column that is missing, or empty where it is required.
    """
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), skipinitialspace=True, strict=True)
    cells = Cells()
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = names
        used = {column: _named(column, names, path, column in required) for column in (*required, *optional)}
        for record in reader:
            if None in record:
                raise DataError("has more cells than the header.", file=str(path), line=reader.line_num)
            row: dict[str, str] = {
                column: (record.get(name) or "").strip() for column, name in used.items() if name
            }
            for column in required:
                if not row[column] and column not in ("answer", "document"):
                    raise DataError("is empty.", file=str(path), line=reader.line_num, field=used[column])
            cells.rows.append((reader.line_num, row))
            cells.unused.update(name for name in names if record.get(name) and name not in used.values())
    except csv.Error as error:
        raise DataError(f"is not a CSV file ({error}).", file=str(path), line=reader.line_num) from error
    if not cells.rows:
        raise DataError("holds no rows.", file=str(path))
    return cells


def _named(column: Column, names: Sequence[str], path: str | Path, required: bool) -> str | None:
    found = next((name for name in _NAMES[column] if name in names), None)
    if found is None and required:
        raise DataError(f"has no column {column!r} ({', '.join(_NAMES[column])}).", file=str(path), line=1)
    return found


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


def write_cells(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    path: str | Path,
    *,
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write a CSV file; raises :class:`DataError` for an id that is empty or has white space around it."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if column in ("qid", "did") and (not cell or cell != cell.strip()):
                raise DataError(f"the id {cell!r} cannot stand in a table.")
        writer.writerow(row)
    write_text(path, stream.getvalue(), inputs=inputs)
