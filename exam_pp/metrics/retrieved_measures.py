"""Measures of the passages that one system retrieved: AP over its top passages, and the mean label.

trec_eval measures compare a system with all passages that have a label, also those that only other systems
retrieved. The measures of Open RAG Eval know one system only. Two of them differ from trec_eval's:

* ``AP_top(rel=2)@3``: average precision that divides by the number of *retrieved* relevant passages within
  the cutoff, 0 without any: ``(1 / num_relevant) × Σ Precision@i`` for each relevant rank i.
* ``MeanLabel@3``: the mean over the passages with a label within the cutoff. A passage without a label, such
  as one whose grading failed, is in no mean; without any label, the mean is 0. A negative label counts as 0,
  as in trec_eval.

Its Precision@K is ``P(rel=2)@K`` of trec_eval, and its reciprocal rank is ``RR(rel=2)``. A system with fewer
than K passages is treated as the documentation of Open RAG Eval says: P divides by K (the missing passages
are not relevant), AP_top and MeanLabel by passages that exist. Open RAG Eval's code leaves out Precision@K
for such queries.

Source: Open RAG Eval, metrics documentation, section "Traditional Retrieval Metrics". Labels are from 0 to 3,
and a label of at least 2 is relevant. An example with the labels 3, 0 and 2 at ranks 1 to 3:

>>> from exam_pp.metrics.gains import RunMatrix, run_scores
>>> from exam_pp.metrics.trec_measures import parse_measures
>>> from exam_pp.results import Qrel
>>> labels = [Qrel("q", "a", 3), Qrel("q", "b", 0), Qrel("q", "c", 2), Qrel("q", "not retrieved", 2)]
>>> runs = RunMatrix([("q", qrel.passage_id) for qrel in labels])
>>> runs.add("system", {"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
>>> names = ["P@1", "P@3", "P@5", "AP_top@1", "AP_top@3", "AP_top@5", "AP@3"]
>>> names += ["RR", "MeanLabel", "MeanLabel@2"]
>>> for score in run_scores(runs, labels, parse_measures(names, 2)):
...     print(score.metric, round(score.value, 4))
P(rel=2)@1 1.0
P(rel=2)@3 0.6667
P(rel=2)@5 0.4
AP_top(rel=2)@1 1.0
AP_top(rel=2)@3 0.8333
AP_top(rel=2)@5 0.8333
AP(rel=2)@3 0.5556
RR(rel=2) 1.0
MeanLabel 1.6667
MeanLabel@2 1.5
"""

from __future__ import annotations

from typing import Any, ClassVar

from ir_measures import measures

_CUTOFF = measures.ParamInfo(dtype=int, required=False, desc="ranking cutoff threshold")
_LEVEL = measures.ParamInfo(dtype=int, required=False, default=1, desc="minimum relevance score")


class _APTop(measures.Measure):  # type: ignore[misc]  # ir-measures has no types
    """Average precision over the relevant passages that a system retrieved within the cutoff."""

    NAME = "AP_top"
    __name__ = "AP_top"
    PRETTY_NAME = "Average Precision over the top"
    SHORT_DESC = "Average precision over the retrieved relevant passages."
    SUPPORTED_PARAMS: ClassVar[dict[str, Any]] = {"cutoff": _CUTOFF, "rel": _LEVEL}


class _MeanLabel(measures.Measure):  # type: ignore[misc]
    """Mean label of the passages that a system retrieved within the cutoff."""

    NAME = "MeanLabel"
    __name__ = "MeanLabel"
    PRETTY_NAME = "Mean label"
    SHORT_DESC = "Mean label of the retrieved passages that have one."
    SUPPORTED_PARAMS: ClassVar[dict[str, Any]] = {"cutoff": _CUTOFF}


NAMES = ("AP_top", "MeanLabel")
"""The names of the measures, which ir-measures parses but does not compute."""

for _measure in (_APTop(), _MeanLabel()):
    if _measure.NAME not in measures.registry:
        measures.register(_measure)
