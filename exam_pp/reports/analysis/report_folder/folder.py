"""The writer of the folder of `exam-pp evaluate report`: files, and the blocks that the page shows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from exam_pp.rendering.document import Block, Heading, Link, Report
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.report_folder.inputs import GradeSet
from exam_pp.store.files import write_text


class ReportFolder:
    """Writes the files of the sections, and collects their blocks in order.

    ``left_out`` are the sections without inputs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blocks: list[Block] = []
        self.left_out: list[tuple[str, str, str]] = []
        self._section = ""

    def section(self, title: str, grade_set: GradeSet | None = None) -> str:
        """Add the headings of a section, and return its title with the grader."""
        if title != self._section:
            self._section = title
            self.blocks.append(Heading(title))
        name = "" if grade_set is None else grade_set.name
        if name:
            self.blocks.append(Heading(name, level=2))
        return titled(title, name)

    def skip(self, section: str, reason: str, to_add: str) -> None:
        """Name a section that is left out, why, and the option or command that adds it."""
        self.left_out.append((section, reason, to_add))

    def add(self, blocks: Iterable[Block]) -> None:
        """Add blocks to the page."""
        self.blocks += blocks

    def link(self, name: str, about: str) -> None:
        """Add a link to a file of the folder."""
        self.blocks.append(Link(f"{name}: {about}", name))

    def text(self, name: str, text: str, about: str) -> None:
        """Write a text, and add a link to it."""
        write_text(self.path / name, text)
        self.link(name, about)

    def table(self, name: str, report: Report, about: str) -> None:
        """Write the tables of a report as TSV, and add a link to them."""
        self.text(name, render(report, "tsv"), about)


def titled(title: str, name: str) -> str:
    """The title of a section with the name of a grader or bank, which may be empty."""
    return f"{title}: {name}" if name else title
