"""The flat rows in which every number travels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


class RunColumns(NamedTuple):
    """A run as columns: ``passage_ids`` (UTF-8) and ``scores``, one a line, in file order.

    The lines of ``query_ids[i]`` start at ``starts[i]``; a query may come several times.
    """

    system: str
    query_ids: list[str]
    starts: NDArray[np.int64]
    passage_ids: NDArray[np.bytes_]
    scores: NDArray[np.float64]
