"""Inputs of an evaluation: passages, banks and queries, as files or objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Union

from exam_pp.phases.evaluation.result import PathLike
from exam_pp.roles import choose_role

if TYPE_CHECKING:
    from exam_pp.banks import TestBank
    from exam_pp.data_model import QueryPassages, QueryView, Role

T = TypeVar("T")


class LoadedPassages:
    """Passages in memory: a file that is read once, or queries.

    Roles, repeats and canaries are chosen once for all that evaluates them. In memory a file takes some 2.3
    times its uncompressed size.
    """

    def __init__(self, source: PathLike | Iterable[QueryPassages]) -> None:
        self.path = source if isinstance(source, PathLike) else None
        self.queries: Sequence[QueryPassages] = _read(source) if isinstance(source, PathLike) else [*source]
        self._made: dict[tuple[object, ...], Any] = {}

    def __iter__(self) -> Iterator[QueryPassages]:
        return iter(self.queries)

    def __str__(self) -> str:
        return str(name_of(self, "the passages"))

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """What ``make`` returned for an equal key."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made


Passages = PathLike | LoadedPassages | Iterable["QueryPassages"]
Bank = Union[PathLike, "TestBank"]
Queries = PathLike | Collection[str]
"""A query file, or query ids."""


def _read(path: PathLike) -> list[QueryPassages]:
    from exam_pp.store.passages.graded_file import (  # noqa: PLC0415 - slow to import
        read_passages,
        without_garbage_collection,
    )

    with without_garbage_collection():
        return list(read_passages(path))


def loaded(passages: Passages) -> LoadedPassages:
    """The passages in memory, for everything that is computed from them."""
    return passages if isinstance(passages, LoadedPassages) else LoadedPassages(passages)


def views(
    passages: Passages,
    role: Role | None = None,
    *,
    preferred: Role = "answer",
    mixed: bool = False,
    canaries: bool = False,
) -> Sequence[QueryView]:
    """The queries, with the passages and ranking entries of a role (:func:`exam_pp.roles.choose_role`).

    Canary systems are left out, unless ``canaries`` is True.
    """
    source = loaded(passages)
    choose = partial(choose_role, source.queries, role, preferred=preferred, mixed=mixed, canaries=canaries)
    return source.once((role, preferred, mixed, canaries), choose)


def bank_of(bank: Bank) -> TestBank:
    """The bank, read from a file if ``bank`` is a path."""
    if not isinstance(bank, PathLike):
        return bank
    from exam_pp.store.banks.bank_json import read_bank  # noqa: PLC0415 - slow to import

    return read_bank(bank)


def query_ids(queries: Queries) -> set[str]:
    """The query ids, read from a query file if ``queries`` is a path."""
    if not isinstance(queries, PathLike):
        return set(queries)
    from exam_pp.store.trec.queries import read_queries  # noqa: PLC0415 - slow to import

    return set(read_queries(queries))


def name_of(source: object, description: str) -> PathLike:
    """The name of an input in messages: its path, or ``description`` for an object."""
    source = source.path if isinstance(source, LoadedPassages) else source
    return source if isinstance(source, PathLike) else description
