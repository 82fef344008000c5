"""A whole study in Python: from lists, dictionaries, data frames or files to the verdict."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Lock
from typing import Any
from weakref import finalize

from exam_pp.api.evaluation import leaderboard as leaderboard_of_scores
from exam_pp.api.files import write_bank
from exam_pp.banks import BankLine, Nugget, Question, TestBank, entry_id
from exam_pp.data_model import QueryPassages
from exam_pp.errors import DataError, ModelError, SelectionError, UnknownNameError
from exam_pp.grade_filter import GradeFilter
from exam_pp.llm import ModelOptions
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.interchange.import_passages import import_passages
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.reports.analysis.evaluation_page import write_evaluation
from exam_pp.reports.analysis.report_folder import Sources
from exam_pp.reports.review.page import render_page
from exam_pp.results import Leaderboard
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import write_text
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.studies.boards import Board
from exam_pp.studies.engine import Engine, Judge
from exam_pp.studies.inputs import StudyFile
from exam_pp.text.wording import counted, listed

PathLike = str | Path
Table = Any
"""A data frame, or a list of dictionaries."""


def study(
    *,
    bank: PathLike | TestBank | Mapping[str, Iterable[str]] | Table,
    queries: PathLike | Mapping[str, str] | Table | None = None,
    answers: PathLike | Sequence[PathLike] | Mapping[str, Mapping[str, str]] | Table | None = None,
    runs: PathLike | Sequence[PathLike] | Mapping[str, Mapping[str, Any]] | Table | None = None,
    texts: PathLike | Sequence[PathLike] | Mapping[str, str] | Table | None = None,
    edits: PathLike | Sequence[PathLike] | None = None,
    nuggets: bool = False,
    top: int = 20,
) -> Study:
    """Systems, queries and a test bank, ready to be graded.

    Each input is a file (or several) as for ``exam-pp run``, a dictionary, or a table: a data frame or a list
    of dictionaries.

    Args:
        bank: Query id to questions; or a table with ``query_id`` and ``question`` or ``nugget``,
            and optionally ``importance``.
        queries: Query id to text; or a table with ``query_id`` and ``query_text``.
        answers: System to query id to answer; or a table with ``system``, ``query_id`` and ``text``.
        runs: System to query id to passage ids, best first, or to a dictionary of ids and scores; or a table
            with ``system``, ``query_id``, ``passage_id`` and ``rank`` or ``score``.
        texts: Passage id to text, for runs; or a table with ``passage_id`` and ``text``.
        edits: Edits files of the review page, whose ratings stand in place of the judge's.
        nuggets: Whether the texts of a dictionary ``bank`` are nuggets, and no questions.
        top: Number of passages of each run and query; scores use no deeper ranks.

    Returns:
        The study; :meth:`Study.grade` grades it.

    Raises:
        SelectionError: An input has another form, systems or texts are missing, or ids do not fit.
        DataError: A file is not in its format.
    """
    if answers is None and runs is None:
        raise SelectionError("A study needs systems: answers or runs.")
    if runs is not None and texts is None:
        raise SelectionError("The passages of runs need texts: texts={passage id: text}.")
    read = _bank(bank, nuggets=nuggets)
    folder = Path(mkdtemp(prefix="exam_pp-"))
    finalize(read, rmtree, folder, ignore_errors=True)  # the study keeps the bank
    write_bank(read, folder / "bank.jsonl")
    inputs = StudyFile(
        runs=_files(runs, lambda: _runs(folder, runs, texts)),
        texts=_files(texts, lambda: _lines(folder, "texts", _pairs(texts, "texts", "passage_id", "text"))),
        queries=None if queries is None else str(_queries(folder, queries)),
        answers=_files(answers, lambda: _lines(folder, "answers", _nested(answers, "answers", "text"))),
        bank=[str(folder / "bank.jsonl")],
        edits=[str(path) for path in _paths(edits)],
        top=top,
    )
    made = Study(folder, inputs, read)
    if not any(query.query_id in read.queries for query in made.passages):
        have = listed([query.query_id for query in made.passages])
        raise SelectionError(
            f"No query of the systems is in the bank: they have {have}, the bank has "
            f"{listed(list(read.queries))}."
        )
    return made


class Study:
    """Systems with their passages or answers, and a test bank; graded once by a judge.

    Attributes:
        bank: The test bank.
        judge: The model that graded; None before.
    """

    def __init__(self, folder: Path, inputs: StudyFile, bank: TestBank) -> None:
        self._folder = folder
        self._inputs = inputs
        self._board: Board | None = None
        self._lock = Lock()
        self.bank = bank
        self.judge: str | None = None
        engine = Engine(inputs, folder)
        try:
            self._file = engine.answers() if self._assigns else engine.pool()
        except DataError as error:
            if _TEMPORARY.search(str(error)) is None:
                raise
            raise SelectionError(_TEMPORARY.sub(r"\1", str(error))) from error

    def __repr__(self) -> str:
        entries = sum(len(self.bank.entries(query_id)) for query_id in self.bank.queries)
        parts = [counted(len(self.passages), "query", "queries"), counted(entries, "entry", "entries")]
        return f"<Study of {', '.join(parts)}, {f'graded by {self.judge}' if self.judge else 'not graded'}>"

    @property
    def passages(self) -> list[QueryPassages]:
        """The queries with their passages; with grades after :meth:`grade`."""
        return list(read_passages(self._file))

    def grade(self, model: str | ModelOptions | None = None, *, prompt: str | None = None) -> Study:
        """Let a model grade everything against the bank.

        Args:
            model: Name of a model, such as ``lexical``, or its options. None: the judge that graded the
                study, else that of ``exam-pp run``: ``e5`` for questions where it runs, or ``lexical``.
            prompt: Name of a prompt. None: that for the kind of the bank.

        Returns:
            The study itself.

        Raises:
            SelectionError: Another model graded the study.
            ExamError: The errors of :func:`exam_pp.grade`.
        """
        with self._lock:
            options = ModelOptions(model) if isinstance(model, str) else model
            name = self.judge if options is None else options.model
            if self.judge not in (None, name):
                raise SelectionError(f"The study was graded by {self.judge}: make another study for {name}.")
            asked = self._inputs.model_copy(update={"model": name, "prompt": [prompt] if prompt else []})
            engine = Engine(asked, self._folder, None if options is None else Judge(options), reports=False)
            try:
                (self._board,) = engine.run().boards
            except (ModelError, UnknownNameError) as error:
                raise type(error)(_in_python(str(error))) from error
            self._file, self.judge = self._board.graded, engine.study.model
        return self

    def scores(self) -> Evaluation:
        """Rubric-Cover of all systems, or the nugget scores of answers.

        Raises:
            SelectionError: The study is not graded.
        """
        return self._graded().evaluation()

    def leaderboard(self) -> Leaderboard:
        """The systems, best first, with intervals and the verdict; raises as :meth:`scores` does."""
        return leaderboard_of_scores(self.scores())

    @property
    def verdict(self) -> str:
        """Who is better, in a sentence or two."""
        return self.leaderboard().verdict

    def report(self, path: PathLike) -> Path:
        """Write the report with the verdict into a folder, or a page whose name ends in ``.html``.

        Returns:
            The path of the page.

        Raises:
            SelectionError: The study is not graded.
            OutputError: The page cannot be written.
        """
        board, target = self._graded(), Path(path)
        sources = Sources(board.graded, [self._folder / "bank.jsonl"], review=target.suffix != ".html")
        if sources.review:
            return write_evaluation(sources, target)
        with self._lock:
            page = write_evaluation(sources, self._folder / "report")
            write_text(target, page.read_text(encoding="utf-8"))
        return target

    def review(self, path: PathLike) -> Path:
        """Write the page on which people correct grades; returns its path.

        Raises:
            SelectionError: The study is not graded.
            OutputError: The page cannot be written.
        """
        board = self._graded()
        options = ReviewOptions()
        material = review_material(board.graded, GradeFilter(), bank=board.bank, options=options)
        write_text(path, render_page(material.head, material.tables))
        return Path(path)

    @property
    def _assigns(self) -> bool:
        """Whether whole answers get the nuggets that they have."""
        return bool(self._inputs.answers) and self.bank.kinds == {"nugget"}

    def _graded(self) -> Board:
        if self._board is None:
            raise SelectionError(
                'The study is not graded: call grade(model="lexical"), or name another model.'
            )
        return self._board


def _in_python(message: str) -> str:
    """A message of the command line, with the fields of :class:`~exam_pp.ModelOptions` for its options."""
    return _OPTION.sub(lambda found: _FIELDS.get(found[1], found[1].replace("-", "_")), message)


_TEMPORARY = re.compile(r"[^\s(]*/exam_pp-\w{8}/(.+?)\.jsonl\b")
"""The file of an input that is an object, which messages name by the input."""


def _name_inputs(record: logging.LogRecord) -> bool:
    record.msg, record.args = _TEMPORARY.sub(r"\1", record.getMessage()), ()
    return True


logging.getLogger(import_passages.__module__).addFilter(_name_inputs)
_OPTION = re.compile(r"(?:--|-M )([a-z][a-z_-]*[a-z])")
_FIELDS = {"model-pipeline": "pipeline"}


def _files(value: Any, write: Callable[[], list[Path]]) -> list[str]:
    """The files that an input names, or those that are written of it, so that the importer reads them."""
    return [] if value is None else [str(path) for path in _paths(value) or write()]


def _queries(folder: Path, value: Any) -> Path:
    if isinstance(value, PathLike):
        return Path(value)
    return _lines(folder, "queries", _pairs(value, "queries", "query_id", "query_text"))[0]


def _runs(folder: Path, value: Any, texts: Any) -> list[Path]:
    """The runs as a table, with passages that are among ``texts`` if these are a dictionary."""
    rows = _ranked(value)
    ids = dict.fromkeys(row["passage_id"] for row in rows)
    if isinstance(texts, Mapping) and (missing := [key for key in ids if key not in texts]):
        raise SelectionError(f"texts lacks passages of the runs: {listed(missing)}.")
    return _lines(folder, "runs", rows)


def _lines(folder: Path, name: str, rows: list[dict[str, Any]]) -> list[Path]:
    if not rows:
        raise SelectionError(f"{name} is empty.")
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows), encoding="utf-8")
    return [path]


def _paths(value: Any) -> list[Path]:
    """The value as paths; empty if it is none."""
    values = [value] if isinstance(value, PathLike) else value
    if isinstance(values, list | tuple) and values and all(isinstance(each, PathLike) for each in values):
        return [Path(each) for each in values]
    return []


def _records(value: Any) -> Any:
    """The rows of a data frame; other values stay."""
    return value.to_dict("records") if hasattr(value, "to_dict") else value


def _rows(value: Any, what: str, columns: Sequence[str], form: str) -> list[dict[str, Any]]:
    """The rows of a table, with these columns; raises :class:`SelectionError`."""
    value = _records(value)
    if not isinstance(value, list | tuple) or not all(isinstance(row, Mapping) for row in value):
        raise SelectionError(
            f"{what} must be {form}, a data frame, or a file; it is a {type(value).__name__}."
        )
    for number, row in enumerate(value, 1):
        for column in columns:
            if column not in row:
                has = listed(list(map(str, row)))
                raise SelectionError(f"{what}, row {number}: the column {column!r} is missing; it has {has}.")
    return [
        {column: _text(row[column], f"{what}, row {number}", column) for column in columns}
        for number, row in enumerate(value, 1)
    ]


def _text(value: Any, what: str, column: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise SelectionError(f"{what}: the {column} {value!r} is no text.")
    return str(value)


def _pairs(value: Any, what: str, key: str, text: str) -> list[dict[str, Any]]:
    if isinstance(value, Mapping):
        return [{key: _text(k, what, key), text: _text(v, what, text)} for k, v in value.items()]
    return _rows(value, what, (key, text), f"a dictionary of {key} to text")


def _by_query(value: Mapping[Any, Any], what: str) -> Iterator[tuple[str, Any, Any]]:
    """System, query and value of a dictionary of system to query to value."""
    for system, by_query in value.items():
        if not isinstance(by_query, Mapping):
            raise SelectionError(f"{what}: {system!r} must map query ids; it is a {type(by_query).__name__}.")
        yield from ((_text(system, what, "system"), query_id, of) for query_id, of in by_query.items())


def _nested(value: Any, what: str, text: str) -> list[dict[str, Any]]:
    """Rows of system, query and text."""
    if not isinstance(value, Mapping):
        return _rows(value, what, ("system", "query_id", text), "a dictionary of system to query id to text")
    return [
        {
            "system": system,
            "query_id": _text(query_id, what, "query_id"),
            text: _text(answer, f"{what} of {system!r} for query {query_id!r}", text),
        }
        for system, query_id, answer in _by_query(value, what)
    ]


def _ranked(value: Any) -> list[dict[str, Any]]:
    """Rows of system, query, passage, and rank or score."""
    if not isinstance(value, Mapping):
        names = ("system", "query_id", "passage_id")
        rows = _rows(value, "runs", names, "a dictionary of system to query id")
        places = [{name: row[name] for name in ("rank", "score") if name in row} for row in _records(value)]
        if not all(places):
            raise SelectionError("runs: a column 'rank' or 'score' is missing.")
        return [ids | place for ids, place in zip(rows, places, strict=True)]
    ranked: list[dict[str, Any]] = []
    for system, query_id, ranking in _by_query(value, "runs"):
        if isinstance(ranking, str) or not isinstance(ranking, Iterable):
            raise SelectionError(
                f"runs of {system!r} for query {query_id!r} must be a list of passage ids, or a "
                f"dictionary of ids and scores; it is a {type(ranking).__name__}."
            )
        scored = ranking if isinstance(ranking, Mapping) else {p: -n for n, p in enumerate(ranking)}
        ids = {"system": system, "query_id": str(query_id)}
        ranked += [{**ids, "passage_id": str(p), "score": score} for p, score in scored.items()]
    return ranked


def _bank(value: Any, *, nuggets: bool) -> TestBank:
    if isinstance(value, TestBank):
        return value
    if isinstance(value, PathLike):
        return read_bank(value)
    texts: dict[str, list[str]] = {}
    importance: dict[tuple[str, str], str] = {}
    if isinstance(value, Mapping):
        for query_id, entries in value.items():
            if isinstance(entries, str) or not isinstance(entries, Iterable):
                kind = "text" if isinstance(entries, str) else type(entries).__name__
                raise SelectionError(f"bank: {query_id!r} must have a list of texts; it is a {kind}.")
            if str(query_id) in texts:
                raise SelectionError(f"bank: the query {str(query_id)!r} occurs twice.")
            texts[str(query_id)] = [_text(entry, "bank", "text") for entry in entries]
    else:
        records = _records(value)
        nuggets = isinstance(records, list) and bool(records) and "nugget" in records[0]
        column = "nugget" if nuggets else "question"
        rows = _rows(value, "bank", ("query_id", column), "a dictionary of query id to questions")
        for row, original in zip(rows, records, strict=True):
            texts.setdefault(row["query_id"], []).append(row[column])
            if isinstance(label := original.get("importance"), str) and label.strip():  # else None or NaN
                importance[row["query_id"], row[column]] = label.strip().lower()
    if not any(texts.values()):
        raise SelectionError("bank is empty.")
    return TestBank.from_lines(
        BankLine(
            query_id=query_id,
            items=[
                _entry(query_id, text, importance.get((query_id, text)), nuggets=nuggets) for text in of_query
            ],
        )
        for query_id, of_query in texts.items()
    )


def _entry(query_id: str, text: str, importance: str | None, *, nuggets: bool) -> Question | Nugget:
    key = entry_id(query_id, text)
    if nuggets:
        return Nugget(query_id=query_id, nugget_id=key, nugget_text=text, importance=importance)
    return Question(query_id=query_id, question_id=key, question_text=text, importance=importance)
