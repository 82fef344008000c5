"""Passages and grades of a query as columns, compact as JSON for the review page."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from exam_pp.banks import Combine, Entry
from exam_pp.data_model import (
    DIRECT_ID,
    DirectGrade,
    Passage,
    QueryPassages,
    RubricGrades,
    SupportGrades,
    SupportLabel,
)
from exam_pp.phases.review.content_keys import passage_key
from exam_pp.roles import outputs_of, role_of
from exam_pp.text.highlight import answer_spans


class Cell(NamedTuple):
    """The grade of a passage for a bank entry by one grader.

    ``rating`` is None for an ungraded pair, with the cause in ``reason``. ``reply`` is the model's raw reply,
    ``answer`` its extracted answer, ``cut`` the number of tokens of the passage that the model did not see.
    """

    rating: int | None = None
    source: str | None = None
    reply: str | None = None
    answer: str | None = None
    reason: str | None = None
    comment: str | None = None
    margin: float | None = None
    expected: float | None = None
    cut: int | None = None


_STRINGS = ("source", "reply", "answer", "reason", "comment")
"""Columns that hold indexes into the list of strings instead of strings."""

_MOST_SPANS = 100
"""Maximum number of matches of an answer that are marked in a passage."""


_Details = tuple[str | None, float | None, float | None]


def cells_of(grades: RubricGrades | DirectGrade) -> dict[str, Cell]:
    """Entry id to cell, for the ratings and errors of a set of grades."""
    if isinstance(grades, DirectGrade):
        replies: Mapping[str, str] = {} if grades.answer is None else {DIRECT_ID: grades.answer}
        details: dict[str, _Details] = {DIRECT_ID: (None, grades.margin, grades.expected)}
    else:
        replies = dict(grades.answers)
        details = {r.entry_id: (r.source, r.margin, r.expected) for r in grades.self_ratings or ()}
    errors = grades.failures()
    comments, cut = grades.comments or {}, grades.tokens_cut or {}
    ratings = grades.entry_ratings()
    cells: dict[str, Cell] = {}
    for key in [*ratings, *(key for key in errors if key not in ratings)]:
        source, margin, expected = details.get(key, (None, None, None))
        reply, reason = replies.get(key), None
        if key not in ratings:
            reply, reason = _failure(errors[key])
        cells[key] = Cell(
            ratings.get(key), source, reply, None, reason, comments.get(key), margin, expected, cut.get(key)
        )
    return cells


def _failure(error: Any) -> tuple[str | None, str]:
    """The reply that could not be parsed (or None), and the reason."""
    details = error if isinstance(error, dict) else {}
    reply = details.get("response")
    return reply if isinstance(reply, str) and reply else None, str(
        details.get("failure_reason") or "no reason recorded"
    )


@dataclass
class _Row:
    """A passage of the table."""

    passage_id: str
    text: str
    judgments: set[int] = field(default_factory=set)
    ranks: dict[str, int] = field(default_factory=dict)
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    citations: dict[str, Citation] = field(default_factory=dict)

    @property
    def texts(self) -> Iterator[str]:
        """The text of the passage and those of the passages that it cites."""
        yield self.text
        yield from (item.text for item in self.citations.values() if item.text is not None)


class QueryTable:
    """A query's passages × bank entries, graded by any number of graders.

    ``entries`` are the entries of the bank. With None, the entries are the ids in the grades, and the ids are
    shown as texts. Graded ids that the bank lacks are collected in ``foreign``. ``keys`` are those of the
    entries, by id.
    """

    def __init__(self, query_id: str, text: str, entries: Mapping[str, Entry] | None) -> None:
        self.query_id, self.text = query_id, text
        self._bank = entries
        self.entries: list[str] = list(entries or ())
        self.foreign: set[str] = set()
        self.keys: Mapping[str, str] = {}
        self._rows: dict[str, _Row] = {}
        self._asked: Mapping[str, Collection[str]] | None = None
        self._cover: dict[str, Any] = {}
        self._of_answers = True

    @property
    def texts(self) -> set[str]:
        """The texts of the passages and of those that they cite."""
        return {text for row in self._rows.values() for text in row.texts}

    @property
    def has_citations(self) -> bool:
        """Whether a passage is a part of an answer that cites passages."""
        return any(row.citations for row in self._rows.values())

    @property
    def has_whole_answers(self) -> bool:
        """Whether no system has more than one passage, which is its answer."""
        return self._of_answers and max(Counter(self.systems).values(), default=0) <= 1

    @property
    def systems(self) -> Iterator[str]:
        """The systems that returned passages, in order of appearance, with duplicates."""
        return (system for row in self._rows.values() for system in row.ranks)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, passage_id: object) -> bool:
        return passage_id in self._rows

    def add(
        self,
        passage: Passage,
        graded: Iterable[tuple[str, Mapping[str, Cell]]],
        citations: Mapping[str, Citation] | None = None,
    ) -> None:
        """Add a passage with its grades and citations; of several ratings of a pair the last one counts.

        If the passage id is known, its grades, ranks, judgments and citations are added to the known passage.
        """
        row = self._rows.setdefault(passage.passage_id, _Row(passage.passage_id, passage.text))
        row.citations |= citations or {}
        row.judgments.update(judgment.relevance for judgment in passage.judgments)
        for ranking in passage.rankings:
            self._of_answers &= role_of(self.query_id, passage.passage_id, ranking) == "answer"
            row.ranks[ranking.method] = min(ranking.rank, row.ranks.get(ranking.method, ranking.rank))
        for grader, cells in graded:
            for entry_id, cell in cells.items():
                if not self._knows(entry_id):
                    continue
                earlier = row.cells.get((grader, entry_id))
                if earlier is None or earlier.rating is None or cell.rating is not None:
                    row.cells[grader, entry_id] = cell

    def _knows(self, entry_id: str) -> bool:
        if entry_id in self.entries:
            return True
        if self._bank is not None and entry_id != DIRECT_ID:
            self.foreign.add(entry_id)
            return False
        self.entries.append(entry_id)
        return True

    def ask_only(self, asked: Mapping[str, Collection[str]]) -> None:
        """Drop all pairs except these (passage id to entry ids), so that the page asks about no others."""
        of_any = {entry_id for entry_ids in asked.values() for entry_id in entry_ids}
        self._asked = asked
        self.entries = [entry_id for entry_id in self.entries if entry_id in of_any]
        self._rows = {key: row for key, row in self._rows.items() if key in asked}
        for key, row in self._rows.items():
            row.cells = {pair: cell for pair, cell in row.cells.items() if pair[1] in asked[key]}

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """The pairs of passage and entry, as query id, passage id and entry id."""
        return (
            (self.query_id, passage_id, entry_id) for passage_id in self._rows for entry_id in self.entries
        )

    def head(self, graders: Sequence[str], highest: int, min_grade: int) -> dict[str, Any]:
        """The data that the page needs before the query is opened: text, entries and counts."""
        rows = self._rows.values()
        asked = {} if self._asked is None else {"asked": self._indexes(self._asked)}
        return {
            "id": self.query_id,
            "text": self.text,
            "entries": [self._entry(entry_id) for entry_id in self.entries],
            "passages": len(self._rows),
            "judged": sorted(Counter(max(row.judgments) for row in rows if row.judgments).items()),
            "graders": [self._counts(grader, highest, min_grade) for grader in graders],
        } | asked

    def _indexes(self, asked: Mapping[str, Collection[str]]) -> dict[str, list[int]]:
        """Passage id to the indexes of its entries."""
        return {
            passage_id: [
                index for index, entry_id in enumerate(self.entries) if entry_id in asked[passage_id]
            ]
            for passage_id in self._rows
        }

    def _entry(self, entry_id: str) -> dict[str, Any]:
        entry = (self._bank or {}).get(entry_id)
        if entry is None:
            return {"id": entry_id, "text": "the passage as a whole" if entry_id == DIRECT_ID else entry_id}
        required: dict[str, Any] = {"id": entry_id, "text": entry.text, "kind": entry.kind}
        optional = {
            "facet": entry.facet_id,
            "importance": entry.importance,
            "weight": entry.weight if entry.weight != 1 else None,
            "category": entry.category,
            "group": entry.group and f"{entry.combine} of: {entry.group_text or entry.group}",
            "golds": entry.gold_answers,
        }
        return required | {key: value for key, value in optional.items() if value is not None}

    def _counts(self, grader: str, highest: int, min_grade: int) -> dict[str, Any]:
        """The number of pairs for each rating, and the best ratings of passages by judgment.

        What an answer should avoid is not covered and does not make a passage better, but is a mistake.
        """
        ratings = [0] * (highest + 1)
        ungraded = 0
        covered: set[str] = set()
        mistakes: set[str] = set()
        avoided = {key for key, entry in (self._bank or {}).items() if entry.to_avoid}
        judged: dict[int, list[int]] = {}
        for row in self._rows.values():
            best = -1
            for entry_id in self.entries:
                cell = row.cells.get((grader, entry_id))
                if cell is None or cell.rating is None:
                    ungraded += cell is not None
                    continue
                level = min(max(cell.rating, 0), highest)
                ratings[level] += 1
                if entry_id not in avoided:
                    best = max(best, level)
                if cell.rating >= min_grade:
                    (mistakes if entry_id in avoided else covered).add(entry_id)
            if best >= 0 and row.judgments:
                judged.setdefault(max(row.judgments), [0] * (highest + 1))[best] += 1
        return {
            "ratings": ratings,
            "ungraded": ungraded,
            "covered": len(covered),
            "mistakes": len(mistakes),
            "judged": sorted(judged.items()),
        }

    def score_by(
        self, tops: Mapping[str, Sequence[str]], units: Sequence[tuple[float, Combine, list[int]]] | None
    ) -> None:
        """Set what the scores of the systems depend on besides ratings.

        ``tops`` maps each system to the ids of its passages within the cutoff. ``units`` are what counts
        once: its weight, how it is earned, and the places of its entries; with None, each entry that has a
        rating.
        """
        rows = {passage_id: index for index, passage_id in enumerate(self._rows)}
        places = {system: [rows[passage_id] for passage_id in top] for system, top in tops.items()}
        self._cover = {"cover": {"tops": places, "units": units}}

    def shuffle(self) -> None:
        """Order the passages by a hash of their ids, so that ranks and grades cannot be guessed."""
        ids = sorted(self._rows, key=lambda key: hashlib.sha256(key.encode("utf-8", "replace")).digest())
        self._rows = {passage_id: self._rows[passage_id] for passage_id in ids}

    def blind(self, name: Callable[[str], str], rated: Collection[tuple[str, str]]) -> None:
        """Leave out what a blind reviewer must not see: ids, systems, judgments, grades of unrated pairs.

        ``name`` makes the new id of a passage, ``rated`` are the pairs of passage and entry that the reviewer
        has rated.
        """
        self.shuffle()
        rows, self._rows = self._rows, {}
        for key, row in rows.items():
            cells = {pair: cell for pair, cell in row.cells.items() if (key, pair[1]) in rated}
            self._rows[name(key)] = _Row(name(key), row.text, cells=cells)

    def chunk(
        self, graders: Sequence[str], systems: Sequence[str], shared_texts: Mapping[str, int]
    ) -> dict[str, Any]:
        """The data that the page needs when the query is opened.

        ``texts`` has strings, or indexes of texts that several queries share. Columns of grades are ordered
        by passage, then entry; empty columns are omitted. ``spans`` has the starts and ends of the extracted
        answer in the passage, in UTF-16 units, as JavaScript counts. ``citations`` has a list for each
        passage; it is omitted if no passage cites another. ``cover`` is what :meth:`score_by` set.
        ``keys`` has those of the entries by id, and of the passages in the order of ``ids``.
        """
        all_texts = dict.fromkeys(text for row in self._rows.values() for text in row.texts)
        texts = {text: index for index, text in enumerate(all_texts)}
        system_indexes = {system: index for index, system in enumerate(systems)}
        strings: dict[str, int] = {}
        rows = list(self._rows.values())
        citations = [
            [
                {
                    "id": item.citation,
                    "text": None if item.text is None else texts[item.text],
                    "labels": [label._asdict() for label in item.labels.values()],
                }
                for item in row.citations.values()
            ]
            for row in rows
        ]
        return (
            {
                "texts": [shared_texts.get(text, text) for text in texts],
                "ids": [row.passage_id for row in rows],
                "text_of": [texts[row.text] for row in rows],
                "judgments": [sorted(row.judgments) for row in rows],
                "ranks": [
                    [
                        number
                        for system, rank in row.ranks.items()
                        for number in (system_indexes[system], rank)
                    ]
                    for row in rows
                ],
                "grades": [self._columns(grader, strings) for grader in graders],
                "strings": list(strings),
                "keys": {
                    "entries": self.keys,
                    "passages": [passage_key(self.text, row.text) for row in rows],
                },
            }
            | ({"citations": citations} if any(citations) else {})
            | self._cover
        )

    def _columns(self, grader: str, strings: dict[str, int]) -> dict[str, list[Any]]:
        blank = Cell()
        cells = [
            (row, row.cells.get((grader, entry_id), blank))
            for row in self._rows.values()
            for entry_id in self.entries
        ]
        if not cells:
            return {}
        values = map(list, zip(*(cell for _, cell in cells), strict=True))
        columns = dict(zip(Cell._fields, values, strict=True))
        if any(columns["answer"]):
            columns["spans"] = [_spans(row.text, cell.answer) for row, cell in cells]
        for name in _STRINGS:
            columns[name] = [
                None if value is None else strings.setdefault(value, len(strings)) for value in columns[name]
            ]
        return {
            name: values for name, values in columns.items() if any(value is not None for value in values)
        }


def _spans(text: str, answer: str | None) -> list[int] | None:
    spans = answer_spans(text, answer)[:_MOST_SPANS] if answer else []
    return [_utf16(text, index) for span in spans for index in span] or None


def _utf16(text: str, index: int) -> int:
    """Convert an offset in code points to an offset in UTF-16 units."""
    return index if text.isascii() else len(text[:index].encode("utf-16-le", "surrogatepass")) // 2


def shared_texts(tables: Iterable[QueryTable]) -> dict[str, int]:
    """Text to index, for texts that occur in several queries; the page stores them once."""
    counts = Counter(text for table in tables for text in sorted(table.texts))
    return {text: index for index, text in enumerate(text for text, count in counts.items() if count > 1)}


class Label(NamedTuple):
    """The label that a grader gave a citation.

    ``support`` is None for an ungraded citation, with the cause in ``reason``. ``reply`` is the model's raw
    reply, ``comment`` that of a reviewer.
    """

    grader: str
    support: SupportLabel | None
    reply: str | None
    reason: str | None
    comment: str | None


@dataclass
class Citation:
    """A passage that a part cites, with its labels by grader; ``text`` is None if the file lacks it."""

    citation: str
    text: str | None
    labels: dict[str, Label] = field(default_factory=dict)


def citations_of(query: QueryPassages, model: str | None = None) -> dict[str, dict[str, Citation]]:
    """Id of a part of an answer to its citations by id, in order.

    ``model``: Only labels of this model or reviewer; None for all. Returns the citations of parts with text;
    parts without citations have no key. Of several labels of a grader, the last one counts.
    """
    cited: dict[str, dict[str, Citation]] = {}
    if not any(entry.citations for passage in query.passages for entry in passage.rankings):
        return cited
    for output in outputs_of(query).values():
        for part in output.parts:
            if not part.citations or not part.passage.text.strip():
                continue
            of_part = cited.setdefault(part.passage.passage_id, {})
            for key in part.citations:
                text = output.cited[key].text if key in output.cited else ""
                of_part.setdefault(key, Citation(key, text if text.strip() else None))
            for grades in part.passage.support_grades or ():
                if model in (None, grades.model):
                    _add_labels(of_part, grades)
    return cited


def _add_labels(of_part: dict[str, Citation], grades: SupportGrades) -> None:
    prompt = f" ({grades.prompt_class})" if grades.prompt_class else ""
    grader = f"{grades.model or '(no model)'}{prompt}"
    for item in grades.supports:
        citation = of_part.get(item.citation)
        if citation is None or (item.support is None and grader in citation.labels):
            continue
        reason = None
        if item.support is None:
            reason = str((item.error or {}).get("failure_reason", "no reason recorded"))
        comment = (grades.comments or {}).get(item.citation)
        citation.labels[grader] = Label(grader, item.support, item.answer, reason, comment)
