"""Evaluate: run files against relevance labels, by trec_eval's measures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.trec import TrecEval, parse_measures
from exam_pp.phases.evaluate import Evaluation, PathLike, some
from exam_pp.results import Qrel
from exam_pp.store.trec import MethodName, read_run, run_files


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
    origin: dict[str, Path] = {}
    missing: dict[tuple[str, ...], list[str]] = {}
    for path in run_files(runs):
        for system, run in _systems_of(path, method, set(query_ids)).items():
            if system in origin:
                raise DataError(
                    f"holds the system {system!r}, as {origin[system].name} does.", file=str(path)
                )
            origin[system] = path
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


def _systems_of(
    path: Path, method: MethodName, query_ids: Collection[str]
) -> dict[str, dict[str, dict[str, float]]]:
    systems: dict[str, dict[str, dict[str, float]]] = {}
    empty = True
    for line in read_run(path, method=method):
        empty = False
        run = systems.setdefault(line.system, {})
        if line.query_id in query_ids:
            run.setdefault(line.query_id, {})[line.passage_id] = line.score
    if empty:
        raise DataError("holds no results.", file=str(path))
    return systems
