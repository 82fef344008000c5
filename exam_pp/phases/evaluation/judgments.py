"""Evaluate: the judgments that people gave, of qrels or of a passages file."""

from __future__ import annotations

from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.qrels import Facets, judgment_qrels
from exam_pp.phases.evaluation.inputs import Passages, Queries, name_of, query_ids, views
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.results import Qrel
from exam_pp.store.files import is_stream, read_lines
from exam_pp.store.trec.runs import read_qrels


def judgments(source: Passages, *, queries: Queries | None = None, facets: Facets = "title") -> list[Qrel]:
    """The manual judgments of a passages file or a qrels file.

    Args:
        source: Passages (a file, or queries), or a qrels file.
        queries: Query file or query ids to restrict the judgments to.
        facets: ``facet``: judgments of passages are of the judged facets, as query ``query/facet``.

    Returns:
        Lines of qrels; where a passage was judged several times, the highest judgment.

    Raises:
        SelectionError: There are no judgments.
        DataError: A file is not in its format.
    """
    if not isinstance(source, PathLike) or is_passages(source):
        found = judgment_qrels(views(source), facets)
    else:
        found = read_qrels(source)
    if not found:
        name = name_of(source, "The list of passages")
        raise SelectionError(f"{name} holds no judgments; name a qrels file, or import with --qrels.")
    if queries is not None:
        wanted = query_ids(queries)
        found = [qrel for qrel in found if qrel.query_id in wanted]
        if not found:
            listed = name_of(queries, "the list of queries")
            raise SelectionError(
                f"None of the queries in {listed} has judgments in {name_of(source, 'the passages')}."
            )
    return found


def is_passages(path: PathLike) -> bool:
    """Whether a file holds passages (lines of JSON lists), not qrels; standard input, or a pipe, does."""
    if is_stream(path):
        return True
    first = next(read_lines(path), None)
    if first is None:
        raise DataError("is empty.", file=str(path))
    return first[1].startswith(b"[")
