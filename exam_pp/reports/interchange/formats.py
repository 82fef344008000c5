"""The formats of ``exam-pp convert`` as a table."""

from __future__ import annotations

from exam_pp.formats.base import all_formats
from exam_pp.phases.interchange.bridges import BRIDGES
from exam_pp.rendering.document import Paragraph, Report, Table


def conversion_rows() -> list[tuple[str, str, str | None, str | None, str]]:
    """Content, name, whether convert (or what else) reads and writes it, and description of every format."""
    formats = [f for f in all_formats() if f.read or f.write or f.read_by or f.written_by]
    contents = list(dict.fromkeys(form.content for form in formats))
    return [
        (
            form.content,
            form.name,
            "yes" if form.read else form.read_by,
            "yes" if form.write else form.written_by,
            form.about,
        )
        for content in contents
        for form in formats
        if form.content == content
    ]


def conversion_report() -> Report:
    """The formats, and which contents become which others."""
    ways = "; ".join(f"{one} to {other}" for one, other in BRIDGES)
    words = f"Formats of one content are converted into each other. Between contents: {ways}."
    return Report(
        "", [Table(("content", "format", "in", "out", "what it is"), conversion_rows()), Paragraph(words)]
    )
