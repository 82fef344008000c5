"""Edits files: what a reviewer or the clinic changed."""

from __future__ import annotations

from exam_pp.edits import FORMAT, Edits
from exam_pp.formats.base import Format, Schema, register
from exam_pp.formats.sample import fits

register(
    Format(
        "edits", "edits", "what a reviewer changed",
        fits(lambda sample: sample.object.get("format") == FORMAT),
        schema=Schema("edits", "an edits file", Edits),
    ),
)  # fmt: skip
