"""Leave-one-system-out for banks mined from passages: ranks without the entries that only a system brought.

Source: Zobel, "How reliable are the results of large-scale information retrieval experiments?", SIGIR 1998
(judgments that only one system contributed); here for entries of a bank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from pydantic import Field

from exam_pp.data_model import Id, Record
from exam_pp.errors import DataError
from exam_pp.metrics.correlation import kendall
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.metrics.uncertainty import Interval, mean_interval
from exam_pp.phases.analysis.audit.inputs import AuditInput
from exam_pp.phases.analysis.audit.verdicts import Verdict, undecided
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.store.json_lines import read_records
from exam_pp.test_bank import Entry, TestBank, normalised_text
from exam_pp.wording import counted


class MinedLine(Record):
    """Where entries come from: a window of the trace of ``nuggetize``, or a single entry.

    A window has ``nuggets``, the texts of the list after it, and ``passages``. An entry has its ``id``, and
    the passages or systems that it comes from.
    """

    query_id: Id
    entry_id: Id | None = Field(default=None, alias="id")
    passages: list[Id] = Field(default_factory=list)
    systems: list[Id] = Field(default_factory=list)
    nuggets: list[str] | None = None


@dataclass
class Sources:
    """Where an entry comes from: passages, and systems that are known without passages."""

    passages: set[str] = field(default_factory=set)
    systems: set[str] = field(default_factory=set)


EntrySources = Mapping[tuple[str, str], Sources]
"""(Query, entry) to its sources."""


@dataclass(frozen=True)
class LeftOut:
    """A system's score and rank with the whole bank, and without the entries that only this system brought.

    Attributes:
        system: The system.
        entries: Number of these entries.
        score: Mean Cover with the whole bank.
        rank: Rank with the whole bank; tied systems share the best rank.
        score_without: Mean Cover without these entries.
        rank_without: Rank among all systems without these entries.
        change: Interval of the difference of the scores, over queries; None for a single query.
    """

    system: str
    entries: int
    score: float
    rank: int
    score_without: float
    rank_without: int
    change: Interval | None


@dataclass(frozen=True)
class MinedAudit:
    """The leave-one-system-out section of an audit.

    Attributes:
        entries: Number of entries of the evaluated queries.
        known: Number of these with a known source.
        rows: The systems, by rank.
        kendall: Kendall's τ-b of the scores and those that every system has without its entries.
        verdict: Whether ranks change.
        notes: Sentences on unknown entries.
    """

    entries: int
    known: int
    rows: Sequence[LeftOut]
    kendall: float | None
    verdict: Verdict
    notes: Sequence[str] = field(default_factory=tuple)


def entry_sources(bank: TestBank, mined: PathLike | None = None) -> tuple[EntrySources, list[str]]:
    """The sources of the entries of a bank, and notes.

    A nugget comes from the passages of the first window whose list has its text. Banks of AutoJudge record
    references of entries and of their answers.

    Args:
        bank: The bank; ``nuggetize`` records windows in it unless it writes a trace.
        mined: Lines of :class:`MinedLine`, in addition to the records in the bank.

    Raises:
        DataError: A line has neither an entry with passages or systems nor a window.
    """
    sources: dict[tuple[str, str], Sources] = {}
    windows: dict[str, list[tuple[list[str], list[str]]]] = {}
    for line in bank.lines:
        for window in _records(line.info, "windows"):
            windows.setdefault(line.query_id, []).append(
                (_texts(window, "passages"), _texts(window, "nuggets"))
            )
        for item in line.items:
            if references := set(_references(item.info)):
                sources.setdefault((line.query_id, item.entry_id), Sources()).passages.update(references)
    unknown = 0
    for number, record in [] if mined is None else read_records(MinedLine, mined, "lines"):
        if record.nuggets is not None:
            windows.setdefault(record.query_id, []).append((record.passages, record.nuggets))
            continue
        if record.entry_id is None or not (record.passages or record.systems):
            raise DataError(
                'says no source: give "id" with "passages" or "systems", or "nuggets" with "passages".',
                file=str(mined), line=number,
            )  # fmt: skip
        key = record.query_id, record.entry_id
        unknown += record.entry_id not in bank.entries(record.query_id)
        sources.setdefault(key, Sources()).passages.update(record.passages)
        sources[key].systems.update(record.systems)
    for query_id, of_query in windows.items():
        _add_windows(query_id, bank.entries(query_id), of_query, sources)
    notes = []
    if unknown:
        notes.append(f"{counted(unknown, 'line')} of {mined} of entries that the bank lacks: ignored.")
    return sources, notes


def _add_windows(
    query_id: str,
    entries: Mapping[str, Entry],
    windows: Iterable[tuple[list[str], list[str]]],
    sources: dict[tuple[str, str], Sources],
) -> None:
    first: dict[str, list[str]] = {}
    for passages, nuggets in windows:
        for text in nuggets:
            first.setdefault(normalised_text(text), passages)
    for entry_id, entry in entries.items():
        if known := first.get(normalised_text(entry.text)):
            sources.setdefault((query_id, entry_id), Sources()).passages.update(known)


def _records(info: Any, key: str) -> list[Any]:
    values = info.get(key) if isinstance(info, dict) else None
    return values if isinstance(values, list) else []


def _texts(record: Any, key: str) -> list[str]:
    return [value for value in _records(record, key) if isinstance(value, str)]


def _references(info: Any) -> Iterator[str]:
    """Ids of the documents that AutoJudge records for an entry and for its answers."""
    kept = info.get("autojudge") if isinstance(info, dict) else None
    answers = kept.get("answers") if isinstance(kept, dict) else None
    for record in (kept, *(answers.values() if isinstance(answers, dict) else ())):
        for reference in _records(record, "references"):
            name = reference.get("doc_id") if isinstance(reference, dict) else reference
            if isinstance(name, str) and name:
                yield name


def audit_mined(data: AuditInput, sources: EntrySources, notes: Sequence[str]) -> MinedAudit:
    """Recompute every system's score and rank without the entries that only this system brought."""
    queries = data.grader.queries()
    entries = sum(len(query.entries) for query in queries)
    known = sum((query.query_id, entry) in sources for query in queries for entry in query.entries)
    own = _own_entries(queries, sources)
    systems = data.systems
    full = {system: _mean(data, queries, system, {}) for system in systems}
    rows = []
    for system in systems:
        lost = own.get(system, {})
        scores = full if not lost else {name: _mean(data, queries, name, lost) for name in systems}
        pairs = zip(_scores(data, queries, system, lost), _scores(data, queries, system, {}), strict=True)
        change = mean_interval(
            [after - before for after, before in pairs], (-1.0, 1.0), data.options.confidence
        )
        count = sum(mask.bit_count() for mask in lost.values())
        rows.append(
            LeftOut(
                system,
                count,
                full[system],
                _rank(full, system),
                scores[system],
                _rank(scores, system),
                change,
            )
        )
    rows.sort(key=lambda row: (row.rank, row.system))
    tau = kendall([row.score for row in rows], [row.score_without for row in rows])
    found = list(notes)
    if known < entries:
        found.append(f"{entries - known} of {entries} entries have no recorded source: they are always kept.")
    named = set().union(*(source.systems for source in sources.values()))
    if absent := sorted(named.difference(systems)):
        found.append(
            f"The file has no rankings of {counted_names(absent, 'source system', 'source systems')}."
        )
    return MinedAudit(entries, known, rows, tau, _verdict(rows, entries), found)


def _own_entries(queries: Sequence[GradedQuery], sources: EntrySources) -> dict[str, dict[str, int]]:
    """System to query to the mask of the entries that come from passages of this system only."""
    own: dict[str, dict[str, int]] = {}
    for query in queries:
        systems_of: dict[str, set[str]] = {}
        for system, ranking in query.rankings.items():
            for _, _, index in ranking:
                systems_of.setdefault(query.passages[index].passage_id, set()).add(system)
        for entry_id, position in query.entries.items():
            source = sources.get((query.query_id, entry_id))
            if source is None:
                continue
            brought_by = [{system} for system in source.systems]
            # A passage that no system returned is in the bank without the systems.
            brought_by += [systems_of.get(passage, set()) for passage in source.passages]
            everyone = set().union(*brought_by)
            if len(everyone) == 1 and all(brought_by):
                of_system = own.setdefault(everyone.pop(), {})
                of_system[query.query_id] = of_system.get(query.query_id, 0) | 1 << position
    return own


def _scores(
    data: AuditInput, queries: Sequence[GradedQuery], system: str, lost: Mapping[str, int]
) -> list[float]:
    """Cover of a system on every query without the entries in ``lost``; 0 for a query without entries."""
    first = data.grader.file.first_ranks[system]
    scores = []
    for query in queries:
        reached = query.reached(data.grader.min_grade)
        covered = 0
        for index in query.top(system, first, data.options.cutoff):
            covered |= reached[index]
        kept = query.all_entries & ~lost.get(query.query_id, 0)
        whole = query.size(kept)
        scores.append(query.size(covered & kept) / whole if whole else 0.0)
    return scores


def _mean(data: AuditInput, queries: Sequence[GradedQuery], system: str, lost: Mapping[str, int]) -> float:
    return fsum(_scores(data, queries, system, lost)) / len(queries)


def _rank(scores: Mapping[str, float], system: str) -> int:
    return 1 + sum(round(score, 12) > round(scores[system], 12) for score in scores.values())


def _verdict(rows: Sequence[LeftOut], entries: int) -> Verdict:
    brought = sum(row.entries for row in rows)
    share = f"{brought} of {entries} entries come from a single system"
    if not brought:
        return Verdict("no evidence", f"{share}, so no score depends on the system's own entries")
    moved = [row for row in rows if row.rank_without != row.rank]
    if not moved:
        return Verdict("no evidence", f"{share}, and no system changes its rank without its own entries")
    most = max(moved, key=lambda row: (abs(row.rank_without - row.rank), row.system))
    return Verdict(
        "evidence",
        f"{share}; {len(moved)} of {counted(len(rows), 'system')} change rank without their own entries "
        f"(most: {most.system}, from {most.rank} to {most.rank_without})",
    )


def no_sources() -> Verdict:
    """The verdict on a bank that records no sources."""
    return undecided("the bank records no passages or systems that its entries come from; use --mined FILE")
