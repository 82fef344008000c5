"""Validate: run files and qrels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from exam_pp.phases.validation.by_reading import read_around_errors
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.rankings import Place, check_ranks
from exam_pp.results import RunLine
from exam_pp.store.files import read_lines
from exam_pp.store.trec.runs import method_of, read_qrels, read_run, run_files, warn_of_left_out_runs
from exam_pp.wording import counted


def check_runs(path: Path, findings: Findings) -> str:
    """Check a run file, or all of a folder."""
    queries: set[str] = set()
    systems: dict[str, str] = {}
    count = 0
    warn_of_left_out_runs(path)
    for run in run_files(path):
        lines: list[RunLine] = read_around_errors(run, _with_tags, findings, "run")
        count += len(lines)
        queries.update(line.query_id for line in lines)
        if not lines and not findings.has(str(run)):
            findings.add("empty", str(run), None, "", "holds no results")
        if len(tags := {line.system for line in lines}) > 1:
            words = f"holds {len(tags)} tags; its lines count as one system, {method_of(run)}"
            findings.add("wrong-id", str(run), None, "", words, "warning")
        before = systems.setdefault(method_of(run), str(run))
        if before != str(run):
            findings.add("wrong-id", str(run), None, "", f"has the name of the system in {before}")
        _check_ranks_of_run(str(run), lines, findings)
    held = (counted(len(systems), "system"), counted(len(queries), "query"), counted(count, "line"))
    return ", ".join(held)


def _with_tags(path: Path) -> Iterable[RunLine]:
    return read_run(path, method="tag", one_system=True)


def _check_ranks_of_run(file: str, lines: Sequence[RunLine], findings: Findings) -> None:
    places: dict[str, list[Place]] = defaultdict(list)
    for line in lines:
        places[line.query_id].append(Place(line.rank, line.score, line.passage_id))
    for query_id, ranked in places.items():
        for check, words in check_ranks({method_of(Path(file)): ranked}):
            findings.add(check, file, None, f"query {query_id}", words)


def check_qrels(path: Path, findings: Findings) -> str:
    """Check qrels: every line, contradictions and repetitions."""
    qrels = read_around_errors(path, read_qrels, findings, "qrels")
    pairs: Counter[tuple[bytes, ...]] = Counter()
    for number, line in read_lines(path):
        fields = line.split()
        if len(fields) == 4:
            key = (fields[0], fields[2], fields[3])
            pairs[key] += 1
            if pairs[key] == 2:
                words = f"is judged {fields[3].decode('utf-8', 'replace')} several times"
                where = (
                    f"query {fields[0].decode('utf-8', 'replace')}, {fields[2].decode('utf-8', 'replace')}"
                )
                findings.add("duplicate-judgment", str(path), number, where, words)
    queries = {qrel.query_id for qrel in qrels}
    return f"{counted(len(queries), 'query')}, {counted(len(qrels), 'judgment')}"
