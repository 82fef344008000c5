"""Relevant passages and top passages of every query in rank order, as input of generation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import filterfalse
from typing import Literal

from exam_pp.data_model import DIRECT_ID, Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector, check_one
from exam_pp.metrics.fusion import reciprocal_rank_fusion
from exam_pp.prompts.base import with_aliases
from exam_pp.prompts.direct import GRADED_RELEVANCE
from exam_pp.roles import DistinctNames, System, is_part_of_answer
from exam_pp.text.wording import counted, did_you_mean

RelevanceSource = Literal["human", "model", "all", "references"]


@dataclass(frozen=True)
class Relevance:
    """Criteria for relevant passages, and their order.

    Relevance comes from judgments (``source`` "human") or from direct grades in the file ("model"), or all
    passages are relevant ("all"; ``min_judgment`` has no effect), or the file is a bank, whose reference
    answers stand in place of passages ("references"). The grades are those with the prompt ``judge_prompt``
    by the model ``judge``; None if the file has such grades of one model only. Passages are in the order of
    the system ``ranking``; if it is None, in the order of reciprocal rank fusion over all systems. Passages
    without a rank follow in file order.
    """

    source: RelevanceSource = "human"
    min_judgment: int = 1
    judge: str | None = None
    judge_prompt: str = GRADED_RELEVANCE.name
    ranking: str | None = None


@dataclass
class RelevantPassages:
    """The relevant passages of every query.

    ``queries`` maps a query id to (passage id, text), best first. ``judge`` is the model whose grades were
    used. ``labelled`` counts passages with a judgment, ``without_text`` skipped passages without text.
    """

    queries: dict[str, list[tuple[str, str]]]
    judge: str | None = None
    labelled: int = 0
    without_text: int = 0


class _Ranked:
    """Passages with text by query, in file order, and their ranks by system; answers are left out."""

    def __init__(self, file: str) -> None:
        self.texts: dict[str, dict[str, str]] = {}
        self._file = file
        self._ranks: dict[str, dict[str, dict[str, int]]] = {}
        self._first_ranks: dict[str, int] = {}
        self._distinct = DistinctNames()

    def read(self, queries: Iterable[QueryPassages]) -> Iterator[tuple[str, Passage]]:
        """Yield query ids and passages, and collect the first rank of each system: 0 or 1."""
        for query in queries:
            self.texts.setdefault(query.query_id, {})
            for passage in filterfalse(is_part_of_answer, query.passages):
                for entry in passage.rankings:
                    system = self._distinct(System.of(entry))
                    self._first_ranks[system] = min(entry.rank, self._first_ranks.get(system, 1))
                yield query.query_id, passage

    def add(self, query_id: str, passage: Passage) -> None:
        """Add a passage with its ranks."""
        self.texts[query_id].setdefault(passage.passage_id, passage.text)
        for entry in passage.rankings:
            ranks = self._ranks.setdefault(query_id, {}).setdefault(str(System.of(entry)), {})
            ranks[passage.passage_id] = min(entry.rank, ranks.get(passage.passage_id, entry.rank))

    def best_first(self, ranking: str | None, *, unranked: bool) -> dict[str, list[tuple[str, str]]]:
        """Query to ids and texts in the order of a system, or of reciprocal rank fusion over all systems.

        Passages without a rank follow in file order; without ``unranked``, they are left out, unless the file
        has no rankings. Raises :class:`SelectionError` for an unknown system.
        """
        _check_ranking(ranking, self._first_ranks, self._file)
        ordered: dict[str, list[tuple[str, str]]] = {}
        for query_id, texts in self.texts.items():
            of_query = self._ranks.get(query_id, {})
            scores = reciprocal_rank_fusion(
                {passage: rank - self._first_ranks[method] + 1 for passage, rank in of_query[method].items()}
                for method in (of_query.keys() if ranking is None else {ranking} & of_query.keys())
            )
            order = sorted(texts, key=lambda passage: -scores.get(passage, 0.0))
            ordered[query_id] = [
                (key, texts[key]) for key in order if key in scores or unranked or not self._first_ranks
            ]
        return ordered


def relevant_passages(queries: Iterable[QueryPassages], relevance: Relevance, file: str) -> RelevantPassages:
    """Collect the relevant passages of all queries; a query without relevant passages has an empty list.

    The highest judgment of a passage counts. Raises :class:`SelectionError` if no passage has a judgment from
    the source, if the grades are by several models, and for an unknown ranking. Passages with the role
    ``answer`` are left out, here and in :func:`ranked_passages`.
    """
    selector = GradeSelector(
        with_aliases(GradeFilter(relevance.judge, relevance.judge_prompt, kind="direct"))
    )
    result, ranked = RelevantPassages({}), _Ranked(file)
    for query_id, passage in ranked.read(queries):
        label = _label(passage, relevance, selector)
        result.labelled += label is not None
        if label is not None and label >= relevance.min_judgment:
            if passage.text.strip():
                ranked.add(query_id, passage)
            else:
                result.without_text += 1
    if not result.labelled and relevance.source != "all":
        raise SelectionError(_no_judgments(relevance, file))
    if relevance.source == "model":
        result.judge = _single_judge(selector, relevance.judge_prompt, file)
    result.queries = ranked.best_first(relevance.ranking, unranked=True)
    return result


def ranked_passages(
    queries: Iterable[QueryPassages], file: str, *, ranking: str | None = None, limit: int
) -> dict[str, list[tuple[str, str]]]:
    """Query to its first ``limit`` passages with text, as pairs of id and text.

    The order is that of the system ``ranking``, which must have ranked the passages; if it is None, that of
    reciprocal rank fusion over all systems. Passages without a rank are left out, unless the file has no
    rankings: then they are in file order. Raises :class:`SelectionError` for an unknown ranking.
    """
    ranked = _Ranked(file)
    for query_id, passage in ranked.read(queries):
        if passage.text.strip():
            ranked.add(query_id, passage)
    return {key: of[:limit] for key, of in ranked.best_first(ranking, unranked=False).items()}


def _label(passage: Passage, relevance: Relevance, selector: GradeSelector) -> int | None:
    if relevance.source == "all":
        return relevance.min_judgment
    if relevance.source == "human":
        return max((judgment.relevance for judgment in passage.judgments), default=None)
    return selector.ratings(passage).get(DIRECT_ID)


def _no_judgments(relevance: Relevance, file: str) -> str:
    if relevance.source == "human":
        return (
            f"{file} has no judgments. Add them with `exam-pp import --qrels`, use direct grades "
            "with --prompt, or take all passages with --min-judgment all."
        )
    by = f" by the model {relevance.judge!r}" if relevance.judge else ""
    return (
        f"{file} has no direct grades with the prompt {relevance.judge_prompt}{by}. Choose the prompt with "
        "--prompt, run `exam-pp grade` first, or leave out --grader and --prompt."
    )


def _single_judge(selector: GradeSelector, prompt: str, file: str) -> str:
    models: Counter[str] = Counter()
    for key, count in selector.selected.items():
        models[key.model] += count
    graded = [f"{model!r} ({counted(count, 'passage')})" for model, count in sorted(models.items())]
    check_one(graded, f"{file} has grades with the prompt {prompt} by several models", "--grader")
    return next(iter(models))


def _check_ranking(ranking: str | None, systems: Mapping[str, int], file: str) -> None:
    if ranking is None or ranking in systems:
        return
    if not systems:
        raise SelectionError(f"{file} has no rankings, so it has no system {ranking!r}.")
    hint = did_you_mean(ranking, systems, f"Its systems: {', '.join(sorted(systems))}.")
    raise SelectionError(f"{file} has no system {ranking!r}. {hint}")
