"""Edits files: changes to a bank and ratings, made by a reviewer or by ``exam-pp bank clinic``."""

from __future__ import annotations

from exam_pp.edits import FORMAT, Edits
from exam_pp.formats.base import Format, Schema, register
from exam_pp.formats.sample import fits

register(
    Format(
        "edits", "edits", "edits file of a reviewer",
        fits(lambda sample: sample.object.get("format") == FORMAT),
        schema=Schema("edits", "an edits file", Edits),
    ),
)  # fmt: skip
