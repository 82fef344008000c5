"""Report on citations: statement, cited passage and label, most doubtful first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.data_model import SUPPORT_LABELS, CitationSupport, Passage
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter
from exam_pp.plugins.rag_metrics.citations import (
    GradedCitation,
    citation_grader,
    cited_answers,
    provenance_of,
)
from exam_pp.rendering.document import Block, Heading, Paragraph, Quote, Report, Table
from exam_pp.reports.review.verification.parts import card_text, omission
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.stemming import content_stems
from exam_pp.text.wording import counted, listed, no_query

_UNGRADED = "ungraded"
_COLUMNS = (
    "query_id", "system", "part_id", "citation", "label", "shared_words", "reply", "reason",
    "statement", "text",
)  # fmt: skip


@dataclass(frozen=True)
class _Citation:
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
        return (self.grade and self.grade.support) or _UNGRADED

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


def citations(
    graded: str | Path,
    selection: AnswerFilter,
    *,
    queries: Collection[str] = (),
    limit: int | None = None,
    flat: bool = False,
) -> Report:
    """The ``limit`` most doubtful citations of a graded file, each with its texts.

    ``queries``: Ids of the queries to read; empty for all. With ``flat``, one table with a row per citation.
    """
    chosen = [query for query in read_passages(graded) if not queries or query.query_id in queries]
    read = {query.query_id for query in chosen}
    if unknown := sorted(set(queries) - read):
        raise SelectionError(no_query(graded, unknown[0], read))
    answers = [(query.query_id, answer) for query in chosen for answer in cited_answers(query, selection)]
    grader = citation_grader((answer for _, answer in answers), selection, str(graded))
    items = [
        (query_id, output.name, part.passage, item)
        for query_id, (output, parts) in answers
        for part, of_part in parts
        for item in of_part
    ]
    missing = Counter(item.citation for *_, item in items if item.is_missing)
    found = [
        _Citation(
            query_id, system, part.passage_id, part.text, item.citation,
            item.passage.text if item.passage else "", item.grade, item.value, _shared(part, item),
        )
        for query_id, system, part, item in items
        if not item.is_missing
    ]  # fmt: skip
    found.sort(key=lambda item: (-item.doubt, item.part_id, item.citation))
    names = [name for name in grader[:2] if name]
    title = f"Citations: {' by '.join(reversed(names)) or 'unknown grader'}"
    blocks = [_table(found[:limit])] if flat else _blocks(found, limit)
    summary = Paragraph(_summary(found, missing))
    return Report(title, [summary, *blocks], provenance_of(grader, len(read)))


def _shared(part: Passage, item: GradedCitation) -> float:
    """The share of the stems of a part that the cited passage has."""
    stems = frozenset(content_stems(part.text))
    cited = set(content_stems(item.passage.text if item.passage else ""))
    return len(stems & cited) / len(stems) if stems else 0.0


def _summary(found: Sequence[_Citation], missing: Counter[str]) -> str:
    """The number of citations with each label, and of those without a grade or a passage."""
    counts = Counter(item.label for item in found)
    labels = [f"{counts[label]} {label}" for label in (*reversed(SUPPORT_LABELS), _UNGRADED)]
    text = f"{counted(len(found), 'citation')}: {', '.join(labels)}."
    if missing:
        are = counted(missing.total(), "citation names a passage", "citations name passages")
        text += f" {are} not in the file, or without text: {listed(sorted(missing))}."
    return text


def _table(shown: Sequence[_Citation]) -> Table:
    rows = [
        [
            item.query_id, item.system, item.part_id, item.citation, item.label, item.shared, item.reply,
            item.reason, item.statement, item.text,
        ]
        for item in shown
    ]  # fmt: skip
    return Table(_COLUMNS, rows)


def _blocks(found: Sequence[_Citation], limit: int | None) -> list[Block]:
    shown = found[:limit]
    blocks: list[Block] = []
    for item in shown:
        reason = f" Ungraded: {item.reason}." if item.reason else ""
        blocks += [
            Heading(f"{item.part_id} cites {item.citation}: {item.label}"),
            Paragraph(
                f"Query {item.query_id}, system {item.system}. The passage has {item.shared:.0%} of the "
                f"words of the statement.{reason}"
            ),
            Quote(item.statement, "statement"),
            Quote(card_text(item.text), f"passage {item.citation}"),
            *([Quote(item.reply, "reply")] if item.reply else []),
        ]
    return blocks + omission(len(found) - len(shown), "citation", len(shown))
