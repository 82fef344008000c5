"""Canaries: systems added to a pool that deserve no score, or a known one, to test the grader.

Source: Alaofi, Thomas, Scholer and Sanderson, "LLMs can be Fooled into Labelling a Document as Relevant",
SIGIR-AP 2024, for words of the query and instructions in passages. The other canaries are our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.data_model import CANARY, Passage, PassageData, QueryPassages, QueryView, RankingEntry, Role
from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.fusion import reciprocal_rank_fusion
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.passages.sample import random_key
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.plugins.trust.canary_texts import CANARIES, Material
from exam_pp.reports.analysis.report_folder import GradeSet, Inputs
from exam_pp.roles import (
    System,
    accepted_entries,
    answers_in,
    canaries_of,
    joined_text,
    role_of,
)
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.inputs import reading
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.raw_passages import RawQuery, raw_query
from exam_pp.store.trec.queries import read_queries
from exam_pp.text.wording import counted, listed


@dataclass(frozen=True)
class CanaryOptions:
    """Options of :func:`add_canaries`.

    ``names``: Names in :data:`~exam_pp.plugins.trust.canary_texts.CANARIES`; empty for all. ``original`` is
    added to ``doubled`` and ``negated``, because they are compared with it.
    """

    names: Collection[str] = ()
    seed: int = 0
    depth: int = 1

    @property
    def chosen(self) -> list[str]:
        """The names of the canaries, in their order."""
        compared = not {"doubled", "negated"}.isdisjoint(self.names)
        names = {*self.names, *(["original"] if compared else [])} if self.names else CANARIES
        return [name for name in CANARIES if name in names]


@dataclass
class CanarySummary:
    """Numbers of added passages by canary, and of queries and passages for which none could be made."""

    rewritten: Rewritten
    added: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    not_in_bank: int = 0

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        added, of = counted(self.added.total(), "passage"), counted(len(self.added), "canary", "canaries")
        yield f"Added {added} of {of}: {', '.join(self.added)}."
        for name, number in self.skipped.items():
            reason = {
                "query": "without a query text",
                "bank": "without bank entries",
                "negated": "without a verb or number to negate",
            }.get(name, "without a text to make it of")
            yield f"{CANARY}{name}: skipped {counted(number, 'passage')} {reason}."
        if self.not_in_bank:
            queries = counted(self.not_in_bank, "query is", "queries are")
            yield f"{queries} not in the file of their texts, and got no canaries."
        lines, passages = self.rewritten.queries, self.rewritten.units
        yield f"Written: {counted(lines, 'query')}, {counted(passages, 'passage')}."


@dataclass
class _Pool:
    """The parts of a pool that canaries are made of: good texts by query, and the role of its passages.

    ``role`` is what most systems have, ``recorded`` what ranking entries of canaries record.
    """

    role: Role
    recorded: Role | None
    good: dict[str, list[str]]


@reading()
def add_canaries(
    source: Path,
    bank_path: Path | None,
    output: Path,
    options: CanaryOptions | None = None,
    *,
    queries: Path | None = None,
) -> CanarySummary:
    """Write a passages file with canary systems at the end of each query; all else keeps its bytes.

    A canary passage has the id ``canary:NAME:QUERY:NUMBER`` and the role of the pool: it is an answer if at
    least as many systems have answers as have rankings. Texts depend only on the seed, the ids and the texts
    of the pool. Queries that are not in the bank or queries file get no canaries.

    ``source``: Passages file, graded or not. ``bank_path``: Test bank with the texts of queries and entries.
    None: those of ``queries``, for direct prompts; ``keywords`` are then those of the query, and there is no
    ``bank``.
    """
    chosen = options or CanaryOptions()
    texts, texts_file = _query_texts(bank_path, queries)
    pool = _read_pool(source, chosen)
    if sum(map(bool, pool.good.values())) < 2 and any(CANARIES[name].of_other for name in chosen.chosen):
        raise SelectionError(
            f"{source} has no passages of a second query, which off-topic canaries need; choose others with "
            "--canary."
        )
    summary = CanarySummary(Rewritten())

    def change(query: RawQuery) -> RawQuery:
        if query.query_id not in texts:
            summary.not_in_bank += 1
            return query
        new = _canaries(query.query_id, pool, texts[query.query_id], chosen, summary)
        known = {passage.passage_id for passage in query.passages}
        if taken := [passage.passage_id for passage in new if passage.passage_id in known]:
            raise DataError(
                f"has the passage id {taken[0]!r}, which a canary needs; rename it.", file=str(source)
            )
        if new:
            query.passages = [
                *query.passages,
                *raw_query(QueryPassages(query.query_id, new), source).passages,
            ]
        return query

    def check(_counts: Rewritten) -> None:
        if not summary.added and pool.good:
            raise SelectionError(f"None of the queries in {source} is in {texts_file}, or got a canary.")

    summary.rewritten = rewrite(source, output, change, inputs=[texts_file], check=check)
    return summary


class _Texts(NamedTuple):
    """The texts of a query and of its bank entries."""

    query: str
    entries: tuple[str, ...] = ()


def _query_texts(bank: Path | None, queries: Path | None) -> tuple[dict[str, _Texts], Path]:
    """Query id to its texts, and the file that has them."""
    if bank is not None:
        return {
            query_id: _Texts(query.query_text, tuple(entry.text for entry in query.entries.values()))
            for query_id, query in read_bank(bank).queries.items()
        }, bank
    if queries is None:
        raise SelectionError("Canaries need the texts of the queries; name a test bank or a queries file.")
    return {query_id: _Texts(query.query_text) for query_id, query in read_queries(queries).items()}, queries


def _read_pool(source: Path, options: CanaryOptions) -> _Pool:
    systems: dict[Role, set[str]] = {"answer": set(), "retrieved": set()}
    good: dict[Role, dict[str, list[str]]] = {"answer": {}, "retrieved": {}}
    recorded = False
    for query in read_passages(source):
        if canaries := sorted(canaries_of(query)):
            raise SelectionError(
                f"{source} already has canaries ({listed(canaries)}); remove them with `exam-pp filter "
                "--remove canaries`."
            )
        if query.query_id in good["answer"]:
            raise DataError(
                f"the query {query.query_id!r} is on several lines. Merge them first with exam-pp merge.",
                file=str(source),
            )
        for passage in query.passages:
            for entry in passage.rankings:
                systems[role_of(query.query_id, passage.passage_id, entry)].add(entry.method)
                recorded = recorded or entry.role is not None
        texts: dict[Role, Iterator[str]] = {
            "answer": _answers(query, options.seed),
            "retrieved": _retrieved(query),
        }
        for of_role, in_order in texts.items():
            good[of_role][query.query_id] = list(dict.fromkeys(in_order))[: options.depth]
    role: Role = "retrieved"
    if systems["answer"] and len(systems["answer"]) >= len(systems["retrieved"]):
        role = "answer"
    return _Pool(role, role if recorded or role == "answer" else None, good[role])


def _answers(query: QueryView, seed: int) -> Iterator[str]:
    """The answers of all systems, in a random order that depends on the seed and the ids."""
    answers = answers_in(query)
    for system in sorted(
        answers, key=lambda key: random_key(seed, query.query_id, key.name, str(key.repeat or ""))
    ):
        if text := joined_text(query.passages[position] for position in answers[system]):
            yield text


def _retrieved(query: QueryView) -> Iterator[str]:
    """The other passages: by the highest judgment, then by reciprocal rank fusion of all systems."""
    rankings: dict[System, dict[str, int]] = {}
    judged: dict[str, int] = {}
    texts: dict[str, str] = {}
    for passage in query.passages:
        key = passage.passage_id
        entries = accepted_entries(query.query_id, key, passage.rankings, "retrieved")
        if entries is None or not passage.text.strip():
            continue
        texts[key] = passage.text
        judged[key] = max((judgment.relevance for judgment in passage.judgments), default=0)
        for entry in entries:
            rankings.setdefault(System.of(entry), {})[key] = max(1, entry.rank)
    fused = reciprocal_rank_fusion(rankings.values())
    for key in sorted(texts, key=lambda key: (-judged[key], -fused.get(key, 0.0))):
        yield texts[key]


def _canaries(
    query_id: str, pool: _Pool, texts: _Texts, options: CanaryOptions, summary: CanarySummary
) -> list[Passage]:
    """The passages of all canaries for a query."""
    others = sorted(
        (other for other, texts in pool.good.items() if texts and other != query_id),
        key=lambda other: random_key(options.seed, query_id, other),
    )
    off_topic = [pool.good[other][0] for other in others[: options.depth]]
    own = pool.good[query_id]
    new: list[Passage] = []
    for name in options.chosen:
        canary = CANARIES[name]
        count = min([options.depth, *([len(own)] * canary.of_own), *([len(off_topic)] * canary.of_other)])
        made = [
            canary.text(Material(texts.query.strip(), texts.entries, _at(own, n), _at(off_topic, n)))
            for n in range(count)
        ]
        known = [text for text in made if text is not None]
        if skipped := (len(made) or options.depth) - len(known):
            summary.skipped[name] += skipped
        if known:
            summary.added[f"{CANARY}{name}"] += len(known)
            new += _passages(name, query_id, known, pool.recorded)
    return new


def _at(texts: Sequence[str], position: int) -> str:
    return texts[position] if position < len(texts) else ""


def _passages(name: str, query_id: str, texts: Sequence[str], role: Role | None) -> Iterator[Passage]:
    """The passages of a canary, in the order of its ranking."""
    system = f"{CANARY}{name}"
    recorded: dict[str, Any] = {} if role is None else {"role": role}
    for rank, text in enumerate(texts, 1):
        passage_id = f"{system}:{query_id}:{rank}"
        entry = RankingEntry(
            method=system,
            passage_id=passage_id,
            query_id=query_id,
            rank=rank,
            score=float(len(texts) - rank + 1),
            **recorded,
        )
        yield Passage(passage_id=passage_id, text=text, data=PassageData(judgments=[], rankings=[entry]))


def canary_scores(inputs: Inputs, grade_set: GradeSet) -> dict[str, float]:
    """Rubric-Cover of the canaries that deserve no score; empty if the passages have none."""
    if not any(map(canaries_of, inputs.passages.queries)):
        return {}
    scores = cover(
        inputs.passages,
        grade_set.bank,
        grade_filter=grade_set.grade_filter,
        min_grade=inputs.sources.min_grade,
        cutoff=inputs.sources.cutoff,
        canaries=True,
    ).scores
    # Canaries that are made of a good passage of the query deserve a score.
    undeserved = {f"{CANARY}{name}" for name, canary in CANARIES.items() if not canary.of_own}
    return {
        row.system: row.mean
        for row in standings(scores)
        if row.system in undeserved and row.metric == scores[0].metric
    }
