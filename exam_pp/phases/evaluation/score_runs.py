"""Scores of runs and rankings against relevance labels, by trec_eval measures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from exam_pp.data_model import BeyondPool, Role
from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.gains import RunMatrix, Ungraded, run_scores, score_bounds
from exam_pp.metrics.qrels import Facets
from exam_pp.metrics.subtopics import subtopic_scores
from exam_pp.metrics.trec_measures import Measure, parse_measures, relevance_level
from exam_pp.phases.evaluation.inputs import Passages, name_of, views
from exam_pp.phases.evaluation.judgments import fraction_notes
from exam_pp.phases.evaluation.result import (
    Evaluation,
    PathLike,
    check_names,
    missing_query_notes,
)
from exam_pp.phases.evaluation.unjudged import ids_of_both, unjudged_notes
from exam_pp.provenance import Provenance
from exam_pp.results import Qrel, RunLine, SubtopicQrel
from exam_pp.store.passages.graded_file import without_garbage_collection
from exam_pp.store.trec.runs import (
    MethodName,
    Run,
    read_rankings,
    read_run,
    run_files,
    warn_of_skipped_files,
)
from exam_pp.text.wording import counted, listed


@dataclass(frozen=True)
class ReadRuns:
    """Run files that are read once for several evaluations, with all passages that may have a label."""

    paths: Sequence[PathLike]
    matrix: RunMatrix


Runs = PathLike | Sequence[PathLike] | Iterable[RunLine] | ReadRuns
"""A folder of run files, a run file, several of them, or the lines of runs."""

_HOLE = "\x01 not in the file "
"""Prefix of placeholder ids for missing ranks; ids of a file cannot contain its control character."""


@without_garbage_collection()
def score_runs(
    labels: Iterable[Qrel | SubtopicQrel],
    runs: Runs,
    measures: Sequence[str],
    *,
    min_grade: int | Sequence[int] | None = None,
    default_min_grade: int | None = None,
    method: MethodName = "stem",
    ungraded: Callable[[], Ungraded] | None = None,
) -> Evaluation:
    """Score runs against labels with measures of ir-measures.

    ``runs`` is a folder of run files, a run file, several of them, or the lines of runs. ``min_grade`` is the
    relevance level of measures that have a level, or several levels, each with its own scores; if it is
    None, ``default_min_grade`` is, for measures that can have it (None: the level of the measure, usually 1).
    Means are over the queries of the labels. Labels with subtopics need subtopic measures. With ``ungraded``
    the evaluation has bounds. Its provenance has the relevance levels of the measures and the number of
    queries. Raises :class:`~exam_pp.errors.ExamError` for unusable measures and files, and if the runs and
    the labels have no query in common.
    """
    lines = list(labels)
    parsed = _parsed(lines, measures, min_grade, default_min_grade)
    best_labels = ungraded and ungraded()
    matrix = read_matrix(runs, _passages(lines, best_labels), method=method)
    query_ids = {label.query_id for label in lines}
    paths = _paths(runs)
    if not any(query_ids.intersection(matrix.queries_of(system)) for system in matrix.systems):
        titles: set[str] = set()
        for file in run_files(paths or ()):
            titles.update(line.query_id.partition("/")[0] for line in read_run(file, method=method))
        hint = (
            " The runs rank facets (query/facet): score facets with --facets facet, or the merged rankings "
            "of `exam-pp import` with -m and without --runs."
        )
        raise SelectionError(
            f"No run in {listed([str(path) for path in paths]) if paths else 'the list'} has results for any "
            "judged or graded query"
            + (f".{hint}" if titles.intersection(query_ids) else f": {ids_of_both(titles, query_ids)}.")
        )
    files = run_files(paths or ())
    rankings = (ranking for file in files for ranking in read_rankings(file, method=method).items())
    return _scored(matrix, lines, parsed, best_labels, rankings)


def score_rankings(
    labels: Iterable[Qrel | SubtopicQrel],
    passages: Passages,
    measures: Sequence[str],
    *,
    min_grade: int | Sequence[int] | None = None,
    default_min_grade: int | None = None,
    facets: Facets = "title",
    ungraded: Callable[[], Ungraded] | None = None,
    role: Role | None = None,
    canaries: bool = False,
) -> Evaluation:
    """Score the rankings in a passages file (also of generated answers), as :func:`score_runs` does for runs.

    Full rankings, which ``import`` writes, are scored as :func:`score_runs` scores their runs. In other
    files, missing ranks stay empty, so that no passage moves up into the cutoff. Bounds ignore passages that
    the file lacks. With ``facets="facet"`` the labels are of facets (``query/facet``), and a ranking of the
    query is used for each of its facets. ``role`` is as in :func:`~exam_pp.phases.evaluation.cover.cover`.
    Canary systems are left out, unless ``canaries`` is True. Raises :class:`~exam_pp.errors.ExamError` for
    unknown measures, for a file without rankings, and for ranks above 100,000.
    """
    # The passages of missing ranks are unknown, so they have no best label.
    best_labels = None if ungraded is None else replace(ungraded(), unlabelled={})
    lines = list(labels)
    parsed = _parsed(lines, measures, min_grade, default_min_grade)
    query_ids = dict.fromkeys(label.query_id for label in lines)
    ranked: dict[str, dict[str, list[tuple[int, float, int, str]]]] = {}
    full_rankings: dict[tuple[str, str], Sequence[str]] = {}
    pooled: set[tuple[str, str]] = set()
    for query in views(passages, role, canaries=canaries):
        of_query = [f for f in query_ids if f.startswith(f"{query.query_id}/")] if facets == "facet" else []
        for index, passage in enumerate(query.passages):
            pooled.update((target, passage.passage_id) for target in [query.query_id, *of_query])
            for ranking in passage.rankings:
                # The order in which an import pools passages: rank, then score, then place in the file.
                hit = (ranking.rank, -ranking.score, index, passage.passage_id)
                of_system = ranked.setdefault(ranking.method, {})
                for target in _targets(query.query_id, of_query, ranking.query_id, query_ids):
                    of_system.setdefault(target, []).append(hit)
        for full in (query.beyond_pool or BeyondPool()).rankings:
            if full.query_id == query.query_id or of_query:  # rankings of facets are not merged
                for target in _targets(query.query_id, of_query, full.query_id, query_ids):
                    full_rankings[full.method, target] = full.passages
                    ranked.setdefault(full.method, {}).setdefault(target, [])
    if not ranked:
        name = name_of(passages, "The list of passages")
        raise SelectionError(f"{name} has no rankings; use run files with --runs.")
    matrix = RunMatrix(_passages(lines, best_labels))
    holes: dict[tuple[str, str], int] = {}
    for system, queries in ranked.items():
        # Over all queries: a ranking from 0 that lacks its first passage looks like a ranking from 1.
        first = 0 if any(hit[0] == 0 for hits in queries.values() for hit in hits) else 1
        run: Run = {}
        for query_id, hits in queries.items():
            if (ids := full_rankings.get((system, query_id))) is not None:
                run[query_id] = {passage_id: float(len(ids) - place) for place, passage_id in enumerate(ids)}
                continue
            if max(hits)[0] > _DEEPEST_RANK:
                raise DataError(
                    f"has the rank {max(hits)[0]} for system {system!r} and query {query_id!r}; the "
                    f"largest supported rank is {_DEEPEST_RANK}.",
                    file=str(name_of(passages, "the passages")),
                )
            run[query_id], holes[system, query_id] = _with_holes(hits, first)
        matrix.add(system, run)
    runs = {
        s: {q: {hit[3]: -float(hit[0]) for hit in of} for q, of in by.items()} for s, by in ranked.items()
    }
    evaluation = _scored(matrix, lines, parsed, best_labels, runs.items())
    if empty := sum(holes.values()):
        ranks = counted(empty, "rank is", "ranks are")
        evaluation.notes.append(f"{ranks} missing in the file: scored as passages without a label.")
    if holes and (outside := _passages(lines) - pooled):
        are = counted(len(outside), "labelled passage is", "labelled passages are")
        evaluation.notes.append(
            f"{are} outside the pool and scored as not retrieved, because the file lacks the ranks below the "
            "pool; name the run files with --runs."
        )
    return evaluation


def _targets(
    query_id: str, facets: Collection[str], ranked: str, labelled: Collection[str]
) -> Collection[str]:
    """The query or facets whose ranking is that of the query or facet ``ranked``."""
    if not facets:
        return [query_id]
    return [ranked] if ranked in labelled else facets


def _missing_queries(matrix: RunMatrix, query_ids: Sequence[str]) -> dict[str, list[str]]:
    """System to the queries for which it has no ranking."""
    ranked = {system: set(matrix.queries_of(system)) for system in matrix.systems}
    return {system: [q for q in query_ids if q not in queries] for system, queries in ranked.items()}


_DEEPEST_RANK = 100_000
"""Missing ranks are stored, so the limit bounds the memory."""


def _parsed(
    labels: Iterable[Qrel | SubtopicQrel],
    measures: Sequence[str],
    min_grade: int | Sequence[int] | None,
    default_min_grade: int | None,
) -> list[Measure]:
    """The measures at all levels; checks them, and the query ids of the labels, before runs are read."""
    subtopics = any(isinstance(label, SubtopicQrel) for label in labels)
    levels = min_grade if isinstance(min_grade, Sequence) else [min_grade]
    parsed = (
        measure
        for level in levels
        for measure in parse_measures(
            measures, level, default_min_grade=default_min_grade, subtopics=subtopics
        )
    )
    distinct = list(dict.fromkeys(parsed))
    check_names({label.query_id for label in labels})
    return distinct


def _passages(
    labels: Iterable[Qrel | SubtopicQrel], ungraded: Ungraded | None = None
) -> set[tuple[str, str]]:
    """All pairs (query id, passage id) with a label, and those that may have one."""
    return {(label.query_id, label.passage_id) for label in labels}.union(ungraded.labels if ungraded else ())


def _scored(
    matrix: RunMatrix,
    labels: Sequence[Qrel | SubtopicQrel],
    measures: Sequence[Measure],
    ungraded: Ungraded | None,
    rankings: Iterable[tuple[str, Run]],
) -> Evaluation:
    """The scores of the runs of a matrix, with notes on the labels and on the passages without one."""
    check_names(systems=matrix.systems)
    qrels = cast("Sequence[Qrel]", labels)
    query_ids = list(dict.fromkeys(label.query_id for label in labels))
    levels = {level for level in map(relevance_level, measures) if level is not None}
    provenance = Provenance(min_grades=tuple(sorted(levels)), queries=len(query_ids))
    relevances = [label.relevance for label in labels]
    of_labels = [str(measure) for measure in measures if measure.NAME == "MeanLabel"]
    notes = [] if len(of_labels) == len(measures) else fraction_notes(relevances)
    best = max(relevances, default=0)
    if above := [str(measure) for measure in measures if measure.params.get("rel", 0) > best]:
        notes.append(f"No label reaches the relevance level of {', '.join(above)}; the highest is {best}.")
    notes += missing_query_notes(_missing_queries(matrix, query_ids))
    notes += unjudged_notes(qrels, rankings, matrix)
    if any(isinstance(label, SubtopicQrel) for label in labels):
        lines = cast("Sequence[SubtopicQrel]", labels)
        return Evaluation(list(subtopic_scores(matrix, lines, measures)), notes, provenance=provenance)
    # A mean label is at most the highest label of all passages.
    possible = [0.0, *relevances, *(ungraded.labels.values() if ungraded else ())]
    ranges = dict.fromkeys(of_labels, (min(possible), max(possible) or 1.0))
    scores = list(run_scores(matrix, qrels, measures))
    evaluation = Evaluation(scores, notes, ranges=ranges, provenance=provenance)
    if ungraded is not None:
        bounds = score_bounds(matrix, qrels, measures, ungraded)
        evaluation.worst_case, evaluation.best_case = bounds
    return evaluation


def _with_holes(hits: list[tuple[int, float, int, str]], first: int) -> tuple[dict[str, float], int]:
    """Passage id to a decreasing score, with placeholders for missing ranks, and the number of these."""
    order: dict[str, None] = {}
    holes = 0
    for rank, _, _, passage_id in sorted(hits):
        while len(order) < rank - first:
            order[f"{_HOLE}{len(order)}"] = None
            holes += 1
        order.setdefault(passage_id)
    # Scores are distinct, because trec_eval orders equal scores by passage id.
    return {passage_id: float(len(order) - position) for position, passage_id in enumerate(order)}, holes


def read_matrix(
    runs: Runs, passages: Collection[tuple[str, str]], *, method: MethodName = "stem"
) -> RunMatrix:
    """Read all systems of a run file or a folder, with their results for the queries of ``passages``.

    ``passages`` are the pairs (query id, passage id) that may have a label. Raises
    :class:`~exam_pp.errors.DataError` for invalid files and for a system that is in two files.
    """
    if isinstance(runs, ReadRuns):
        return runs.matrix
    query_ids = {query_id for query_id, _ in passages}
    paths = _paths(runs)
    if paths is None:
        return _matrix_of(cast("Iterable[RunLine]", runs), query_ids, passages)
    origin: dict[str, Path] = {}
    matrix = RunMatrix(passages)
    for path in paths:
        warn_of_skipped_files(path)
    for path in run_files(paths):
        systems = read_rankings(path, method=method)
        if not systems:
            raise DataError("has no results; remove the file or create the run again.", file=str(path))
        for system, run in systems.items():
            if system in origin:
                raise DataError(
                    f"has the system {system!r}, which is also in {origin[system].name}; rename it.",
                    file=str(path),
                )
            origin[system] = path
            matrix.add(
                system, {query_id: results for query_id, results in run.items() if query_id in query_ids}
            )
    return matrix


def _paths(runs: Runs) -> list[PathLike] | None:
    """The files and folders, or None for lines of runs."""
    if isinstance(runs, ReadRuns):
        return list(runs.paths)
    if isinstance(runs, PathLike):
        return [runs]
    if isinstance(runs, Sequence) and runs and isinstance(runs[0], PathLike):
        return cast("list[PathLike]", list(runs))
    return None


def _matrix_of(
    lines: Iterable[RunLine], query_ids: Collection[str], passages: Collection[tuple[str, str]]
) -> RunMatrix:
    systems: dict[str, Run] = {}
    for line in lines:
        run = systems.setdefault(line.system, {})
        if line.query_id in query_ids:
            results = run.setdefault(line.query_id, {})
            if line.passage_id in results:
                raise SelectionError(
                    f"{line.system!r} returns the passage {line.passage_id!r} twice for the query "
                    f"{line.query_id!r}."
                )
            results[line.passage_id] = line.score
    matrix = RunMatrix(passages)
    for system, run in systems.items():
        matrix.add(system, run)
    return matrix
