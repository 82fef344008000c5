"""What a reviewer changed, as data: the edits file (``edits.json``).

A person who checks grades overrides ratings and improves the bank; the clinic proposes removals. Both
write the same file, which is applied to a graded file and to a bank later, elsewhere, by anyone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, model_validator

from exam_pp.data_model import Id, Record
from exam_pp.test_bank import EntryKind

FORMAT: Literal["exam_pp.edits.v1"] = "exam_pp.edits.v1"

BankOp = Literal["add", "reword", "remove", "weight", "importance", "add_gold_answer"]


class HumanRating(Record):
    """A rating that a person gave a passage for a bank entry."""

    query_id: Id
    passage_id: Id
    entry_id: Id = Field(alias="id")
    rating: int
    comment: str | None = None


class BankEdit(Record):
    """One change of a bank.

    Every ``op`` but ``add`` names the entry (``entry_id``, in files ``id``). ``add`` and ``reword`` have a
    ``text``; ``weight`` (a number from 0), ``importance`` (``vital`` or ``okay``) and ``add_gold_answer`` (a
    text) have a ``value``. ``facet_id`` and ``kind`` say where an added entry belongs, where the bank
    leaves that open.
    """

    op: BankOp
    query_id: Id
    entry_id: Id | None = Field(default=None, alias="id")
    text: str | None = None
    value: float | str | None = None
    reason: str | None = None
    facet_id: Id | None = None
    kind: EntryKind | None = None

    @model_validator(mode="after")
    def _has_what_the_op_needs(self) -> BankEdit:
        if self.op != "add" and self.entry_id is None:
            raise ValueError(f"the op {self.op!r} needs an id")
        if self.op in ("add", "reword") and not (self.text or "").strip():
            raise ValueError(f"the op {self.op!r} needs a text")
        if self.op == "weight" and not (isinstance(self.value, float) and 0 <= self.value < float("inf")):
            raise ValueError("the op 'weight' needs a value that is a number from 0")
        if self.op == "importance" and self.value not in ("vital", "okay"):
            raise ValueError("the op 'importance' needs the value 'vital' or 'okay'")
        if self.op == "add_gold_answer" and not (isinstance(self.value, str) and self.value.strip()):
            raise ValueError("the op 'add_gold_answer' needs a value that is a text")
        return self


class Edits(Record):
    """An edits file: ratings for a graded file, changes of a bank.

    The digests (:func:`canonical_sha256`) say which files were reviewed; None where that is not known.
    """

    format: Literal["exam_pp.edits.v1"]
    graded_sha256: str | None = None
    bank_sha256: str | None = None
    reviewer: str = ""
    ratings: list[HumanRating] = Field(default_factory=list)
    bank: list[BankEdit] = Field(default_factory=list)


def canonical_sha256(lines: Iterable[Any]) -> str:
    """SHA-256 of decoded JSON lines in one spelling: sorted keys, no spaces, UTF-8, each with a line end.

    So a file and its compressed, reformatted or re-keyed copies have the same digest.
    """
    digest = hashlib.sha256()
    for line in lines:
        text = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()
