"""Rubric-Qrels: one relevance label a passage, from its grades; and the labels that people gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from exam_pp.data_model import QueryView
from exam_pp.metrics.graded import GradedQuery
from exam_pp.results import Qrel

Label = Literal["max", "count", "binary"]


def rubric_qrels(query: GradedQuery, label: Label, min_grade: int) -> Iterator[Qrel]:
    """Labels of a query's passages, in file order; a passage without any grade gets none.

    ``"max"`` is the highest grade over the entries, ``"count"`` the number of entries graded at least
    ``min_grade``, ``"binary"`` whether there is one (1 or 0).

    Source: Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024, section 4.5.
    """
    for passage in query.passages:
        best = passage.best_grade
        if best is None:
            continue
        match label:
            case "max":
                relevance = best
            case "count":
                relevance = passage.reaching(min_grade).bit_count()
            case "binary":
                relevance = int(best >= min_grade)
        yield Qrel(query.query_id, passage.passage_id, relevance)


def judgment_qrels(queries: Iterable[QueryView]) -> list[Qrel]:
    """The manual judgments of a file; the highest where a passage was judged several times."""
    best: dict[tuple[str, str], int] = {}
    for query in queries:
        for passage in query.passages:
            for judgment in passage.judgments:
                key = (query.query_id, passage.passage_id)
                best[key] = max(judgment.relevance, best.get(key, judgment.relevance))
    return [Qrel(query_id, passage_id, relevance) for (query_id, passage_id), relevance in best.items()]
