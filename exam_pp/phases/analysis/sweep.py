"""Correlation with official ranks for all prompts, thresholds and measures of a graded file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from exam_pp.banks import BankLine, TestBank
from exam_pp.defaults import SAMPLES
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
    coefficient_intervals,
    read_official,
)
from exam_pp.phases.evaluation.inputs import Bank, Passages, bank_of, name_of, views
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.score_runs import ReadRuns, read_matrix
from exam_pp.phases.evaluation.selected_grades import depth_notes, entry_kind, selectors
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.results import OVERALL_SYSTEM, Score
from exam_pp.store.trec.queries import read_queries
from exam_pp.store.trec.runs import MethodName
from exam_pp.text.wording import counted

DEFAULT_MIN_GRADES = (1, 2, 3, 4, 5)

_Leaderboards = dict[tuple[GradeKey, int | None, str], list[Score]]
"""Grader, threshold (None for a measure without one) and measure to scores."""


class Setting(NamedTuple):
    """One leaderboard of a sweep and its correlation with official ranks.

    ``min_grade`` is None for a measure without relevance threshold, such as nDCG. ``intervals`` are the
    intervals of the four coefficients of the correlation; empty if they were not requested.
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
        """Model and prompt class of the grades."""
        return GradeKey(self.model, self.prompt_class)


@dataclass(frozen=True)
class Sweep:
    """Settings, sorted by model, prompt class, measure and threshold, and the official ranks.

    ``top`` is k of the top-k overlap. ``notes`` are sentences on anything that affects the numbers.
    """

    settings: Sequence[Setting]
    official: OfficialRanks
    top: int
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)


def sweep(
    graded: Passages,
    official: PathLike | OfficialRanks,
    *,
    runs: PathLike | Sequence[PathLike] | ReadRuns | None = None,
    bank: PathLike | None = None,
    by_team: bool = False,
    grade_filter: GradeFilter | None = None,
    queries: PathLike | None = None,
    measures: Sequence[str] = ("nDCG@10",),
    min_grades: Sequence[int] = DEFAULT_MIN_GRADES,
    cutoff: int | None = None,
    method: MethodName = "stem",
    top: int = 5,
    intervals: Resampled | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Sweep:
    """Correlate all leaderboards that can be made from the grades of a file with official ranks.

    Leaderboards are made for every model and prompt class that matches the filter, and every threshold:
    Rubric-Qrels (label ``max``) with ``runs``, Rubric-Cover and its normalised form if the file has
    rankings.

    ``bank``: Test bank; only its queries and entries count. ``by_team``: Also make Cover without the
    entries of each team that wrote some. ``queries``: File of queries; only these count. Raises
    :class:`~exam_pp.errors.ExamError`.
    """
    reference = official if isinstance(official, OfficialRanks) else read_official(official)
    parse_measures(measures)
    files = dict(_graded_files(graded, bank, grade_filter or GradeFilter(), queries))
    cutoff = cutoff or max(file.cutoff for file in files.values())
    leaderboards = _qrels_leaderboards(files, runs, measures, min_grades, method) if runs is not None else {}
    leaderboards |= _cover_leaderboards(files, min_grades, cutoff)
    for team, rest in (without_teams(bank_of(bank)) if by_team and bank is not None else {}).items():
        of_rest = dict(_graded_files(graded, rest, grade_filter or GradeFilter(), queries))
        leaderboards |= {
            (key, grade, f"{measure} without {team}"): scores
            for (key, grade, measure), scores in _cover_leaderboards(of_rest, min_grades, cutoff).items()
        }
    settings = []
    for (key, min_grade, measure), scores in leaderboards.items():
        means = {row.system: row.mean for row in standings(scores) if row.system != OVERALL_SYSTEM}
        setting = Setting(*key, min_grade, measure, means, correlate(means, reference.ranks, top))
        if intervals is not None:
            sampled = means if intervals == "systems" else next(iter(score_matrices(scores).values()))
            setting = setting._replace(
                intervals=coefficient_intervals(sampled, reference.ranks, top=top, samples=samples, seed=seed)
            )
        settings.append(setting)
    if not any(setting.correlation.systems > 1 for setting in settings):
        raise SelectionError(
            f"Fewer than two systems of {reference.source} have scores. Name runs with --runs, or a graded "
            "file with rankings. Check that they use the same names of systems."
        )
    settings.sort(key=lambda s: (s.model, s.prompt_class, s.measure, s.min_grade or 0))
    has_cover = any(file.first_ranks for file in files.values())
    provenance = replace(
        graded_by(files),
        banks=file_names(bank),
        official=file_names(reference.source),
        cutoff=cutoff if has_cover else None,
        min_grades=tuple(min_grades),
        queries=len({query_id for file in files.values() for query_id in file.queries}),
    )
    # All files have the same rankings, for the queries that each of them has.
    known = {query.query_id: query for file in files.values() for query in file.queries.values()}
    (file, *_), source = files.values(), name_of(graded, "the passages")
    notes = depth_notes(file, cutoff, source, known.values())
    return Sweep(settings, reference, top, notes, provenance)


def without_teams(bank: TestBank) -> dict[str, TestBank]:
    """Team to the bank without its entries: does a team gain by what it wrote itself?

    Teams are those of banks of RAGTIME 2026. Raises :class:`~exam_pp.errors.SelectionError` for fewer than
    two.
    """

    def team(line: BankLine) -> str:
        info: Any = line.info
        for key in ("autojudge", "metadata", "team_id"):
            info = info.get(key) if isinstance(info, dict) else None
        return str(info or "")

    teams = sorted({team(line) for line in bank.lines} - {""})
    if len(teams) < 2:
        raise SelectionError(
            f"The bank has the entries of {counted(len(teams), 'team')}: import the banks of several, such "
            "as those of RAGTIME 2026, with one `exam-pp bank import`."
        )
    return {name: TestBank.from_lines(each for each in bank.lines if team(each) != name) for name in teams}


def _graded_files(
    graded: Passages, bank_given: Bank | None, criteria: GradeFilter, queries: PathLike | None
) -> Iterator[tuple[GradeKey, GradedFile]]:
    """Yield the grades of every model and prompt class, without queries that have no grades."""
    bank = None if bank_given is None else bank_of(bank_given)
    selected = set(read_queries(queries)) if queries is not None else None
    lines = views(graded)
    if selected is not None and not any(line.query_id in selected for line in lines):
        raise SelectionError(f"None of the queries in {queries} is in {graded}.")
    for key, selector in selectors(lines, criteria, graded).items():
        file = gather(lines, selector, bank, kind=entry_kind(selector.filter))
        file.queries = {
            name: query
            for name, query in file.queries.items()
            if query.asked and (selected is None or name in selected)
        }
        if file.queries:
            yield key, file


def _cover_leaderboards(
    files: Mapping[GradeKey, GradedFile], min_grades: Sequence[int], cutoff: int
) -> _Leaderboards:
    """Scores of Rubric-Cover and its normalised form, for files with rankings."""
    return {
        (key, grade, f"{'nCover' if metric.normalised else 'Cover'}@{cutoff}"): [
            score for query in file.queries.values() for score in metric(query, file.first_ranks)
        ]
        for key, file in files.items()
        if file.first_ranks
        for grade in min_grades
        for metric in (Cover(grade, cutoff), Cover(grade, cutoff, normalised=True))
    }


def _qrels_leaderboards(
    files: Mapping[GradeKey, GradedFile],
    runs: PathLike | Sequence[PathLike] | ReadRuns,
    measures: Sequence[str],
    min_grades: Sequence[int],
    method: MethodName,
) -> _Leaderboards:
    """Scores of Rubric-Qrels; the runs are read once for all prompt classes, thresholds and measures."""
    # RR at threshold 2 is RR(rel=2). Both names can be in `measures`, so a measure can have several settings.
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
    scores: _Leaderboards = {}
    for key, lines in labels.items():
        for score in run_scores(matrix, lines, list(levelled)):
            for setting in names[score.metric]:
                scores.setdefault((key, *setting), []).append(score)
    return scores
