"""Scores as trec_eval output, and official ranks as JSON."""

from __future__ import annotations

import json

from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM


def trec_eval_text(evaluation: Evaluation, *, per_query: bool) -> str:
    """Scores in the format of ``trec_eval`` (``per_query``: of ``trec_eval -q``), system by system.

    A line is measure, query and value, separated by tabs. The means of a system follow its ``runid`` line.
    """
    from exam_pp.metrics.trec_measures import trec_eval_names  # noqa: PLC0415 - slow to import

    means = standings(evaluation.scores)
    names = trec_eval_names(list(dict.fromkeys(row.metric for row in means)))
    queries: dict[str, dict[str, list[str]]] = {row.system: {} for row in means}
    for score in evaluation.scores if per_query else ():
        if score.query_id != ALL_QUERIES:
            of_query = queries[score.system].setdefault(score.query_id, [])
            of_query.append(_trec_eval_line(names[score.metric], score.query_id, score.value))
    lines: list[str] = []
    for system, of_system in queries.items():
        lines += [line for of_query in of_system.values() for line in of_query]
        lines.append(f"{'runid':<22}\t{ALL_QUERIES}\t{system}")
        lines += [
            _trec_eval_line(names[row.metric], ALL_QUERIES, row.mean) for row in means if row.system == system
        ]
    return "\n".join(lines) + "\n"


def _trec_eval_line(name: str, query_id: str, value: float) -> str:
    number = f"{value:.0f}" if name.startswith("num_") else f"{value:6.4f}"
    return f"{name:<22}\t{query_id}\t{number}"


def official_json(evaluation: Evaluation) -> str:
    """System to rank as JSON, best first; tied systems get their average rank.

    Raises :class:`~exam_pp.errors.SelectionError` for more than one measure.
    """
    from exam_pp.metrics.correlation import int_if_whole, ranks_of  # noqa: PLC0415 - scipy is slow to import

    rows = standings(evaluation.scores)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    if len(metrics) != 1:
        raise SelectionError(
            f"Official ranks need a single measure; use -m with one of {', '.join(metrics)}."
        )
    ranks = ranks_of({row.system: row.mean for row in rows if row.system != OVERALL_SYSTEM})
    whole_ranks = {system: int_if_whole(rank) for system, rank in ranks.items()}
    return json.dumps(whole_ranks, ensure_ascii=False, indent=2) + "\n"
