"""Reading and writing run files and qrels.

Rankings are read as scores; ``metrics/ties_in_runs.py`` orders their passages.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import unquote

from exam_pp.errors import DataError
from exam_pp.results import Qrel, RunLine, SubtopicQrel
from exam_pp.store.files import (
    STDIO,
    atomic_output,
    check_utf8_name,
    read_bytes,
    read_lines,
    read_text_lines,
    safe_name,
)
from exam_pp.store.manifests import visible_entries
from exam_pp.store.numbers import is_integer, is_number, parse_integer, parse_number, parse_whole
from exam_pp.store.problems import Problems
from exam_pp.store.tables import (
    QRELS,
    RUNS,
    SUFFIXES,
    Row,
    check_header,
    column_names,
    is_table,
    read_rows,
    read_table,
)
from exam_pp.text.wording import counted, listed

log = logging.getLogger(__name__)

N = TypeVar("N", int, float)
MethodName = Literal["stem", "tag"]
_RUN_SUFFIXES = (".gz", ".run", ".txt")
_READ = "*.run, and files whose first lines are those of a run"
_FIRST = 20  # lines that decide what a file is


def run_files(runs: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the run files of folders, sorted by name, and files themselves.

    The runs of a folder are ``*.run`` and all other files whose first lines are those of a run. Raises
    :class:`DataError` if a folder has no run files, or one whose name is not UTF-8.
    """
    sources = [runs] if isinstance(runs, str | Path) else runs
    return list(dict.fromkeys(file for source in sources for file in _files_of(source)))


def _files_of(source: str | Path) -> list[Path]:
    path = Path(source)
    if path.exists() and not path.is_dir():
        check_utf8_name(path)
        return [path]
    if not path.is_dir():
        check_has_name(path)
        raise DataError("is neither a run file nor a folder of run files.", file=str(source))
    files = runs_of_folder(path)
    if not files:
        raise DataError(f"has no run files ({_READ}).", file=str(source))
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
    """Whether a file of a folder is a run: by its name, or by its first lines."""
    if not path.is_file() or path.name.removesuffix(".gz").endswith(".run"):
        return path.is_file()
    if _is_run_table(path):
        return True
    if is_table(path, RUNS):  # a JSON object of objects of numbers; those of whole numbers may be counts
        rows = [list(row.cells.values()) for row in islice(read_rows(path, RUNS), _FIRST)]
        return short_columns(rows) == ("query_id", "passage_id", "score")
    lines = (line.decode("utf-8", "replace") for _, line in islice(read_lines(path), _FIRST))
    rows = [line.split(",") if ",Q0," in line else line.split() for line in lines]
    return are_results(rows) or short_columns(rows) is not None


def _is_run_table(path: str | Path) -> bool:
    """Whether a header has the columns of a run, or all but that of the passages, whose name is unknown."""
    columns = column_names(path)
    is_sheet = Path(path).name.removesuffix(".gz").endswith((".csv", ".tsv"))
    return RUNS.fits(columns) or (is_sheet and RUNS.used(columns).keys() >= {"query_id", "rank"})


def are_results(rows: Sequence[Sequence[str]]) -> bool:
    """Whether at least half of the lines have a rank and a score where TREC runs have them."""
    results = [len(row) > 4 and is_integer(row[3]) and is_number(row[4]) for row in rows]
    return bool(rows) and 2 * sum(results) >= len(rows)


def short_columns(rows: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
    """The columns of a run without Q0 and tag, by its first lines; None if they are not clear.

    They are query, passage and rank (MS MARCO), or query, passage and score, or query, passage, rank and
    score or tag. Ranks are whole numbers that rise from 0 or 1 in each query. Scores never rise, and not all
    of them are whole numbers, which may be grades.
    """
    width = len(rows[0]) if rows else 0
    # Second columns that are all the same are those of qrels, with passages in the third.
    is_constant = len(rows) > 1 and len({tuple(row[1:2]) for row in rows}) == 1
    valid = [row for row in rows if len(row) == width and is_number(row[2])] if width in (3, 4) else []
    if not valid or is_constant or 2 * len(valid) < len(rows):
        return None
    by_query: dict[str, list[float]] = {}
    for row in valid:
        by_query.setdefault(row[0], []).append(float(row[2]))
    values = by_query.values()
    if all(is_integer(row[2]) for row in valid):
        # Files of other formats may have ids, such as 00, in this place.
        are_plain = all(row[2] == str(int(row[2])) for row in valid)
        are_plain &= width == 3 or len(values) < len(valid)
        are_ranks = are_plain and all(of[0] in (0, 1) and of == sorted(set(of)) for of in values)
        last = ("score" if is_number(valid[0][-1]) else "tag",) if width == 4 else ()
        return ("query_id", "passage_id", "rank", *last) if are_ranks else None
    fall = len(values) < len(valid) and all(of == sorted(of, reverse=True) for of in values)
    return ("query_id", "passage_id", "score") if width == 3 and fall else None


def warn_of_skipped_files(folder: str | Path) -> None:
    """Log the files and folders in a folder, except hidden ones, that :func:`run_files` does not read."""
    path = Path(folder)
    skipped = [entry for entry in visible_entries(path) if not _is_run_file(entry)] if path.is_dir() else []
    if skipped:
        names = listed([entry.name for entry in skipped])
        not_read = counted(len(skipped), "entry is not read", "entries are not read")
        log.warning("%s: %s, because only %s are runs: %s", path, not_read, _READ, names)


def method_of(path: Path) -> str:
    """Return the system's name: the file name without its extensions, as in the published code.

    Escapes of :func:`~exam_pp.store.files.safe_name` are undone. Raises :class:`DataError` for a name that is
    not UTF-8.
    """
    check_utf8_name(path)
    name = path.name
    for suffix in (".gz", *SUFFIXES) if name.removesuffix(".gz").endswith(SUFFIXES) else _RUN_SUFFIXES:
        name = name.removesuffix(suffix)
    system = unquote(name)
    return system if safe_name(system) == name else name


def read_run(path: str | Path, *, method: MethodName = "stem", one_system: bool = False) -> Iterator[RunLine]:
    """Read a run file.

    Args:
        path: The file in TREC format or with the columns of :func:`short_columns`, or a table with the
            columns query_id, passage_id, and rank or score, or a JSON object ``{query: {passage: score}}``;
            gzipped or not. Fields after the tag are ignored, as trec_eval ignores them.
        method: The source of the system's name: ``stem``, the file name, or ``tag``, the sixth column, of
            which a file may have several. A table may have a column ``system``, which always counts.
        one_system: Check for duplicates as if all lines were of one system, whatever their tags.

    Returns:
        An iterator of the lines, in file order.

    Raises:
        DataError: A line is malformed, or a system lists a passage twice for a query.
    """
    problems = Problems(path)
    is_of_columns = is_table(path, RUNS) or _is_run_table(path)
    stem = method_of(Path(path))
    tags: set[str] = set()
    rankings: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    partial: dict[tuple[tuple[str, str], str], tuple[str, int | None, float | None]] = {}
    for row, cells in read_table(path, RUNS, problems) if is_of_columns else _rows(path, problems):
        query_id, passage_id, tag = cells["query_id"], cells["passage_id"], cells.get("tag", stem)
        system = cells.get("system") or (tag if method == "tag" else stem)
        rank, score = cells.get("rank", ""), cells.get("score", "")
        name = "rank"
        try:
            place = parse_whole(rank) if rank else None
            name = "score"
            value = parse_number(score) if score else None
        except ValueError as error:
            problems.add(row.error(f"{error}.", path, name))
            continue
        if not (rank or score):
            problems.add(row.error("has neither a rank nor a score.", path))
        tags.add(tag)
        key = (stem if one_system and "tag" in cells else system, query_id)
        ranking = rankings[key]
        if passage_id in ranking:
            hint = " If its tags are different systems, use --method-name tag." if len(tags) > 1 else ""
            problem = f"the passage {passage_id!r} occurs twice for the query {query_id!r}.{hint}"
            problems.add(row.error(problem, path), "repeated")
            continue
        ranking[passage_id] = value or 0
        if place is None or value is None:
            partial[key, passage_id] = system, place, value
        else:
            yield RunLine(query_id, passage_id, place, value, system)
    problems.check()
    for key, of in rankings.items() if partial else ():
        for position, passage_id in enumerate(sorted(of, key=of.__getitem__, reverse=True), 1):
            if (key, passage_id) in partial:
                system, place, value = partial[key, passage_id]
                rank_or_position = position if place is None else place
                counted_down = float(len(of) + 1 - rank_or_position)
                final = counted_down if value is None else value
                yield RunLine(key[1], passage_id, rank_or_position, final, system)


_TREC = ("query_id", "Q0", "passage_id", "rank", "score", "tag")
_OTHER_COLUMNS = (
    "Other columns need a header with query_id, passage_id, and rank or score. Without one, three are "
    "read if the third rises from 1 (ranks), or falls and has fractions (scores)."
)


def _rows(path: str | Path, problems: Problems) -> Iterator[tuple[Row, dict[str, str]]]:
    """The rows of a run without a header, as ``read_table`` yields those of a table."""
    lines = read_text_lines(path)
    first = list(islice(lines, _FIRST))
    columns = short_columns([line.split() for _, line in first]) or _TREC
    if columns is _TREC and not are_results([line.split() for _, line in first[:1]]):
        check_header(path, RUNS)
    for number, line in chain(first, lines):
        fields = line.split()
        if len(fields) == len(columns) or (
            len(fields) > 6 and columns is _TREC and not is_number(fields[5]) and are_results([fields])
        ):
            if columns is _TREC:  # a third of the time of the other line
                query_id, _, passage_id, rank, score, tag = fields[:6]
                cells = {
                    "query_id": query_id, "passage_id": passage_id, "rank": rank, "score": score, "tag": tag,
                }  # fmt: skip
            else:
                cells = dict(zip(columns, fields, strict=True))
            yield Row(number, cells), cells
            continue
        problem = f"has {counted(len(fields), 'column')}, but the first line has {len(columns)}."
        if columns is _TREC:
            problem = (
                f"has {counted(len(fields), 'column')}, but a run file has six "
                f"(query_id Q0 passage_id rank score tag). "
                f"{'Ids cannot have spaces.' if len(fields) > 6 else _OTHER_COLUMNS}"
            )
        problems.add(DataError(problem, file=str(path), line=number))


def systems_of(runs: str | Path | Sequence[str | Path], method: MethodName = "stem") -> list[str]:
    """The systems of run files; only tags need the contents of the files."""
    files = run_files(runs)
    if method == "stem" and not any(is_table(file, RUNS) for file in files):
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


_BEIR_HEADER = ["query-id", "corpus-id", "score"]


def qrels_rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of the judgments in a qrels file, also of lines with too few fields.

    Comments (``# ...``) on lines of their own or after a judgment are removed. Files without a second column,
    such as those of BEIR with their header, get a second column of zeros. Raises :class:`DataError` for an
    unreadable file.
    """
    is_short = is_first = True
    for number, line in read_text_lines(path):
        fields = line.split()
        if _is_comment(fields):
            continue
        if is_first:
            is_short, is_first = is_qrels_header(fields) or is_short_judgment(fields), False
            if is_qrels_header(fields):
                continue
        if is_short:
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


def is_short_judgment(fields: Sequence[str]) -> bool:
    """Whether a line is query, passage and grade, and not qrels that lack their grade."""
    return len(fields) == 3 and fields[1] not in ("0", "Q0") and is_number(fields[2])


def read_qrels(path: str | Path) -> list[Qrel]:
    """Read a qrels file.

    Args:
        path: The file, with ``query_id 0 passage_id grade`` or ``query_id passage_id grade`` on each line, or
            of BEIR, with a header, or a table with these columns, or a JSON object
            ``{query: {passage: grade}}``; gzipped or not. Comments start with ``#``.

    Returns:
        The judgments in file order, without duplicates. A grade with a fraction, such as a mean of several
        judges, is a float.

    Raises:
        DataError: A line is malformed, two lines contradict each other, or the file is empty.
    """
    return [Qrel(query_id, passage_id, grade) for query_id, _, passage_id, grade in _grades(path, "")]


def read_subtopic_qrels(path: str | Path) -> list[SubtopicQrel]:
    """Read qrels as :func:`read_qrels` does, with subtopics in the second column, and integer grades."""
    return [SubtopicQrel(query, topic, passage, int(grade)) for query, topic, passage, grade in _grades(path)]


def _grades(path: str | Path, subtopic: str | None = None) -> list[tuple[str, str, str, float]]:
    """Query, subtopic, passage and grade of each judgment; all of one subtopic if that is given."""
    grades: dict[tuple[str, str, str], float] = {}
    problems = Problems(path)
    for line, (query_id, given, passage_id, grade) in _judgments(path, problems):
        try:
            value = parse_number(grade)
        except ValueError:
            problems.add(DataError(f"{grade!r} is not a number.", file=str(path), line=line, field="grade"))
            continue
        relevance = int(value) if value.is_integer() else value
        key = (query_id, given if subtopic is None else subtopic, passage_id)
        if grades.setdefault(key, relevance) != relevance:
            problem = f"the passage {passage_id!r} has two grades for the query {query_id!r}."
            if given not in ("", "0", "Q0"):
                problem += " Its second column may be a subtopic, for measures such as alpha_nDCG@20."
            problems.add(DataError(problem, file=str(path), line=line), "repeated")
    problems.check()
    if not grades:
        raise DataError("has no judgments.", file=str(path))
    return [(*key, grade) for key, grade in grades.items()]


def _judgments(
    path: str | Path, problems: Problems
) -> Iterator[tuple[int | None, tuple[str, str, str, str]]]:
    """Yield line number, and query, second column, passage and grade, of each judgment."""
    if is_table(path, QRELS):
        rows = [(row.line, cells) for row, cells in read_table(path, QRELS, problems)]
        judged = {(cells["query_id"], cells["passage_id"]) for _, cells in rows}
        people = sorted({cells["annotator"] for _, cells in rows if cells.get("annotator")})
        if len(people) > 1 and len(judged) < len(rows):
            problem = (
                f"has labels of {counted(len(people), 'person', 'people')} ({listed(people)}) for the same "
                "passages, but judgments have one grade. Write the rows of each to a file of their own; "
                "`exam-pp analyze agreement FIRST --qrels SECOND` measures how two agree."
            )
            raise DataError(problem, file=str(path), field="annotator")
        for line, cells in rows:
            yield line, (cells["query_id"], "", cells["passage_id"], cells["relevance"])
        return
    for place, (number, fields) in enumerate(qrels_rows(path)):
        if len(fields) != 4:
            if not place and len(fields) < 3:
                check_header(path, QRELS)
            problem = (
                f"has {counted(len(fields), 'column')}, but qrels have four (query_id 0 passage_id grade)."
            )
            problems.add(DataError(problem, file=str(path), line=number))
            continue
        yield number, (fields[0], fields[1], fields[2], fields[3])


def title_query(query_id: str, known: Collection[str], *, guess: bool) -> str:
    """The title query of ``query`` or ``query/facet``."""
    title = query_id
    while title not in known and "/" in title:
        title = title.rpartition("/")[0]
    if title in known:
        return title
    return (query_id.partition("/")[0] or query_id) if guess else query_id


def full_facet_id(query_id: str, facet_id: str) -> str:
    """The id ``query/facet`` of a facet, whose own id may already have the query in front."""
    is_full = facet_id == query_id or facet_id.startswith(f"{query_id}/")
    return facet_id if is_full else f"{query_id}/{facet_id}"


class TrecColumns:
    """The columns of an output: in each id, ``_`` takes the place of blanks, which the log says once.

    ``changed`` are the ids with blanks.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], str] = {}
        self.changed: set[str] = set()

    def __call__(self, noun: str, name: str) -> str:
        """The column of an id, such as that of a ``query``.

        Raises :class:`DataError` for an id that is empty, and for two ids of one noun with the same column.
        """
        column = "_".join(name.split())
        if not column or column.startswith("\ufeff"):  # readers remove the mark at the start of a file
            raise DataError(f"The {noun} id {name!r} is empty, or begins with a byte order mark: rename it.")
        if (other := self._ids.setdefault((noun, column), name)) != name:
            raise DataError(
                f"The {noun} ids {other!r} and {name!r} are the same in TREC files, where blanks are written "
                "as '_': rename one."
            )
        if column != name:
            if not self.changed:
                log.warning("TREC files have '_' in place of blanks in ids.")
            self.changed.add(name)
        return column


def write_qrels(
    qrels: Iterable[Qrel | SubtopicQrel],
    path: str | Path,
    *,
    inputs: Iterable[str | Path] = (),
    column: TrecColumns | None = None,
) -> None:
    """Write qrels for trec_eval; with subtopics, for ndeval.

    Args:
        qrels: The lines.
        path: The file; a name that ends in ``.gz`` is compressed, ``-`` is standard output.
        inputs: Files that must not be overwritten.
        column: Counts the ids with blanks, for which ``_`` is written.

    Raises:
        DataError: An id is empty, or two ids differ only in blanks.
        OutputError: The file cannot be written.
    """
    column = column or TrecColumns()
    with atomic_output(path, inputs=inputs) as stream:
        for qrel in qrels:
            subtopic = column("subtopic", qrel.subtopic) if isinstance(qrel, SubtopicQrel) else "0"
            query, passage = column("query", qrel.query_id), column("passage", qrel.passage_id)
            stream.write(f"{query} {subtopic} {passage} {qrel.relevance}\n".encode())


def write_run(
    lines: Iterable[RunLine],
    path: str | Path,
    *,
    inputs: Iterable[str | Path] = (),
    column: TrecColumns | None = None,
) -> None:
    """Write a run file; scores have enough digits to read the same number back.

    ``column`` is that of runs that go together. Raises :class:`DataError` for an id or a system that is
    empty, and for two that differ only in blanks, for which ``_`` is written.
    """
    column = column or TrecColumns()
    with atomic_output(path, inputs=inputs) as stream:
        for line in lines:
            query, passage = column("query", line.query_id), column("passage", line.passage_id)
            row = f"{query} Q0 {passage} {line.rank} {line.score!r} {column('system', line.system)}\n"
            stream.write(row.encode())
