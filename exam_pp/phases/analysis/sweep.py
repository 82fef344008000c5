"""Correlation with the official leaderboard over prompts × thresholds × measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.metrics.correlation import Correlation, correlate
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.gains import run_scores
from exam_pp.metrics.grade_masks import GradedFile, gather
from exam_pp.metrics.leaderboard import standings
from exam_pp.metrics.qrels import rubric_qrels
from exam_pp.metrics.trec_measures import Measure, parse_measures, takes_level
from exam_pp.metrics.uncertainty import Interval, score_matrices
from exam_pp.phases.analysis.correlation import (
    OfficialRanks,
    Resampled,
    figure_intervals,
    read_official,
)
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.score_runs import read_matrix
from exam_pp.phases.evaluation.selected_grades import selectors
from exam_pp.results import OVERALL_SYSTEM, Score
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages_for_metrics
from exam_pp.store.trec.queries import read_queries
from exam_pp.store.trec.runs import MethodName

DEFAULT_MIN_GRADES = (1, 2, 3, 4, 5)


class Setting(NamedTuple):
    """One leaderboard of a sweep and its agreement with the official one.

    ``min_grade`` is None for a measure that has no relevance level, such as nDCG. ``intervals`` are those of
    the four figures of the correlation, where they were asked for.
    """

    model: str
    prompt_class: str
    min_grade: int | None
    measure: str
    scores: dict[str, float]
    correlation: Correlation
    intervals: Sequence[Interval | None] = ()

    @property
    def key(self) -> GradeKey:
        """Whose grades they are."""
        return GradeKey(self.model, self.prompt_class)


@dataclass(frozen=True)
class Sweep:
    """Settings by model, prompt class, measure and threshold, with the official ranks that they agree with.

    ``top`` is k of the top-k overlap.
    """

    settings: Sequence[Setting]
    official: OfficialRanks
    top: int


def sweep(
    graded: PathLike,
    official: PathLike | OfficialRanks,
    *,
    runs: PathLike | None = None,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    queries: PathLike | None = None,
    measures: Sequence[str] = ("nDCG@10",),
    min_grades: Sequence[int] = DEFAULT_MIN_GRADES,
    cutoff: int = 20,
    method: MethodName = "stem",
    top: int = 5,
    intervals: Resampled | None = None,
    samples: int = 2000,
    seed: int = 0,
) -> Sweep:
    """The agreement of every leaderboard that the grades allow with the official ranks.

    For every model and prompt class of the file that the filter lets pass, and every threshold: Rubric-Qrels
    (label ``max``) with the measures, where there are ``runs``, and Rubric-Cover and its normalised form,
    where the file holds rankings. Every file is read once. With a bank, its queries and entries count, with
    ``queries`` only those of that file.
    ``intervals`` are 95 % bootstrap intervals over queries or systems, with the same draws for all settings.
    Raises :class:`~exam_pp.errors.ExamError` for files and names that cannot be used.
    """
    reference = official if isinstance(official, OfficialRanks) else read_official(official)
    ranks = reference.ranks
    parse_measures(measures)
    files = dict(_graded_files(graded, bank, grade_filter or GradeFilter(), queries))
    boards: dict[tuple[GradeKey, int | None, str], list[Score]] = {}
    if runs is not None:
        boards |= _qrels_boards(files, runs, measures, min_grades, method)
    for key, file in files.items():
        for grade in min_grades if file.first_ranks else ():
            for metric in (Cover(grade, cutoff), Cover(grade, cutoff, normalised=True)):
                scores = [
                    score for query in file.queries.values() for score in metric(query, file.first_ranks)
                ]
                name = f"{'nCover' if metric.normalised else 'Cover'}@{cutoff}"
                boards[key, grade, name] = scores
    settings = []
    for (key, min_grade, measure), scores in boards.items():
        means = {row.system: row.mean for row in standings(scores) if row.system != OVERALL_SYSTEM}
        setting = Setting(*key, min_grade, measure, means, correlate(means, ranks, top))
        if intervals is not None:
            board = means if intervals == "systems" else next(iter(score_matrices(scores).values()))
            found = figure_intervals(board, ranks, top=top, samples=samples, seed=seed)
            setting = setting._replace(intervals=found)
        settings.append(setting)
    if not any(setting.correlation.systems > 1 for setting in settings):
        raise SelectionError(
            f"No two systems of {reference.source} were scored: name the runs (--runs), or a file with "
            "rankings, and check that systems are named alike."
        )
    settings.sort(key=lambda s: (s.model, s.prompt_class, s.measure, s.min_grade or 0))
    return Sweep(settings, reference, top)


def _graded_files(
    graded: PathLike, bank_path: PathLike | None, criteria: GradeFilter, queries: PathLike | None
) -> Iterator[tuple[GradeKey, GradedFile]]:
    """For every model and prompt class its grades, with the queries that have any."""
    bank = read_bank(bank_path) if bank_path is not None else None
    wanted = set(read_queries(queries)) if queries is not None else None
    lines = [line for line in read_passages_for_metrics(graded) if wanted is None or line.query_id in wanted]
    if wanted is not None and not lines:
        raise SelectionError(f"None of the queries in {queries} is in {graded}.")
    for key, selector in selectors(lines, criteria, graded).items():
        file = gather(lines, selector, bank)
        file.queries = {name: query for name, query in file.queries.items() if query.asked}
        if file.queries:
            yield key, file


def _qrels_boards(
    files: dict[GradeKey, GradedFile],
    runs: PathLike,
    measures: Sequence[str],
    min_grades: Sequence[int],
    method: MethodName,
) -> dict[tuple[GradeKey, int | None, str], list[Score]]:
    """The runs are read and joined once for all prompt classes, thresholds and measures."""
    # RR at the threshold 2 is RR(rel=2), which may have been asked for by that name as well.
    names: dict[str, dict[tuple[int | None, str], None]] = {}
    levelled: dict[Measure, None] = {}
    for name in measures:
        for grade in min_grades:
            for plain, measure in zip(parse_measures([name]), parse_measures([name], grade), strict=True):
                levelled[measure] = None
                setting = (grade if takes_level(plain) else None, str(plain))
                names.setdefault(str(measure), {})[setting] = None
    labels = {
        key: [line for query in file.queries.values() for line in rubric_qrels(query, "max", 1)]
        for key, file in files.items()
    }
    passages = {(line.query_id, line.passage_id) for lines in labels.values() for line in lines}
    matrix = read_matrix(runs, passages, method=method)
    boards: dict[tuple[GradeKey, int | None, str], list[Score]] = {}
    for key, lines in labels.items():
        for score in run_scores(matrix, lines, list(levelled)):
            for setting in names[score.metric]:
                boards.setdefault((key, *setting), []).append(score)
    return boards
