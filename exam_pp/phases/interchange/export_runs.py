"""Export of rankings in a passages file to TREC run files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from exam_pp.data_model import QueryView, Role
from exam_pp.errors import DataError
from exam_pp.formats.trec import write_runs
from exam_pp.phases.evaluation.inputs import views
from exam_pp.results import RunLine


def export_runs(passages: str | Path, folder: str | Path, *, role: Role | None = None) -> list[Path]:
    """Write ``<system>.run`` into ``folder`` for every system.

    Runs have only the passages of the file, at their recorded ranks. A passage that a system ranks twice
    keeps its best rank. Repeats of a system are separate runs, ``<system>-run-1.run`` and so on.

    ``role``: Write only what systems ``retrieved``, or only each ``answer``. None: the rankings of systems
    that have a ranking and an answer, and all other rankings. Returns the run files, sorted by system.
    """
    return write_runs(
        runs_of(views(passages, role, preferred="retrieved"), passages), folder, inputs=[passages]
    )


def runs_of(queries: Iterable[QueryView], passages: str | Path) -> dict[str, list[RunLine]]:
    """System to its run lines, best first for each query; ``passages`` is the file, for messages."""
    runs: dict[str, dict[str, dict[str, RunLine]]] = defaultdict(lambda: defaultdict(dict))
    for query in queries:
        for passage in query.passages:
            for entry in passage.rankings:
                _check_ids(passages, query.query_id, passage.passage_id)
                tag = "_".join(entry.method.split())
                line = RunLine(query.query_id, passage.passage_id, entry.rank, entry.score, tag)
                ranked = runs[entry.method][query.query_id]
                ranked[passage.passage_id] = min(ranked.get(passage.passage_id, line), line, key=_order)
    if not runs:
        raise DataError("has no rankings.", file=str(passages))
    return {
        system: [line for ranked in run.values() for line in sorted(ranked.values(), key=_order)]
        for system, run in runs.items()
    }


def _check_ids(file: str | Path, *ids: str) -> None:
    for identifier in ids:
        if len(identifier.split()) != 1:
            raise DataError(
                f"the id {identifier!r} is empty or contains whitespace, which a run file does not allow.",
                file=str(file),
            )


def _order(line: RunLine) -> tuple[int, float]:
    return line.rank, -line.score
