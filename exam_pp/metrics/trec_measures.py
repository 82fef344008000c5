"""trec_eval measures of runs against qrels, computed by ir-measures, and measures of retrieved passages.

Measures of the passages that one system retrieved: AP over its top passages, and the mean label.

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

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import isnan, nan
from subprocess import CalledProcessError
from typing import Any, ClassVar
from urllib.parse import quote

import ir_measures
import numpy as np
from ir_measures import measures
from ir_measures.measures import registry as known_measures

from exam_pp.errors import MissingExtraError, SelectionError, UnknownNameError
from exam_pp.metrics.ties_in_runs import trec_eval_order
from exam_pp.results import ALL_QUERIES, Qrel, Score
from exam_pp.text.wording import closest, listed

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


Run = Mapping[str, Mapping[str, float]]
"""Query id to passage id to score."""

Measure = Any
"""A measure of ir-measures, which has no types."""

_UNSAFE = re.compile(r"[^!-~]|%")
_HIGHEST_OF_GDEVAL = 4
_SUBTOPIC_MEASURES = frozenset(
    ["alpha_DCG", "alpha_nDCG", "AP_IA", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "P_IA", "StRecall"]
)
_DEEPEST_SUBTOPIC_CUTOFF = 20
"""The deepest cutoff of ndeval."""
_SUBTOPIC_MEASURES_WITHOUT_CUTOFF = frozenset(["AP_IA", "NRBP", "nNRBP"])


def check_measures(names: Sequence[str]) -> None:
    """Raise :class:`UnknownNameError` for a name that :func:`parse_measures` does not know."""
    for name in names:
        _parse(name)


def parse_measures(
    names: Sequence[str],
    min_grade: int | None = None,
    *,
    default_min_grade: int | None = None,
    subtopics: bool = False,
) -> list[Measure]:
    """Parse names of measures from ir-measures (``nDCG@10``, ``RR(rel=2)``) or trec_eval (``ndcg_cut_10``).

    ``min_grade`` becomes the relevance level of measures that have a level and do not set it (``RR``, ``P``,
    ``AP`` ...); nDCG keeps graded gains. If it is None, ``default_min_grade`` does so for measures that can
    have this level. With ``subtopics`` all measures must be subtopic measures, without
    it no measure may be. Raises :class:`UnknownNameError`, and :class:`MissingExtraError` if the package
    for subtopic measures is not installed.
    """
    measures = [measure for name in names for measure in _parse(name)]
    if min_grade is None and default_min_grade is not None:
        measures = [_levelled(measure, default_min_grade) or measure for measure in measures]
    measures = [_with_level(measure, min_grade) for measure in measures]
    for measure in measures:
        if (measure.NAME in _SUBTOPIC_MEASURES) is not subtopics:
            raise UnknownNameError(
                f"{measure} is not a subtopic measure; use {', '.join(sorted(_SUBTOPIC_MEASURES))}."
                if subtopics
                else f"{measure} is a subtopic measure; use it with `exam-pp evaluate qrels --facets entry`, "
                "or with `exam-pp evaluate judgments` and a qrels file of subtopics."
            )
    return list(dict.fromkeys(measures))


def of_subtopics(names: Iterable[str]) -> bool:
    """Whether any of the measures is one of subtopics, such as α-nDCG."""
    return any(measure.NAME in _SUBTOPIC_MEASURES for name in names for measure in _parse(name))


def _parse(name: str) -> list[Measure]:
    try:
        measures = [_parse_name(name)]
        measures[0].validate_params()
    except (ValueError, NameError, SyntaxError, AssertionError, TypeError, KeyError, AttributeError):
        try:
            measures = list(ir_measures.parse_trec_measure(name))
        except (ValueError, KeyError):
            raise UnknownNameError(_unknown(name)) from None
    for measure in measures:
        for parameter, label in (("cutoff", "a cutoff"), ("rel", "a relevance level")):
            if measure.params.get(parameter, 1) < 1:  # trec_eval exits the process at a cutoff of 0
                raise UnknownNameError(f"The measure {name!r} has {label} below 1; it must be at least 1.")
        if measure.NAME in _SUBTOPIC_MEASURES:
            _check_subtopic_measure(measure, name)
        elif not _is_supported(measure):
            raise UnknownNameError(_unsupported(measure, name))
    return measures


def _parse_name(name: str) -> Measure:
    """A measure by its name in ir-measures, whose own parser needs parts of Python that 3.14 removed.

    Raises :class:`ValueError` or :class:`SyntaxError` for other texts.
    """
    node = ast.parse(name, mode="eval").body
    parameters: dict[str, Any] = {}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        parameters["@"] = ast.literal_eval(node.right)
        node = node.left
    if isinstance(node, ast.Call) and not node.args:
        parameters |= {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in node.keywords}
        node = node.func
    if not isinstance(node, ast.Name) or node.id not in known_measures:
        raise ValueError(name)
    measure = known_measures[node.id]
    return measure(**{measure.AT_PARAM if key == "@" else key: value for key, value in parameters.items()})


def _is_supported(measure: Measure) -> bool:
    """Whether ir-measures or exam_pp can compute the measure with its parameters."""
    return measure.NAME in NAMES or ir_measures.DefaultPipeline.supports(measure)


def _unsupported(measure: Measure, name: str) -> str:
    """The package that computes a measure, also if it does so only with a relevance level."""
    levelled = [measure(rel=1)] if "rel" in measure.SUPPORTED_PARAMS and "rel" not in measure.params else []
    for provider, written in product(ir_measures.providers.registry.values(), (measure, *levelled)):
        if provider.supports(written):
            package = provider.NAME.replace("_", "-")
            to_install = "" if provider.is_available() else f"; it is not installed: pip install {package}"
            return f"The measure {name!r} is computed by the package {package} as {written}{to_install}."
    return _unknown(name)


def _check_subtopic_measure(measure: Measure, name: str) -> None:
    if not ir_measures.pyndeval.is_available():
        raise MissingExtraError(f"The measure {name!r}", "diversity")
    cutoff = measure.params.get("cutoff")
    if cutoff is None and measure.NAME not in _SUBTOPIC_MEASURES_WITHOUT_CUTOFF:
        raise UnknownNameError(f"The measure {name!r} needs a cutoff, such as {measure.NAME}@20.")
    if cutoff is not None and cutoff > _DEEPEST_SUBTOPIC_CUTOFF:
        raise UnknownNameError(
            f"The measure {name!r} has a cutoff above {_DEEPEST_SUBTOPIC_CUTOFF}, the limit of ndeval."
        )
    if measure.params.get("judged_only"):
        raise UnknownNameError(
            f"The measure {name!r} cannot be restricted to judged passages; leave out judged_only."
        )


_EXAMPLES = "Examples: nDCG@10, RR, AP, P(rel=2)@10."


def _unknown(name: str) -> str:
    bare = name.partition("@")[0].partition("(")[0]
    if bare in known_measures:
        parameters = known_measures[bare].SUPPORTED_PARAMS.items()
        known = listed([f"{key} (required)" if of.required else key for key, of in parameters])
        has = f"{known}; a cutoff is written @10" if known else "none"
        return f"The measure {name!r} has unsupported or missing parameters: {bare} has {has}."
    names = {measure.lower(): measure for measure in sorted(known_measures)}
    close = closest(bare.lower(), names)
    hint = f"Did you mean {names[close] + name.removeprefix(bare)!r}?" if close else _EXAMPLES
    return f"No measure named {name!r}. {hint}"


def relevance_level(measure: Measure) -> int | None:
    """The lowest label that the measure counts as relevant; None for measures of graded labels."""
    level = measure["rel"] if "rel" in measure.SUPPORTED_PARAMS else None
    return level if isinstance(level, int) else None


def takes_level(measure: Measure) -> bool:
    """Whether a measure has a relevance level that it does not set itself."""
    return relevance_level(measure) is not None and "rel" not in measure.params


def _with_level(measure: Measure, min_grade: int | None) -> Measure:
    if min_grade is None or not takes_level(measure):
        return measure
    levelled = _levelled(measure, min_grade)
    if levelled is None:
        raise UnknownNameError(
            f"The measure {measure} cannot be computed at the relevance level {min_grade}."
        )
    return levelled


def _levelled(measure: Measure, min_grade: int) -> Measure | None:
    """The measure with the level if it does not set one itself; None if it cannot be computed."""
    levelled = measure(rel=min_grade) if takes_level(measure) else measure
    return levelled if min_grade >= 1 and _is_supported(levelled) else None


_TREC_EVAL_NAMES = {
    "AP": "map", "Bpref": "bpref", "infAP": "infAP", "nDCG": "ndcg", "NumQ": "num_q", "NumRel": "num_rel",
    "NumRet": "num_ret", "RR": "recip_rank", "Rprec": "Rprec", "SetAP": "set_map", "SetF": "set_F",
    "SetP": "set_P", "SetR": "set_recall",
}  # fmt: skip
_TREC_EVAL_NAMES_AT_CUTOFF = {
    "AP": "map_cut", "nDCG": "ndcg_cut", "P": "P", "R": "recall", "Success": "success"
}  # fmt: skip


def trec_eval_names(names: Sequence[str]) -> dict[str, str]:
    """Map names of ir-measures to those of trec_eval; unknown and ambiguous names are kept.

    A name of trec_eval does not contain the relevance level, which is its option ``-l``.
    """
    translated = {name: _trec_eval_name(name) or name for name in names}
    return {
        name: name if list(translated.values()).count(new) > 1 else new for name, new in translated.items()
    }


def _trec_eval_name(name: str) -> str | None:
    try:
        measure = _parse_name(name)
    except (ValueError, NameError, SyntaxError):
        return None
    parameters = dict(measure.params)
    level, cutoff = parameters.pop("rel", None), parameters.pop("cutoff", None)
    if measure.NAME == "IPrec":
        return f"iprec_at_recall_{parameters['recall']:.2f}"
    if parameters.keys() - {"dcg"} or parameters.get("dcg", "log2") != "log2":
        return "set_relative_P" if (measure.NAME, parameters) == ("SetP", {"relative": True}) else None
    if measure.NAME == "NumRet" and level is not None:
        return "num_rel_ret"
    if cutoff is None:
        return _TREC_EVAL_NAMES.get(measure.NAME)
    at_cutoff = _TREC_EVAL_NAMES_AT_CUTOFF.get(measure.NAME)
    return at_cutoff and f"{at_cutoff}_{cutoff}"


class TrecEval:
    """Scores runs against qrels as ``trec_eval -c`` does.

    All queries of the qrels are scored; a query that a run lacks gets the measure's value for an empty
    ranking (0 for nearly all measures). Queries that are not in the qrels are ignored. Passages are ordered
    by score, then by descending passage id; the ranks in the run are ignored. Raises
    :class:`SelectionError` for labels that a measure does not support.
    """

    def __init__(self, measures: Sequence[Measure], qrels: Iterable[Qrel]) -> None:
        self.measures = list(measures)
        self._qrels: dict[str, dict[str, int]] = {}
        for qrel in qrels:
            self._qrels.setdefault(qrel.query_id, {})[qrel.passage_id] = qrel.whole
        trec_eval = [measure for measure in self.measures if ir_measures.pytrec_eval.supports(measure)]
        other_measures = [measure for measure in self.measures if measure not in trec_eval]
        # trec_eval may loop forever if all labels of a query are negative, so they are replaced by 0.
        safe = {q: of if max(of.values()) >= 0 else dict.fromkeys(of, 0) for q, of in self._qrels.items()}
        self._check_labels(other_measures)
        # A measure with judged_only can change NumRet in ir-measures, so the two groups are kept apart.
        judged = [measure for measure in trec_eval if measure.params.get("judged_only")]
        whole = [measure for measure in trec_eval if measure not in judged]
        self._trec_eval = [ir_measures.evaluator(group, safe) for group in (whole, judged) if group]
        # gdeval reads only the last number of a query id and splits at whitespace, so ids are replaced.
        self._numbers = {query_id: str(number) for number, query_id in enumerate(self._qrels, 1)}
        numbered = {
            self._numbers[query_id]: dict(zip(_quoted(of_query), of_query.values(), strict=True))
            for query_id, of_query in (self._qrels.items() if other_measures else ())
        }
        self._others = ir_measures.evaluator(other_measures, numbered) if other_measures else None

    @property
    def query_ids(self) -> list[str]:
        """The queries of the qrels, in their order."""
        return list(self._qrels)

    def __call__(self, system: str, run: Run) -> Iterator[Score]:
        """Yield the scores of each query and measure, and totals (query ``all``) of measures that are sums.

        Undefined values are skipped.
        """
        values = {(metric.measure, metric.query_id): metric.value for metric in self._values(run)}
        totals = {measure: measure.aggregator() for measure in self.measures}
        for measure in self.measures:
            for query_id in self._qrels:
                value = values.get((measure, query_id), nan)
                if isnan(value):  # some measures are NaN for an empty ranking
                    value = measure.DEFAULT
                if isnan(value):
                    continue
                totals[measure].add(value)
                yield Score(system, query_id, str(measure), value)
            if not isinstance(totals[measure], ir_measures.MeanAgg):
                yield Score(system, ALL_QUERIES, str(measure), totals[measure].result())

    def _check_labels(self, measures: Iterable[Measure]) -> None:
        best = max((max(of_query.values()) for of_query in self._qrels.values()), default=0)
        if best > _HIGHEST_OF_GDEVAL:
            for measure in filter(ir_measures.gdeval.supports, measures):
                raise SelectionError(
                    f"{measure} supports labels up to {_HIGHEST_OF_GDEVAL} (limit of gdeval), but the "
                    f"highest label is {best}."
                )

    def _values(self, run: Run) -> Iterator[Any]:
        # A missing ranking is passed as an empty one, so that NumQ and NumRel count its query.
        rankings = {query_id: run.get(query_id, {}) for query_id in self._qrels}
        for evaluator in self._trec_eval:
            yield from evaluator.iter_calc(rankings)
        if self._others is not None:
            query_ids = {number: query_id for query_id, number in self._numbers.items()}
            ranked = {number: _ranks_as_scores(run[q]) for q, number in self._numbers.items() if q in run}
            try:
                for metric in self._others.iter_calc(ranked):
                    yield metric._replace(query_id=query_ids[metric.query_id])
            except (ArithmeticError, ValueError, CalledProcessError) as error:
                names = ", ".join(str(m) for m in self.measures if not ir_measures.pytrec_eval.supports(m))
                raise SelectionError(
                    f"ir-measures cannot compute {names} for these labels and runs: {error}."
                ) from error


def _ranks_as_scores(passages: Mapping[str, float]) -> dict[str, float]:
    """Quoted passage ids with strictly decreasing scores in trec_eval's order.

    Other tools break ties differently, so ties are removed.
    """
    names = list(passages)
    quoted = _quoted(names)
    scores = np.fromiter(passages.values(), np.float64, len(passages))
    order = trec_eval_order(scores, names)
    return {quoted[index]: float(len(order) - position) for position, index in enumerate(order)}


def _quoted(passage_ids: Collection[str]) -> list[str]:
    """The ids percent-encoded to printable ASCII without whitespace."""
    if not _UNSAFE.search("".join(passage_ids)):
        return list(passage_ids)
    return [
        quote(passage_id, errors="surrogatepass") if _UNSAFE.search(passage_id) else passage_id
        for passage_id in passage_ids
    ]
