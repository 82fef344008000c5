"""Roles and repeats of ranking entries: what a system retrieved, and the parts of its answer.

One system of a passages file can have a ranking (role ``retrieved``) and an answer (role ``answer``), and
both for several repeats of a query. This module is the only place that decides which entries count.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exam_pp.data_model import (
    AnyGrades,
    BeyondPool,
    Judgment,
    Passage,
    PassageView,
    QueryPassages,
    QueryView,
    RankingEntry,
    Role,
    is_canary,
)
from exam_pp.errors import SelectionError
from exam_pp.records import replace
from exam_pp.text.wording import counted, listed

log = logging.getLogger(__name__)

_REPEAT = re.compile(r"(.+)-run-([1-9][0-9]{0,8})", re.DOTALL)


class System(NamedTuple):
    """A system, or one of its repeats: the key that results are joined by.

    Its text, such as ``rag-run-2``, is a name for readers. Another system can have the same name, so outputs
    with names alone need :class:`DistinctNames`.
    """

    name: str
    repeat: int | None = None

    @classmethod
    def of(cls, entry: RankingEntry) -> System:
        """The system of a ranking entry."""
        return cls(entry.method, entry.repeat)

    def __str__(self) -> str:
        return self.name if self.repeat is None else f"{self.name}-run-{self.repeat}"


class DistinctNames:
    """The names of systems for an output without repeats, where every name stands for one system."""

    def __init__(self) -> None:
        self._systems: dict[str, System] = {}

    def __call__(self, system: System) -> str:
        """The name; raises SelectionError if it is also that of another system."""
        name = str(system)
        if self._systems.setdefault(name, system) != system:
            raise SelectionError(
                f"A repeat of a system and another system have the same name {name!r}; rename the other with "
                "`exam-pp filter --rename system=OLD=NEW`."
            )
        return name


def repeat_of(name: str) -> System:
    """The system that a file without repeats calls by this name, as exam_pp writes it.

    >>> repeat_of("rag-run-2"), repeat_of("rag")
    (System(name='rag', repeat=2), System(name='rag', repeat=None))
    """
    match = _REPEAT.fullmatch(name)
    return System(match[1], int(match[2])) if match else System(name)


def role_of(query_id: str, passage_id: str, entry: RankingEntry) -> Role:
    """The role of a ranking entry.

    An entry without a recorded role is part of an answer if the id of its passage is one that ``exam-pp
    import --answers`` makes: ``system/query`` or ``system/query#n``.
    """
    if entry.role is not None:
        return entry.role
    if not passage_id.startswith(entry.method):
        return "retrieved"
    whole = f"{System.of(entry)}/{query_id}"
    return "answer" if passage_id == whole or passage_id.startswith(f"{whole}#") else "retrieved"


def is_part_of_answer(passage: PassageView) -> bool:
    """Whether a passage is recorded as a part of an answer, and not as a passage that systems retrieve."""
    return any(entry.role == "answer" for entry in passage.rankings)


def canaries_of(query: QueryView) -> set[str]:
    """The canary systems that have passages for a query."""
    systems = {entry.method for passage in query.passages for entry in passage.rankings}
    return {system for system in systems if is_canary(system)}


def without_canaries(queries: Iterable[QueryView]) -> Iterator[QueryView]:
    """Yield queries without the entries of canary systems, and without passages that only canaries returned.

    Queries without canaries are unchanged.
    """
    for query in queries:
        if canaries_of(query):
            yield _Query(query.query_id, list(_real_passages(query)), query.beyond_pool)
        else:
            yield query


def _real_passages(query: QueryView) -> Iterator[PassageView]:
    for passage in query.passages:
        kept = [entry for entry in passage.rankings if not is_canary(entry.method)]
        if len(kept) == len(passage.rankings):
            yield passage
        elif kept:
            yield _Passage(passage, kept)


class AnswerPart(NamedTuple):
    """A part of an answer, and the ids of the documents that it cites, in order and each once."""

    passage: Passage
    citations: tuple[str, ...] = ()


@dataclass
class SystemOutput:
    """The ranking and the answer of one system, or of one repeat of it, for a query.

    ``repeat``: The repeat, from 1; None for a single run. ``parts``: Its answer: passages in order, with
    their citations. A part without text has no content, such as that of an empty answer. ``answered``:
    Whether the file has an answer, also an empty one.
    """

    system: str
    repeat: int | None = None
    retrieved: list[Passage] = field(default_factory=list)
    parts: list[AnswerPart] = field(default_factory=list)
    cited: dict[str, Passage] = field(default_factory=dict)
    answered: bool = False

    @property
    def key(self) -> System:
        """The system and the repeat."""
        return System(self.system, self.repeat)

    @property
    def name(self) -> str:
        """The name under which evaluations list it."""
        return str(self.key)

    @property
    def text(self) -> str:
        """The whole answer: its parts, joined with spaces; empty without an answer."""
        return joined_text(passage for passage, _ in self.parts)

    @property
    def sources(self) -> list[Passage]:
        """The retrieved passages, then other passages that the answer cites."""
        by_id = {passage.passage_id: passage for passage in self.retrieved}
        return list((by_id | self.cited).values())

    def cited_by(self, part: AnswerPart) -> list[Passage]:
        """The passages of the file that a part cites."""
        return [self.cited[key] for key in part.citations if key in self.cited]

    def missing(self, parts: Iterable[AnswerPart]) -> list[str]:
        """The ids that these parts cite, but the file lacks."""
        cited = dict.fromkeys(key for part in parts for key in part.citations)
        return [key for key in cited if key not in self.cited]


def outputs_of(query: QueryPassages) -> dict[System, SystemOutput]:
    """The ranking and the answer of each system for a query, in order of appearance.

    Returns system and repeat to the ranking (by rank, then descending score) and the answer (by rank). A
    ranking without a repeat belongs to all repeats of its system. A passage that is listed twice counts once.
    """
    entries = [
        (role_of(query.query_id, passage.passage_id, entry), entry, passage)
        for passage in query.passages
        for entry in passage.rankings
    ]
    repeats: dict[str, dict[int, None]] = {}
    for _, entry, _ in entries:
        of_system = repeats.setdefault(entry.method, {})
        if entry.repeat is not None:
            of_system[entry.repeat] = None
    outputs = {
        System(system, repeat): SystemOutput(system, repeat)
        for system, of_system in repeats.items()
        for repeat in of_system or (None,)
    }
    by_id = {passage.passage_id: passage for passage in query.passages}
    seen: set[tuple[str, int | None, Role, str]] = set()
    for role, entry, passage in sorted(entries, key=_order):
        of_entry = (entry.repeat,) if entry.repeat is not None else (*repeats[entry.method],) or (None,)
        for repeat in of_entry:
            key = (entry.method, repeat, role, passage.passage_id)
            if key in seen:
                continue
            seen.add(key)
            output = outputs[System(entry.method, repeat)]
            if role == "answer":
                output.answered = True
                part = AnswerPart(passage, tuple(dict.fromkeys(entry.citations or ())))
                output.parts.append(part)
                output.cited |= {key: by_id[key] for key in part.citations if key in by_id}
            else:
                output.retrieved.append(passage)
    return outputs


def answers_in(query: QueryView) -> dict[System, list[int]]:
    """The answer of each system to a query, as the positions of its parts in the order of the answer.

    Returns system and repeat to the positions in ``query.passages``; systems without an answer have no key.
    """
    parts: dict[System, dict[int, int]] = {}
    for position, passage in enumerate(query.passages):
        for entry in passage.rankings:
            if role_of(query.query_id, passage.passage_id, entry) == "answer":
                ranks = parts.setdefault(System.of(entry), {})
                ranks[position] = min(entry.rank, ranks.get(position, entry.rank))
    return {key: sorted(ranks, key=ranks.__getitem__) for key, ranks in parts.items()}


def joined_text(passages: Iterable[PassageView]) -> str:
    """The text of an answer: its parts, joined with spaces, without empty parts."""
    return " ".join(passage.text for passage in passages if passage.text.strip()).strip()


def _order(item: tuple[Role, RankingEntry, Passage]) -> tuple[int, float]:
    """Ranks, and scores of retrieved passages only: parts of an answer with one rank stay in file order."""
    role, entry, _ = item
    return entry.rank, -entry.score if role == "retrieved" else 0.0


def accepted_entries(
    query_id: str, passage_id: str, entries: Sequence[RankingEntry], role: Role
) -> list[RankingEntry] | None:
    """The entries of a passage that have a role; None if the passage itself does not count.

    A passage that no system returned, such as a judged one, counts unless answers are selected.
    """
    kept = [entry for entry in entries if role_of(query_id, passage_id, entry) == role]
    if kept or (not entries and role == "retrieved"):
        return kept
    return None


def choose_role(
    queries: Iterable[QueryView],
    role: Role | None = None,
    *,
    preferred: Role = "answer",
    mixed: bool = False,
    canaries: bool = False,
) -> list[QueryView]:
    """Return queries with only the passages and ranking entries of a role; repeats become separate systems.

    ``role``: The role. None: all passages, but of a system with both recorded roles, in any query, only the
    entries of the preferred role. ``mixed``: All passages and entries. Without ``canaries``, canary systems
    are left out. The queries are unchanged if nothing is left out and no repeats are recorded. Names of
    systems are those of :class:`System`.
    """
    chosen = list(queries)
    entries = {(e.method, e.role, e.repeat) for query in chosen for p in query.passages for e in p.rankings}
    if not canaries and any(is_canary(system) for system, _, _ in entries):
        chosen = list(without_canaries(chosen))
        entries = {entry for entry in entries if not is_canary(entry[0])}
    distinct = DistinctNames()
    for system, _, repeat in entries:
        # Raises an error for a system rag-run-1 beside repeat 1 of a system rag.
        distinct(System(system, repeat))
    both: Collection[str] = ()
    if role is None and not mixed:
        recorded = {(system, of_entry) for system, of_entry, _ in entries if of_entry is not None}
        both = _with_both_roles(chosen, recorded, preferred)
    if role is None and not both and not any(repeat for _, _, repeat in entries):
        return chosen
    return [
        _Query(
            query.query_id,
            list(_passages(query, role, preferred, both)),
            _beyond_pool(query, role, preferred, both),
        )
        for query in chosen
    ]


def _with_both_roles(
    queries: Iterable[QueryView], recorded: Collection[tuple[str, Role]], preferred: Role
) -> set[str]:
    """The systems with both recorded roles; logs which of them counts.

    Raises :class:`SelectionError` for a system with an answer and a ranking without a role.
    """
    answering = {system for system, role in recorded if role == "answer"}
    both = {system for system, role in recorded if role == "retrieved" and system in answering}
    unclear = {
        entry.method
        for query in (queries if answering else ())
        for passage in query.passages
        for entry in passage.rankings
        if entry.method in answering
        and entry.role is None
        and role_of(query.query_id, passage.passage_id, entry) == "retrieved"
    }
    if unclear:
        raise SelectionError(
            f"The system {min(unclear)!r} has an answer, but also a ranking without a role; choose one with "
            "--role, or keep one with `exam-pp filter --role`."
        )
    if both:
        have = counted(len(both), "system has", "systems have")
        counts = "answer" if preferred == "answer" else "ranking"
        names = listed(sorted(both))
        log.info("%s a ranking and an answer (%s): the %s counts; see --role.", have, names, counts)
    return both


def _passages(
    query: QueryView, role: Role | None, preferred: Role, both: Collection[str]
) -> Iterator[PassageView]:
    """The passages with the entries of a role; without role, the preferred entries of systems with both."""
    for passage in query.passages:
        entries: Sequence[RankingEntry] | None
        if role is None:
            entries = [e for e in passage.rankings if e.method not in both or e.role == preferred]
        else:
            entries = accepted_entries(query.query_id, passage.passage_id, passage.rankings, role)
        if entries is not None:
            yield _Passage(passage, [e if e.repeat is None else _renamed(e) for e in entries])


def _beyond_pool(
    query: QueryView, role: Role | None, preferred: Role, both: Collection[str]
) -> BeyondPool | None:
    """What a query has beyond the pool, with the rankings of runs that count, whose role is ``retrieved``."""
    beyond = query.beyond_pool
    if beyond is None or (role or preferred) == "retrieved":
        return beyond
    return replace(beyond, rankings=[r for r in beyond.rankings if role is None and r.method not in both])


def _renamed(entry: RankingEntry) -> RankingEntry:
    """A ranking entry of a repeat, whose system has the name of the repeat."""
    return replace(entry, method=str(System.of(entry)), repeat=None)


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage with the chosen ranking entries."""

    passage: PassageView
    rankings: Sequence[RankingEntry]

    @property
    def passage_id(self) -> str:
        return self.passage.passage_id

    @property
    def text(self) -> str:
        return self.passage.text

    @property
    def judgments(self) -> Sequence[Judgment]:
        return self.passage.judgments

    @property
    def pool_depth(self) -> int | None:
        return self.passage.pool_depth

    def grade_sets(self) -> Iterator[AnyGrades]:
        return self.passage.grade_sets()


@dataclass(frozen=True, slots=True)
class _Query:
    """A query with the chosen passages, and what it has beyond the pool."""

    query_id: str
    passages: Sequence[PassageView]
    beyond_pool: BeyondPool | None
