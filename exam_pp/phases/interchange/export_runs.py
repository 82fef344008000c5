"""Write what a passages file holds in the formats of other tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from exam_pp.data_model import QueryView
from exam_pp.errors import DataError
from exam_pp.results import RunLine
from exam_pp.store.files import folder_output, safe_name
from exam_pp.store.passages.graded_file import read_passages_for_metrics
from exam_pp.store.trec.runs import write_run


def export_runs(passages: str | Path, folder: str | Path) -> list[Path]:
    """Write ``<system>.run`` into ``folder`` for every system; returns the files, sorted by system.

    The folder is made where it does not exist. Runs hold the passages of the file alone, at the ranks
    that it records. A passage that a system ranks twice keeps its best rank. Raises
    :class:`DataError` for ids that a run file cannot hold, and when there are no rankings.
    """
    runs = rankings_of(read_passages_for_metrics(passages), passages)
    return write_runs(
        {
            system: [line for query in run.values() for line in _best_first(query)]
            for system, run in runs.items()
        },
        folder,
        inputs=[passages],
    )


def write_runs(
    runs: Mapping[str, Iterable[RunLine]], folder: str | Path, *, inputs: Iterable[str | Path] = ()
) -> list[Path]:
    """Write a run file a system into a folder, which is made where it does not exist; all or none."""
    with folder_output(folder, inputs) as work:
        for system in runs:
            write_run(runs[system], work / run_file_name(system))
    return [Path(folder) / run_file_name(system) for system in sorted(runs)]


def run_file_name(system: str) -> str:
    """The system's name as a file name that cannot leave its folder; reversed by URL unquoting."""
    return safe_name(system) + ".run"


def rankings_of(
    queries: Iterable[QueryView], passages: str | Path
) -> dict[str, dict[str, dict[str, RunLine]]]:
    """System to query to passage to its line; ``passages`` is the file, for errors."""
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
        raise DataError("holds no rankings.", file=str(passages))
    return runs


def _check_ids(file: str | Path, *ids: str) -> None:
    for identifier in ids:
        if len(identifier.split()) != 1:
            raise DataError(
                f"the id {identifier!r} is empty or holds white space, which a run file cannot.",
                file=str(file),
            )


def _best_first(ranked: dict[str, RunLine]) -> list[RunLine]:
    return sorted(ranked.values(), key=_order)


def _order(line: RunLine) -> tuple[int, float]:
    return line.rank, -line.score
