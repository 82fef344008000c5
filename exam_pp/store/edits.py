"""Edits files: changes of a reviewer or the clinic, and the SHA-256 digests of the reviewed files.

Edits files (``edits.json``): ratings, labels of citations, decided games, and changes of a test bank.

The review page writes the ratings, labels and bank changes of a reviewer, the page of games the winners of
games, and `exam-pp bank clinic` proposes removals. `exam-pp apply` adds ratings and labels to a
graded file and makes games of decided games; `exam-pp bank apply` changes a bank.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal
from unicodedata import normalize

import msgspec
from pydantic import Field, model_validator

from exam_pp.banks import HIGHEST_WEIGHT, EntryKind
from exam_pp.data_model import HUMAN, Id, Integer, Number, SupportLabel, is_human
from exam_pp.errors import DataError, SelectionError
from exam_pp.games import Winner
from exam_pp.models import Record
from exam_pp.plugins import needed
from exam_pp.store.files import read_lines, read_text, write_text
from exam_pp.store.parsing import parse_json, read_document

log = logging.getLogger(__name__)

FORMAT: Literal["exam_pp.edits.v1"] = "exam_pp.edits.v1"

BankOp = Literal["add", "reword", "remove", "weight", "importance", "add_gold_answer", "discard"]
LIVE_FORMAT = "exam_pp.live.v1"
"""The format of the log of `exam-pp serve`, which is read as an edits file."""


class HumanRating(Record):
    """The rating that a reviewer gave a passage for a bank entry.

    With a ``key``, digests of the texts of entry and passage, it counts for every pair with these texts,
    whatever the ids. A rating without one is of the file that was reviewed. ``by`` rated, in place of the
    reviewer of the file. A rating that ``resolves`` a disagreement counts in place of the median.
    """

    query_id: Id
    passage_id: Id
    entry_id: Id = Field(alias="id")
    rating: Integer
    comment: str | None = None
    key: str | None = None
    by: str | None = None
    resolves: bool = False


class HumanSupport(Record):
    """The label that a reviewer gave a citation: how far the cited passage supports the part that cites it.

    ``passage_id`` is the id of the part of the answer, ``citation`` that of the cited passage.
    """

    query_id: Id
    passage_id: Id
    citation: Id
    support: SupportLabel
    comment: str | None = None


class HumanGame(Record):
    """The decision of a reviewer on a game between two answers, whose systems the reviewer does not know.

    ``game_id`` (in files ``id``) stands for the answers and their places; ``exam-pp apply`` finds them
    by it. ``winner`` is None for a skipped game, which is not a tie.
    """

    query_id: Id
    game_id: Id = Field(alias="id")
    winner: Winner | None
    comment: str | None = None


class Span(Record):
    """A text that an author selected for an entry, with its place in code points."""

    passage_id: Id
    start: Integer = Field(ge=0)
    end: Integer
    text: str


class BankEdit(Record):
    """One change of a bank.

    Every ``op`` except ``add`` needs the id of the entry (``entry_id``, in files ``id``). ``add`` and
    ``reword`` need a ``text``. The ``value`` of ``weight`` is a number, that of ``importance``
    is ``vital`` or ``okay``, and that of ``add_gold_answer`` is a text. ``facet_id`` and ``kind`` are the
    facet and the kind of an added entry, if the bank has several; it may have an ``importance`` and a
    ``weight``. ``discard`` only records a change that somebody looked at and did not make. ``by`` and ``at``
    (ISO 8601) say who made it when, ``spans`` are what an entry is made of.
    """

    op: BankOp
    query_id: Id
    entry_id: Id | None = Field(default=None, alias="id")
    text: str | None = None
    value: Number | str | None = None
    reason: str | None = None
    facet_id: Id | None = None
    kind: EntryKind | None = None
    importance: Literal["vital", "okay"] | None = None
    weight: Annotated[Number, Field(ge=-HIGHEST_WEIGHT, le=HIGHEST_WEIGHT)] | None = None
    by: str | None = None
    at: str | None = None
    spans: list[Span] | None = None

    @model_validator(mode="after")
    def _check_fields_of_op(self) -> BankEdit:
        if self.op not in ("add", "discard") and self.entry_id is None:
            raise ValueError(f'op {self.op!r} needs an "id"')
        if self.op in ("add", "reword") and not (self.text or "").strip():
            raise ValueError(f'op {self.op!r} needs a "text" that is not empty')
        if self.op == "weight" and not (isinstance(self.value, float) and abs(self.value) <= HIGHEST_WEIGHT):
            raise ValueError("op 'weight' needs a \"value\" that is a number, up to a billion")
        if self.op == "importance" and self.value not in ("vital", "okay"):
            raise ValueError("op 'importance' needs the \"value\" 'vital' or 'okay'")
        if self.op == "add_gold_answer" and not (isinstance(self.value, str) and self.value.strip()):
            raise ValueError("op 'add_gold_answer' needs a \"value\" that is a text and not empty")
        return self


class Edits(Record):
    """An edits file: ratings and labels of citations for a graded file, changes of a bank, decided games.

    The digests (:func:`file_sha256`) identify the reviewed files; None if they are unknown. ``cutoff`` is the
    depth of the leaderboard that the reviewer saw; None for the default of the file.
    """

    format: Literal["exam_pp.edits.v1"]
    graded_sha256: str | None = None
    bank_sha256: str | None = None
    cutoff: Integer | None = Field(default=None, ge=1)
    reviewer: str = ""
    ratings: list[HumanRating] = Field(default_factory=list)
    supports: list[HumanSupport] = Field(default_factory=list)
    bank: list[BankEdit] = Field(default_factory=list)
    games: list[HumanGame] = Field(default_factory=list)

    @property
    def people(self) -> set[str | None]:
        """Who rated, if it is not the reviewer of the file."""
        return {rating.by for rating in self.ratings if rating.by is not None}

    @property
    def is_by_content(self) -> bool:
        """Whether all ratings have keys, and no citations are labelled, so that any file may be graded."""
        return not self.supports and all(rating.key is not None for rating in self.ratings)


def read_edits(path: str | Path) -> Edits:
    """Read an edits file, or the log of `exam-pp serve`; raises :class:`DataError` with the field.

    A plug-in offers ``edits of a log``: a function of its text and path.
    """
    text = read_text(path)
    if LIVE_FORMAT in text[:100]:
        edits: Edits = needed("edits of a log", "serve")(text, path)
        return edits
    return read_document(Edits, path, FORMAT, "an edits file", text=text)


def write_edits(edits: Edits, path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write an edits file atomically; keys that were never set are not written."""
    text = edits.model_dump_json(by_alias=True, exclude_unset=True, indent=1)
    write_text(path, text + "\n", inputs=inputs)


def file_sha256(path: str | Path) -> str:
    """Return the SHA-256 (hex) of a JSON lines file, written with sorted keys, no spaces and a line end.

    A file (bank or graded passages) has the same digest as a copy that is compressed, reformatted or has its
    keys in another order. Raises :class:`DataError`.
    """
    digest = hashlib.sha256()
    for number, line in read_lines(path):
        digest.update(_canonical(line, path, number) + b"\n")
    return digest.hexdigest()


def _canonical(line: bytes, path: str | Path, number: int) -> bytes:
    try:
        return _SORTED.encode(_DECODER.decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Web text can have lone surrogates. The readers of passages accept them, so the digest does, too.
        value = parse_json(line, path, number, surrogates=True)
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")


# Numbers as json writes them, in a fifth of its time. Long integers are given to the hook of floats, too.
_DECODER = msgspec.json.Decoder(
    float_hook=lambda text: msgspec.Raw(
        (text if text.lstrip("-").isdigit() else json.dumps(float(text))).encode()
    )
)
_SORTED = msgspec.json.Encoder(order="sorted")


def check_reviewed(
    known: str | None, reviewed: str | Path, edits: str | Path, field: str, noun: str, parts: str
) -> None:
    """Raise :class:`DataError` unless ``known`` is the digest of the reviewed file.

    For the message: ``field`` is the key of ``known`` in the edits file, ``noun`` names the reviewed file,
    and ``parts`` names its records.
    """
    if known == file_sha256(reviewed):
        return
    problem = (
        f"the edits file does not record for which {noun} it was made"
        if known is None
        else f"the edits are for another {noun} than {reviewed}, or it has changed since the review"
    )
    raise DataError(
        f"{problem}. Review it again, or use `exam-pp {'bank ' * (noun == 'bank')}apply --force` if the "
        f"{parts} of {reviewed} are those that were reviewed.",
        file=str(edits), field=field,
    )  # fmt: skip


def check_one_file(reviewer: str | None, edits: Sequence[Path], people: Collection[str | None] = ()) -> None:
    """Raise SelectionError if a name is given for several edits files or people."""
    if reviewer is not None and len(people) > 1:
        raise SelectionError(
            f"--reviewer would give the ratings of {len(people)} people to {reviewer!r}: leave it out."
        )
    if reviewer is not None and len(edits) > 1:
        raise SelectionError(
            f"--reviewer would give the work of {len(edits)} EDITS files to {reviewer!r}, whoever made "
            "it. Apply each file alone with its --reviewer, or leave --reviewer out."
        )


def human_model(name: str) -> str | None:
    """The model name ``human:NAME`` of a person, with or without the prefix; None for an empty name.

    Blanks at the ends, repeated blanks, and the forms of Unicode make no other name.
    """
    name = " ".join(normalize("NFC", name).split()).removeprefix(HUMAN).strip()
    return HUMAN + name if name else None


def warn_of_similar_names(reviewers: Iterable[str], models: Iterable[str | None]) -> None:
    """Log names of reviewers that differ only in case, also from people among the models of a file."""
    first: dict[str, str] = {}
    for name in dict.fromkeys((*filter(None, models), *reviewers)):
        if is_human(name) and (other := first.setdefault(name.casefold(), name)) != name:
            log.warning(
                "%s and %s differ only in case and count as two people. If they are one, use --reviewer.",
                other, name,
            )  # fmt: skip


def reviewer_name(reviewer: str | None, edits: Edits, path: Path) -> str:
    """The model name ``human:NAME``: of ``reviewer``, else of the reviewer in the edits file.

    Raises :class:`DataError` if both are empty.
    """
    name = human_model(reviewer or edits.reviewer)
    if name is None:
        raise DataError("is empty; name the reviewer with --reviewer.", file=str(path), field="reviewer")
    return name
