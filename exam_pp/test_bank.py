"""Test banks: for every query, the questions or nuggets that a good answer addresses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, FiniteFloat, Tag

from exam_pp.data_model import Id, Record
from exam_pp.errors import SelectionError

EntryKind = Literal["question", "nugget"]

ASSIGNMENT_RATINGS: Mapping[str, int] = {"not_support": 0, "partial_support": 1, "support": 2}
"""Nugget assignment (Pradeep et al., 2024, section 3.3) to the rating that is stored with it."""


class _Entry(Record):
    """Fields that questions and nuggets share."""

    query_id: Id
    facet_id: Id | None = None
    info: Any = None
    importance: str | None = None
    weight: Annotated[FiniteFloat, Field(ge=0)] = 1.0
    gold_answers: list[str] | None = None


class Question(_Entry):
    """An exam question. ``gold_answers: []`` means that the correct answer is "unanswerable"."""

    question_id: Id
    question_text: str

    @property
    def entry_id(self) -> str:
        """The question's id, unique within a query."""
        return self.question_id

    @property
    def text(self) -> str:
        """The text of the question."""
        return self.question_text

    @property
    def kind(self) -> EntryKind:
        """``"question"``."""
        return "question"


class Nugget(_Entry):
    """A key fact that a good answer contains."""

    nugget_id: Id
    nugget_text: str

    @property
    def entry_id(self) -> str:
        """The nugget's id, unique within a query."""
        return self.nugget_id

    @property
    def text(self) -> str:
        """The text of the nugget."""
        return self.nugget_text

    @property
    def kind(self) -> EntryKind:
        """``"nugget"``."""
        return "nugget"


Entry = Question | Nugget


def _kind_of(item: Any) -> EntryKind:
    """The kind of an item, so that a validation error names only the fields of that kind."""
    if isinstance(item, dict):
        return "nugget" if "nugget_id" in item else "question"
    return "nugget" if isinstance(item, Nugget) else "question"


_AnyEntry = Annotated[
    Annotated[Question, Tag("question")] | Annotated[Nugget, Tag("nugget")], Discriminator(_kind_of)
]


class BankLine(Record):
    """One line of a bank file: the entries of a query, or of one of its facets."""

    query_id: Id
    facet_id: Id | None = None
    facet_text: str | None = None
    test_collection: str = ""
    query_text: str = ""
    info: Any = None
    hash: int | str | None = None
    items: list[_AnyEntry]


def entry_id(query_id: str, text: str, facet_id: str | None = None) -> str:
    """Return the published id of an entry: ``query[/facet]/md5`` of the stripped text."""
    digest = hashlib.md5(text.strip().encode(), usedforsecurity=False).hexdigest()
    return "/".join(part for part in (query_id, facet_id, digest) if part is not None)


def normalised_text(text: str) -> str:
    """Normalise case, whitespace and final punctuation of a text, to detect duplicates."""
    return " ".join(text.casefold().split()).rstrip(" .?!;:,")


@dataclass
class QueryBank:
    """All entries of one query, of all facets, in file order; of duplicate ids the first is kept."""

    query_id: str
    query_text: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, line: BankLine) -> list[str]:
        """Add the entries of a line and return the duplicate ids in it, whose entries are not added."""
        self.query_text = self.query_text or line.query_text
        duplicates = []
        for item in line.items:
            if item.entry_id in self.entries:
                duplicates.append(item.entry_id)
            else:
                self.entries[item.entry_id] = item
        return duplicates


@dataclass
class TestBank:
    """The banks of all queries.

    Attributes:
        queries: Query id to the bank of the query.
        duplicates: Ids of the entries whose id occurs earlier in the same query.
        lines: The lines of the bank, with all entries, in file order.
    """

    __test__ = False  # pytest would collect the class by its name

    queries: Mapping[str, QueryBank]
    duplicates: list[str] = field(default_factory=list)
    lines: Sequence[BankLine] = field(default_factory=list)

    @classmethod
    def from_lines(cls, lines: Iterable[BankLine]) -> TestBank:
        """Make a bank from bank lines.

        Args:
            lines: Bank lines. The entries of lines with the same query id are concatenated.

        Returns:
            The bank. If an id occurs several times in a query, :attr:`queries` has its first entry.
        """
        kept = list(lines)
        queries: dict[str, QueryBank] = {}
        duplicates: list[str] = []
        for line in kept:
            duplicates += queries.setdefault(line.query_id, QueryBank(line.query_id)).add(line)
        return cls(queries, duplicates, kept)

    def __iter__(self) -> Iterator[QueryBank]:
        return (self.queries[query_id] for query_id in self.queries)

    def entries(self, query_id: str) -> dict[str, Entry]:
        """The entries of a query.

        Args:
            query_id: Id of the query.

        Returns:
            Entry id to entry; empty if the bank does not have the query.
        """
        query = self.queries.get(query_id)
        return query.entries if query else {}

    @cached_property
    def kinds(self) -> set[EntryKind]:
        """The kinds of entries in the bank."""
        return {entry.kind for query in self for entry in query.entries.values()}

    def require_kind(self, kind: EntryKind, subject: str) -> None:
        """Check that all entries are of one kind.

        Args:
            kind: The required kind.
            subject: Subject of the message, such as ``A nugget score``.

        Raises:
            SelectionError: The bank contains entries of the other kind.
        """
        if other_kinds := self.kinds - {kind}:
            raise SelectionError(
                f"{subject} needs a bank of {kind}s, but the bank contains {other_kinds.pop()}s."
            )
