"""Evaluate: run files against relevance labels, by trec_eval's measures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from exam_pp.errors import DataError
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
    that have one. Means are over the queries of the labels.
    """
    trec_eval = TrecEval(parse_measures(measures, min_grade), labels)
    evaluation = Evaluation()
    origin: dict[str, Path] = {}
    for path in run_files(runs):
        for system, run in _systems_of(path, method, set(trec_eval.query_ids)).items():
            if system in origin:
                raise DataError(
                    f"holds the system {system!r}, as {origin[system].name} does.", file=str(path)
                )
            origin[system] = path
            evaluation.scores.extend(trec_eval(system, run))
            evaluation.notes.extend(_missing_note(system, run, trec_eval))
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


def _missing_note(system: str, run: Collection[str], trec_eval: TrecEval) -> list[str]:
    missing = [query_id for query_id in trec_eval.query_ids if query_id not in run]
    if not missing:
        return []
    return [f"{system} returned nothing for {some(missing, 'query', 'queries')}: scored as an empty ranking."]
