"""Roles and repeats of ranking entries: what a system retrieved, and the parts of its answer.

One system of a passages file can have a ranking (role ``retrieved``) and an answer (role ``answer``), and
both for several repeats of a query. This module is the only place that decides which entries count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from exam_pp.data_model import (
    GradesView,
    JudgmentView,
    Passage,
    PassageView,
    QueryPassages,
    QueryView,
    RankingEntry,
    RankingView,
    Role,
)
from exam_pp.errors import SelectionError

RoleChoice = Literal["retrieved", "answer", "output"]
"""``retrieved``: rankings only. ``answer``: answers only. ``output``: the answer of a system that has one in
the file, otherwise its ranking."""

ROLE_CHOICES: tuple[RoleChoice, ...] = ("retrieved", "answer", "output")


class HasRole(Protocol):
    """The fields of a ranking entry that decide its role."""

    @property
    def method(self) -> str:
        """The system."""

    @property
    def role(self) -> Role | None:
        """The recorded role; None in files without roles."""

    @property
    def repeat(self) -> int | None:
        """The number of the repeat, from 1; None for a single run."""


class HasText(Protocol):
    """The text of a passage."""

    @property
    def text(self) -> str:
        """The text."""


E = TypeVar("E", bound=HasRole)


def run_name(system: str, repeat: int | None) -> str:
    """The name of one repeat of a system, such as ``rag-run-2``; without a repeat, the system itself."""
    return system if repeat is None else f"{system}-run-{repeat}"


def name_of_entry(entry: HasRole) -> str:
    """The name under which evaluations list the system of an entry: repeats are separate systems."""
    return run_name(entry.method, entry.repeat)


def role_of(query_id: str, passage_id: str, entry: HasRole) -> Role:
    """The role of a ranking entry.

    An entry without a recorded role is part of an answer if the id of its passage is one that ``exam-pp
    import --answers`` makes: ``system/query`` or ``system/query#n``.
    """
    if entry.role is not None:
        return entry.role
    name = name_of_entry(entry)
    if not passage_id.startswith(name):
        return "retrieved"
    whole = f"{name}/{query_id}"
    return "answer" if passage_id == whole or passage_id.startswith(f"{whole}#") else "retrieved"


def is_part_of_answer(passage: PassageView) -> bool:
    """Whether a passage is recorded as a part of an answer, and not as a passage that systems retrieve."""
    return any(entry.role == "answer" for entry in passage.rankings)


def answering_systems(queries: Iterable[QueryView]) -> set[str]:
    """The systems with an answer to at least one query."""
    return {
        entry.method
        for query in queries
        for passage in query.passages
        for entry in passage.rankings
        if role_of(query.query_id, passage.passage_id, entry) == "answer"
    }


@dataclass
class SystemOutput:
    """The ranking and the answer of one system, or of one repeat of it, for a query.

    Attributes:
        system: The system.
        repeat: The repeat, from 1; None for a single run.
        retrieved: Its retrieved passages, best first.
        parts: Its answer: passages in order, each with the ids of the documents that it cites. A part without
            text has no content, such as that of an empty answer.
        answered: Whether the file has an answer, also an empty one.
    """

    system: str
    repeat: int | None = None
    retrieved: list[Passage] = field(default_factory=list)
    parts: list[tuple[Passage, tuple[str, ...]]] = field(default_factory=list)
    answered: bool = False

    @property
    def name(self) -> str:
        """The name under which evaluations list it."""
        return run_name(self.system, self.repeat)

    @property
    def text(self) -> str:
        """The whole answer: its parts, joined with spaces; empty without an answer."""
        return joined_text(passage for passage, _ in self.parts)


def outputs_of(query: QueryPassages) -> dict[tuple[str, int | None], SystemOutput]:
    """The ranking and the answer of each system for a query, in order of appearance.

    Args:
        query: A line of a passages file.

    Returns:
        System and repeat to the ranking (by rank, then descending score) and the answer (by rank). A ranking
        without a repeat belongs to all repeats of its system. A passage that is listed twice counts once.
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
        (system, repeat): SystemOutput(system, repeat)
        for system, of_system in repeats.items()
        for repeat in of_system or (None,)
    }
    seen: set[tuple[str, int | None, Role, str]] = set()
    for role, entry, passage in sorted(entries, key=_order):
        of_entry = (entry.repeat,) if entry.repeat is not None else (*repeats[entry.method],) or (None,)
        for repeat in of_entry:
            key = (entry.method, repeat, role, passage.passage_id)
            if key in seen:
                continue
            seen.add(key)
            output = outputs[entry.method, repeat]
            if role == "answer":
                output.answered = True
                output.parts.append((passage, tuple(entry.citations or ())))
            else:
                output.retrieved.append(passage)
    return outputs


def answers_in(query: QueryView) -> dict[tuple[str, int | None], list[int]]:
    """The answer of each system to a query, as the positions of its parts in the order of the answer.

    Args:
        query: A line of a passages file.

    Returns:
        System and repeat to the positions in ``query.passages``; systems without an answer have no key.
    """
    parts: dict[tuple[str, int | None], dict[int, int]] = {}
    for position, passage in enumerate(query.passages):
        for entry in passage.rankings:
            if role_of(query.query_id, passage.passage_id, entry) == "answer":
                ranks = parts.setdefault((entry.method, entry.repeat), {})
                ranks[position] = min(entry.rank, ranks.get(position, entry.rank))
    return {key: sorted(ranks, key=ranks.__getitem__) for key, ranks in parts.items()}


def joined_text(passages: Iterable[HasText]) -> str:
    """The text of an answer: its parts, joined with spaces, without empty parts."""
    return " ".join(passage.text for passage in passages if passage.text.strip()).strip()


def _order(item: tuple[Role, RankingEntry, Passage]) -> tuple[int, float]:
    """Ranks, and scores of retrieved passages only: parts of an answer with one rank stay in file order."""
    role, entry, _ = item
    return entry.rank, -entry.score if role == "retrieved" else 0.0


@dataclass(frozen=True)
class RoleFilter:
    """Selects ranking entries by role; ``answering`` are the systems with an answer, for ``output``."""

    role: RoleChoice
    answering: Collection[str] = ()

    def accepts(self, query_id: str, passage_id: str, entry: HasRole) -> bool:
        """Whether the entry counts."""
        role = role_of(query_id, passage_id, entry)
        if self.role == "output":
            return role == "answer" or entry.method not in self.answering
        return role == self.role

    def accepted(self, query_id: str, passage_id: str, entries: Sequence[E]) -> list[E] | None:
        """The entries of a passage that count; None if the passage itself does not count.

        A passage that no system returned, such as a judged one, counts unless answers are selected.
        """
        kept = [entry for entry in entries if self.accepts(query_id, passage_id, entry)]
        if kept or (not entries and self.role != "answer"):
            return kept
        return None


def choose_role(
    queries: Iterable[QueryView],
    role: RoleChoice | None = None,
    *,
    answering: Collection[str] = (),
    mixed: bool = False,
) -> Iterator[QueryView]:
    """Yield queries with only the passages and ranking entries of a role; repeats become separate systems.

    Args:
        queries: The lines of a passages file.
        role: The role. None: all entries, as for files without roles.
        answering: The systems with an answer (:func:`answering_systems`), needed for ``output`` only.
        mixed: Accept systems with both roles, for readers that use no ranks.

    Returns:
        The queries, unchanged if they record neither roles nor repeats and ``role`` is None. Names of systems
        are those of :func:`run_name`.

    Raises:
        SelectionError: ``role`` is None and a system has both roles (unless ``mixed``), or the name of a
            repeat is also that of another system.
    """
    chosen = None if role is None else RoleFilter(role, answering)
    check = _Check()
    for query in queries:
        keys = {(e.method, e.role, e.repeat) for passage in query.passages for e in passage.rankings}
        check.names(keys)
        if chosen is None and not mixed:
            check.roles(query, keys)
        if chosen is not None or any(repeat is not None for _, _, repeat in keys):
            yield _Query(query.query_id, list(_passages(query, chosen)))
        else:
            yield query


def _passages(query: QueryView, chosen: RoleFilter | None) -> Iterator[PassageView]:
    for passage in query.passages:
        entries: Sequence[RankingView] | None = passage.rankings
        if chosen is not None:
            entries = chosen.accepted(query.query_id, passage.passage_id, passage.rankings)
        if entries is not None:
            yield _Passage(passage, [e if e.repeat is None else _Renamed(e) for e in entries])


@dataclass
class _Check:
    """The systems that were read so far: with a ranking, with a recorded answer, and with repeats."""

    ranked: set[str] = field(default_factory=set)
    answering: set[str] = field(default_factory=set)
    systems: dict[str, tuple[str, int | None]] = field(default_factory=dict)

    def names(self, keys: Collection[tuple[str, Role | None, int | None]]) -> None:
        """Raise SelectionError if a repeat has the name of another system."""
        for method, _, repeat in keys:
            name = run_name(method, repeat)
            if self.systems.setdefault(name, (method, repeat)) != (method, repeat):
                raise SelectionError(
                    f"A repeat of a system and another system have the same name {name!r}; rename the other "
                    "with `exam-pp rename --system`."
                )

    def roles(self, query: QueryView, keys: Collection[tuple[str, Role | None, int | None]]) -> None:
        """Raise SelectionError if a system has a recorded answer and also a ranking."""
        self.answering.update(method for method, role, _ in keys if role == "answer")
        self.ranked.update(method for method, role, _ in keys if role == "retrieved")
        unknown = {method for method, role, _ in keys if role is None} - self.ranked
        if unknown:
            self.ranked.update(
                entry.method
                for passage in query.passages
                for entry in passage.rankings
                if entry.method in unknown
                and role_of(query.query_id, passage.passage_id, entry) == "retrieved"
            )
        if both := self.ranked & self.answering:
            raise SelectionError(
                f"The system {min(both)!r} has a ranking and an answer; choose one with --role, or keep one "
                "with `exam-pp filter --role`."
            )


@dataclass(frozen=True, slots=True)
class _Renamed:
    """A ranking entry of a repeat, whose system has the name of the repeat."""

    entry: RankingView

    @property
    def method(self) -> str:
        return name_of_entry(self.entry)

    @property
    def query_id(self) -> str:
        return self.entry.query_id

    @property
    def rank(self) -> int:
        return self.entry.rank

    @property
    def score(self) -> float:
        return self.entry.score

    @property
    def role(self) -> Role | None:
        return self.entry.role

    @property
    def repeat(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage with the chosen ranking entries."""

    passage: PassageView
    rankings: Sequence[RankingView]

    @property
    def passage_id(self) -> str:
        return self.passage.passage_id

    @property
    def text(self) -> str:
        return self.passage.text

    @property
    def judgments(self) -> Sequence[JudgmentView]:
        return self.passage.judgments

    def grade_sets(self) -> Iterator[GradesView]:
        return self.passage.grade_sets()


@dataclass(frozen=True, slots=True)
class _Query:
    """A query with the chosen passages."""

    query_id: str
    passages: Sequence[PassageView]
