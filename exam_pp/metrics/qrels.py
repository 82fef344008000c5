"""Rubric-Qrels: relevance labels of passages from their grades by label rules, and manual judgments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from exam_pp.errors import SelectionError
from exam_pp.results import Qrel

if TYPE_CHECKING:
    from exam_pp.data_model import QueryView
    from exam_pp.metrics.grade_masks import GradedPassage, GradedQuery


_CONDITION = re.compile(r"(\d+)(?:st|nd|rd|th)?\s*>=\s*(\d+)\s*:\s*(-?\d+)")
_OTHERWISE = re.compile(r"else\s*:?\s*(-?\d+)")


@dataclass(frozen=True)
class KthBest:
    """The k-th best rating; with fewer than k ratings, the lowest.

    Source: "min-answers" of Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024.
    """

    k: int = 1

    def __call__(self, ratings: Sequence[int]) -> int:
        """The label of a passage; ``ratings`` are sorted, best first, and not empty."""
        return ratings[min(self.k, len(ratings)) - 1]

    def __str__(self) -> str:
        return "best rating" if self.k == 1 else f"{self.k}{_ordinal(self.k)} best rating"


@dataclass(frozen=True)
class LabelRule:
    """A list of conditions "k-th best rating ≥ threshold → label", as triples (k, threshold, label).

    The first condition that a passage meets gives its label. A passage with fewer than k ratings does not
    meet a condition. If the passage meets no condition, its label is ``otherwise``.
    """

    conditions: tuple[tuple[int, int, int], ...]
    otherwise: int = 0

    @classmethod
    def parse(cls, text: str) -> LabelRule:
        """Parse a rule such as ``2nd>=5:3, 2nd>=4:1, else 0``; raises :class:`SelectionError`."""
        *conditions, last = [part.strip() for part in text.split(",")]
        parsed = []
        if otherwise := _OTHERWISE.fullmatch(last):
            default = int(otherwise[1])
        else:
            conditions, default = [*conditions, last], 0
        for part in conditions:
            match = _CONDITION.fullmatch(part)
            if match is None or match[1] == "0":
                raise SelectionError(
                    f"Cannot parse {part!r} in the label rule; write it as '2nd>=5:3, 2nd>=4:1, else 0'."
                )
            parsed.append((int(match[1]), int(match[2]), int(match[3])))
        return cls(tuple(parsed), default)

    def __call__(self, ratings: Sequence[int]) -> int:
        """The label of a passage; ``ratings`` are sorted, best first."""
        for k, threshold, label in self.conditions:
            if self._meets(ratings, k, threshold):
                return label
        return self.otherwise

    def best(self, ratings: Sequence[int]) -> int:
        """The highest label that any ratings up to these give; ``ratings`` are sorted, best first."""
        reachable = [label for k, threshold, label in self.conditions if self._meets(ratings, k, threshold)]
        return max([*reachable, self.otherwise])

    @staticmethod
    def _meets(ratings: Sequence[int], k: int, threshold: int) -> bool:
        return len(ratings) >= k and ratings[k - 1] >= threshold

    def __str__(self) -> str:
        conditions = [f"{k}{_ordinal(k)}>={threshold}:{label}" for k, threshold, label in self.conditions]
        return ", ".join([*conditions, f"else {self.otherwise}"])


def _ordinal(k: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(k, "th")


Label = Literal["max", "mean", "count", "binary"]
Labelling = Label | LabelRule
Facets = Literal["title", "facet"]
"""Whether the qrels are of queries (``title``) or of their facets, with ids ``query/facet``."""

Entries = Mapping[str, int | None]
"""Query id of the qrels to the mask of the entries whose grades make its labels; None for all entries."""


def rubric_qrels(
    query: GradedQuery, label: Labelling, min_grade: int, entries: Entries | None = None
) -> Iterator[Qrel]:
    """Yield the labels of a query's passages, in file order; passages without a grade have no label.

    ``"max"`` is the highest grade over the entries, ``"mean"`` the mean of the grades that the passage has,
    ``"count"`` the number of entries graded at least ``min_grade``, ``"binary"`` is 1 if that number is
    positive, else 0. A label rule gets the grades of the entries. ``entries`` defaults to all entries.

    Source: Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024, section 4.5.
    """
    for query_id, among in (entries or {query.query_id: None}).items():
        for passage in query.passages:
            relevance = _label(passage, label, min_grade, among)
            if relevance is not None:
                yield Qrel(query_id, passage.passage_id, relevance)


def best_qrels(
    query: GradedQuery, label: Labelling, min_grade: int, highest: int, entries: Entries | None = None
) -> Iterator[Qrel]:
    """Yield the labels of all passages of a query as if all ungraded pairs had the ``highest`` grade."""
    for query_id, among in (entries or {query.query_id: None}).items():
        for passage in query.passages:
            ungraded = (query.all_entries if among is None else among) & ~passage.graded
            relevance = _label(passage, label, min_grade, among) or 0
            if ungraded and isinstance(label, LabelRule):
                ratings = [highest] * ungraded.bit_count() + passage.ratings_of(among)
                relevance = label.best(sorted(ratings, reverse=True))
            elif ungraded and label == "count":
                relevance += ungraded.bit_count()
            elif ungraded:
                relevance = max(relevance, highest if label == "max" else 1)
            yield Qrel(query_id, passage.passage_id, relevance)


def ungraded_label(label: Labelling, highest: int, among: int) -> int:
    """The best possible label of a passage without grades for the entries in the mask ``among``."""
    if isinstance(label, LabelRule):
        return label.best([highest] * among.bit_count())
    return {"max": highest, "count": among.bit_count(), "binary": 1}[label]


def _label(passage: GradedPassage, label: Labelling, min_grade: int, among: int | None) -> float | None:
    if label == "mean" or isinstance(label, LabelRule):
        ratings = passage.ratings_of(among)
        if not ratings:
            return None
        return sum(ratings) / len(ratings) if label == "mean" else label(ratings)
    if among is None:
        best = passage.best_grade
    else:
        best = max((grade for grade, entries in passage.levels.items() if entries & among), default=None)
    if best is None:
        return None
    match label:
        case "max":
            return best
        case "count":
            reached = passage.reaching(min_grade)
            return (reached if among is None else reached & among).bit_count()
        case "binary":
            return int(best >= min_grade)


def judgment_qrels(
    queries: Iterable[QueryView], facets: Facets = "title", *, beyond_pool: bool = False
) -> list[Qrel]:
    """Return the judgments of a file as qrels; the highest judgment counts if a passage has several.

    ``beyond_pool`` adds those of passages outside the pool.
    """
    best: dict[tuple[str, str], int] = {}
    for query in queries:
        judged = [(passage.passage_id, each) for passage in query.passages for each in passage.judgments]
        if beyond_pool and (beyond := query.beyond_pool) is not None:
            judged += [(each.passage_id, each) for each in beyond.judgments]
        for passage_id, judgment in judged:
            key = (judgment.query_id if facets == "facet" else query.query_id, passage_id)
            best[key] = max(judgment.relevance, best.get(key, judgment.relevance))
    return [Qrel(query_id, passage_id, relevance) for (query_id, passage_id), relevance in best.items()]
