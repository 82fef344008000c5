"""Which kind a file is, told by its content: what people would otherwise have to say on every call."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from exam_pp.edits import FORMAT as EDITS_FORMAT
from exam_pp.errors import DataError
from exam_pp.store.csv_cells import long_cells
from exam_pp.store.files import is_stream, read_lines, read_text
from exam_pp.store.trec.queries import is_query
from exam_pp.store.trec.trec_eval import is_number, is_trec_eval

FileKind = Literal[
    "graded", "bank", "bank-csv", "genq", "tqa", "squad2", "nuggetizer", "autojudge-bank",
    "queries-json", "queries-tsv", "queries-jsonl", "topics", "qrels", "run", "edits",
    "leaderboard", "scores-jsonl", "published-cover", "trec-eval", "autojudge-eval", "autojudge-tot",
    "official-json", "official-tsv", "rag24", "rag25", "ragtime", "plain-answers",
    "nuggetizer-assignments", "nuggetizer-metrics", "umbrela", "candidates",
    "ragelo-queries", "ragelo-documents", "ragelo-answers", "ragelo-reasonings", "ragelo-games",
    "ragelo-games-jsonl", "open-rag-eval", "open-rag-eval-scores",
]  # fmt: skip

_QUERY_IDS = {"query_id", "topic_id", "request_id", "narrative_id"}
"""Documents have none of these; ``id`` and ``_id`` they have."""
_DOCUMENTS = ("queries-json", "official-json", "genq")
_SYSTEMS = frozenset(("system", "systems", "method", "run", "runid", "runtag", "model", "agent", "team"))
"""Words in the name of a column of systems."""
_TOPIC = re.compile(rb"<(top|topic)\b", re.IGNORECASE)
_OF_OPEN_RAG_EVAL = re.compile(r"(run_\d+_)?(retrieval|generation)_score_")
"""Names of measures in Open RAG Eval's results."""
_ENOUGH = 20
"""Lines that are looked at, of files that are no JSON."""


def kind_of(path: str | Path, option: str = "--kind") -> FileKind:
    """The kind of a file (a folder is one of runs); raises :class:`DataError` where nothing fits.

    A stream cannot be looked into and then read, so its kind has to be said, with ``option``.
    """
    if not Path(path).is_dir() and is_stream(path):
        raise DataError(f"is a stream: say what it holds with {option}.", file=str(path))
    kind = known_kind(path)
    if kind is None:
        raise DataError(
            f"is not of a kind that is known by its content: say what it holds with {option}.",
            file=str(path),
        )
    return kind


def known_kind(path: str | Path) -> FileKind | None:
    """As :func:`kind_of`, but None where nothing fits; raises :class:`DataError` for what cannot be read."""
    if Path(path).is_dir():
        return "run"
    if is_stream(path):
        raise DataError(
            "is a stream, which cannot be looked into and then read: name a file.", file=str(path)
        )
    try:
        return _kind(path)
    except csv.Error:  # bytes of another program
        return None


def _kind(path: str | Path) -> FileKind | None:
    lines = [line for _, line in islice(read_lines(path), _ENOUGH)]
    first = lines[0] if lines else b""
    if first[:1] in (b"{", b"["):
        value, whole = _first_value(path, lines)
        kind = _of_json(value)
        # An object with ids as keys is a document: more lines would be something else.
        return None if kind in _DOCUMENTS and not whole and len(lines) > 1 else kind
    if first[:1] == b"<":
        return "topics" if any(_TOPIC.search(line) for line in lines) else None
    return _of_lines([line.decode("utf-8", "replace") for line in lines]) if lines else None


def _first_value(path: str | Path, lines: list[bytes]) -> tuple[Any, bool]:
    """The value on the first line, or of the whole file where a document spans many lines; and which.

    A first line that is damaged hides the kind of the file as little as the lines behind it.
    """
    try:
        return json.loads(lines[0]), False
    except (ValueError, RecursionError):
        pass
    with suppress(ValueError, RecursionError, DataError):
        return json.loads(read_text(path)), True
    for line in lines[1:]:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, list | dict):
                return value, False
    return None, True


def _of_json(value: Any) -> FileKind | None:
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[1], list) and not isinstance(value[0], dict | list):
            return "graded"
        value = value[0] if value else None
        kind = _of_json(value) if isinstance(value, dict) else None
        return kind if kind in ("tqa", "autojudge-bank") else None
    return _of_object(value) if isinstance(value, dict) else None


def _of_object(value: Mapping[str, Any]) -> FileKind | None:
    keys = value.keys()
    if value.get("format") == EDITS_FORMAT:
        return "edits"
    if "nugget_bank" in keys or "claim_bank" in keys:
        return "autojudge-bank"
    if {"globalID", "questions"} <= keys:
        return "tqa"
    if isinstance(articles := value.get("data"), list):
        return "squad2" if all(isinstance(a, dict) and "paragraphs" in a for a in articles[:1]) else None
    if {"qid", "nuggets", "answer_text"} <= keys:
        return "nuggetizer-assignments"
    if "qid" in keys and any(key.endswith("_score") for key in keys):
        return "nuggetizer-metrics"
    if {"query", "candidates"} <= keys:
        return "candidates"
    if {"query", "passage", "judgment"} <= keys:
        return "umbrela"
    if {"qid", "nuggets"} <= keys:
        return "nuggetizer"
    if {"qid", "agent_a", "agent_b"} <= keys:
        return "ragelo-games-jsonl"
    if "metadata" in keys and ("responses" in keys or "answer" in keys):
        return "ragtime" if "responses" in keys else "rag25"
    if {"run_id", "topic_id", "answer"} <= keys:
        return "rag24"
    if {"system", "query_id", "text"} <= keys:
        return "plain-answers"
    if {"system", "query_id", "metric", "value"} <= keys:
        return "scores-jsonl"
    if "query_id" in keys and ("items" in keys or "questions" in keys):
        return "bank"
    if keys & _QUERY_IDS and is_query(value):
        return "queries-jsonl"
    if isinstance(value.get("tables"), list):
        return "leaderboard"
    return _of_mapping(list(value.values()))


def _of_mapping(values: list[Any]) -> FileKind | None:
    """Of a JSON object whose keys are ids."""
    if _nearly_all(isinstance(value, str) for value in values):
        return "queries-json"
    if _nearly_all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "official-json"
    facets = [facet for value in values if isinstance(value, dict) for facet in value.values()]
    if facets and all(isinstance(facet, dict) and "questions" in facet for facet in facets):
        return "genq"
    return None


def _of_lines(lines: list[str]) -> FileKind | None:
    """Of lines of fields, which some lines may lack: what is wrong with these, a reader says."""
    if any("\0" in line for line in lines):
        return None
    if is_trec_eval(lines):
        return "trec-eval"
    separator = "\t" if "\t" in lines[0] else ","
    with long_cells():
        rows = [[cell.strip() for cell in row] for row in _cells(lines, separator)]
    header = rows[0]
    if header[0] == "method" and "+/-" in header:  # boards, whose rows look like those of other files
        return "published-cover" if header[1] == "ExamCover" else "leaderboard"
    titled = len(header) > 2 and not any(map(is_number, header))
    evaluation = {"run_id", "measure", "value"} <= set(header)  # of AutoJudge, whose rows hold numbers too
    if titled and not evaluation and _is_leaderboard(header, rows[1:]):
        return "leaderboard"
    fields = [line.split() for line in lines]
    # Words after the tag: a run to its reader, which says what is wrong with them.
    # A comment first is the title of a table of ours, whose counts look like the columns of other files.
    if lines[0].startswith("# "):
        return None
    run = _most(len(row) >= 6 and is_number(row[3]) and is_number(row[4]) for row in fields)
    if run and not (titled and separator == "\t"):  # a table is none, though it may have numbers there
        return "run"
    body = fields[1:] if len(fields) > 1 else fields
    if _most(len(row) == 4 and _is_whole(row[3]) and _is_whole(row[1]) for row in fields):
        return "qrels"
    if all(len(row) == 4 for row in fields) and not {"measure", "system"} <= set(fields[0]):
        return _of_evaluation(fields[0], body)
    if {"query_id", "text"} <= set(header):
        return "bank-csv"
    if kind := _of_ragelo(set(header)) or _of_open_rag_eval(header):
        return kind
    pairs = _most(len(row) == 2 and all(row) for row in rows)
    numbers = _most(is_number(row[1]) for row in rows[1:] or rows if len(row) > 1)
    alone = len(rows) == 1 and header[0].lower() in _SYSTEMS
    ranks = len(header) == 2 and (is_number(header[1]) or "rank" in header[1].lower())
    if pairs and ranks and (numbers or alone):
        return "official-tsv"
    if _is_leaderboard(header, rows[1:]):
        return "leaderboard"
    return "queries-tsv" if pairs and not numbers and separator == "\t" else None


def _of_ragelo(header: set[str]) -> FileKind | None:
    if header == {"qid", "query"}:
        return "ragelo-queries"
    if {"qid", "did", "document"} <= header:
        return "ragelo-documents"
    if {"qid", "did", "raw_answer", "answer"} <= header:
        return "ragelo-reasonings"
    if {"qid", "agent_a", "agent_b", "answer"} <= header:
        return "ragelo-games"
    return "ragelo-answers" if header == {"qid", "agent", "answer"} else None


def _of_open_rag_eval(header: list[str]) -> FileKind | None:
    if {"query_id", "passage_id", "generated_answer"} <= set(header):
        return "open-rag-eval"
    measures = [column for column in header if _OF_OPEN_RAG_EVAL.match(column)]
    return "open-rag-eval-scores" if "query_id" in header and measures else None


def _is_leaderboard(header: list[str], rows: list[list[str]]) -> bool:
    """A table whose first column is of systems by its name, with numbers for each of them.

    Any other table could be one: who means it says so.
    """
    words = set(re.findall(r"[a-z]+", header[0].lower()))
    return (
        bool(words & _SYSTEMS)
        and len(header) > 1
        and _most(len(row) <= len(header) and any(map(is_number, row[1:])) for row in rows)
    )


def _most(fit: Iterable[bool]) -> bool:
    """Whether more than half of some lines fit."""
    fits = list(fit)
    return 2 * sum(fits) > len(fits)


def _nearly_all(fit: Iterable[bool]) -> bool:
    """Whether nine of ten values of a document fit: an object with a name and a number is no such file."""
    fits = list(fit)
    return bool(fits) and 10 * sum(fits) >= 9 * len(fits)


def _of_evaluation(header: list[str], body: list[list[str]]) -> FileKind | None:
    """Rows of ``run topic measure value`` or ``run measure topic value``, with or without a header."""
    if not all(is_number(row[3]) for row in body):
        return None
    if "measure" in header:
        return "autojudge-tot" if header.index("measure") == 1 else "autojudge-eval"
    # Measures are fewer than topics, and `all` is a topic.
    second, third = {row[1] for row in body}, {row[2] for row in body}
    if "all" in third or ("all" not in second and len(second) < len(third)):
        return "autojudge-tot"
    return "autojudge-eval"


def _cells(lines: list[str], separator: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=separator) if separator == "," else (x.split("\t") for x in lines)


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdecimal()
