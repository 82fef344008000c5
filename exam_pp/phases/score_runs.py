"""Evaluate: run files against relevance labels, by trec_eval's measures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.trec import TrecEval, parse_measures
from exam_pp.phases.evaluate import Evaluation, PathLike, some
from exam_pp.results import Qrel
from exam_pp.store.trec import MethodName, Run, read_rankings, run_files


def score_runs(
    labels: Iterable[Qrel],
    runs: PathLike,
    measures: Sequence[str],
    *,
    min_grade: int | None = None,
    method: MethodName = "stem",
) -> Evaluation:
    """Scores of run files against labels, by measures of ir-measures.

    ``runs`` is a folder of run files, or one of them. ``min_grade`` is the relevance level of measures
    that have one. Means are over the queries of the labels. Raises
    :class:`~exam_pp.errors.ExamError` for measures and files that cannot be used, and if the runs and
    the labels have no query in common.
    """
    trec_eval = TrecEval(parse_measures(measures, min_grade), labels)
    query_ids = trec_eval.query_ids
    evaluation = Evaluation()
    missing: dict[tuple[str, ...], list[str]] = {}
    for system, run in read_systems(runs, set(query_ids), method=method):
        evaluation.scores.extend(trec_eval(system, run))
        missing.setdefault(tuple(q for q in query_ids if q not in run), []).append(system)
    if missing.keys() == {tuple(query_ids)}:
        raise SelectionError(f"No run in {runs} has results for a query that is judged or graded.")
    evaluation.notes = [
        f"Nothing returned for {some(queries, 'query', 'queries')}, scored as an empty ranking: "
        f"{', '.join(systems)}."
        for queries, systems in missing.items()
        if queries
    ]
    return evaluation


def read_systems(
    runs: PathLike, query_ids: Collection[str], *, method: MethodName = "stem"
) -> Iterator[tuple[str, Run]]:
    """Every system of a folder of run files (or of one file) with its results for these queries.

    One run is held at a time. Raises :class:`~exam_pp.errors.DataError` for files that cannot be used.
    """
    origin: dict[str, Path] = {}
    for path in run_files(runs):
        systems = read_rankings(path, method=method)
        if not systems:
            raise DataError("holds no results.", file=str(path))
        for system, run in systems.items():
            if system in origin:
                raise DataError(
                    f"holds the system {system!r}, as {origin[system].name} does.", file=str(path)
                )
            origin[system] = path
            yield system, {query_id: passages for query_id, passages in run.items() if query_id in query_ids}
