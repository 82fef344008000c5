"""Repeats of systems: similarity of their answers, by ROUGE and BERTScore, and spread of their scores.

Spread of a score over repeated runs: mean, variance, coefficient of variation and mean/(1+sd).

Source: ROUGE (Lin, 2004), BERTScore (Zhang et al., ICLR 2020); the consistency metrics of Open RAG Eval
(Vectara, 2025).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from itertools import combinations
from statistics import pvariance, variance
from typing import TYPE_CHECKING, Any, NamedTuple

from exam_pp.data_model import is_canary
from exam_pp.errors import MissingExtraError, SelectionError
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.phases.evaluation.inputs import Passages, loaded, name_of
from exam_pp.phases.evaluation.result import Evaluation, PathLike, check_names, noted_names
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.roles import DistinctNames, System, outputs_of
from exam_pp.store.files import write_text
from exam_pp.text.wording import noted

if TYPE_CHECKING:
    import numpy

    from exam_pp.plugins.rag_metrics.embeddings import TokenEmbedder, TokenVectors


@dataclass(frozen=True)
class RepeatSpread:
    """How much the values of repeated runs differ.

    ``variation``: Coefficient of variation: standard deviation / mean; lower is more consistent. None for the
    mean 0.
    """

    mean: float
    variance: float
    variation: float | None
    adjusted: float


def spread(values: Sequence[float], *, sample: bool = False) -> RepeatSpread:
    """Compute the spread of the values of one score over repeated runs.

    >>> over_three_runs = spread([0.5, 0.7, 0.9])
    >>> round(over_three_runs.mean, 4), round(over_three_runs.variance, 4)
    (0.7, 0.0267)
    >>> round(over_three_runs.variation, 4), round(over_three_runs.adjusted, 4)
    (0.2333, 0.6017)
    >>> round(spread([0.5, 0.7, 0.9], sample=True).variance, 4)
    0.04
    >>> spread([0.0, 0.0]).variation is None
    True
    """
    if len(values) < 2 or not all(map(math.isfinite, values)):
        raise ValueError(f"a spread needs two finite values, not {list(values)}")
    squared = float(variance(values) if sample else pvariance(values))
    deviation, average = math.sqrt(squared), exact_mean(list(values))
    variation = deviation / average if average else None
    return RepeatSpread(average, squared, variation, average / (1 + deviation))


ROUGE = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
"""Names in the package rouge-score, and names in reports."""


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


BASELINES: Mapping[tuple[str, int], Overlap] = {
    ("bert-base-multilingual-cased", 9): Overlap(0.6320527, 0.6320019, 0.63146895),
    ("bert-base-uncased", 9): Overlap(0.35375935, 0.3537393, 0.35219112),
    ("bert-large-uncased", 18): Overlap(0.4278576, 0.42786714, 0.42646673),
    ("distilbert-base-uncased", 5): Overlap(0.6666034, 0.66660464, 0.66620487),
    ("deberta-xlarge-mnli", 40): Overlap(0.5169066, 0.5170288, 0.5150192),
    ("roberta-base", 10): Overlap(0.8146725, 0.8146619, 0.814463),
    ("roberta-large", 17): Overlap(0.83150584, 0.8314941, 0.83122575),
    ("xlm-roberta-base", 9): Overlap(0.81658614, 0.8165717, 0.81639785),
    ("xlm-roberta-large", 17): Overlap(0.85291016, 0.8529066, 0.8525485),
}
"""BERTScore of unrelated English texts, by model and layer, from bert-score 0.3.13 (rescale_baseline/en).

The layers are those that bert-score uses by default.
"""


def default_layer(model: str) -> int | None:
    """The layer of a model whose vectors bert-score compares by default; None for unknown models.

    >>> default_layer("FacebookAI/xlm-roberta-large")
    17

    ``model``: Name of the model, with or without its organisation. Returns the number of the layer, from 1.
    """
    name = model.rpartition("/")[2]
    return next((layer for known, layer in BASELINES if known == name), None)


def baseline_of(model: str, layer: int) -> Overlap | None:
    """The baseline of a model and layer, for English texts; None without one."""
    return BASELINES.get((model.rpartition("/")[2], layer))


def rouge(candidate: str, reference: str, *, stem: bool = False) -> dict[str, Overlap] | None:
    """Compute ROUGE-1, ROUGE-2 and ROUGE-L with the package rouge-score.

    Precision is the share of the candidate's n-grams that the reference contains, recall the converse;
    ROUGE-L uses the longest common subsequence of tokens. Tokens are lower-cased runs of the letters a to z
    and digits, as in the original ROUGE, so other scripts and accented letters have no tokens.

    >>> scores = rouge("the cat sat on the mat", "a cat was on the mat")
    >>> [round(value, 3) for value in scores["ROUGE-1"]]
    [0.667, 0.667, 0.667]
    >>> round(scores["ROUGE-2"].f1, 3), round(scores["ROUGE-L"].f1, 3)
    (0.4, 0.667)
    >>> rouge("水", "water") is None
    True

    Returns name to overlap; None if one of the texts has no tokens.
    """
    scorer = _rouge_scorer(stem)
    if not (has_tokens(candidate) and has_tokens(reference)):
        return None
    scores = scorer.score(reference, candidate)
    return {name: Overlap(*map(float, scores[key])) for key, name in ROUGE.items()}


def has_tokens(text: str) -> bool:
    """Whether a text has tokens for ROUGE: letters from a to z, or digits."""
    return any(char.isascii() and char.isalnum() for char in text.lower())


@cache
def _rouge_scorer(stem: bool) -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise MissingExtraError("ROUGE", "rouge") from error
    return RougeScorer(list(ROUGE), use_stemmer=stem)


def bert_score(
    candidate: numpy.ndarray[Any, Any],
    candidate_weights: numpy.ndarray[Any, Any],
    reference: numpy.ndarray[Any, Any],
    reference_weights: numpy.ndarray[Any, Any],
    baseline: Overlap | None = None,
) -> Overlap | None:
    """Compute BERTScore from the vectors of tokens, by greedy matching with cosine similarity.

    Recall is the weighted mean, over the reference's tokens, of the highest cosine with any token of the
    candidate; precision is the converse. With a baseline b each number x becomes (x − b) / (1 − b), which may
    be negative.

    >>> import numpy
    >>> vectors = numpy.array([[1.0, 0.0], [0.0, 1.0]])
    >>> bert_score(vectors, numpy.ones(2), vectors[:1], numpy.ones(1))
    Overlap(precision=0.5, recall=1.0, f1=0.6666666666666666)

    ``candidate``: Array of shape (tokens, dimensions). ``reference``: Array of shape (tokens, dimensions).
    Returns precision, recall and F1; None if the weights of a text are all 0.
    """
    import numpy as np

    if not (candidate_weights.sum() and reference_weights.sum()):
        return None
    a = candidate / np.linalg.norm(candidate, axis=1, keepdims=True)
    b = reference / np.linalg.norm(reference, axis=1, keepdims=True)
    cosines = a @ b.T
    precision = float(cosines.max(1) @ candidate_weights / candidate_weights.sum())
    recall = float(cosines.max(0) @ reference_weights / reference_weights.sum())
    total = precision + recall
    raw = Overlap(precision, recall, 2 * precision * recall / total if total else 0.0)
    if baseline is None:
        return raw
    return Overlap(*((x - low) / (1 - low) for x, low in zip(raw, baseline, strict=True)))


BERT_SCORE = "BERTScore"
"""The metric of BERTScore."""

Repeats = Mapping[str, Mapping[str, Sequence[str | None]]]
"""System to query id to the answers of its repeats; None for a repeat that failed."""
RepeatedScores = Mapping[str, Mapping[str, Mapping[str, Sequence[float | None]]]]
"""Metric to system to query id to the scores of its repeats; None for a repeat without a score."""


class PairSimilarity(NamedTuple):
    """The similarity of two answers of a system to a query; the first is the candidate.

    ``first`` and ``second`` are the numbers of the repeats, from 1.
    """

    system: str
    query_id: str
    first: int
    second: int
    metric: str
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Consistency:
    """Consistency over repeats, and the similarity of each pair of answers."""

    evaluation: Evaluation
    pairs: Sequence[PairSimilarity] = ()


def answer_consistency(
    repeats: Repeats,
    *,
    with_rouge: bool = True,
    stem: bool = False,
    embedder: TokenEmbedder | None = None,
    rescale: bool = True,
) -> Consistency:
    """Compare the answers of repeated runs with each other, all pairs of a system and query.

    Failed repeats and answers without tokens are in no pair. A query with fewer than two answers has no
    score.

    ``embedder``: The encoder of BERTScore; None for no BERTScore. Returns pairs, and the mean F1 over the
    pairs. F1 is symmetric, precision and recall are not.
    """
    check_names({key for of_query in repeats.values() for key in of_query}, repeats)
    baseline = baseline_of(embedder.name, embedder.layer) if embedder and rescale else None
    present = {
        (system, query_id): {
            number: text for number, text in enumerate(answers, 1) if text is not None and text.strip()
        }
        for system, of_query in repeats.items()
        for query_id, answers in of_query.items()
    }
    size = sum(len(answers) for of_query in repeats.values() for answers in of_query.values())
    compared = {key: texts for key, texts in present.items() if len(texts) > 1}
    counts = Counter(absent=size - sum(map(len, present.values())), single=len(present) - len(compared))
    pairs: list[PairSimilarity] = []
    for (system, query_id), texts in compared.items():
        vectors: Mapping[int, TokenVectors] = {}
        if embedder is not None:
            vectors = dict(zip(texts, embedder.vectors(list(texts.values())), strict=True))
        counts["cut"] += sum(vector.tokens_cut > 0 for vector in vectors.values())
        for first, second in combinations(texts, 2):
            by_words = rouge(texts[first], texts[second], stem=stem) if with_rouge else {}
            counts["tokenless"] += by_words is None
            overlaps: dict[str, Overlap | None] = {**(by_words or {})}
            if vectors:
                a, b = vectors[first], vectors[second]
                overlaps[BERT_SCORE] = bert_score(a.vectors, a.weights, b.vectors, b.weights, baseline)
            pairs += [
                PairSimilarity(system, query_id, first, second, metric, *overlap)
                for metric, overlap in overlaps.items()
                if overlap is not None
            ]
    values: dict[tuple[str, str, str], list[float]] = {}
    for pair in pairs:
        values.setdefault((pair.system, pair.query_id, pair.metric), []).append(pair.f1)
    scores = [Score(*key, exact_mean(column)) for key, column in values.items()]
    notes = _similarity_notes(counts, embedder, baseline, with_rouge, stem)
    return Consistency(Evaluation(scores, [*notes]), pairs)


def _similarity_notes(
    counts: Counter[str],
    embedder: TokenEmbedder | None,
    baseline: Overlap | None,
    with_rouge: bool,
    stem: bool,
) -> Iterator[str]:
    yield "Scores are the mean F1 over all pairs of repeats; higher means more consistent."
    if with_rouge:
        how = "stemmed words" if stem else "words without stemming"
        yield f"ROUGE compares {how}: lower-cased letters from a to z, and digits."
    if embedder is not None:
        scaled = "rescaled with the baseline of English texts" if baseline else "not rescaled with a baseline"
        yield f"BERTScore uses layer {embedder.layer} of {embedder.name}, {scaled}."
    yield from noted(counts["cut"], "{} too long for BERTScore and cut.", "answer was", "answers were")
    without_tokens = "{} no ROUGE, because an answer has no letters from a to z and no digits."
    yield from noted(counts["tokenless"], without_tokens, "pair has", "pairs have")
    are = "is" if counts["absent"] == 1 else "are"
    yield from noted(counts["absent"], f"{{}} no answer and {are} in no pair.", "repeat has", "repeats have")
    without_pairs = "{} fewer than two answers and no score."
    yield from noted(counts["single"], without_pairs, "query of a system has", "queries of systems have")


def score_consistency(scores: RepeatedScores, *, sample: bool = False) -> Evaluation:
    """Describe how much scores differ over repeats, for each system and query."""
    for of_system in scores.values():
        for system, of_query in of_system.items():
            check_names(of_query, [system])
    columns = {
        (system, query_id, metric): values
        for metric, of_system in scores.items()
        for system, of_query in of_system.items()
        for query_id, values in of_query.items()
    }
    present = {key: [value for value in values if value is not None] for key, values in columns.items()}
    spreads = {key: spread(values, sample=sample) for key, values in present.items() if len(values) > 1}
    rows = [
        Score(system, query_id, f"{name}({metric})", value)
        for (system, query_id, metric), of in spreads.items()
        for name, value in zip(_SPREAD, astuple(of), strict=True)
        if value is not None
    ]
    divisor = "n − 1 (sample variance)" if sample else "n (population variance)"
    absent = sum(values.count(None) for values in columns.values())
    undefined = sum(of.variation is None for of in spreads.values())
    notes = [
        f"Variances divide by {divisor}; cv is sd/mean (lower is more consistent), adjusted is mean/(1+sd).",
        *noted(absent, "{} missing from a repeat and in no number.", "score is", "scores are"),
        *noted(
            len(present) - len(spreads), "{} in fewer than two repeats and left out.",
            "score of a query is", "scores of queries are",
        ),
        *noted(
            undefined, "{} undefined, because the mean is 0.",
            "coefficient of variation is", "coefficients of variation are",
        ),
    ]  # fmt: skip
    return Evaluation(rows, notes)


_SPREAD = ("mean", "variance", "cv", "adjusted")
"""The names of the numbers of a spread."""


@dataclass(frozen=True)
class RepeatedAnswers:
    """The repeated answers of a file.

    ``answers``: System to query id to the answers in the order of the repeats; None for a missing answer.
    ``positions``: Repeat of a system to its position in ``answers``, from 0. ``single``: Systems that
    answered once. ``systems``: All systems of the file.
    """

    answers: Mapping[str, Mapping[str, Sequence[str | None]]]
    positions: Mapping[System, int]
    single: Sequence[str]
    systems: Collection[str]


def repeated_answers(
    source: Passages,
    *,
    queries: Collection[str] | None = None,
    systems: Collection[str] = (),
) -> RepeatedAnswers:
    """Read the answers of all systems that answered several times.

    ``queries``: Ids of the queries; None for all. ``systems``: Names of the systems; empty for all. Returns
    the answers. A repeat without an answer to a query that another repeat answers is None.
    """
    outputs = [
        (query.query_id, key, output)
        for query in loaded(source).queries
        if queries is None or query.query_id in queries
        for key, output in outputs_of(query).items()
    ]
    texts: dict[str, dict[str, dict[int | None, str]]] = {}
    for query_id, (system, repeat), output in outputs:
        if output.answered and not is_canary(system) and (not systems or system in systems):
            texts.setdefault(system, {}).setdefault(query_id, {})[repeat] = output.text
    numbers = {
        system: sorted({number for of in of_query.values() for number in of if number is not None})
        for system, of_query in texts.items()
    }
    repeated = {system: of_system for system, of_system in numbers.items() if len(of_system) > 1}
    if not repeated:
        name = str(name_of(source, "The file"))
        raise SelectionError(
            f"{name} has no system with repeated answers; import the answers of several runs under one name "
            "with `exam-pp import --answers`."
        )
    return RepeatedAnswers(
        {
            system: {
                query_id: [of.get(number) for number in of_system] for query_id, of in texts[system].items()
            }
            for system, of_system in repeated.items()
        },
        {
            System(system, number): position
            for system, of_system in repeated.items()
            for position, number in enumerate(of_system)
        },
        [system for system in numbers if system not in repeated],
        {system for _, (system, _), _ in outputs},
    )


def consistency(
    repeats: RepeatedAnswers,
    *,
    with_rouge: bool = True,
    stem: bool = False,
    embedder: TokenEmbedder | None = None,
    rescale: bool = True,
    scores: Collection[Score] = (),
    sample: bool = False,
) -> Consistency:
    """Describe how much the answers of repeated runs, and their scores, differ.

    Source: Open RAG Eval, metrics documentation, section "Consistency Metrics".

    ``embedder``: The encoder of BERTScore; None for no BERTScore.
    """
    parts = [_spread(repeats, scores, sample)] if scores else []
    pairs: Sequence[PairSimilarity] = ()
    if with_rouge or embedder is not None:
        similarity = answer_consistency(
            repeats.answers, with_rouge=with_rouge, stem=stem, embedder=embedder, rescale=rescale
        )
        parts, pairs = [similarity.evaluation, *parts], similarity.pairs
    left_out = "Left out, because they have a single answer per query: {}."
    notes = [
        *(note for part in parts for note in part.notes),
        *noted_names(repeats.single, left_out, "system", "systems"),
    ]
    return Consistency(Evaluation([score for part in parts for score in part.scores], notes), pairs)


def _spread(repeats: RepeatedAnswers, scores: Iterable[Score], sample: bool) -> Evaluation:
    """The spread of scores."""
    table: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    size = {system: len(next(iter(of_query.values()))) for system, of_query in repeats.answers.items()}
    distinct = DistinctNames()
    for other in repeats.systems:
        distinct(System(other))
    names = {distinct(repeat): (repeat.name, position) for repeat, position in repeats.positions.items()}
    counting = [score for score in scores if score.query_id != ALL_QUERIES]
    for score in counting:
        if score.system in names:
            system, position = names[score.system]
            of_query = table.setdefault(score.metric, {}).setdefault(system, {})
            of_query.setdefault(score.query_id, [None] * size[system])[position] = score.value
    if not table:
        raise SelectionError(
            f"The scores have no system that is a repeat in the answers, such as {next(iter(names))!r}."
        )
    evaluation = score_consistency(table, sample=sample)
    others = list(dict.fromkeys(score.system for score in counting if score.system not in names))
    ignored = "Ignored, because they are no repeats: the scores of {}."
    evaluation.notes += noted_names(others, ignored, "system", "systems")
    return evaluation


def write_pairs(pairs: Iterable[PairSimilarity], path: PathLike, *, inputs: Iterable[PathLike] = ()) -> None:
    """Write the similarity of each pair of answers, one JSON object per line."""
    lines = (json.dumps(pair._asdict(), ensure_ascii=False) + "\n" for pair in pairs)
    write_text(path, lines, inputs=inputs)
