"""Consistency of repeated answers: similarity of the answers in a file, and spread of their scores."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.data_model import QueryPassages, is_canary
from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.repeats import (
    Embedder,
    PairSimilarity,
    answer_consistency,
    score_consistency,
)
from exam_pp.phases.evaluation.result import Evaluation, PathLike, counted_names
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.roles import DistinctNames, System, outputs_of
from exam_pp.store.files import write_text
from exam_pp.store.passages.graded_file import read_passages


@dataclass(frozen=True)
class SimilarityOptions:
    """Options of the similarity of answers.

    ``embedder``: The encoder of BERTScore; None for no BERTScore.
    """

    with_rouge: bool = True
    stem: bool = False
    embedder: Embedder | None = None
    rescale: bool = True


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
    source: PathLike | Iterable[QueryPassages],
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
    for query in read_passages(source) if isinstance(source, str | Path) else source:
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
        name = str(source) if isinstance(source, str | Path) else "The file"
        raise SelectionError(
            f"{name} has no system with repeated answers; import the answers of several runs under one name "
            "with `exam-pp import --answers`."
        )
    return result


@dataclass
class Consistency:
    """Consistency over repeats."""

    evaluation: Evaluation = field(default_factory=Evaluation)
    pairs: list[PairSimilarity] = field(default_factory=list)


def consistency(
    repeats: RepeatedAnswers,
    *,
    similarity: SimilarityOptions | None = None,
    scores: Iterable[Score] = (),
    metrics: Collection[str] = (),
    sample: bool = False,
) -> Consistency:
    """Describe how much the answers of repeated runs, and their scores, differ.

    Source: Open RAG Eval, metrics documentation, section "Consistency Metrics".

    ``metrics``: The metrics of ``scores`` that count; empty for all.
    """
    chosen = similarity or SimilarityOptions()
    spread = _spread(repeats, scores, metrics, sample)
    result = Consistency()
    if chosen.with_rouge or chosen.embedder is not None:
        similar = answer_consistency(
            repeats.answers,
            with_rouge=chosen.with_rouge,
            stem=chosen.stem,
            embedder=chosen.embedder,
            rescale=chosen.rescale,
        )
        result = Consistency(similar.evaluation, similar.pairs)
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
