"""Reading and writing run files and qrels.

Rankings are read as scores; ``metrics/ties_in_runs.py`` orders their passages.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from exam_pp.errors import DataError
from exam_pp.results import Qrel, RunLine, SubtopicQrel
from exam_pp.store.files import (
    STDIO,
    atomic_output,
    check_utf8_name,
    is_stream,
    read_bytes,
    read_text_lines,
    safe_name,
)
from exam_pp.store.manifests import visible_entries
from exam_pp.store.numbers import is_number, parse_integer, parse_number
from exam_pp.text.wording import counted, listed

log = logging.getLogger(__name__)

MethodName = Literal["stem", "tag"]
_RUN_SUFFIXES = (".gz", ".run", ".txt")


def run_files(runs: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the run files (``*.run``, ``*.txt``, ``*.gz``) of folders, sorted by name, and files themselves.

    Raises :class:`DataError` if a folder has no run files, one whose name is not UTF-8, or a run with another
    ending or separator.
    """
    sources = [runs] if isinstance(runs, str | Path) else runs
    return list(dict.fromkeys(file for source in sources for file in _files_of(source)))


def _files_of(source: str | Path) -> list[Path]:
    path = Path(source)
    if path.is_file():
        check_utf8_name(path)
        return [path]
    if not path.is_dir():
        check_has_name(path)
        problem = (
            "is a stream, but runs are read more than once. Name a file instead."
            if is_stream(path)
            else "is neither a run file nor a folder of run files."
        )
        raise DataError(problem, file=str(source))
    if others := [file.name for file in _skipped(path) if _looks_like_run(file)]:
        raise DataError(
            f"has {counted(len(others), 'run')} with another ending or separator: {listed(others)}. Rename "
            "to *.run (or *.txt, *.gz), and separate the six columns by whitespace.",
            file=str(source),
        )
    files = runs_of_folder(path)
    if not files:
        raise DataError("has no run files (*.run, *.txt, *.gz).", file=str(source))
    for file in files:
        check_utf8_name(file)
    return files


def runs_of_folder(folder: Path) -> list[Path]:
    """Return the run files of a folder, sorted by name; empty if it has no run files."""
    return [path for path in visible_entries(folder) if _is_run_file(path)]


def check_has_name(path: str | Path) -> None:
    """Raise :class:`DataError` for standard input, because a file name names the system of a run."""
    if str(path) == STDIO:
        raise DataError(
            "has no file name, which names the system of a run. Name a file instead.", file="standard input"
        )


def _is_run_file(path: Path) -> bool:
    return path.is_file() and path.name.endswith(_RUN_SUFFIXES) and ".json" not in path.name


def warn_of_skipped_files(folder: str | Path) -> None:
    """Log the files and folders in a folder, except hidden ones, that :func:`run_files` does not read."""
    path = Path(folder)
    skipped = [entry for entry in _skipped(path) if not _looks_like_run(entry)] if path.is_dir() else []
    if skipped:
        names = listed([entry.name for entry in skipped])
        not_read = counted(len(skipped), "entry is not read", "entries are not read")
        log.warning("%s: %s, because only *.run, *.txt and *.gz are runs: %s", path, not_read, names)


def _skipped(folder: Path) -> list[Path]:
    return [path for path in visible_entries(folder) if not _is_run_file(path)]


def _looks_like_run(path: Path) -> bool:
    """Whether the first line is a result or the header of results, with any separator."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            fields = re.split(rb"[\s,;]+", stream.readline(10_000).strip())
    except OSError:  # it is then named as not read
        return False
    return len(fields) == 6 and (fields[3].isdigit() or fields[3].lower() == b"rank")


def method_of(path: Path) -> str:
    """Return the system's name: the file name without its extensions, as in the published code.

    Escapes of :func:`~exam_pp.store.files.safe_name` are undone. Raises :class:`DataError` for a name that is
    not UTF-8.
    """
    check_utf8_name(path)
    name = path.name
    for suffix in _RUN_SUFFIXES:
        name = name.removesuffix(suffix)
    system = unquote(name)
    return system if safe_name(system) == name else name


def read_run(path: str | Path, *, method: MethodName = "stem", one_system: bool = False) -> Iterator[RunLine]:
    """Read a run file.

    Args:
        path: The file in TREC format, gzipped or not.
        method: The source of the system's name: ``stem``, the file name, or ``tag``, the sixth column, of
            which a file may have several.
        one_system: Check for duplicates as if all lines were of one system, whatever their tags.

    Returns:
        An iterator of the lines, in file order.

    Raises:
        DataError: A line is malformed, or a system lists a passage twice for a query.
    """
    stem = method_of(Path(path))
    seen: set[tuple[str, str, str]] = set()
    tags: set[str] = set()
    for number, line in read_text_lines(path):
        fields = line.split()
        if len(fields) != 6:
            hint = " Ids and tags cannot have spaces." if len(fields) > 6 else ""
            raise DataError(
                f"has {counted(len(fields), 'column')}, but a run file has six "
                f"(query_id Q0 passage_id rank score tag).{hint}",
                file=str(path), line=number,
            )  # fmt: skip
        query_id, _, passage_id, rank, score, tag = fields
        system = stem if method == "stem" else tag
        key = (stem if one_system else system, query_id, passage_id)
        tags.add(tag)
        if key in seen:
            hint = " If its tags are different systems, use --method-name tag." if len(tags) > 1 else ""
            raise DataError(
                f"the passage {passage_id!r} occurs twice for the query {query_id!r}.{hint}",
                file=str(path), line=number,
            )  # fmt: skip
        seen.add(key)
        yield RunLine(query_id, passage_id, _rank(rank, path, number), _score(score, path, number), system)


def systems_of(runs: str | Path | Sequence[str | Path], method: MethodName = "stem") -> list[str]:
    """The systems of run files; only tags need the contents of the files."""
    files = run_files(runs)
    if method == "stem":
        return [method_of(file) for file in files]
    return list(dict.fromkeys(chain.from_iterable(read_rankings(file, method=method) for file in files)))


def warn_of_other_names(ran: Collection[str], ranked: Collection[str], graded: str | Path) -> None:
    """Log that no run has the name of a system in the graded file, if that has systems."""
    if ran and ranked and set(ran).isdisjoint(ranked):
        log.warning(
            "The runs (%s) and the systems in %s (%s) have no name in common: if these are the same systems, "
            "use the --method-name of `exam-pp import`.",
            listed(list(ran)),
            graded,
            listed(list(ranked)),
        )


Run = dict[str, dict[str, float]]
"""Query id to passage id to score."""


def read_rankings(path: str | Path, *, method: MethodName = "stem") -> dict[str, Run]:
    """Read a run file as system to run; errors as in :func:`read_run`. An empty file gives {}."""
    systems = _valid_rankings(path, method)
    if systems is None:  # read again line by line, to skip blank lines and to raise errors with the line
        systems = {}
        for line in read_run(path, method=method):
            systems.setdefault(line.system, {}).setdefault(line.query_id, {})[line.passage_id] = line.score
    return systems


def _valid_rankings(path: str | Path, method: MethodName) -> dict[str, Run] | None:
    """Read a run file in a quarter of the time; None if a line is blank or invalid."""
    stem = method_of(Path(path))
    systems: dict[str, Run] = {}
    ranking: dict[str, float] = {}
    last_query = last_tag = None
    ranks: set[str] = set()
    try:
        lines = read_bytes(path).strip().decode("utf-8").split("\n")
        for query_id, _, passage_id, rank, score, tag in map(str.split, lines):
            if query_id != last_query or tag != last_tag:
                system = stem if method == "stem" else tag
                ranking = systems.setdefault(system, {}).setdefault(query_id, {})
                last_query, last_tag = query_id, tag
            if "_" in score or not score.isascii():
                return None
            ranking[passage_id] = float(score)
            ranks.add(rank)
        for rank in ranks:
            parse_integer(rank)
    except ValueError:
        return None
    rankings = [of_query for run in systems.values() for of_query in run.values()]
    are_distinct = sum(map(len, rankings)) == len(lines)
    are_finite = all(all(map(math.isfinite, of_query.values())) for of_query in rankings)
    return systems if are_distinct and are_finite else None


def _rank(text: str, path: str | Path, number: int) -> int:
    try:
        return parse_integer(text)
    except ValueError:
        raise DataError(
            f"{text!r} is not a whole number.", file=str(path), line=number, field="rank"
        ) from None


def _score(text: str, path: str | Path, number: int) -> float:
    try:
        return parse_number(text)
    except ValueError:
        raise DataError(
            f"{text!r} is not a finite number.", file=str(path), line=number, field="score"
        ) from None


_BEIR_HEADER = ["query-id", "corpus-id", "score"]


def qrels_rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of the judgments in a qrels file, also of lines with too few fields.

    Comments (``# ...``) on lines of their own or after a judgment are removed. Files of BEIR, which have a
    header and no second column, get a second column of zeros. Raises :class:`DataError` for an unreadable
    file.
    """
    is_beir = is_first = True
    for number, line in read_text_lines(path):
        fields = line.split()
        if _is_comment(fields):
            continue
        if is_first:
            is_beir, is_first = is_qrels_header(fields), False
            if is_beir:
                continue
        if is_beir:
            fields.insert(1, "0")
        yield number, fields[:4] if len(fields) > 4 and fields[4].startswith("#") else fields


def _is_comment(fields: Sequence[str]) -> bool:
    """Whether a line starts with ``#`` and is not the judgment of a query with such an id.

    Lines of control characters alone, which only ``str.split`` takes for blanks, have no fields.
    """
    is_judgment = len(fields) == 4 and fields[1] in ("0", "Q0") and is_number(fields[3])
    return bool(fields) and fields[0].startswith("#") and not is_judgment


def is_qrels_header(fields: Sequence[str]) -> bool:
    """Whether a line is the header of qrels of BEIR."""
    return list(fields) == _BEIR_HEADER


def read_qrels(path: str | Path) -> list[Qrel]:
    """Read a qrels file.

    Args:
        path: The file, with ``query_id 0 passage_id grade`` on each line, or of BEIR, with a header and
            ``query_id passage_id grade``; gzipped or not. Comments start with ``#``.

    Returns:
        The judgments in file order, without duplicates. A grade with a fraction, such as a mean of several
        judges, is a float.

    Raises:
        DataError: A line is malformed, two lines contradict each other, or the file is empty.
    """
    grades: dict[tuple[str, str], float] = {}
    for number, fields in qrels_rows(path):
        if len(fields) != 4:
            raise DataError(
                f"has {counted(len(fields), 'column')}, but qrels have four (query_id 0 passage_id grade).",
                file=str(path), line=number,
            )  # fmt: skip
        query_id, _, passage_id, grade = fields
        try:
            value = parse_number(grade)
        except ValueError:
            raise DataError(
                f"{grade!r} is not a number.", file=str(path), line=number, field="grade"
            ) from None
        relevance = int(value) if value.is_integer() else value
        if grades.setdefault((query_id, passage_id), relevance) != relevance:
            raise DataError(
                f"the passage {passage_id!r} has two grades for the query {query_id!r}.",
                file=str(path), line=number,
            )  # fmt: skip
    if not grades:
        raise DataError("has no judgments.", file=str(path))
    return [Qrel(query_id, passage_id, grade) for (query_id, passage_id), grade in grades.items()]


def _is_word(name: str) -> bool:
    """Whether a name can be a column; readers would remove a byte order mark at the start of the file."""
    return name.split() == [name] and not name.startswith("\ufeff")


def write_qrels(
    qrels: Iterable[Qrel | SubtopicQrel], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write qrels for trec_eval; with subtopics, for ndeval.

    Args:
        qrels: The lines.
        path: The file; a name that ends in ``.gz`` is compressed, ``-`` is standard output.
        inputs: Files that must not be overwritten.

    Raises:
        DataError: An id is empty or has whitespace, which separates columns.
        OutputError: The file cannot be written.
    """
    with atomic_output(path, inputs=inputs) as stream:
        for qrel in qrels:
            for identifier in (qrel.query_id, qrel.passage_id):
                if not _is_word(identifier):
                    raise DataError(
                        f"the id {identifier!r} is empty or has whitespace, which qrels do not allow."
                    )
            subtopic = qrel.subtopic if isinstance(qrel, SubtopicQrel) else "0"
            stream.write(f"{qrel.query_id} {subtopic} {qrel.passage_id} {qrel.relevance}\n".encode())


def write_run(lines: Iterable[RunLine], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write a run file; scores have enough digits to read the same number back.

    Raises :class:`DataError` for an id or a system that is empty or has whitespace.
    """
    with atomic_output(path, inputs=inputs) as stream:
        for line in lines:
            for name in (line.query_id, line.passage_id, line.system):
                if not _is_word(name):
                    raise DataError(f"{name!r} is empty or has whitespace, which a run file does not allow.")
            row = f"{line.query_id} Q0 {line.passage_id} {line.rank} {line.score!r} {line.system}\n"
            stream.write(row.encode())
