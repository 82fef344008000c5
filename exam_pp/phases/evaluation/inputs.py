"""Inputs of an evaluation: passages, banks and queries, as files or objects."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Union

from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.roles import RoleChoice, answering_systems, choose_role

if TYPE_CHECKING:
    from exam_pp.data_model import QueryView
    from exam_pp.test_bank import TestBank

Passages = PathLike | Iterable["QueryView"]
Bank = Union[PathLike, "TestBank"]
Queries = PathLike | Collection[str]
"""A query file, or query ids."""


def views(passages: Passages, role: RoleChoice | None = None, *, mixed: bool = False) -> Iterable[QueryView]:
    """The queries, with the passages and ranking entries of a role (:func:`exam_pp.roles.choose_role`).

    A file is read with the fast reader for metrics; for the role ``output`` it is read twice. Raises
    :class:`~exam_pp.errors.SelectionError` if ``output`` is chosen for a stream.
    """
    if role != "output":
        return choose_role(_read(passages), role, mixed=mixed)
    if isinstance(passages, PathLike):
        from exam_pp.store.files import is_read_once  # noqa: PLC0415 - slow to import

        if is_read_once(passages):
            raise SelectionError("--role output reads the passages twice, so it needs a file, not a stream.")
    elif not isinstance(passages, Collection):
        passages = list(passages)
    return choose_role(_read(passages), role, answering=answering_systems(_read(passages)))


def _read(passages: Passages) -> Iterable[QueryView]:
    if not isinstance(passages, PathLike):
        return passages
    from exam_pp.store.passages.graded_file import read_passages_for_metrics  # noqa: PLC0415 - slow to import

    return read_passages_for_metrics(passages)


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
    return source if isinstance(source, PathLike) else description
