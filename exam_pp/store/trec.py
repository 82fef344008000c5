"""Run files and qrels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import compress, count, pairwise
from operator import ne
from pathlib import Path
from typing import Literal

from exam_pp.errors import DataError
from exam_pp.results import Qrel, RunLine, SubtopicQrel
from exam_pp.store.files import atomic_output, read_text, read_text_lines

MethodName = Literal["stem", "tag"]
_RUN_SUFFIXES = (".gz", ".run", ".txt")


def run_files(folder: str | Path) -> list[Path]:
    """The run files of a folder (``*.run``, ``*.txt``, ``*.gz``), sorted by name."""
    path = Path(folder)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError("is not a folder of run files.", file=str(folder))
    files = sorted(p for p in path.iterdir() if p.is_file() and _is_run(p.name))
    if not files:
        raise DataError("holds no run files (*.run, *.txt, *.gz).", file=str(folder))
    return files


def _is_run(name: str) -> bool:
    return not name.startswith(".") and name.endswith(_RUN_SUFFIXES) and ".json" not in name


def method_of(path: Path) -> str:
    """The system's name by the published rule: the file name without its endings."""
    name = path.name
    for suffix in _RUN_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def read_run(path: str | Path, *, method: MethodName = "stem") -> Iterator[RunLine]:
    """The lines of a run file, in file order.

    Raises :class:`DataError` for malformed lines and for a passage that a query lists twice.
    """
    stem = method_of(Path(path))
    seen: set[tuple[str, str]] = set()
    for number, line in read_text_lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise DataError(
                f"has {len(fields)} fields, not the six of a run "
                "(query_id Q0 passage_id rank score tag).",
                file=str(path), line=number,
            )  # fmt: skip
        query_id, _, passage_id, rank, score, tag = fields
        if (query_id, passage_id) in seen:
            raise DataError(
                f"the passage {passage_id!r} occurs twice for the query {query_id!r}.",
                file=str(path), line=number,
            )  # fmt: skip
        seen.add((query_id, passage_id))
        system = stem if method == "stem" else tag
        yield RunLine(query_id, passage_id, _rank(rank, path, number), _score(score, path, number), system)


Run = dict[str, dict[str, float]]
"""Query id to passage id to score."""


def read_rankings(path: str | Path, *, method: MethodName = "stem") -> dict[str, Run]:
    """System to run, as :func:`read_run` but for files as a whole: several times faster.

    A file without lines has no systems. Raises the same errors.
    """
    fields = read_text(path).split()
    lines = len(fields) // 6
    # Whatever is not a plain run of one system is read line by line, which says what is wrong.
    if fields and len(fields) == 6 * lines and all(fields[i::6].count(fields[i]) == lines for i in (1, 5)):
        run = _run_of(fields)
        if run is not None:
            return {method_of(Path(path)) if method == "stem" else fields[5]: run}
    systems: dict[str, Run] = {}
    for line in read_run(path, method=method):
        systems.setdefault(line.system, {}).setdefault(line.query_id, {})[line.passage_id] = line.score
    return systems


def _run_of(fields: list[str]) -> Run | None:
    """The run that the fields of all lines make; None if a line is malformed or a passage occurs twice."""
    query_ids, passage_ids, ranks = fields[0::6], fields[2::6], "".join(fields[3::6])
    if not (ranks.isascii() and ranks.isdigit()):
        return None
    try:
        scores = list(map(float, fields[4::6]))
    except ValueError:
        return None
    if math.isnan(sum(scores)):
        return None
    changes = compress(count(1), map(ne, query_ids[1:], query_ids))
    run: Run = {}
    for start, end in pairwise([0, *changes, len(query_ids)]):
        passages = run.setdefault(query_ids[start], {})
        expected = len(passages) + end - start
        passages.update(zip(passage_ids[start:end], scores[start:end], strict=True))
        if len(passages) != expected:
            return None
    return run


def _rank(text: str, path: str | Path, number: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(
            f"{text!r} is not a whole number.", file=str(path), line=number, field="rank"
        ) from None


def _score(text: str, path: str | Path, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise DataError(f"{text!r} is not a number.", file=str(path), line=number, field="score")
    return value


def read_qrels(path: str | Path) -> list[Qrel]:
    """The lines of a qrels file; raises :class:`DataError` for malformed or contradicting lines."""
    grades: dict[tuple[str, str], int] = {}
    for number, line in read_text_lines(path):
        fields = line.split()
        if len(fields) != 4:
            raise DataError(
                f"has {len(fields)} fields, not the four of qrels (query_id 0 passage_id grade).",
                file=str(path), line=number,
            )  # fmt: skip
        query_id, _, passage_id, grade = fields
        try:
            relevance = int(grade)
        except ValueError:
            raise DataError(
                f"{grade!r} is not a whole number.", file=str(path), line=number, field="grade"
            ) from None
        if grades.setdefault((query_id, passage_id), relevance) != relevance:
            raise DataError(
                f"the passage {passage_id!r} has two grades for the query {query_id!r}.",
                file=str(path), line=number,
            )  # fmt: skip
    if not grades:
        raise DataError("holds no judgments.", file=str(path))
    return [Qrel(query_id, passage_id, grade) for (query_id, passage_id), grade in grades.items()]


def write_qrels(
    qrels: Iterable[Qrel | SubtopicQrel], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write qrels for trec_eval; with subtopics, for ndeval."""
    with atomic_output(path, inputs=inputs) as stream:
        for qrel in qrels:
            subtopic = qrel.subtopic if isinstance(qrel, SubtopicQrel) else "0"
            stream.write(f"{qrel.query_id} {subtopic} {qrel.passage_id} {qrel.relevance}\n".encode())


def write_run(lines: Iterable[RunLine], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write a run file; scores with enough digits to read back the same number."""
    with atomic_output(path, inputs=inputs) as stream:
        for line in lines:
            row = f"{line.query_id} Q0 {line.passage_id} {line.rank} {line.score!r} {line.system}\n"
            stream.write(row.encode())
