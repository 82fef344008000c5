"""Evaluate: the judgments that people gave, of qrels or of a passages file."""

from __future__ import annotations

from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.qrels import Facets, judgment_qrels
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.results import Qrel
from exam_pp.store.files import is_stream, read_lines
from exam_pp.store.trec.runs import read_qrels


def judgments(source: PathLike, *, queries: PathLike | None = None, facets: Facets = "title") -> list[Qrel]:
    """Manual judgments, of a graded (or ungraded) passages file or of a qrels file.

    With ``facets="facet"``, those of a passages file are of the judged facets (``query/facet``).
    """
    if is_passages(source):
        from exam_pp.store.passages.graded_file import read_passages_for_metrics  # noqa: PLC0415 - slow to import

        found = judgment_qrels(read_passages_for_metrics(source), facets)
    else:
        found = read_qrels(source)
    if not found:
        raise SelectionError(f"{source} holds no judgments; name a qrels file, or import with --qrels.")
    if queries is not None:
        from exam_pp.store.trec.queries import read_queries  # noqa: PLC0415 - slow to import

        wanted = read_queries(queries)
        found = [qrel for qrel in found if qrel.query_id in wanted]
        if not found:
            raise SelectionError(f"None of the queries in {queries} has judgments in {source}.")
    return found


def is_passages(path: PathLike) -> bool:
    """Whether a file holds passages (lines of JSON lists), not qrels; standard input, or a pipe, does."""
    if is_stream(path):
        return True
    first = next(read_lines(path), None)
    if first is None:
        raise DataError("is empty.", file=str(path))
    return first[1].startswith(b"[")
