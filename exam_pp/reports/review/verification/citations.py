"""Report on citations: statement, cited passage and label, most doubtful first."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.data_model import SUPPORT_LABELS
from exam_pp.packed import LazySequence
from exam_pp.phases.review.verification.citations import UNGRADED, CheckedCitation, CheckedCitations
from exam_pp.rendering.document import Block, Heading, Paragraph, Quote, Report, Table
from exam_pp.reports.review.verification.base import omission
from exam_pp.reports.review.verification.cards import page_of
from exam_pp.text.wording import counted, listed

_COLUMNS = (
    "query_id", "system", "part_id", "citation", "label", "shared_words", "reply", "reason",
    "statement", "text",
)  # fmt: skip


def summary(checked: CheckedCitations) -> str:
    """The number of citations with each label, and of those without a grade or a passage."""
    labels = [f"{checked.labels[label]} {label}" for label in (*reversed(SUPPORT_LABELS), UNGRADED)]
    text = f"{counted(checked.labels.total(), 'citation')}: {', '.join(labels)}."
    if checked.missing:
        are = counted(checked.missing.total(), "citation names a passage", "citations name passages")
        text += f" {are} not in the file, or without text: {listed(sorted(checked.missing))}."
    return text


def citations_report(checked: CheckedCitations, *, flat: bool = False) -> Report:
    """The report; with ``flat`` only a table for scripts, with a row for each citation."""
    names = [name for name in checked.grader[:2] if name]
    title = f"Citations: {' by '.join(reversed(names)) or 'unknown grader'}"
    if flat:
        rows = [
            [
                item.query_id, item.system, item.part_id, item.citation, item.label, item.shared, item.reply,
                item.reason, item.statement, item.text,
            ]
            for item in checked.citations.items()
        ]  # fmt: skip
        return Report(title, [Table(_COLUMNS, rows)], checked.provenance)
    return Report(title, LazySequence(lambda: _blocks(checked)), checked.provenance)


def _blocks(checked: CheckedCitations) -> Iterator[Block]:
    yield Paragraph(summary(checked))
    items = checked.citations.items()
    for item in items:
        yield Heading(f"{item.part_id} cites {item.citation}: {item.label}")
        yield Paragraph(_description(item))
        yield Quote(item.statement, "statement")
        yield Quote(page_of(item.text), f"passage {item.citation}")
        if item.reply:
            yield Quote(item.reply, "reply")
    yield from omission(checked.citations.omitted, "citation", len(items))


def _description(item: CheckedCitation) -> str:
    reason = f" Ungraded: {item.reason}." if item.reason else ""
    return (
        f"Query {item.query_id}, system {item.system}. The passage has {item.shared:.0%} of the words of the "
        f"statement.{reason}"
    )
