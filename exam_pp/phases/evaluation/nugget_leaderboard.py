"""Leaderboards of nugget scores for one or more conditions, from graded answers or score files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exam_pp.data_model import Role
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.scores import read_all_scores
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.leaderboard import Standing, by_means, extremes, standings
from exam_pp.metrics.measures import (
    LENGTH,
    MEASURES,
    NUGGET_METRICS,
    Measure,
    MeasureName,
    known_measures,
)
from exam_pp.phases.evaluation.inputs import Bank, Passages
from exam_pp.phases.evaluation.judgments import is_passages
from exam_pp.phases.evaluation.leaderboards import Standings, Statistics, leaderboard
from exam_pp.phases.evaluation.nugget_scores import (
    nugget_scores,
    sanity_scores,
)
from exam_pp.phases.evaluation.result import Evaluation, MissingQueries, PathLike, matched_names, renamed
from exam_pp.provenance import Provenance, file_names
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.files import check_utf8_name
from exam_pp.store.manifests import visible_entries
from exam_pp.store.trec.ranks import read_run_types
from exam_pp.text.wording import counted


@dataclass(frozen=True)
class Condition:
    """A condition, such as AutoNuggets / AutoAssign, with its scores.

    ``sanity`` are the scores of :func:`~exam_pp.phases.evaluation.nugget_scores.sanity_scores`; empty for
    score files, whose banks are unknown. ``columns`` are the names of the measures to show.
    """

    name: str
    evaluation: Evaluation
    sanity: Sequence[Score] = ()
    columns: Sequence[str] = tuple(MEASURES)

    def means(self, metric: str) -> dict[str, float]:
        """System to its mean of a metric."""
        return {row.system: row.mean for row in standings(self.evaluation.scores) if row.metric == metric}

    @property
    def title(self) -> str:
        """What the scores are."""
        is_rubric = any(metric not in NUGGET_METRICS for metric in self.metrics[:1])
        return "Rubric scores" if is_rubric else "Nugget scores"

    @property
    def metrics(self) -> list[str]:
        """The measures with scores, in the order of ``columns``.

        Those that are 0 for every answer, because no nugget of the bank has the importance, are left out.
        """
        available = {score.metric for score in self.evaluation.scores}
        if self.sanity:
            available &= {
                score.metric
                for score in self.sanity
                if score.value or MeasureName(score.metric).lower_is_better
            }
        return [metric for metric in self.columns if metric in available]


@dataclass(frozen=True)
class ScoringRules:
    """Options of :func:`~exam_pp.phases.evaluation.nugget_scores.nugget_scores` that change the scores."""

    cutoff: int | None = None
    missing_queries: MissingQueries = "zero"
    role: Role | None = None
    canaries: bool = False
    reviewed: bool = True


@dataclass(frozen=True)
class NuggetLeaderboard:
    """Leaderboards of several conditions.

    ``conditions`` are pairs of a condition's name and its leaderboard, with metrics in the order of the
    paper. ``systems`` are the runs of all conditions, best first by the first metric of the first
    condition. ``lengths`` maps a run to L, the mean number of words of its answers, ``types`` to its type,
    such as RAG. Rows below the runs are pairs of the number of their condition and a mean, also of L:
    ``sanity`` those of the artificial runs, if they are requested, and ``extremes`` the rows Min, Median and
    Max of several runs: values over the runs of a query, averaged over the queries.
    """

    conditions: Sequence[tuple[str, Standings]]
    systems: Sequence[str]
    lengths: Mapping[str, float]
    types: Mapping[str, str]
    sanity: Sequence[tuple[int, Standing]] = ()
    extremes: Sequence[tuple[int, Standing]] = ()
    title: str = "Nugget scores"


def read_conditions(
    files: Sequence[PathLike],
    banks: Sequence[PathLike] = (),
    *,
    names: Sequence[str] = (),
    grade_filter: GradeFilter | None = None,
    queries: PathLike | None = None,
    runs: Sequence[str] = (),
    rules: ScoringRules | None = None,
    measures: Sequence[str | Measure] = (),
) -> list[Condition]:
    """The conditions of the files, in the order of the files.

    A graded file has a condition for each of its graders. It needs a bank: either one bank for all files,
    or one bank for each file. A score file (of ``evaluate nuggets``, nuggetizer's metrics, or a table with a
    header) is one condition, and so is a folder of score files, such as nuggetizer's metrics of many runs.
    ``names`` replaces the names of graders and files. ``runs`` selects systems (empty: all), ``measures`` the
    columns (empty: those that fit the bank). ``rules`` apply to graded files. Raises
    :class:`~exam_pp.errors.ExamError`.
    """
    if len(banks) > 1 and len(banks) != len(files):
        raise SelectionError(
            f"{len(banks)} banks for {len(files)} files; use --bank once, or once for each file."
        )
    conditions: list[Condition] = []
    for number, file in enumerate(files):
        bank = banks[number if len(banks) > 1 else 0] if banks else None
        conditions += _conditions(
            file,
            bank,
            grade_filter,
            queries,
            rules or ScoringRules(),
            known_measures(measures),
            alone=len(files) == 1,
        )
    if names and len(names) != len(conditions):
        listed = ", ".join(condition.name for condition in conditions)
        raise SelectionError(
            f"{counted(len(names), 'name')} for {counted(len(conditions), 'condition')} ({listed}); use "
            "--name once for each condition."
        )
    conditions = (
        [replace(c, name=name) for name, c in zip(names, conditions, strict=True)] if names else conditions
    )
    return [replace(c, evaluation=_of_runs(c, runs)) for c in conditions] if runs else conditions


def graded_conditions(
    answers: Passages,
    bank: Bank,
    *,
    grade_filter: GradeFilter | None = None,
    queries: PathLike | None = None,
    rules: ScoringRules | None = None,
    measures: Sequence[Measure] = (),
) -> list[Condition]:
    """A condition for each grader of graded answers; parameters are those of :func:`read_conditions`."""
    evaluations = nugget_scores(
        answers, bank, grade_filter=grade_filter, queries=queries, measures=measures or None,
        **vars(rules or ScoringRules()),
    )  # fmt: skip
    sanity = sanity_scores(bank, queries=queries, measures=measures or None)
    columns = tuple(measure.name for measure in measures) or tuple(MEASURES)
    return [Condition(grader, evaluation, sanity, columns) for grader, evaluation in evaluations.items()]


def _conditions(
    file: PathLike,
    bank: PathLike | None,
    grade_filter: GradeFilter | None,
    queries: PathLike | None,
    rules: ScoringRules,
    measures: Sequence[Measure],
    *,
    alone: bool,
) -> Iterator[Condition]:
    name = Path(file).name.removesuffix(".gz")
    folder = Path(file).is_dir()
    stem = name if folder else name.rpartition(".")[0] or name
    if folder or not is_passages(file):
        origin = Provenance(leaderboards=file_names(file))
        columns = tuple(measure.name for measure in measures) or tuple(MEASURES)
        yield Condition(stem, Evaluation(read_any_scores(file), provenance=origin), columns=columns)
        return
    if bank is None:
        raise SelectionError(f"{file} has graded answers; name the bank of their nuggets with --bank.")
    conditions = graded_conditions(
        file, bank, grade_filter=grade_filter, queries=queries, rules=rules, measures=measures
    )
    for each in conditions:
        name = each.name if alone else stem if len(conditions) == 1 else f"{stem} {each.name}"
        yield replace(each, name=name)


def score_files(source: PathLike) -> list[Path]:
    """The files of a folder, sorted by name, without hidden files; for a file, only this file.

    Raises :class:`~exam_pp.errors.DataError` for a folder in the folder, and for a name that is not UTF-8.
    """
    path = Path(source)
    if not path.is_dir():
        return [path]
    files = visible_entries(path)
    for file in files:
        check_utf8_name(file)
        if file.is_dir():
            raise DataError(
                f"has the folder {file.name!r}; name that folder, too, or move it.", file=str(path)
            )
    return files


def read_any_scores(source: PathLike) -> list[Score]:
    """The scores of a file, or of all files of a folder: per query if available, else means.

    Raises :class:`~exam_pp.errors.DataError` for an invalid file, for no scores, and if two files of a folder
    have scores of the same run.
    """
    scores: list[Score] = []
    origin: dict[str, Path] = {}
    for file in score_files(source):
        new = _finest(read_all_scores(file))
        for system in {score.system for score in new}:
            if system in origin:
                raise DataError(
                    f"has scores of {system!r}, which are also in {origin[system].name}; remove a file.",
                    file=str(file),
                )
            origin[system] = file
        scores += new
    if not scores:
        raise DataError("has no scores.", file=str(source))
    return scores


def _finest(scores: Sequence[Score]) -> list[Score]:
    by_query = {(s.system, s.metric) for s in scores if s.query_id != ALL_QUERIES}
    return [s for s in scores if s.query_id != ALL_QUERIES or (s.system, s.metric) not in by_query]


def _of_runs(condition: Condition, runs: Sequence[str]) -> Evaluation:
    evaluation = condition.evaluation
    if unknown := [run for run in runs if run not in evaluation.systems]:
        raise SelectionError(
            f"No run {unknown[0]!r} in {condition.name}; its runs are {', '.join(evaluation.systems)}."
        )
    return Evaluation(
        [score for score in evaluation.scores if score.system in runs],
        evaluation.notes,
        best_case=[score for score in evaluation.best_case if score.system in runs],
        worst_case=[score for score in evaluation.worst_case if score.system in runs],
        provenance=evaluation.provenance,
    )


def nugget_leaderboard(
    conditions: Sequence[Condition],
    *,
    run_types: PathLike | None = None,
    statistics: Statistics | None = None,
    every_metric: bool = False,
    sanity: bool = False,
) -> NuggetLeaderboard:
    """The leaderboards of the conditions.

    Statistics are computed for the first metric, or for ``every_metric``. ``run_types`` is a file of runs
    with their types. ``sanity`` adds the rows of the artificial runs. Raises
    :class:`~exam_pp.errors.ExamError`.
    """
    systems = list(dict.fromkeys(s for condition in conditions for s in condition.evaluation.systems))
    types = {} if run_types is None else read_run_types(run_types)
    boards = []
    for condition in conditions:
        if not condition.metrics:
            raise SelectionError(
                f"{condition.name} has no nugget scores; columns must be among "
                f"{', '.join(condition.columns)}."
            )
        board = leaderboard(
            condition.evaluation, statistics, metrics=condition.metrics, only_first=not every_metric
        )
        boards.append((condition.name, board))
    return NuggetLeaderboard(
        boards,
        by_means(systems, *(board.means for _, board in boards)),
        # Answers are the same in all conditions; the first one with lengths counts.
        {run: mean for each in reversed(conditions) for run, mean in each.means(LENGTH).items()},
        renamed(types, matched_names(systems, types)),
        [
            (number, row._replace(stderr=None))
            for number, condition in enumerate(conditions)
            for row in (standings(condition.sanity) if sanity else ())
        ],
        [
            (number, Standing(name, metric, value, None, 0))
            for number, condition in enumerate(conditions)
            for metric, row in extremes(condition.evaluation.scores).items()
            for name, value in zip(("Min", "Median", "Max"), row, strict=True)
            if len(systems) > 1
        ],
        conditions[0].title,
    )
