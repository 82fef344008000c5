"""Table of the file formats that ``exam-pp convert`` reads and writes."""

from __future__ import annotations

from exam_pp.formats.base import all_formats
from exam_pp.phases.interchange.bridges import BRIDGES
from exam_pp.rendering.document import Paragraph, Report, Table


def conversion_rows() -> list[tuple[str, str, str | None, str | None, str]]:
    """Content, name, reader, writer and description of every format.

    Reader and writer are ``"yes"`` for ``exam-pp convert``, or the command to use instead.
    """
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
    """The formats, and the conversions between contents."""
    bridges = "; ".join(f"{source} to {target}" for source, target in BRIDGES)
    text = f"Formats with the same content can be converted to each other. Other conversions: {bridges}."
    columns = ("content", "format", "in", "out", "description")
    return Report("", [Table(columns, conversion_rows()), Paragraph(text)])
