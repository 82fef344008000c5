"""Test banks: for every query, the questions or nuggets that a good answer addresses."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, takewhile
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, PlainValidator, Tag, model_validator
from pydantic_core import PydanticCustomError

from exam_pp.data_model import Id, Integer
from exam_pp.errors import SelectionError
from exam_pp.models import Record
from exam_pp.text.wording import listed

EntryKind = Literal["question", "nugget"]
Combine = Literal["any", "all", "mean"]
"""How a group of entries is earned: by any of them, only by all, or by each its share."""

TARGET, CRITERIA, REFERENCES = "prompt_target", "criteria", "references"
"""The key of the ``info`` of a bank line for what its entries are, and its values for what is no fact."""

ASSIGNMENT_LABELS = ("not_support", "partial_support", "support")
"""The nugget assignments (Pradeep et al., 2024, section 3.3), in the order of their ratings, from 0."""
CRITERION_LABELS = ("not_met", "partly_met", "met")
"""The verdicts on criteria, in the order of their ratings, from 0."""
CONTRADICT = "contradict"
"""The label of what an answer says the opposite of; its rating is -1."""
LABEL_RATINGS: Mapping[str, int] = {CONTRADICT: -1} | {
    label: rating for labels in (ASSIGNMENT_LABELS, CRITERION_LABELS) for rating, label in enumerate(labels)
}
"""Label to the rating that is stored with it."""


def label_of(rating: int, labels: Iterable[str] = ()) -> str:
    """The one of ``labels`` with a rating; else the nugget assignment, or ``contradict``."""
    known = (*labels, *ASSIGNMENT_LABELS, CONTRADICT)
    return next(label for label in known if LABEL_RATINGS[label] == rating)


HIGHEST_WEIGHT = 1e9
"""So that sums of weights are finite."""


def _weight(value: Any) -> float:
    """A number as it is written: prompts show 4 as 4, and 4.0 as 4.0."""
    if isinstance(value, bool) or not (isinstance(value, int | float) and abs(value) <= HIGHEST_WEIGHT):
        raise PydanticCustomError(
            "weight",
            "must be a number, up to a billion; negative numbers are for what an answer should avoid",
        )
    return value


class _Entry(Record):
    """Fields that questions and nuggets share.

    The weight is negative for what an answer should avoid. Entries with the same ``group`` count as one, as
    ``combine`` says; ``group_text`` is the question that they answer. ``category`` is a name for tables.
    """

    query_id: Id
    facet_id: Id | None = None
    info: Any = None
    importance: str | None = None
    weight: Annotated[int | float, PlainValidator(_weight, json_schema_input_type=float)] = 1.0
    group: Id | None = None
    group_text: str | None = None
    combine: Combine = "any"
    category: str | None = None
    gold_answers: list[str] | None = None

    kind: ClassVar[EntryKind]

    @property
    def entry_id(self) -> str:
        """The id, unique within a query."""
        return str(getattr(self, f"{self.kind}_id"))

    @property
    def text(self) -> str:
        """The text of the question or nugget."""
        return str(getattr(self, f"{self.kind}_text"))

    @property
    def to_avoid(self) -> bool:
        """Whether an answer should not have it: then it is a mistake, and covers nothing."""
        return self.weight < 0

    @property
    def listed(self) -> str:
        """The text in lists for readers, which says what is to be avoided."""
        return f"{self.text} (to avoid)" if self.to_avoid else self.text


class Question(_Entry):
    """An exam question. ``gold_answers: []`` means that the correct answer is "unanswerable"."""

    kind: ClassVar[EntryKind] = "question"
    question_id: Id
    question_text: str


class Nugget(_Entry):
    """A key fact that a good answer contains."""

    kind: ClassVar[EntryKind] = "nugget"
    nugget_id: Id
    nugget_text: str


Entry = Question | Nugget


def _kind_of(item: Any) -> EntryKind:
    """The kind of an item, so that a validation error names only the fields of that kind."""
    if isinstance(item, dict):
        return "nugget" if "nugget_id" in item else "question"
    return "nugget" if isinstance(item, Nugget) else "question"


_AnyEntry = Annotated[
    Annotated[Question, Tag("question")] | Annotated[Nugget, Tag("nugget")], Discriminator(_kind_of)
]


_SHARED = {"weight": "weights", "importance": "kinds of importance", "combine": "values of combine"}
"""What all entries of a group share, with its plural."""


class BankLine(Record):
    """One line of a bank file: the entries of a query, or of one of its facets."""

    query_id: Id
    facet_id: Id | None = None
    facet_text: str | None = None
    test_collection: str = ""
    query_text: str = ""
    info: Any = None
    hash: Integer | str | None = None
    items: list[_AnyEntry]

    @model_validator(mode="after")
    def _groups_agree(self) -> BankLine:
        first: dict[str, Entry] = {}
        for entry in self.items:
            if entry.group is None:
                continue
            other = first.setdefault(entry.group, entry)
            for name, values in _SHARED.items():
                if (one := getattr(other, name)) != (two := getattr(entry, name)):
                    raise PydanticCustomError(
                        "group",
                        "the entries of the group {group} have different {values} ({one}, {two}); give all "
                        "the same",
                        {"group": repr(entry.group), "values": values, "one": one, "two": two},
                    )
        return self

    @property
    def title(self) -> str:
        """The text of the query without that of the facet, which published banks append (``A / B``)."""
        suffix = f"{_FACET_MARK}{(self.facet_text or '').strip()}"
        return self.query_text.strip().removesuffix(suffix) if self.facet_text else self.query_text


_FACET_MARK = " / "
"""Separates the text of a query from the text of its facet in the query texts of published banks."""


def of_title_query(line: BankLine) -> BankLine:
    """Turn a line of the query ``query/facet`` into one of the facet ``facet`` of the query ``query``.

    The ids of entries stay the same, because they begin with ``query/facet`` in both cases. The text of the
    facet is the part of the query's text after the last ``/``, as published banks join them.
    """
    title, _, facet = line.query_id.partition("/")
    if line.facet_id is not None or not (title and facet):
        return line
    where = {"query_id": title, "facet_id": facet}
    text = line.query_text.rpartition(_FACET_MARK)[2]
    items = [item.model_copy(update=where) for item in line.items]
    return line.model_copy(update={**where, "facet_text": text, "items": items})


def entry_id(query_id: str, text: str, facet_id: str | None = None) -> str:
    """Return the id of a new entry: ``query[/facet]/md5`` of the stripped text."""
    return _id_of(query_id, text.strip(), facet_id)


def make_entry(
    kind: EntryKind,
    query_id: str,
    text: str,
    facet_id: str | None = None,
    identifier: str | None = None,
    **fields: Any,
) -> Entry:
    """Make a question or nugget; without an identifier it gets the id of a new entry."""
    key = identifier or entry_id(query_id, text, facet_id)
    where = {"query_id": query_id} | ({} if facet_id is None else {"facet_id": facet_id})
    if kind == "question":
        return Question(**where, question_id=key, question_text=text, **fields)
    return Nugget(**where, nugget_id=key, nugget_text=text, **fields)


def published_id(query_id: str, text: str, facet_id: str | None = None) -> str:
    """Return the id that the published implementation gives an entry: the text is not stripped."""
    return _id_of(query_id, text, facet_id)


def _id_of(query_id: str, text: str, facet_id: str | None) -> str:
    digest = _md5(text)
    return "/".join(part for part in (query_id, facet_id, digest) if part is not None)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


_MD5 = re.compile(r"[0-9a-f]{32}")
_LAST_NUMBER = 30
"""Highest list number that is tried; published prompts ask for ten questions."""


def is_stale(identifier: str, text: str) -> bool:
    """Whether the id of an entry is the digest of another text; false for an id without a digest.

    The digest may be of the text as it stands, of the stripped text, or of the text as the model wrote it,
    with a list number in front (``1. ``) or blanks at the end. Published banks have ids of all these texts.
    """
    digest = identifier.rpartition("/")[2]
    bare = text.strip()
    variants = list(dict.fromkeys((text, bare, f"{bare} ", f"{bare}  ")))
    numbers = (f"{number}{mark} " for number in range(1, _LAST_NUMBER + 1) for mark in ".)")
    candidates = (number + variant for number in chain([""], numbers) for variant in variants)
    return _MD5.fullmatch(digest) is not None and all(_md5(candidate) != digest for candidate in candidates)


def normalised_text(text: str) -> str:
    """Normalise case, whitespace and final punctuation of a text, to detect duplicates."""
    return " ".join(text.casefold().split()).rstrip(" .?!;:,")


@dataclass
class QueryBank:
    """All entries of one query, of all facets, in file order; of duplicate ids the first is kept.

    ``query_text`` is the text of the title query: that of a line without a facet if there is one, else the
    part that the query texts of all facets share. ``groups`` has the texts of the facets of entries, by id.
    """

    query_id: str
    query_text: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    _is_of_facets: bool = field(default=True, init=False, repr=False, compare=False)

    def add(self, line: BankLine) -> list[str]:
        """Add the entries of a line and return the duplicate ids in it, whose entries are not added."""
        self._add_text(line)
        duplicates = []
        for item in line.items:
            if item.entry_id in self.entries:
                duplicates.append(item.entry_id)
            else:
                self.entries[item.entry_id] = item
                self.groups[item.entry_id] = line.facet_text or ""
        return duplicates

    def _add_text(self, line: BankLine) -> None:
        if not line.query_text.strip():
            return
        if line.facet_id is None:
            if self._is_of_facets:
                self.query_text = line.query_text
            self._is_of_facets = False
        elif not self.query_text:
            self.query_text = line.title
        elif self._is_of_facets:
            pairs = zip(self.query_text.split(_FACET_MARK), line.title.split(_FACET_MARK), strict=False)
            shared = list(takewhile(lambda pair: pair[0] == pair[1], pairs))
            self.query_text = _FACET_MARK.join(first for first, _ in shared) or self.query_text


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
    def copies(self) -> dict[str, dict[str, Entry]]:
        """The entries of each query that has some, with copies, whose keys end with ``#2``, ``#3`` ..."""
        queries: dict[str, dict[str, Entry]] = {}
        for line in self.lines:
            entries = queries.setdefault(line.query_id, {})
            for entry in line.items:
                key, copies = entry.entry_id, 1
                while key in entries:
                    copies += 1
                    key = f"{entry.entry_id}#{copies}"
                entries[key] = entry
        return {query_id: entries for query_id, entries in queries.items() if entries}

    @cached_property
    def kinds(self) -> set[EntryKind]:
        """The kinds of entries in the bank."""
        return {entry.kind for query in self for entry in query.entries.values()}

    @cached_property
    def combined(self) -> set[Combine]:
        """How the groups of entries are earned; empty without groups."""
        entries = (entry for line in self.lines for entry in line.items)
        return {entry.combine for entry in entries if entry.group is not None}

    @cached_property
    def has_criteria(self) -> bool:
        """Whether nuggets are criteria: what an answer does or should avoid, which only a reader can tell."""
        return self._is_of(CRITERIA) or any(
            item.kind == "nugget" and item.weight < 0 for line in self.lines for item in line.items
        )

    @cached_property
    def has_references(self) -> bool:
        """Whether nuggets are reference answers, with which a reader compares an answer as a whole."""
        return self._is_of(REFERENCES)

    def _is_of(self, target: str) -> bool:
        return any(isinstance(line.info, dict) and line.info.get(TARGET) == target for line in self.lines)

    def require_kind(self, kind: EntryKind, subject: str, hint: str = "") -> None:
        """Check that all entries are of one kind.

        Args:
            kind: The required kind.
            subject: Subject of the message, such as ``A nugget score``.
            hint: What to do instead.

        Raises:
            SelectionError: The bank contains entries of the other kind.
        """
        if other_kinds := self.kinds - {kind}:
            raise SelectionError(
                f"{subject} needs a bank of {kind}s, but the bank contains {other_kinds.pop()}s.{hint}"
            )


WRITER = "bank writer"
"""The role of the model that wrote the entries."""
WRITERS = {"gpt_model": WRITER, "importance_model": "labeller of importance"}
"""Keys of the ``info`` of bank lines with names of models, to their roles."""


def writers(bank: TestBank | None) -> list[tuple[str, str]]:
    """Roles and names of the models that made a bank, as its ``info`` records them."""
    names = {
        (role, record[key])
        for line in (() if bank is None else bank.lines)
        for record in (line.info, *(item.info for item in line.items))
        if isinstance(record, dict)
        for key, role in WRITERS.items()
        if isinstance(record.get(key), str) and record[key].strip()
    }
    return sorted(names)


def written_by(bank: TestBank | None) -> tuple[str, ...]:
    """The names of the models that wrote the entries of a bank."""
    return tuple(name for role, name in writers(bank) if role == WRITER)


HISTORY = "history"
"""The key of a line's ``info`` that lists the edits applied to it."""


def changes_while_looking(bank: TestBank | None) -> tuple[str, ...]:
    """A sentence on what people changed while they saw the leaderboard; none if they changed nothing."""
    counts = Counter(
        record.get("op")
        for line in (() if bank is None else bank.lines)
        for record in (line.info.get(HISTORY) if isinstance(line.info, dict) else None) or ()
        if isinstance(record, dict) and "at" in record
    )
    drafts = counts.pop("discard", 0)
    made = listed([f"{number} × {op}" for op, number in counts.items()])
    parts = [f"{sum(counts.values())} made ({made})"] * bool(counts)
    parts += [f"{drafts} only looked at"] * bool(drafts)
    subject = "Changes of the bank beside the leaderboard"
    return (f"{subject}: {', '.join(parts)}; the intervals do not cover this choice.",) * bool(parts)
