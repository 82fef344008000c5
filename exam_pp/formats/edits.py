"""Edits files: changes to a bank and ratings, made by a reviewer or by ``exam-pp bank clinic``."""

from __future__ import annotations

from pathlib import Path

from exam_pp.edits import FORMAT, Edits
from exam_pp.formats.base import Format, Schema, register
from exam_pp.formats.sample import fits
from exam_pp.records import Record
from exam_pp.store.banks.edits import read_edits


def _changes(path: Path) -> list[Record]:
    edits = read_edits(path)
    return [*edits.ratings, *edits.supports, *edits.bank, *edits.games]


register(
    Format(
        "edits", "edits", "edits file of a reviewer",
        fits(lambda sample: sample.object.get("format") == FORMAT), _changes, "change",
        schema=Schema("edits", "an edits file", Edits),
    ),
)  # fmt: skip
