"""Edits files (``edits.json``): ratings, labels of citations, decided games, and changes of a test bank.

The review page writes the ratings, labels and bank changes of a reviewer, the page of games the winners of
games, and `exam-pp bank clinic` proposes removals. `exam-pp apply` adds ratings and labels to a
graded file and makes games of decided games; `exam-pp bank apply` changes a bank.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, model_validator

from exam_pp.data_model import Id, Integer, Number, SupportLabel
from exam_pp.games import Winner
from exam_pp.records import Record
from exam_pp.test_bank import EntryKind

FORMAT: Literal["exam_pp.edits.v1"] = "exam_pp.edits.v1"

BankOp = Literal["add", "reword", "remove", "weight", "importance", "add_gold_answer"]


class HumanRating(Record):
    """The rating that a reviewer gave a passage for a bank entry."""

    query_id: Id
    passage_id: Id
    entry_id: Id = Field(alias="id")
    rating: Integer
    comment: str | None = None


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


class BankEdit(Record):
    """One change of a bank.

    Every ``op`` except ``add`` needs the id of the entry (``entry_id``, in files ``id``). ``add`` and
    ``reword`` need a ``text``. The ``value`` of ``weight`` is a number of at least 0, that of ``importance``
    is ``vital`` or ``okay``, and that of ``add_gold_answer`` is a text. ``facet_id`` and ``kind`` are the
    facet and the kind of an added entry, if the bank has several.
    """

    op: BankOp
    query_id: Id
    entry_id: Id | None = Field(default=None, alias="id")
    text: str | None = None
    value: Number | str | None = None
    reason: str | None = None
    facet_id: Id | None = None
    kind: EntryKind | None = None

    @model_validator(mode="after")
    def _check_fields_of_op(self) -> BankEdit:
        if self.op != "add" and self.entry_id is None:
            raise ValueError(f'op {self.op!r} needs an "id"')
        if self.op in ("add", "reword") and not (self.text or "").strip():
            raise ValueError(f'op {self.op!r} needs a "text" that is not empty')
        if self.op == "weight" and not (isinstance(self.value, float) and 0 <= self.value < float("inf")):
            raise ValueError("op 'weight' needs a \"value\" that is a number of at least 0")
        if self.op == "importance" and self.value not in ("vital", "okay"):
            raise ValueError("op 'importance' needs the \"value\" 'vital' or 'okay'")
        if self.op == "add_gold_answer" and not (isinstance(self.value, str) and self.value.strip()):
            raise ValueError("op 'add_gold_answer' needs a \"value\" that is a text and not empty")
        return self


class Edits(Record):
    """An edits file: ratings and labels of citations for a graded file, changes of a bank, decided games.

    The digests (:func:`canonical_sha256`) identify the reviewed files; None if they are unknown.
    """

    format: Literal["exam_pp.edits.v1"]
    graded_sha256: str | None = None
    bank_sha256: str | None = None
    reviewer: str = ""
    ratings: list[HumanRating] = Field(default_factory=list)
    supports: list[HumanSupport] = Field(default_factory=list)
    bank: list[BankEdit] = Field(default_factory=list)
    games: list[HumanGame] = Field(default_factory=list)


def canonical_sha256(lines: Iterable[Any]) -> str:
    """Return the SHA-256 (hex) of decoded JSON lines, written with sorted keys, no spaces and a line end.

    A file has the same digest as a copy that is compressed, reformatted or has its keys in another order.
    """
    digest = hashlib.sha256()
    for line in lines:
        text = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()
