"""Report on citations: statement, cited passage and label, most doubtful first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.cli.review.verification.base import Smallest, omission
from exam_pp.cli.review.verification.cards import page_of
from exam_pp.data_model import SUPPORT_LABELS, CitationSupport
from exam_pp.errors import SelectionError
from exam_pp.packed import LazySequence
from exam_pp.phases.evaluation.citations import (
    AnswerFilter,
    CitationGrader,
    CitationReader,
    provenance_of,
)
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Block, Heading, Paragraph, Quote, Report, Table
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.stemming import content_stems
from exam_pp.text.wording import counted, listed, no_query

UNGRADED = "ungraded"
_NO_GRADER = CitationGrader("", "", "")


@dataclass(frozen=True)
class CheckedCitation:
    """A statement with a passage that it cites, and its grade.

    ``grade``: The grade; None if the grader has none for this citation. ``value``: The value of the support,
    from 0 to 1; None if ungraded. ``shared``: Share of the words of the statement, stemmed and without stop
    words, that the passage has.
    """

    query_id: str
    system: str
    part_id: str
    statement: str
    citation: str
    text: str
    grade: CitationSupport | None
    value: float | None
    shared: float

    @property
    def label(self) -> str:
        """The label, or ``ungraded``."""
        return (self.grade and self.grade.support) or UNGRADED

    @property
    def reply(self) -> str | None:
        """The reply, unless it is the label alone."""
        answer = self.grade.answer if self.grade else None
        return None if answer is None or answer.strip() == self.label else answer

    @property
    def reason(self) -> str | None:
        """Why the citation is ungraded."""
        if self.value is not None:
            return None
        if self.grade is None:
            return "not graded"
        return str((self.grade.error or {}).get("failure_reason", "no reason recorded"))

    @property
    def doubt(self) -> float:
        """Difference of the value of the label and the share of words, in 0..1; 2 if ungraded."""
        return 2.0 if self.value is None else abs(self.value - self.shared)


@dataclass
class CheckedCitations:
    """The most doubtful citations, and counts of all: by label, and the ids of missing passages."""

    citations: Smallest[CheckedCitation]
    labels: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    grader: CitationGrader = _NO_GRADER
    provenance: Provenance = field(default_factory=Provenance)


def check_citations(
    graded: str | Path,
    selection: AnswerFilter,
    *,
    queries: Collection[str] = (),
    limit: int | None = None,
) -> CheckedCitations:
    """Read the citations of a graded file, and keep the most doubtful ones.

    ``queries``: Ids of the queries to read; empty for all. ``limit``: Number of citations to keep; None for
    all.
    """
    reader = CitationReader(selection)
    checked = CheckedCitations(Smallest(limit))
    read: set[str] = set()
    for query in read_passages(graded):
        if queries and query.query_id not in queries:
            continue
        read.add(query.query_id)
        for output, parts in reader.answers(query):
            for part, citations in parts:
                stems = frozenset(content_stems(part.passage.text))
                for item in citations:
                    if item.is_missing:
                        checked.missing[item.citation] += 1
                        continue
                    text = item.passage.text if item.passage else ""
                    shared = len(stems & set(content_stems(text))) / len(stems) if stems else 0.0
                    pair = CheckedCitation(
                        query.query_id, output.name, part.passage.passage_id, part.passage.text,
                        item.citation, text, item.grade, item.value, shared,
                    )  # fmt: skip
                    checked.labels[pair.label] += 1
                    checked.citations.add((-pair.doubt, pair.part_id, pair.citation), pair)
    if unknown := sorted(set(queries) - read):
        raise SelectionError(no_query(graded, unknown[0], read))
    checked.grader = reader.grader(str(graded))
    checked.provenance = provenance_of(checked.grader, len(read))
    return checked


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
