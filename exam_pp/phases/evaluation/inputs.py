"""Inputs of an evaluation: passages, banks and queries, as files or objects."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Union

from exam_pp.phases.evaluation.result import PathLike
from exam_pp.roles import choose_role, recorded_roles, without_canaries
from exam_pp.text.wording import counted, listed

if TYPE_CHECKING:
    from exam_pp.banks import TestBank
    from exam_pp.data_model import QueryPassages, QueryView, Role

log = logging.getLogger(__name__)

T = TypeVar("T")


class Study:
    """A graded file in memory: read once, and its roles, repeats and canaries chosen once.

    What evaluates a file in several ways, such as a report, passes it on in place of the file. In memory a
    file takes some 1.6 times its uncompressed size, so single evaluations read the file line by line.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self.queries: Sequence[QueryPassages] = list(queries_of(path))
        self._views: dict[tuple[Role | None, Role, bool, bool], list[QueryView]] = {}
        self._made: dict[tuple[object, ...], Any] = {}

    def __iter__(self) -> Iterator[QueryPassages]:
        return iter(self.queries)

    def __str__(self) -> str:
        return str(self.path)

    def views(
        self,
        role: Role | None = None,
        *,
        preferred: Role = "answer",
        mixed: bool = False,
        canaries: bool = False,
    ) -> list[QueryView]:
        """As :func:`views`; each choice is made once."""
        choice = (role, preferred, mixed, canaries)
        if choice not in self._views:
            self._views[choice] = list(
                views(self.queries, role, preferred=preferred, mixed=mixed, canaries=canaries)
            )
        return self._views[choice]

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """What ``make`` returned for an equal key."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made


Passages = PathLike | Study | Iterable["QueryView"]
Graded = PathLike | Study


def queries_of(graded: Graded) -> Iterable[QueryPassages]:
    """The queries of a graded file, with everything that it holds."""
    if isinstance(graded, Study):
        return graded.queries
    from exam_pp.store.passages.graded_file import read_passages  # noqa: PLC0415 - slow to import

    return read_passages(graded)


def in_memory(passages: Passages) -> Study | list[QueryView]:
    """Passages that can be evaluated in several ways, also if they are a stream."""
    if isinstance(passages, Study):
        return passages
    return Study(passages) if isinstance(passages, PathLike) else list(passages)


Bank = Union[PathLike, "TestBank"]
Queries = PathLike | Collection[str]
"""A query file, or query ids."""


def views(
    passages: Passages,
    role: Role | None = None,
    *,
    preferred: Role = "answer",
    mixed: bool = False,
    canaries: bool = False,
) -> Iterable[QueryView]:
    """The queries, with the passages and ranking entries of a role (:func:`exam_pp.roles.choose_role`).

    A file is read with the fast reader for metrics. Without a role, a file that records roles is read twice.
    Canary systems are left out, unless ``canaries`` is True.
    """
    if isinstance(passages, Study):
        return passages.views(role, preferred=preferred, mixed=mixed, canaries=canaries)
    queries = _read(passages) if canaries else without_canaries(_read(passages))
    if role is not None or mixed or not can_be_read_again(passages):
        return choose_role(queries, role, preferred=preferred, mixed=mixed)
    return choose_role(queries, preferred=preferred, roles=partial(_roles, passages, preferred))


def _roles(passages: Passages, preferred: Role) -> dict[str, set[Role]]:
    """The recorded roles of all systems; logs which of them count for systems with both."""
    roles = recorded_roles(_read(passages))
    both = [system for system, of_system in roles.items() if len(of_system) > 1]
    if both:
        have = counted(len(both), "system has", "systems have")
        counts = "answer" if preferred == "answer" else "ranking"
        log.info("%s a ranking and an answer (%s): the %s counts; see --role.", have, listed(both), counts)
    return roles


def can_be_read_again(passages: Passages) -> bool:
    """Whether the passages are a file or a collection, and not a stream or an iterator."""
    if not isinstance(passages, PathLike):
        return isinstance(passages, Collection)
    from exam_pp.store.files import is_stream  # noqa: PLC0415 - slow to import

    return not is_stream(passages)


def _read(passages: Passages) -> Iterable[QueryView]:
    return queries_of(passages) if isinstance(passages, Graded) else passages


def bank_of(bank: Bank, *, packed: bool = False) -> TestBank:
    """The bank, read from a file if ``bank`` is a path.

    ``packed`` as in :func:`~exam_pp.store.banks.bank_json.read_bank`.
    """
    if not isinstance(bank, PathLike):
        return bank
    from exam_pp.store.banks.bank_json import read_bank  # noqa: PLC0415 - slow to import

    return read_bank(bank, packed=packed)


def query_ids(queries: Queries) -> set[str]:
    """The query ids, read from a query file if ``queries`` is a path."""
    if not isinstance(queries, PathLike):
        return set(queries)
    from exam_pp.store.trec.queries import read_queries  # noqa: PLC0415 - slow to import

    return set(read_queries(queries))


def name_of(source: object, description: str) -> PathLike:
    """The name of an input in messages: its path, or ``description`` for an object."""
    source = source.path if isinstance(source, Study) else source
    return source if isinstance(source, PathLike) else description
