"""Manual judgments of a qrels file or a passages file, and labels that fill their holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.qrels import Facets, judgment_qrels
from exam_pp.phases.evaluation.inputs import Passages, Queries, name_of, query_ids, views
from exam_pp.phases.evaluation.result import Evaluation, PathLike
from exam_pp.provenance import Provenance, file_names
from exam_pp.results import Qrel, SubtopicQrel
from exam_pp.store.files import atomic_output, read_lines, read_text_lines
from exam_pp.store.trec.runs import TrecColumns, read_qrels, read_subtopic_qrels
from exam_pp.text.wording import counted

Q = TypeVar("Q", Qrel, SubtopicQrel)


def judgments(source: Passages, *, queries: Queries | None = None, facets: Facets = "title") -> list[Qrel]:
    """The manual judgments of a passages file or a qrels file.

    Args:
        source: Passages (a file, or queries), or a qrels file.
        queries: Query file or query ids to restrict the judgments to.
        facets: ``title``: judgments are for queries. ``facet``: judgments are for facets, with query ids
            ``query/facet``.

    Returns:
        Lines of qrels; for a passage with several judgments, the highest.

    Raises:
        SelectionError: There are no judgments, or ``queries`` selects none of them.
        DataError: A file is not in its format.
    """
    if not isinstance(source, PathLike) or is_passages(source):
        qrels = judgment_qrels(views(source, mixed=True), facets, beyond_pool=True)
    else:
        qrels = read_qrels(source)
    if not qrels:
        name = name_of(source, "The list of passages")
        raise SelectionError(
            f"{name} has no judgments; use a qrels file, or add judgments with `exam-pp import --qrels`."
        )
    return _of_queries(qrels, queries, source)


def subtopic_judgments(source: PathLike, queries: Queries | None = None) -> list[SubtopicQrel]:
    """The judgments of a qrels file whose second column has subtopics; errors as in :func:`judgments`."""
    return _of_queries(read_subtopic_qrels(source), queries, source)


def _of_queries(lines: list[Q], queries: Queries | None, source: Passages) -> list[Q]:
    if queries is None:
        return lines
    selected = query_ids(queries)
    lines = [line for line in lines if line.query_id in selected]
    if not lines:
        listed = name_of(queries, "the list of queries")
        raise SelectionError(
            f"None of the queries in {listed} has judgments in {name_of(source, 'the passages')}."
        )
    return lines


def pool_notes(source: Passages) -> list[str]:
    """A note on judged queries of a passages file that lack what is beyond the pool; empty for qrels."""
    if isinstance(source, PathLike) and not is_passages(source):
        return []
    judged = [query for query in views(source, mixed=True) if any(p.judgments for p in query.passages)]
    lacking = sum(query.beyond_pool is None for query in judged)
    if not lacking:
        return []
    of_all = f"{lacking} of {counted(len(judged), 'judged query', 'judged queries')}"
    return [
        f"{of_all} in {name_of(source, 'the passages')} have judgments of pooled passages only, so ideal "
        "rankings, recall and AP are those of the pool: import the qrels again, or name them and --runs."
    ]


def fraction_notes(labels: Iterable[float], subject: str = "") -> list[str]:
    """A note on labels with a fraction, which integer labels do not have; ``subject`` is put before it."""
    labels = list(labels)
    if fractions := sum(label != int(label) for label in labels):
        have = "has a fraction, which is" if fractions == 1 else "have fractions, which are"
        of_all = f"{fractions} of {counted(len(labels), 'label')}"
        return [f"{subject}{of_all} {have} cut off, as by trec_eval (1.8 is 1)."]
    return []


def outside_scale_notes(labels: Iterable[float], judgments: Iterable[float], subject: str = "") -> list[str]:
    """A note on the labels outside the scale of the judgments, if there are any.

    The scale reaches from the lowest judgment, or 0, to the highest. ``subject`` is put before the note.
    """
    judged = set(judgments)
    low, high = min(judged | {0}), max(judged, default=0)
    outside = Counter(label for label in labels if not low <= label <= high)
    if not judged or not outside:
        return []
    are = counted(outside.total(), "label is", "labels are")
    values = ", ".join(map(str, sorted(outside)))
    return [f"{subject}{are} outside the scale of the judgments ({low} to {high}): {values}."]


def judgment_provenance(source: object, evaluation: Evaluation) -> Provenance:
    """The provenance of scores by the judgments of ``source``, if it is a file."""
    return replace(evaluation.provenance or Provenance(), judgments=file_names(source))


def is_passages(path: PathLike) -> bool:
    """Whether a file is a passages file (lines of JSON lists).

    Raises :class:`DataError` for an empty file.
    """
    first = next(read_lines(path), None)
    if first is None:
        raise DataError("is empty.", file=str(path))
    return first[1].startswith(b"[")


FILLED = "1"
"""Second column of added lines; in lines of judgments it is unchanged, and usually 0."""


def fill_holes(existing: PathLike, labels: Iterable[Qrel]) -> tuple[list[Qrel], list[str]]:
    """The judgments of a qrels file, then labels for unjudged passages; judgments are never changed.

    Labels of queries without judgments are skipped, because means are over the queries of the qrels. Returns
    the lines and notes on them.
    Raises :class:`~exam_pp.errors.DataError` for invalid qrels, and
    :class:`~exam_pp.errors.SelectionError` if no query has both judgments and labels.
    """
    judged = read_qrels(existing)
    known = {(qrel.query_id, qrel.passage_id) for qrel in judged}
    queries = {qrel.query_id for qrel in judged}
    labelled = list(labels)
    if not any(qrel.query_id in queries for qrel in labelled):
        raise SelectionError(f"None of the graded queries is in {existing}.")
    filled = [q for q in labelled if q.query_id in queries and (q.query_id, q.passage_id) not in known]
    both = sum((qrel.query_id, qrel.passage_id) in known for qrel in labelled)
    notes = [
        f"Kept {counted(len(judged), 'judgment')} of {existing} and filled {counted(len(filled), 'hole')} "
        f"(second column {FILLED})."
    ]
    if both:
        passages = counted(both, "judged passage is", "judged passages are")
        notes.append(f"{passages} also graded: judgments take precedence.")
    if unjudged_queries := len({qrel.query_id for qrel in labelled} - queries):
        notes.append(
            f"Skipped the labels of {counted(unjudged_queries, 'query')} without judgments in {existing}."
        )
    notes += outside_scale_notes(
        (qrel.relevance for qrel in filled), (qrel.relevance for qrel in judged), "Filled holes: "
    )
    return [*judged, *filled], notes


def write_filled(
    existing: PathLike, qrels: Sequence[Qrel], path: PathLike, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write the judgments unchanged, and those of :func:`fill_holes` after the last one of their query."""
    with atomic_output(path, inputs=inputs) as stream:
        for line in _lines(existing, qrels):
            stream.write(line.encode() + b"\n")


def _lines(existing: PathLike, qrels: Sequence[Qrel]) -> Iterator[str]:
    column, judged = TrecColumns(), len(read_qrels(existing))
    for qrel in qrels[:judged]:
        column("passage", qrel.passage_id)
    lines = [line for _, line in read_text_lines(existing)]
    last = {line.split(maxsplit=1)[0]: number for number, line in enumerate(lines)}
    holes: dict[str, list[str]] = {}
    for qrel in qrels[judged:]:
        line = f"{qrel.query_id} {FILLED} {column('passage', qrel.passage_id)} {qrel.relevance}"
        holes.setdefault(qrel.query_id, []).append(line)
    for number, line in enumerate(lines):
        yield line
        query_id = line.split(maxsplit=1)[0]
        if last[query_id] == number:
            yield from holes.get(query_id, ())
