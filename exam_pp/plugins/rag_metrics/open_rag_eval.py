"""CSV files of Open RAG Eval: passages and answers of a RAG system, and their scores.

Input files have the columns ``query_id, query, query_run, passage_id ("[1]"), passage, generated_answer``
and one row per passage. The answer is in the first row of its query and run, and cites passages inline:
``[1]``, ``[2][3]``, ``[1, 2]``. Output files have the columns ``query_id, query`` and one per measure, with
the prefix ``run_1_`` and so on if there are several runs. A cell is a number, or a JSON object such as
``{"precision@": {"1": 1.0}}`` in the column ``retrieval_score_precision_metrics``; as a score, this value has
the name ``retrieval_score_precision_metrics.precision@.1``.

Input files are read as answers, or as passages. The name of the file is the name of the system; if queries
have several runs, they are the repeats of this system.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Format, Source, Target, csv_records, register
from exam_pp.formats.dropped_fields import count_dropped_answer_fields, trimmed
from exam_pp.formats.sample import Fit, fits, with_columns
from exam_pp.records import replace
from exam_pp.results import ANSWERED, Score
from exam_pp.roles import System
from exam_pp.store.csv_cells import write_cells
from exam_pp.store.numbers import is_number, number_of
from exam_pp.store.tables import Cells, Layout, read_cells, read_rows
from exam_pp.store.trec.answers import Answer, AnswerPart, references_of
from exam_pp.store.trec.runs import check_has_name
from exam_pp.text.citation_marks import cited_sentences
from exam_pp.text.wording import counted

QUERY_COLUMNS = ("query_id", "query")
RUN_COLUMN = re.compile(r"run_([1-9]\d{0,8})_(.+)")
"""A column of one of several runs."""
MEASURE = re.compile(r"(run_\d+_)?((retrieval|generation)_score|consistency)_")
"""The beginning of the name of a column of measures."""

_PASSAGE_LABELS = "umbrela_scores"
"""End of the column of labels, whose keys are passages and not measures."""
_NO_ANSWER = "no_answer_score"
"""End of the column with the verdict "yes" or "no"."""
_VERDICTS = {"yes": 1.0, "no": 0.0}


@dataclass(frozen=True)
class ResultRow:
    """The results of one run of a query.

    ``query_text``: Its text; empty if the file has none. ``repeat``: The number of the run; None in files
    without prefixes. ``cells``: Column without prefix to a number, a JSON value, or a text. Empty cells have
    no key.
    """

    query_id: str
    query_text: str
    repeat: int | None
    cells: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = field(default=None, compare=False)


def read_result_rows(path: str | Path) -> Iterator[ResultRow]:
    """Yield the results of all queries and runs, in file order, runs by number.

    A run without cells for a query has no row. A query without any cells has one row.
    """
    seen: set[str] = set()
    for row in read_rows(path, Layout(())):
        line, cells = row.line, {name: cell.strip() for name, cell in row.cells.items()}
        query_id = cells.get("query_id")
        if not query_id:
            if query_id is None:
                raise DataError("has no column 'query_id'.", file=str(path), line=line)
            raise DataError("is empty.", file=str(path), line=line, field="query_id")
        if query_id in seen:
            raise DataError(f"the query {query_id!r} occurs twice.", file=str(path), line=line)
        seen.add(query_id)
        runs: dict[int | None, dict[str, Any]] = {}
        for column, cell in cells.items():
            if column in QUERY_COLUMNS or not cell:
                continue
            run = RUN_COLUMN.fullmatch(column)
            repeat, name = (int(run[1]), run[2]) if run else (None, column)
            runs.setdefault(repeat, {})[name] = _value(cell, path, line, column)
        for repeat in sorted(runs, key=lambda number: number or 0) or [None]:
            yield ResultRow(query_id, cells.get("query", ""), repeat, runs.get(repeat, {}), line)


def read_results(path: str | Path, system: str) -> tuple[list[Score], Mapping[str, int]]:
    """Read the scores of the queries, and count the cells without scores, by column.

    Numbers in the objects of JSON cells are scores of the measure ``COLUMN.KEY``. The verdict of the column
    ``generation_score_no_answer_score`` is the measure ``Answered``: 1 for yes, 0 for no. Labels of passages,
    lists and texts are not scores. If the file has several runs, their systems are ``SYSTEM-run-1`` and so
    on. Open RAG Eval also gives a single run the prefix ``run_1_``; it is the system itself.
    """
    scores: list[Score] = []
    others: Counter[str] = Counter()
    rows = list(read_result_rows(path))
    is_single = {row.repeat for row in rows if row.cells} <= {1}
    for row in rows:
        prefix = "" if row.repeat is None else f"run_{row.repeat}_"
        for column, value in row.cells.items():
            found = dict(_scores(column, value))
            others[prefix + column] += not found
            name = system if is_single else str(System(system, row.repeat))
            scores += [Score(name, row.query_id, metric, number) for metric, number in found.items()]
    if not scores:
        raise DataError("has no scores.", file=str(path))
    return scores, +others


def write_result_rows(
    rows: Iterable[ResultRow], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write results, a row for each query; objects and lists become JSON cells.

    ``rows``: The results. The columns of a run are in the order of their first occurrence. ``inputs``: Files
    that may not be overwritten.
    """
    texts: dict[str, str] = {}
    cells: dict[str, dict[tuple[int | None, str], str]] = {}
    columns: dict[int | None, dict[str, None]] = {}
    for row in rows:
        texts[row.query_id] = row.query_text or texts.get(row.query_id, "")
        of_query = cells.setdefault(row.query_id, {})
        for name, value in row.cells.items():
            columns.setdefault(row.repeat, {})[name] = None
            of_query[row.repeat, name] = _cell(value)
    order = [(number, name) for number, names in columns.items() for name in names]
    header = [name if number is None else f"run_{number}_{name}" for number, name in order]
    lines = [
        (query_id, texts[query_id], *(of_query.get(column, "") for column in order))
        for query_id, of_query in cells.items()
    ]
    write_cells((*QUERY_COLUMNS, *header), lines, path, ids=("query_id",), inputs=inputs)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _value(cell: str, path: str | Path, line: int | None, column: str) -> Any:
    """The number, JSON value or text of a cell."""
    if is_number(cell):
        return float(cell)
    if not MEASURE.match(column):
        return cell
    if cell[0] in "{[":
        return _json(cell, path, line, column)
    try:
        float(cell)  # reads also "nan" and "1_0"
    except ValueError:
        return cell
    raise DataError(
        f"{cell!r} is not a finite number; leave the cell of a missing score empty.",
        file=str(path), line=line, field=column,
    )  # fmt: skip


def _json(cell: str, path: str | Path, line: int | None, column: str) -> Any:
    try:
        value = json.loads(cell, parse_constant=_refuse)
        if "\\u" in cell:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for lone surrogates
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise DataError(
            f"the cell is not valid JSON ({reason}).", file=str(path), line=line, field=column
        ) from error
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a finite number")


def _scores(column: str, value: Any) -> Iterator[tuple[str, float]]:
    """The measures and scores of a cell."""
    if column.endswith(_PASSAGE_LABELS):
        return
    if column.endswith(_NO_ANSWER):
        verdicts = value.values() if isinstance(value, dict) else [value]
        known = [_VERDICTS[v.lower()] for v in verdicts if isinstance(v, str) and v.lower() in _VERDICTS]
        if len(known) == 1:
            yield ANSWERED, known[0]
            return
    yield from _numbers(column, value)


def _numbers(column: str, cell: Any) -> Iterator[tuple[str, float]]:
    """The numbers of an object and the objects in it, each with the path to it."""
    waiting = [(column, cell)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{name}.{key}", item) for key, item in reversed(value.items())]
        elif (number := number_of(value)) is not None:
            yield name, number


log = logging.getLogger(__name__)

COLUMNS = ("query_id", "query", "query_run", "passage_id", "passage", "generated_answer")
GENERATIONS = Layout(
    ("query_id", "query", "passage_id", "passage", "generated_answer"), ("query_run",), ("query_id",)
)
_ONLY_RUN = "1"


@dataclass
class Generation:
    """One run of a query: the answer, and the passages by number, in file order."""

    query_id: str
    query_text: str
    run: str
    passages: dict[str, str] = field(default_factory=dict)
    answer: str = ""
    line: int | None = field(default=None, compare=False, repr=False)
    lines: dict[str, int | None] = field(default_factory=dict, compare=False, repr=False)


def generations_of(cells: Cells, path: str | Path) -> list[Generation]:
    """The runs of all queries, in the order of their first rows.

    Raises :class:`DataError` if a run has a passage number twice, two answers, or two query texts.
    """
    generations: dict[tuple[str, str], Generation] = {}
    for line, row in cells:
        run = row.get("query_run") or _ONLY_RUN
        new = Generation(row["query_id"], row["query"], run, line=line)
        generation = generations.setdefault((new.query_id, run), new)
        number = row["passage_id"].strip("[] ")
        name = f"run {run} of the query {new.query_id!r}"
        if number in generation.passages:
            raise DataError(f"{name} has the passage [{number}] twice.", file=str(path), line=line)
        if row["query"] not in ("", generation.query_text):
            raise DataError(f"{name} has two different query texts.", file=str(path), line=line)
        if row["generated_answer"] and generation.answer not in ("", row["generated_answer"]):
            raise DataError(f"{name} has two different answers.", file=str(path), line=line)
        if number:
            generation.passages[number] = row["passage"]
            generation.lines[number] = line
        elif row["passage"]:
            raise DataError("is empty.", file=str(path), line=line, field="passage_id")
        generation.answer = generation.answer or row["generated_answer"]
    return list(generations.values())


def _system(source: Source) -> str:
    check_has_name(source.path)
    return _stem(source.path)


def _stem(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem


@dataclass(frozen=True)
class _Run:
    """A run of a query: system, repeat, and for each passage number the id of the passage."""

    system: str
    repeat: int | None
    generation: Generation
    docids: Mapping[str, str]

    def docid(self, number: str) -> str:
        """The id of a passage; a number without a passage keeps it, so that the citation is not lost."""
        return self.docids.get(number) or _docid(self.system, self.generation.query_id, number)


def _runs(source: Source) -> Iterator[_Run]:
    """The runs of all queries.

    The runs of a query share passages with the same number and text. A passage with another text than in an
    earlier run has an id of its own, and one warning names the first of them.
    """
    system = _system(source)
    generations = generations_of(read_cells(source.path, GENERATIONS, source.dropped.fields), source.path)
    repeats = _repeats([generation.run for generation in generations])
    texts: dict[tuple[str, str], str] = {}
    different: list[str] = []
    for generation in generations:
        query_id, repeat = generation.query_id, repeats[generation.run]
        docids: dict[str, str] = {}
        for number, text in generation.passages.items():
            docids[number] = _docid(system, query_id, number)
            if texts.setdefault((query_id, number), text) != text:
                docids[number] = _docid(str(System(system, repeat)), query_id, number)
                different.append(
                    f"{source.path}, line {generation.lines[number]}, passage: run {generation.run} of the "
                    f"query {query_id!r} has another text of [{number}] than an earlier run"
                )
        yield _Run(system, repeat, generation, docids)
    if different:
        more = f" ({counted(len(different) - 1, 'more passage')})" if len(different) > 1 else ""
        log.warning("%s%s; both are kept, with different ids.", different[0], more)


def _repeats(runs: Sequence[str]) -> dict[str, int | None]:
    """Run to repeat: None for a single run, otherwise its number, or its place if runs are not numbers."""
    names = list(dict.fromkeys(runs))
    if len(names) == 1:
        return {names[0]: None}
    # Longer numbers are no numbers of runs, and Python refuses those of more than 4,300 digits.
    numbers = [int(name) if name.isdecimal() and len(name) < 19 else 0 for name in names]
    if min(numbers) < 1 or len(set(numbers)) < len(names):
        numbers = list(range(1, len(names) + 1))
    return dict(zip(names, numbers, strict=True))


def _docid(system: str, query_id: str, number: str) -> str:
    """An id with system and query, since a passage number is only unique within an answer."""
    return f"{system}/{query_id}[{number}]"


def _read_answers(source: Source) -> Iterator[Answer]:
    for run in _runs(source):
        generation = run.generation
        parts, inside = cited_sentences(generation.answer)
        source.dropped.add("positions of citations inside sentences", inside)
        yield Answer(
            generation.query_id,
            run.system,
            tuple(AnswerPart(text, tuple(map(run.docid, numbers))) for text, numbers in parts),
            query_text=generation.query_text,
            references=tuple(map(run.docid, generation.passages)),
            repeat=run.repeat,
            texts=tuple((run.docid(number), text) for number, text in generation.passages.items()),
            line=generation.line,
        )


def _read_passages(source: Source) -> list[QueryPassages]:
    """The retrieved passages, ranked in the order of the rows."""
    queries: dict[str, dict[str, Passage]] = {}
    for run in _runs(source):
        generation = run.generation
        source.dropped.add("answers", bool(generation.answer))
        source.dropped.add("query texts", bool(generation.query_text))
        passages = queries.setdefault(generation.query_id, {})
        for rank, (number, text) in enumerate(generation.passages.items(), 1):
            docid = run.docid(number)
            entry = RankingEntry(
                method=run.system,
                passage_id=docid,
                query_id=generation.query_id,
                rank=rank,
                score=float(len(generation.passages) - rank + 1),
            )
            if run.repeat is not None:
                entry = replace(entry, repeat=run.repeat)
            data = PassageData(judgments=[], rankings=[])
            passages.setdefault(docid, Passage(passage_id=docid, text=text, data=data)).rankings.append(entry)
    return [QueryPassages(query_id, list(ps.values())) for query_id, ps in queries.items() if ps]


def _write_answers(answers: Iterable[Answer], target: Target) -> None:
    """Write each system, or each repeat of a single system, as a run, with its references as passages.

    The contexts of the target give texts that the answers lack. Raises
    :class:`~exam_pp.errors.SelectionError` for an answer without a query text, which the prompts of Open RAG
    Eval need.
    """
    answers = list(answers)
    runs: dict[tuple[str, int | None], str] = {}
    several = len({answer.system for answer in answers}) > 1

    def generations() -> Iterator[Generation]:
        for answer in answers:
            if not answer.query_text.strip():
                raise SelectionError(
                    f"The answer of {answer.system!r} has no text of the query {answer.query_id!r}, which "
                    "Open RAG Eval needs; name a file of query texts with --queries."
                )
            keeps = {
                "query texts", "citations", "uncited references", "boundaries of answer parts",
                "passage texts", "repeats",
            }  # fmt: skip
            count_dropped_answer_fields(answer, keeps, target.dropped)
            number_of_run = len(runs) + 1 if several or answer.repeat is None else answer.repeat
            run = runs.setdefault((answer.system, answer.repeat), str(number_of_run))
            references = references_of(answer)
            numbers = {docid: str(number) for number, docid in enumerate(references, 1)}
            parts = [(part.text, tuple(numbers[docid] for docid in part.citations)) for part in answer.parts]
            text = " ".join(sentence + _marks(cited) for sentence, cited in parts)
            if answer.by_sentence:
                target.dropped.add("boundaries of answer parts", cited_sentences(text.strip()) != (parts, 0))
            texts = dict(target.contexts.get(answer.query_id, {})) | dict(answer.texts)
            target.dropped.add("document ids", len(references))
            missing = sum(docid not in texts for docid in references)
            target.dropped.add("document texts missing from --passages", missing)
            passages = {numbers[docid]: trimmed(texts.get(docid, ""), target.dropped) for docid in references}
            query_text = trimmed(answer.query_text, target.dropped)
            yield Generation(answer.query_id, query_text, run, passages, text)

    written = list(generations())
    target.dropped.add("system names", len({system for system, _ in runs}))
    rows = [
        (
            generation.query_id,
            generation.query_text,
            generation.run,
            f"[{number}]" if number else "",
            text,
            generation.answer if position == 0 else "",
        )
        for generation in written
        for position, (number, text) in enumerate((generation.passages or {"": ""}).items())
    ]
    write_cells(COLUMNS, rows, target.path, ids=("query_id",), inputs=target.inputs)


def _marks(numbers: Sequence[str]) -> str:
    """The citation marks at the end of a sentence."""
    return f" {''.join(f'[{number}]' for number in numbers)}" if numbers else ""


def _read_scores(source: Source) -> list[Score]:
    scores, not_numbers = read_results(source.path, _system(source))
    source.dropped.fields(not_numbers)
    return scores


register(
    Format(
        "open-rag-eval", "answers", "answers with passages of Open RAG Eval, CSV",
        with_columns("query_id", "passage_id", "generated_answer"), csv_records(generations_of, GENERATIONS),
        "answer", _read_answers, _write_answers,
    ),
    Format(
        "open-rag-eval-passages", "passages", "passages of Open RAG Eval, CSV",
        read=_read_passages, written_by="--to open-rag-eval --passages",
    ),
    Format(
        "open-rag-eval-scores", "scores", "results of Open RAG Eval, CSV",
        fits(lambda of: "query_id" in of.columns and any(map(MEASURE.match, of.columns)), Fit.FAIR),
        lambda path: read_results(path, _stem(path))[0], "score", _read_scores,
        written_by="exam-pp evaluate rag",
    ),
)  # fmt: skip
