"""Canaries: systems added to a pool that deserve no score, or a known one, and what graders gave to them.

Source: Alaofi, Thomas, Scholer and Sanderson, "LLMs can be Fooled into Labelling a Document as Relevant",
SIGIR-AP 2024, for words of the query and instructions in passages. The other canaries are our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from exam_pp.data_model import (
    CANARY,
    Passage,
    PassageData,
    QueryPassages,
    QueryView,
    RankingEntry,
    Role,
    is_canary,
)
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.fusion import reciprocal_rank_fusion
from exam_pp.metrics.grade_masks import GradedQuery, gather
from exam_pp.metrics.leaderboard import exact_mean, standings
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.inputs import views
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import selectors, threshold
from exam_pp.phases.passages.sample import random_key
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.plugins.trust.canary_texts import CANARIES, Material, control_of
from exam_pp.provenance import graded_by
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
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
    """The parts of a pool that canaries are made of: the good text of each query, or an empty one.

    ``recorded``: The role that ranking entries of canaries record.
    """

    recorded: Role | None
    good: dict[str, str]


@reading()
def add_canaries(
    source: Path,
    bank_path: Path | None,
    output: Path,
    names: Collection[str] = (),
    *,
    seed: int = 0,
    queries: Path | None = None,
) -> CanarySummary:
    """Write a passages file with canary systems at the end of each query; all else keeps its bytes.

    A canary passage has the id ``canary:NAME:QUERY:1`` and the role of the pool: it is an answer if at least
    as many systems have answers as have rankings. Texts depend only on the seed, the ids and the texts of the
    pool. Queries that are not in the bank or queries file get no canaries.

    ``source``: Passages file, graded or not. ``bank_path``: Test bank with the texts of queries and entries.
    None: those of ``queries``, for direct prompts; ``keywords`` are then those of the query, and there is no
    ``bank``. ``names``: Names in :data:`~exam_pp.plugins.trust.canary_texts.CANARIES`; empty for all.
    ``original`` is added to ``doubled`` and ``negated``, because they are compared with it.
    """
    compared = {"original"} if {"doubled", "negated"} & {*names} else set()
    chosen = [name for name in CANARIES if not names or name in {*names, *compared}]
    texts, texts_file = _query_texts(bank_path, queries)
    pool = _read_pool(source, seed)
    if sum(map(bool, pool.good.values())) < 2 and any(CANARIES[name].of_other for name in chosen):
        raise SelectionError(
            f"{source} has no passages of a second query, which off-topic canaries need; choose others with "
            "--canary."
        )
    summary = CanarySummary(Rewritten())

    def change(query: RawQuery) -> RawQuery:
        if query.query_id not in texts:
            summary.not_in_bank += 1
            return query
        others = [other for other, text in pool.good.items() if text and other != query.query_id]
        nearest = min(others, key=lambda other: random_key(seed, query.query_id, other), default="")
        own, other = pool.good[query.query_id], pool.good.get(nearest, "")
        material = Material(*texts[query.query_id], own, other)
        new = list(_canaries(query.query_id, material, chosen, pool.recorded, summary))
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


def _query_texts(
    bank: Path | None, queries: Path | None
) -> tuple[dict[str, tuple[str, Sequence[str]]], Path]:
    """Query id to its text and those of its bank entries, and the file that has them."""
    if bank is not None:
        return {
            query_id: (query.query_text.strip(), [entry.text for entry in query.entries.values()])
            for query_id, query in read_bank(bank).queries.items()
        }, bank
    if queries is None:
        raise SelectionError("Canaries need the texts of the queries; name a test bank or a queries file.")
    texts = read_queries(queries).items()
    return {query_id: (query.query_text.strip(), ()) for query_id, query in texts}, queries


def _read_pool(source: Path, seed: int) -> _Pool:
    systems: dict[Role, set[str]] = {"answer": set(), "retrieved": set()}
    good: dict[Role, dict[str, str]] = {"answer": {}, "retrieved": {}}
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
        good["answer"][query.query_id] = next(_answers(query, seed), "")
        good["retrieved"][query.query_id] = next(_retrieved(query), "")
    role: Role = "retrieved"
    if systems["answer"] and len(systems["answer"]) >= len(systems["retrieved"]):
        role = "answer"
    return _Pool(role if recorded or role == "answer" else None, good[role])


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
    query_id: str, material: Material, names: Sequence[str], role: Role | None, summary: CanarySummary
) -> Iterator[Passage]:
    """The passages of all canaries for a query."""
    recorded: dict[str, Any] = {} if role is None else {"role": role}
    for name in names:
        canary, system = CANARIES[name], f"{CANARY}{name}"
        can_be_made = (material.own or not canary.of_own) and (material.other or not canary.of_other)
        text = canary.text(material) if can_be_made else None
        if text is None:
            summary.skipped[name] += 1
            continue
        summary.added[system] += 1
        passage_id = f"{system}:{query_id}:1"
        entry = RankingEntry(
            method=system, passage_id=passage_id, query_id=query_id, rank=1, score=1.0, **recorded
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


REAL = "(real passages)"
"""Name of the row of all passages that no canary returned."""

_COLUMNS = (
    "canary", "passages", "pairs", "mean rating", "control mean", "covered", "control covered",
)  # fmt: skip


def canary_report(
    graded: PathLike,
    *,
    grade_filter: GradeFilter | None = None,
    min_grade: int | None = None,
    formatted: bool = True,
) -> Report:
    """The grades of each canary, and of all other passages, for every grader in a file.

    With ``formatted``, every grader has a table with its name as title; otherwise the only table has columns
    of the grader. ``min_grade``: Lowest rating that covers an entry. Default: 4, the highest grade of a
    shorter scale, or 1 for prompts without a scale.
    """
    lines = views(graded, mixed=True, canaries=True)
    if not any(is_canary(r.method) for line in lines for p in line.passages for r in p.rankings):
        raise SelectionError(f"{graded} has no canaries; add them with `exam-pp canaries` before grading.")
    tables: list[Table] = []
    every: list[list[Cell]] = []
    notes = [
        "pairs: graded pairs of passage and entry. covered: the share of them with a rating of at least the "
        "threshold.",
        "control: canary:original for doubled and negated, canary:other-query for injections and authority, "
        "on the same queries.",
    ]
    graders = selectors(lines, grade_filter or GradeFilter(), graded)
    for key, selector in graders.items():
        file, least = gather(lines, selector), threshold(selector, min_grade)
        rows = _rows(file.queries.values(), least)
        title = f"{key.model}, {key.prompt_class}, covered from {least}"
        tables.append(Table(_COLUMNS, rows, title=title))
        every += [[key.model, key.prompt_class, least, *row] for row in rows]
        if not any(pairs for _, _, pairs, *_ in rows[1:]):
            notes.append(
                f"{key.model}, {key.prompt_class}, graded no canary: grade the file again to see what it "
                "gives them."
            )
    if not formatted:
        tables = [Table(["grader", "prompt class", "min grade", *_COLUMNS], every, decimals=6)]
    return Report("Grades of canaries", [*tables, *map(Paragraph, notes)], graded_by(list(graders)))


def _rows(queries: Iterable[GradedQuery], min_grade: int) -> list[list[Cell]]:
    """A row for the real passages, and one for each canary."""
    ratings: dict[str, dict[str, list[int]]] = {REAL: {}}
    passages: Counter[str] = Counter()
    for query in queries:
        of = {s: {index for *_, index in ranks} for s, ranks in query.rankings.items() if is_canary(s)}
        of[REAL] = set(range(len(query.passages))).difference(*of.values())
        for name, indices in of.items():
            found = [query.passages[index] for index in sorted(indices)]
            passages[name] += len(found)
            of_query = ratings.setdefault(name, {}).setdefault(query.query_id, [])
            of_query += chain.from_iterable(passage.ratings for passage in found)
    rows: list[list[Cell]] = []
    for name, by_query in ratings.items():
        of_control = ratings.get(f"{CANARY}{control_of(name.removeprefix(CANARY))}", {})
        own = list(chain.from_iterable(by_query.values()))
        control = list(chain.from_iterable(of_control.get(query_id, ()) for query_id in by_query))
        means = [exact_mean(list(map(float, given))) if given else None for given in (own, control)]
        shares = [sum(r >= min_grade for r in of) / len(of) if of else None for of in (own, control)]
        rows.append([name, passages[name], len(own), *means, *shares])
    return rows
