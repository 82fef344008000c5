"""Evaluate: nugget scores as a leaderboard in the paper's layout, one or several conditions side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.leaderboard import Standing, standings
from exam_pp.metrics.nuggets import LENGTH, NUGGET_METRICS
from exam_pp.phases.evaluation.leaderboards import doubt_cells, doubt_columns
from exam_pp.phases.evaluation.nugget_scores import nugget_evaluations
from exam_pp.phases.evaluation.rubric import Evaluation, PathLike, is_passages, some
from exam_pp.phases.evaluation.score_files import read_all_scores
from exam_pp.phases.evaluation.system_names import matched_names, renamed
from exam_pp.phases.evaluation.uncertainty import Statistics, uncertainty
from exam_pp.reports.document import Cell, Paragraph, Report, Table
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.interchange.nugget_metrics import nugget_metrics
from exam_pp.store.trec.run_types import read_run_types
from exam_pp.wording import counted, listed

TITLE = "Nugget scores"
_DECIMALS = 4
_SCRIPT_DECIMALS = 6


@dataclass(frozen=True)
class Condition:
    """How nuggets were made and assigned, such as AutoNuggets / AutoAssign, and the scores that it gives."""

    name: str
    evaluation: Evaluation

    def means(self, metric: str) -> dict[str, float]:
        """System to its mean."""
        return {row.system: row.mean for row in standings(self.evaluation.scores) if row.metric == metric}

    @property
    def primary(self) -> Evaluation:
        """The scores of the first metric alone: V_strict where there is any."""
        return _of_metrics(self.evaluation, self.metrics[:1])

    @property
    def metrics(self) -> list[str]:
        """The nugget metrics that it has scores of, in the paper's order."""
        found = {score.metric for score in self.evaluation.scores}
        return [metric for metric in NUGGET_METRICS if metric in found]


def read_conditions(
    files: Sequence[PathLike],
    banks: Sequence[PathLike] = (),
    *,
    names: Sequence[str] = (),
    grade_filter: GradeFilter | None = None,
    queries: PathLike | None = None,
    runs: Sequence[str] = (),
) -> list[Condition]:
    """The conditions of the files, in their order.

    A graded file gives one for each grader that it holds; it needs a bank: one for all files, or one each.
    A file of scores (of ``evaluate nuggets``, nuggetizer's metrics, or a table with a header) is one, and
    so is a folder of them, such as the metrics of nuggetizer, a file for each run.
    ``names`` replace those of graders and files; ``runs`` keeps only these systems. Raises
    :class:`~exam_pp.errors.ExamError`.
    """
    if len(banks) > 1 and len(banks) != len(files):
        raise SelectionError(
            f"{len(banks)} banks for {len(files)} files: name one bank, or one for each file."
        )
    found: list[Condition] = []
    for number, file in enumerate(files):
        bank = banks[number if len(banks) > 1 else 0] if banks else None
        found += _conditions(file, bank, grade_filter, queries, alone=len(files) == 1)
    if names and len(names) != len(found):
        held = ", ".join(condition.name for condition in found)
        raise SelectionError(
            f"{counted(len(names), 'name')} for {counted(len(found), 'condition')} ({held})."
        )
    found = [Condition(name, c.evaluation) for name, c in zip(names, found, strict=True)] if names else found
    return [Condition(c.name, _of_runs(c, runs)) for c in found] if runs else found


def _conditions(
    file: PathLike,
    bank: PathLike | None,
    grade_filter: GradeFilter | None,
    queries: PathLike | None,
    *,
    alone: bool,
) -> Iterator[Condition]:
    name = Path(file).name.removesuffix(".gz")
    folder = Path(file).is_dir()
    stem = name if folder else name.rpartition(".")[0] or name
    if folder or not is_passages(file):
        yield Condition(stem, Evaluation(read_any_scores(file)))
        return
    if bank is None:
        raise SelectionError(f"{file} holds graded answers: name the bank of their nuggets with --bank.")
    evaluations = nugget_evaluations(file, bank, grade_filter=grade_filter, queries=queries)
    for grader, evaluation in evaluations.items():
        name = grader if alone else stem if len(evaluations) == 1 else f"{stem} {grader}"
        yield Condition(name, evaluation)


def score_files(source: PathLike) -> list[Path]:
    """The files of a folder, sorted by name; a file is its own."""
    path = Path(source)
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))


def read_any_scores(source: PathLike) -> list[Score]:
    """Scores of single queries where a file has them, else means; of a folder, those of all its files.

    Raises :class:`~exam_pp.errors.DataError`, also for a run that two files of a folder score.
    """
    scores: list[Score] = []
    found: dict[str, Path] = {}
    for file in score_files(source):
        new = _finest(read_all_scores(file))
        for system in {score.system for score in new}:
            if system in found:
                raise DataError(f"has scores of {system!r}, as {found[system].name} has.", file=str(file))
            found[system] = file
        scores += new
    if not scores:
        raise DataError("holds no files of scores.", file=str(source))
    return scores


def _finest(scores: Sequence[Score]) -> list[Score]:
    by_query = {(s.system, s.metric) for s in scores if s.query_id != ALL_QUERIES}
    return [s for s in scores if s.query_id != ALL_QUERIES or (s.system, s.metric) not in by_query]


def _of_runs(condition: Condition, runs: Sequence[str]) -> Evaluation:
    evaluation = condition.evaluation
    if unknown := [run for run in runs if run not in evaluation.systems]:
        raise SelectionError(f"No run {unknown[0]!r}; there are {', '.join(evaluation.systems)}.")
    return Evaluation(
        [score for score in evaluation.scores if score.system in runs],
        evaluation.notes,
        best_case=[score for score in evaluation.best_case if score.system in runs],
    )


def rows_with_means(evaluation: Evaluation) -> list[Score]:
    """The scores of every run and metric, query by query, then the mean as query ``all``."""
    rows: dict[tuple[str, str], list[Score]] = {}
    for score in evaluation.scores:
        if score.query_id != ALL_QUERIES:
            rows.setdefault((score.system, score.metric), []).append(score)
    for row in standings(evaluation.scores):
        rows.setdefault((row.system, row.metric), []).append(
            Score(row.system, ALL_QUERIES, row.metric, row.mean)
        )
    return [score for group in rows.values() for score in group]


def metrics_lines(condition: Condition) -> str:
    """The scores of a condition that has one run as nuggetizer's metrics."""
    scores = [score for score in condition.evaluation.scores if score.query_id != ALL_QUERIES]
    topics = dict.fromkeys(score.query_id for score in scores)
    means = {row.metric: row.mean for row in standings(condition.evaluation.scores)}
    return nugget_metrics(topics, scores, means)


def nugget_report(
    conditions: Sequence[Condition],
    *,
    run_types: PathLike | None = None,
    statistics: Statistics | None = None,
    for_people: bool = True,
    narrow: bool = False,
) -> Report:
    """A row for every run, best first by V_strict of the first condition (Tables 6 to 8 of the paper).

    Several conditions are groups of columns whose names start with the condition's. ``narrow`` sets only
    their first metrics side by side, and gives every condition a table of its own below. For people there
    are intervals, ranks, letters and bounds of V_strict alone; otherwise of every metric, with standard
    errors.
    """
    systems = list(dict.fromkeys(s for condition in conditions for s in condition.evaluation.systems))
    types = _types(run_types, systems)
    groups = [_Group(condition, statistics or Statistics(), for_people) for condition in conditions]
    order = sorted(systems, key=lambda s: (*(group.place(s) for group in groups), s))
    decimals = _DECIMALS if for_people else _SCRIPT_DECIMALS
    narrow = narrow and len(groups) > 1
    columns = ["Run ID", *(["Task"] if types else [])]
    for group in groups:
        prefix = f"{group.name} " if len(groups) > 1 else ""
        columns += [prefix + column for column in group.columns[: 1 if narrow else None]]
    lengths = _lengths(conditions)
    rows: list[list[Cell]] = []
    for system in order:
        row: list[Cell] = [system, *([types.get(system)] if types else [])]
        for group in groups:
            row += group.cells(system)[: 1 if narrow else None]
        if lengths:
            row.append(_length(lengths.get(system), for_people=for_people))
        rows.append(row)
    if lengths:
        columns.append(LENGTH)
    tables = [Table(columns, rows, decimals=decimals)]
    if narrow:
        tables += [group.table(systems, decimals) for group in groups if len(group.columns) > 1]
    notes = list(_shared_notes(groups))
    if types and (untyped := [system for system in order if system not in types]):
        notes.append(f"No type for {some(untyped, 'run', 'runs')}.")
    return Report(TITLE, [*tables, *map(Paragraph, notes)])


def _shared_notes(groups: Sequence[_Group]) -> Iterator[str]:
    """The notes of all conditions, once each; what is not true of all of them says of which."""
    names: dict[str, list[str]] = {}
    for group in groups:
        for note in group.notes:
            names.setdefault(note, []).append(group.name)
    for note, of in names.items():
        yield note if len(of) == len(groups) else f"{', '.join(of)}: {note}"


def _types(path: PathLike | None, systems: Sequence[str]) -> dict[str, str]:
    if path is None:
        return {}
    types = read_run_types(path)
    return renamed(types, matched_names(systems, types))


def _lengths(conditions: Sequence[Condition]) -> dict[str, float]:
    """L of every run, by the first condition that has it: answers are the same in all of them."""
    lengths: dict[str, float] = {}
    for condition in conditions:
        lengths = condition.means(LENGTH) | lengths
    return lengths


def _length(value: float | None, *, for_people: bool) -> Cell:
    """With two decimals, as in the paper."""
    return f"{value:6.2f}" if for_people and value is not None else value


class _Group:
    """The columns of one condition."""

    def __init__(self, condition: Condition, statistics: Statistics, for_people: bool) -> None:
        evaluation = condition.evaluation
        self.name = condition.name
        self._metrics = condition.metrics
        if not self._metrics:
            raise SelectionError(
                f"{condition.name} has no nugget scores (columns {', '.join(NUGGET_METRICS)})."
            )
        scores = [score for score in evaluation.scores if score.metric in self._metrics]
        self._rows = {(row.system, row.metric): row for row in standings(scores)}
        asked = self._metrics[:1] if for_people else self._metrics
        self._doubts = uncertainty(_of_metrics(evaluation, asked), statistics)
        self._for_people = for_people
        self.columns = [column for metric in self._metrics for column in self._columns(metric)]
        about = _about(self._rows.values(), self._metrics)
        self.notes = [*about, *self._doubts.notes, *evaluation.notes]

    def _columns(self, metric: str) -> list[str]:
        names = [metric] if self._for_people else [metric, f"{metric} stderr"]
        return [*names, *doubt_columns(self._doubts, metric, for_people=self._for_people)]

    def place(self, system: str) -> float:
        """What runs are sorted by."""
        row = self._rows.get((system, self._metrics[0]))
        return 1.0 if row is None else -row.mean

    def table(self, systems: Iterable[str], decimals: int) -> Table:
        """A table of the condition alone, its best run first; runs that it has no score of are left out."""
        scored = [s for s in systems if any((s, metric) in self._rows for metric in self._metrics)]
        rows = [[s, *self.cells(s)] for s in sorted(scored, key=lambda s: (self.place(s), s))]
        return Table(["Run ID", *self.columns], rows, self.name, decimals)

    def cells(self, system: str) -> list[Cell]:
        """The cells under :attr:`columns`, the mean of the first metric first."""
        cells: list[Cell] = []
        for metric in self._metrics:
            row = self._rows.get((system, metric))
            cells.append(row and row.mean)
            if not self._for_people:
                cells.append(row and row.stderr)
            cells += doubt_cells(
                self._doubts, system, metric, for_people=self._for_people, decimals=_DECIMALS
            )
        return cells


def _of_metrics(evaluation: Evaluation, metrics: Sequence[str]) -> Evaluation:
    return Evaluation(
        [score for score in evaluation.scores if score.metric in metrics],
        best_case=[score for score in evaluation.best_case if score.metric in metrics],
    )


def _about(rows: Iterable[Standing], metrics: Sequence[str]) -> Iterator[str]:
    """How many queries the means are over; scores of files may be of other queries for every run."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        if row.queries:
            counts.setdefault(row.metric, {})[row.system] = row.queries
    most = {metric: max(counts[metric].values()) for metric in metrics if metric in counts}
    number = max(most.values(), default=0)
    if not number:
        yield f"Sorted by {metrics[0]}."
        return
    fewer = ", ".join(f"{metric} {count}" for metric, count in most.items() if count < number)
    means = f"Means over {counted(number, 'query')}{f' ({fewer})' if fewer else ''}"
    yield f"{means}, sorted by {metrics[0]}."
    short = {
        system: f"{system} has {metric} of {count} of {most[metric]}"
        for metric in reversed(most)
        for system, count in counts[metric].items()
        if count < most[metric]
    }
    if short:
        systems = listed(list(short.values()), "; ")
        yield f"Not over the same queries: {systems}. Such a mean is over its own queries alone."
