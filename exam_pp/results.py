"""The flat rows in which every number travels."""

from __future__ import annotations

from typing import NamedTuple

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
