"""Labels and a measure for ``pyterrier.Experiment``, from grades."""

from __future__ import annotations

import logging
from typing import Any

from exam_pp.banks import TestBank
from exam_pp.data_model import QueryPassages, RankingEntry
from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.inputs import Bank, Passages, bank_of, loaded
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.records import replace
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

_SYSTEM = "results"


def pyterrier_qrels(graded: Passages, **options: Any) -> Any:
    """Labels of graded passages, as the qrels of an experiment of PyTerrier.

    Args:
        graded: Graded file, or queries with graded passages.
        options: Options of :func:`exam_pp.rubric_qrels`, such as ``bank`` and ``label``.

    Returns:
        A data frame with ``qid``, ``docno`` and ``label``, a row for each graded passage.

    Raises:
        ExamError: The errors of :func:`exam_pp.rubric_qrels`.
    """
    import pandas  # optional; PyTerrier needs it, too

    rows = [
        (label.query_id, label.passage_id, label.relevance) for label in rubric_qrels(graded, **options).qrels
    ]
    return pandas.DataFrame(rows, columns=["qid", "docno", "label"])


def pyterrier_cover(graded: Passages, bank: Bank, **options: Any) -> Any:
    """Rubric-Cover of the results of each query, as a measure of PyTerrier; ``cover @ 10`` has a cutoff.

    Args:
        graded: Graded file, or queries with graded passages. Results that it lacks cover nothing; the log
            counts them.
        bank: Test bank with the entries of each query.
        options: Options of :func:`exam_pp.cover`, such as ``min_grade`` and ``grade_filter``.

    Returns:
        A measure that ``ir_measures.define_byquery`` made, with values from 0 to 1. Queries without an entry
        in the bank or without a graded passage are 0.

    Raises:
        ExamError: The errors of :func:`exam_pp.cover`.
    """
    import ir_measures  # slow to import

    known = bank_of(bank)
    graded_queries = {query.query_id: query for query in loaded(graded)}

    def of_query(_qrels: Any, run: Any) -> float:
        query_id = str(run["query_id"].iloc[0])
        if query_id not in known.queries:
            raise SelectionError(f"The bank has no entry of query {query_id!r}: leave it out of the topics.")
        places = {
            document: RankingEntry(
                method=_SYSTEM,
                passage_id=document,
                query_id=query_id,
                rank=rank,
                score=-rank,
                role="retrieved",
            )
            for rank, document in enumerate(run.sort_values("score", ascending=False)["doc_id"], 1)
        }
        query = graded_queries.get(query_id)
        passages = [] if query is None else query.passages
        if lacking := len(places.keys() - {passage.passage_id for passage in passages}):
            log.warning("Query %s: %s not graded.", query_id, counted(lacking, "result is", "results are"))
        ranked = [
            replace(passage, data=replace(passage.data, rankings=[places[passage.passage_id]]))
            for passage in passages
            if passage.passage_id in places
        ]
        if not ranked:
            return 0.0
        of_one = TestBank({query_id: known.queries[query_id]})
        scores = cover([QueryPassages(query_id, ranked)], of_one, cutoff=len(places), **options).scores
        return next(score.value for score in scores if score.system == _SYSTEM)

    return ir_measures.define_byquery(of_query, name="Cover")
