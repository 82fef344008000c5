"""A whole study in Python: from lists, dictionaries, data frames or files to the verdict."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Lock
from typing import Any
from weakref import finalize

from exam_pp.api.evaluation import leaderboard as leaderboard_of_scores
from exam_pp.api.files import write_bank
from exam_pp.banks import TestBank
from exam_pp.data_model import QueryPassages
from exam_pp.defaults import CUTOFF
from exam_pp.errors import DataError, ModelError, SelectionError, UnknownNameError
from exam_pp.formats.bank_csv import BANK
from exam_pp.formats.base import known_format
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
from exam_pp.store.tables import ANSWERS, QUERIES, RUNS, TEXTS, unless_missing
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
    top: int = CUTOFF,
) -> Study:
    """Systems, queries and a test bank, ready to be graded.

    Each input is a file (or several) as for ``exam-pp run``, a dictionary, or a table: a data frame or a list
    of dictionaries. Columns have the names that files may have, such as ``qid``, ``docno`` and ``answer``.

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
    files = _Inputs()
    bank_values = ("nugget", "question") if nuggets else ("question", "nugget")
    of_queries = files.of("queries", queries, ("query_id",), ("query_text",))
    of_bank = files.of("bank", bank, ("query_id",), bank_values, "importance")
    if max(len(of_queries), len(of_bank)) > 1:
        raise SelectionError("queries and bank must be one file each, a dictionary, or a table.")
    inputs = StudyFile(
        runs=files.of("runs", runs, ("system", "query_id", "passage_id"), ("score", "rank")),
        texts=files.of("texts", texts, ("passage_id",), ("text",)),
        queries=next(iter(of_queries), None),
        answers=files.of("answers", answers, ("system", "query_id"), ("text",)),
        bank=of_bank,
        edits=list(map(str, _paths(edits))),
        top=top,
    )
    made = Study(files, inputs)
    if not any(query.query_id in made.bank.queries for query in made.passages):
        have = listed([query.query_id for query in made.passages])
        raise SelectionError(
            f"No query of the systems is in the bank: they have {have}, the bank has "
            f"{listed(list(made.bank.queries))}."
        )
    return made


class Study:
    """Systems with their passages or answers, and a test bank; graded once by a judge.

    Attributes:
        bank: The test bank.
        judge: The model that graded; None before.
    """

    def __init__(self, files: _Inputs, inputs: StudyFile) -> None:
        self._files = files
        self._inputs = inputs
        self._board: Board | None = None
        self._lock = Lock()
        self.judge: str | None = None
        engine = Engine(inputs, files.folder)
        try:
            self.bank = read_bank(engine.bank(1, Path(inputs.bank[0])))
            gets_nuggets = inputs.answers and self.bank.kinds == {"nugget"}
            self._file = engine.answers() if gets_nuggets else engine.pool()
        except DataError as error:
            if _TEMPORARY.search(str(error)) is None:
                raise
            raise SelectionError(_TEMPORARY.sub(r"\1", _REMEDY.sub(".", str(error)))) from error

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
                study, else that of ``exam-pp run``: ``e5`` where it runs, or ``lexical``.
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
            engine = Engine(
                asked, self._files.folder, None if options is None else Judge(options), reports=False
            )
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
        sources = Sources(board.graded, [*filter(None, [board.bank])], review=target.suffix != ".html")
        if sources.review:
            return write_evaluation(sources, target)
        with self._lock:
            page = write_evaluation(sources, self._files.folder / "report")
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

    def _graded(self) -> Board:
        if self._board is None:
            raise SelectionError(
                'The study is not graded: call grade(model="lexical"), or name another model.'
            )
        return self._board


def _in_python(message: str) -> str:
    """A message of the command line, with the fields of :class:`~exam_pp.ModelOptions` for its options."""
    return _OPTION.sub(lambda found: _FIELDS.get(found[1], found[1].replace("-", "_")), message)


_TEMPORARY = re.compile(r"[^\s(]*/exam_pp-\w{8}/inputs/(.+?)\.jsonl\b")
"""The file of an input that is an object, which messages name by the input."""
_REMEDY = re.compile(r"; [^;]* --.*")
"""The end of a message that names options of the command line."""


def _name_inputs(record: logging.LogRecord) -> bool:
    record.msg, record.args = _TEMPORARY.sub(r"\1", record.getMessage()), ()
    return True


logging.getLogger(import_passages.__module__).addFilter(_name_inputs)
_OPTION = re.compile(r"(?:--|-M )([a-z][a-z_-]*[a-z])")
_FIELDS = {"model-pipeline": "pipeline"}


_LAYOUTS = {layout.kind: layout for layout in (QUERIES, ANSWERS, RUNS, TEXTS, BANK)}


class _Inputs:
    """Files of inputs that are objects, so that the importers of files read and check them.

    Its temporary folder, which is also that of the study, lasts as long as it.
    """

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="exam_pp-"))
        finalize(self, rmtree, self.folder, ignore_errors=True)
        (self.folder / "inputs").mkdir()

    def of(self, name: str, value: Any, ids: Sequence[str], values: Sequence[str], *more: str) -> list[str]:
        """The files that an input names, or one with its rows: ids, one of the values, and labels (``more``).

        Values of dictionaries are the first of ``values``.
        """
        if value is None or (paths := _paths(value)):
            return [] if value is None else list(map(str, paths))
        path = self.folder / "inputs" / f"{name}.jsonl"
        if isinstance(value, TestBank):
            write_bank(value, path)
            return [str(path)]
        records = value.to_dict("records") if hasattr(value, "to_dict") else value
        if not isinstance(records, list | tuple) or not all(isinstance(row, Mapping) for row in records):
            records = list(_unfolded(records, name, [*ids, values[0]]))
        if name in ("answers", "bank") and not any(
            "query_id" in _LAYOUTS[name].used(list(map(str, row))) for row in records
        ):
            given = (
                {key: cell if unless_missing(str(cell)) else None for key, cell in row.items()}
                for row in records
            )
            write_text(path, [json.dumps(row, default=str) + "\n" for row in given])
            if (form := known_format(path)) is not None and form.content in (name, "answers"):
                return [str(path)]  # rows of a tool, or of queries without ids
        lines = []
        for number, record in enumerate(records, 1):
            roles = _LAYOUTS[name].used(tuple(map(str, record)))
            cells = {("text" if role == "answer" else role): record[key] for role, key in roles.items()}
            row = {
                k: v for k, v in {**cells, **record}.items() if isinstance(v, str) or unless_missing(str(v))
            }
            if name == "answers":
                row |= {key: "" for key in values if key in cells and key not in row}  # a missing answer
            lacking = [key for key in ids if key not in row]
            if lacking or row.keys().isdisjoint(values):
                column = " or ".join(map(repr, lacking[:1] or values))
                has = listed(list(map(str, row)))
                raise SelectionError(f"{name}, row {number}: the column {column} is missing; it has {has}.")
            known = {key: str(row[key]) for key in ids} | {key: row[key] for key in values if key in row}
            known |= {key: label for key in more if (label := str(row.get(key, "")).strip().lower())}
            lines.append(json.dumps(known, default=str) + "\n")
        if not lines:
            raise SelectionError(f"{name} is empty.")
        write_text(path, lines)
        return [str(path)]


def _unfolded(value: Any, what: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Rows of dictionaries within each other, with a name for each level; lists have texts, or ranked ids."""
    if hasattr(value, "to_dict") and len(names) > 1:
        yield from value.to_dict("records")
        return
    is_list = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    if len(names) == 1:
        yield from ({names[0]: each} for each in (value if is_list else [value]))
        return
    if is_list and names == ["passage_id", "score"]:
        value = {passage_id: -place for place, passage_id in enumerate(value)}
    if not isinstance(value, Mapping):
        raise SelectionError(
            f"{what} must be a dictionary of {' to '.join(names)}, a data frame, or a file; it is a "
            f"{type(value).__name__}."
        )
    for key, inner in value.items():
        yield from ({names[0]: key, **row} for row in _unfolded(inner, f"{what} of {key!r}", names[1:]))


def _paths(value: Any) -> list[Path]:
    """The value as paths; empty if it is none."""
    values = [value] if isinstance(value, PathLike) else value
    if isinstance(values, list | tuple) and values and all(isinstance(each, PathLike) for each in values):
        return [Path(each) for each in values]
    return []
