"""trec_eval measures of runs against qrels, computed by ir-measures."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import isnan, nan
from subprocess import CalledProcessError
from typing import Any
from urllib.parse import quote

import ir_measures
import numpy as np
from ir_measures.measures import registry as known_measures
from numpy.typing import NDArray

from exam_pp.errors import MissingExtraError, SelectionError, UnknownNameError
from exam_pp.metrics.retrieved_measures import NAMES
from exam_pp.results import ALL_QUERIES, Qrel, Score

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
                else f"{measure} is a subtopic measure; use it with `exam-pp evaluate qrels --facets entry`."
            )
    return list(dict.fromkeys(measures))


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
            raise UnknownNameError(
                f"The measure {name!r} has unsupported parameters, or needs a package of ir-measures that is "
                "not installed."
            )
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


def _unknown(name: str) -> str:
    bare = name.partition("@")[0].partition("(")[0]
    names = {measure.lower(): measure for measure in sorted(known_measures)}
    close = [names[match] for match in get_close_matches(bare.lower(), names, n=1)]
    hint = (
        f"Did you mean {close[0] + name.removeprefix(bare)!r}?"
        if close and close[0] != bare  # ir-measures refuses the parameters of a name that it knows
        else "Examples: nDCG@10, RR, AP, P(rel=2)@10."
    )
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


def trec_eval_order(scores: NDArray[np.float64], passage_ids: Collection[str]) -> NDArray[np.intp]:
    """Indices of the passages, best first: by score in single precision, then by descending id."""
    with np.errstate(over="ignore"):  # large scores become infinite, as in trec_eval
        single = scores.astype(np.float32)
    if not (single[1:] >= single[:-1]).any():
        return np.arange(len(single))
    # UTF-8 bytes sort like code points.
    ids = np.array([passage_id.encode("utf-8", "surrogatepass") for passage_id in passage_ids], np.bytes_)
    return np.lexsort((ids, single))[::-1]


def trec_eval_ranking(scores: Mapping[str, float]) -> list[str]:
    """The passages of a query, by their scores, in the order of :func:`trec_eval_order`."""
    passage_ids = list(scores)
    values = np.fromiter(scores.values(), np.float64, len(scores))
    return [passage_ids[index] for index in trec_eval_order(values, passage_ids)]
