"""The flat rows in which every number travels."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

ALL_QUERIES = "all"
"""The query id of a mean over queries, as trec_eval prints it."""

OVERALL_SYSTEM = "_overall_"
"""The system that returns every graded passage: the upper bound of Rubric-Cover."""


class Score(NamedTuple):
    """One number: what ``metric`` says of a system's response to a query."""

    system: str
    query_id: str
    metric: str
    value: float


class Scores(Sequence[Score]):
    """Many scores as columns, 20 bytes each; names are held once."""

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        self._names: dict[str, int] = {}
        self._columns = array("I"), array("I"), array("I")
        self._values = array("d")
        self.extend(scores)

    def extend(self, scores: Iterable[Score]) -> None:
        """Append scores."""
        numbers = self._names
        systems, query_ids, metrics = self._columns
        for system, query_id, metric, value in scores:
            systems.append(numbers.setdefault(system, len(numbers)))
            query_ids.append(numbers.setdefault(query_id, len(numbers)))
            metrics.append(numbers.setdefault(metric, len(numbers)))
            self._values.append(value)

    def __iter__(self) -> Iterator[Score]:
        names = list(self._names)
        for system, query_id, metric, value in zip(*self._columns, self._values, strict=True):
            yield Score(names[system], names[query_id], names[metric], value)

    @overload
    def __getitem__(self, index: int) -> Score: ...

    @overload
    def __getitem__(self, index: slice) -> list[Score]: ...

    def __getitem__(self, index: int | slice) -> Score | list[Score]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        names = list(self._names)
        system, query_id, metric = (names[column[index]] for column in self._columns)
        return Score(system, query_id, metric, self._values[index])

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """As lists are equal."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of lists


class Qrel(NamedTuple):
    """One line of a qrels file."""

    query_id: str
    passage_id: str
    relevance: int


class SubtopicQrel(NamedTuple):
    """One line of a qrels file with subtopics, as TREC's ndeval reads it."""

    query_id: str
    subtopic: str
    passage_id: str
    relevance: int


class RunLine(NamedTuple):
    """One line of a run file; ``system`` is the file stem or the tag."""

    query_id: str
    passage_id: str
    rank: int
    score: float
    system: str
