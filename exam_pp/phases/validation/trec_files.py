"""Checks of run files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from exam_pp.phases.validation.by_reading import read_around_errors
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.rankings import RankedPassage, check_ranks
from exam_pp.results import RunLine
from exam_pp.store.trec.runs import method_of, read_run, run_files, warn_of_skipped_files
from exam_pp.text.wording import counted


def check_runs(path: Path, findings: Findings) -> str:
    """Check a run file, or the run files of a folder; returns a summary of the contents."""
    queries: set[str] = set()
    systems: dict[str, str] = {}
    count = 0
    warn_of_skipped_files(path)
    for run in run_files(path):
        lines: list[RunLine] = read_around_errors(run, _with_tags, findings, "run")
        count += len(lines)
        queries.update(line.query_id for line in lines)
        if not lines and not findings.has(str(run)):
            findings.add("empty", str(run), None, "", "has no lines of a run")
        if len(tags := {line.system for line in lines}) > 1:
            message = (
                f"has {len(tags)} tags; without --method-name tag all lines count as one system, "
                f"{method_of(run)}"
            )
            findings.add("wrong-id", str(run), None, "", message, "warning")
        first = systems.setdefault(method_of(run), str(run))
        if first != str(run):
            findings.add("wrong-id", str(run), None, "", f"has the same system name as {first}")
        _check_ranks_of_run(str(run), lines, findings)
    contents = (counted(len(systems), "system"), counted(len(queries), "query"), counted(count, "line"))
    return ", ".join(contents)


def _with_tags(path: Path) -> Iterable[RunLine]:
    return read_run(path, method="tag", one_system=True)


def _check_ranks_of_run(file: str, lines: Sequence[RunLine], findings: Findings) -> None:
    rankings: dict[str, list[RankedPassage]] = defaultdict(list)
    for line in lines:
        rankings[line.query_id].append(RankedPassage(line.rank, line.score, line.passage_id))
    for query_id, ranked in rankings.items():
        for check, message in check_ranks({method_of(Path(file)): ranked}):
            findings.add(check, file, None, f"query {query_id}", message)
