"""Tables of the findings of checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from exam_pp.phases.validation.checks import CHECKS, Findings, Level
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.text.wording import counted


def findings_report(findings: Findings, *, flat: bool = False) -> Report:
    """Return the tables of files, checks and findings; with ``flat`` only the findings."""
    rows: list[Sequence[Cell]] = [
        (f.level, f.check, f.file, f.line, f.where, f.message) for f in findings.kept
    ]
    listed = Table(("level", "check", "file", "line", "where", "finding"), rows, "Findings")
    if flat:
        return Report("", [listed])
    errors, warnings = findings.number("error"), findings.number("warning")
    blocks: list[Block] = [
        Table(("file", "kind", "contents"), findings.files, "Files"),
        Paragraph(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}."),
    ]
    if findings.counts:
        order = {name: number for number, name in enumerate(CHECKS)}
        totals: Counter[tuple[str, Level]] = Counter()
        for (_, check, level), count in findings.counts.items():
            totals[check, level] += count
        summary = [
            (level, check, totals[check, level], CHECKS[check].description)
            for check, level in sorted(totals, key=lambda key: (key[1], order[key[0]]))
        ]
        blocks += [Table(("level", "check", "findings", "meaning"), summary, "Checks"), listed]
        if unlisted := errors + warnings - len(findings.kept):
            further = counted(unlisted, "further finding is", "further findings are")
            blocks.append(Paragraph(f"{further} not listed (--limit 0 lists all)."))
    return Report("", blocks)
