"""Repeats of systems: similarity of their answers, and spread of their scores."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from exam_pp.data_model import is_canary
from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.metrics.text_similarity import Overlap, baseline_of, bert_score, rouge, spread
from exam_pp.phases.evaluation.inputs import Passages, loaded, name_of
from exam_pp.phases.evaluation.result import Evaluation, PathLike, check_names, counted_names
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.roles import DistinctNames, System, outputs_of
from exam_pp.store.files import write_text
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.llm.embeddings import TokenEmbedder, TokenVectors


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


@dataclass
class Consistency:
    """Consistency over repeats, and the similarity of each pair of answers."""

    evaluation: Evaluation = field(default_factory=Evaluation)
    pairs: list[PairSimilarity] = field(default_factory=list)


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
    result, counts = Consistency(), Counter[str]()
    baseline = baseline_of(embedder.name, embedder.layer) if embedder and rescale else None
    for system, of_query in repeats.items():
        for query_id, answers in of_query.items():
            present = {
                number: text for number, text in enumerate(answers, 1) if text is not None and text.strip()
            }
            counts["absent"] += len(answers) - len(present)
            if len(present) < 2:
                counts["single"] += 1
                continue
            vectors = _vectors(embedder, present, counts)
            for first, second in combinations(present, 2):
                found = rouge(present[first], present[second], stem=stem) if with_rouge else {}
                counts["tokenless"] += found is None
                overlaps: dict[str, Overlap | None] = {**(found or {})}
                if vectors:
                    a, b = vectors[first], vectors[second]
                    overlaps[BERT_SCORE] = bert_score(a.vectors, a.weights, b.vectors, b.weights, baseline)
                result.pairs += [
                    PairSimilarity(system, query_id, first, second, metric, *overlap)
                    for metric, overlap in overlaps.items()
                    if overlap is not None
                ]
    result.evaluation = Evaluation(
        _means(result.pairs), _similarity_notes(counts, embedder, baseline, with_rouge, stem)
    )
    return result


def _vectors(
    embedder: TokenEmbedder | None, answers: Mapping[int, str], counts: Counter[str]
) -> dict[int, TokenVectors]:
    if embedder is None:
        return {}
    vectors = dict(zip(answers, embedder.vectors(list(answers.values())), strict=True))
    counts["cut"] += sum(vector.tokens_cut > 0 for vector in vectors.values())
    return vectors


def _means(pairs: Iterable[PairSimilarity]) -> list[Score]:
    values: dict[tuple[str, str, str], list[float]] = {}
    for pair in pairs:
        values.setdefault((pair.system, pair.query_id, pair.metric), []).append(pair.f1)
    return [Score(*key, exact_mean(column)) for key, column in values.items()]


def _similarity_notes(
    counts: Counter[str],
    embedder: TokenEmbedder | None,
    baseline: Overlap | None,
    with_rouge: bool,
    stem: bool,
) -> list[str]:
    notes = ["Scores are the mean F1 over all pairs of repeats; higher means more consistent."]
    if with_rouge:
        how = "stemmed words" if stem else "words without stemming"
        notes.append(f"ROUGE compares {how}: lower-cased letters from a to z, and digits.")
    if embedder is not None:
        scaled = "rescaled with the baseline of English texts" if baseline else "not rescaled with a baseline"
        notes.append(f"BERTScore uses layer {embedder.layer} of {embedder.name}, {scaled}.")
    if counts["cut"]:
        notes.append(
            f"{counted(counts['cut'], 'answer was', 'answers were')} too long for BERTScore and cut."
        )
    if counts["tokenless"]:
        are = counted(counts["tokenless"], "pair has", "pairs have")
        notes.append(f"{are} no ROUGE, because an answer has no letters from a to z and no digits.")
    if counts["absent"]:
        are = counted(counts["absent"], "repeat has", "repeats have")
        notes.append(f"{are} no answer and {'is' if counts['absent'] == 1 else 'are'} in no pair.")
    if counts["single"]:
        are = counted(counts["single"], "query of a system has", "queries of systems have")
        notes.append(f"{are} fewer than two answers and no score.")
    return notes


def score_consistency(scores: RepeatedScores, *, sample: bool = False) -> Evaluation:
    """Describe how much scores differ over repeats, for each system and query."""
    rows: list[Score] = []
    counts: Counter[str] = Counter()
    for metric, of_system in scores.items():
        for system, of_query in of_system.items():
            check_names(of_query, [system])
            for query_id, values in of_query.items():
                present = [value for value in values if value is not None]
                counts["absent"] += len(values) - len(present)
                if len(present) < 2:
                    counts["single"] += 1
                    continue
                result = spread(present, sample=sample)
                counts["undefined"] += result.variation is None
                named = {
                    "mean": result.mean, "variance": result.variance, "cv": result.variation,
                    "adjusted": result.adjusted,
                }  # fmt: skip
                rows += [
                    Score(system, query_id, f"{name}({metric})", value)
                    for name, value in named.items()
                    if value is not None
                ]
    return Evaluation(rows, _spread_notes(counts, sample=sample))


def _spread_notes(counts: Counter[str], *, sample: bool) -> list[str]:
    divisor = "n − 1 (sample variance)" if sample else "n (population variance)"
    notes = [
        f"Variances divide by {divisor}; cv is sd/mean (lower is more consistent), adjusted is mean/(1+sd)."
    ]
    for key, noun, rest in (
        ("absent", "score", "missing from a repeat and in no number."),
        ("single", "score of a query", "in fewer than two repeats and left out."),
        ("undefined", "coefficient of variation", "undefined, because the mean is 0."),
    ):
        if counts[key]:
            plural = {"score": "scores", "score of a query": "scores of queries"}.get(
                noun, "coefficients of variation"
            )
            notes.append(f"{counted(counts[key], f'{noun} is', f'{plural} are')} {rest}")
    return notes


@dataclass
class RepeatedAnswers:
    """The repeated answers of a file.

    ``answers``: System to query id to the answers in the order of the repeats; None for a missing answer.
    ``positions``: Repeat of a system to its position in ``answers``, from 0.
    """

    answers: dict[str, dict[str, list[str | None]]] = field(default_factory=dict)
    positions: dict[System, int] = field(default_factory=dict)
    single: list[str] = field(default_factory=list)
    systems: set[str] = field(default_factory=set)


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
    texts: dict[str, dict[str, dict[int | None, str]]] = {}
    result = RepeatedAnswers()
    for query in loaded(source).queries:
        if queries is not None and query.query_id not in queries:
            continue
        for (system, repeat), output in outputs_of(query).items():
            result.systems.add(system)
            if output.answered and not is_canary(system) and (not systems or system in systems):
                texts.setdefault(system, {}).setdefault(query.query_id, {})[repeat] = output.text
    for system, of_query in texts.items():
        numbers = sorted({number for found in of_query.values() for number in found if number is not None})
        if len(numbers) < 2:
            result.single.append(system)
            continue
        result.positions |= {System(system, number): position for position, number in enumerate(numbers)}
        result.answers[system] = {
            query_id: [found.get(number) for number in numbers] for query_id, found in of_query.items()
        }
    if not result.answers:
        name = str(name_of(source, "The file"))
        raise SelectionError(
            f"{name} has no system with repeated answers; import the answers of several runs under one name "
            "with `exam-pp import --answers`."
        )
    return result


def consistency(
    repeats: RepeatedAnswers,
    *,
    with_rouge: bool = True,
    stem: bool = False,
    embedder: TokenEmbedder | None = None,
    rescale: bool = True,
    scores: Iterable[Score] = (),
    metrics: Collection[str] = (),
    sample: bool = False,
) -> Consistency:
    """Describe how much the answers of repeated runs, and their scores, differ.

    Source: Open RAG Eval, metrics documentation, section "Consistency Metrics".

    ``embedder``: The encoder of BERTScore; None for no BERTScore. ``metrics``: The metrics of ``scores`` that
    count; empty for all.
    """
    spread = _spread(repeats, scores, metrics, sample)
    result = Consistency()
    if with_rouge or embedder is not None:
        result = answer_consistency(
            repeats.answers, with_rouge=with_rouge, stem=stem, embedder=embedder, rescale=rescale
        )
    elif spread is None:
        raise SelectionError("Without ROUGE, consistency needs an encoder (--model) or scores (--scores).")
    if spread is not None:
        result.evaluation = Evaluation(
            [*result.evaluation.scores, *spread.scores], [*result.evaluation.notes, *spread.notes]
        )
    if repeats.single:
        left_out = counted_names(repeats.single, "system", "systems")
        result.evaluation.notes.append(f"Left out, because they have a single answer per query: {left_out}.")
    return result


def _spread(
    repeats: RepeatedAnswers, scores: Iterable[Score], metrics: Collection[str], sample: bool
) -> Evaluation | None:
    """The spread of scores, or None without scores."""
    table: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    size = {system: len(next(iter(of_query.values()))) for system, of_query in repeats.answers.items()}
    others: dict[str, None] = {}
    if not (known := list(scores)):
        if metrics:
            raise SelectionError(f"The metric {min(metrics)!r} has no scores; name their file with --scores.")
        return None
    distinct = DistinctNames()
    for other in repeats.systems:
        distinct(System(other))
    names = {distinct(repeat): (repeat.name, position) for repeat, position in repeats.positions.items()}
    for score in known:
        if score.query_id == ALL_QUERIES or (metrics and score.metric not in metrics):
            continue
        if score.system not in names:
            others[score.system] = None
            continue
        system, position = names[score.system]
        of_query = table.setdefault(score.metric, {}).setdefault(system, {})
        of_query.setdefault(score.query_id, [None] * size[system])[position] = score.value
    _check_table(table, metrics, names)
    evaluation = score_consistency(table, sample=sample)
    if others:
        ignored = counted_names(list(others), "system", "systems")
        evaluation.notes.append(f"Ignored, because they are no repeats: the scores of {ignored}.")
    return evaluation


def _check_table(
    table: Mapping[str, object], metrics: Collection[str], names: Mapping[str, tuple[str, int]]
) -> None:
    if missing := [metric for metric in metrics if metric not in table]:
        raise SelectionError(f"The scores of the repeats lack the metric {missing[0]!r}.")
    if not table:
        raise SelectionError(
            f"The scores have no system that is a repeat in the answers, such as {next(iter(names))!r}."
        )


def write_pairs(pairs: Iterable[PairSimilarity], path: PathLike, *, inputs: Iterable[PathLike] = ()) -> None:
    """Write the similarity of each pair of answers, one JSON object per line."""
    lines = (json.dumps(pair._asdict(), ensure_ascii=False) + "\n" for pair in pairs)
    write_text(path, lines, inputs=inputs)
