"""Item analysis of test banks: pass rate, discrimination, entropy and redundancy of entries.

Every entry is an item of an exam and every passage a candidate; a passage passes an item if its grade
reaches the threshold. Source of the item statistics: classical test theory (Crocker and Algina,
Introduction to Classical and Modern Test Theory, 1986, chapter 14).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from exam_pp.metrics.correlation import kendall
from exam_pp.metrics.duplicates import near_duplicates
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery
from exam_pp.results import ALL_QUERIES


@dataclass(frozen=True)
class EntryHealth:
    """Item statistics of a bank entry.

    ``asked`` and ``passing`` count passages with a grade, and with a grade of at least the threshold.
    Of the ``passing``, ``judged`` counts those with a judgment and ``non_relevant`` those judged
    non-relevant. ``discrimination`` is the point-biserial correlation of passing this entry with the number
    of other entries passed (None if either is constant). ``entropy`` is that of the grades, in bits.
    ``systems`` counts the systems that cover the entry within the cutoff. ``tau`` is Kendall's τ-b between
    the leaderboards without and with the entry. ``closed_book`` is the grade without a passage.
    """

    query_id: str
    entry_id: str
    asked: int
    passing: int
    judged: int
    non_relevant: int
    discrimination: float | None
    entropy: float | None
    systems: int
    tau: float | None
    closed_book: int | None = None

    @property
    def pass_rate(self) -> float | None:
        """Share of the graded passages that pass; None without graded passages."""
        return self.passing / self.asked if self.asked else None


class EntryPair(NamedTuple):
    """Two similar entries of a query: by their texts (0 to 1) or by the passages that pass (Jaccard)."""

    query_id: str
    first: str
    second: str
    similarity: float | None
    behaviour: float | None


class BankSize(NamedTuple):
    """Mean and lowest τ-b between the full leaderboard and that of ``size`` random entries per query."""

    query_id: str
    size: int
    tau: float
    lowest: float
    samples: int


Judged = Mapping[str, Mapping[str, bool]]
"""Query id to passage id to whether the passage is judged relevant; unjudged passages are absent."""


def entry_health(
    file: GradedFile,
    min_grade: int,
    cutoff: int,
    judged: Judged,
    closed_book: Mapping[str, Mapping[str, int]] | None = None,
) -> Iterator[EntryHealth]:
    """Yield the item statistics of every entry of the queries that have graded passages.

    ``closed_book`` maps query id to entry id to the grade without a passage.
    """
    without = _taus_without(file, min_grade, cutoff)
    for query in _graded(file):
        passes, asked = _matrix(query, min_grade)
        passages = [passage.passage_id for passage in query.passages]
        judgments = judged.get(query.query_id, {})
        known = np.array([passage_id in judgments for passage_id in passages], dtype=bool)
        non_relevant = np.array([judgments.get(passage_id) is False for passage_id in passages], dtype=bool)
        covered = _covered(file, query, min_grade, cutoff)
        closed_book_grades = (closed_book or {}).get(query.query_id, {})
        for entry_id, bit in query.entries.items():
            passing = passes[:, bit]
            yield EntryHealth(
                query.query_id,
                entry_id,
                asked=int(asked[:, bit].sum()),
                passing=int(passing.sum()),
                judged=int((passing & known).sum()),
                non_relevant=int((passing & non_relevant).sum()),
                discrimination=_discrimination(passes, asked, bit),
                entropy=_entropy(query, bit),
                systems=sum(mask >> bit & 1 for mask in covered.values()),
                tau=without.get((query.query_id, entry_id)),
                closed_book=closed_book_grades.get(entry_id),
            )


def similar_pairs(
    file: GradedFile, min_grade: int, texts: Mapping[str, Mapping[str, str]]
) -> Iterator[EntryPair]:
    """Yield pairs of entries with similar texts, or that nearly the same passages pass.

    The latter means a Jaccard coefficient of at least 0.95, if at least 5 passages pass either
    entry. ``texts`` maps query id to entry id to text.
    """
    for query in _graded(file):
        passes, _ = _matrix(query, min_grade)
        similarities = {
            (p.first, p.second): p.similarity for p in near_duplicates(texts.get(query.query_id, {}))
        }
        for left, right in combinations(query.entries, 2):
            a, b = passes[:, query.entries[left]], passes[:, query.entries[right]]
            either = int((a | b).sum())
            jaccard = int((a & b).sum()) / either if either >= 5 else None
            similarity = similarities.get((left, right), similarities.get((right, left)))
            if similarity is not None or (jaccard is not None and jaccard >= 0.95):
                yield EntryPair(query.query_id, left, right, similarity, jaccard)


def bank_size_curve(
    file: GradedFile, min_grade: int, cutoff: int, samples: int = 20, seed: int = 0
) -> Iterator[BankSize]:
    """Yield τ-b between the leaderboards of k random entries per query and of the full bank, for every k.

    There are points for each query, and for all queries together (query id ``all``). Weights of entries are
    ignored. The draws of a query depend only on the seed and the query. Samples in which all systems tie are
    skipped, as are points without samples.
    """
    queries = list(_graded(file))
    systems = list(file.first_ranks)
    largest = max((len(query.entries) for query in queries), default=0)
    # Float sums would break ties, so shares of different sizes are added as integers.
    scale = math.lcm(*range(1, largest + 1)) if largest else 1
    # Up to one entry less than the full bank, which always agrees with itself.
    totals = {size: [[0] * len(systems) for _ in range(samples)] for size in range(1, largest)}
    full = [0] * len(systems)
    for query in queries:
        masks = [_covered(file, query, min_grade, cutoff)[system] for system in systems]
        count = len(query.entries)
        whole = [mask.bit_count() for mask in masks]
        full = [total + share * (scale // count) for total, share in zip(full, whole, strict=True)]
        draw = random.Random(f"{seed}/{query.query_id}")
        for size in range(1, largest):
            taus = []
            for sample in range(samples):
                # A query with fewer entries has all of them, so that every sample has every query.
                kept = sum(1 << bit for bit in draw.sample(range(count), min(size, count)))
                part = [(mask & kept).bit_count() for mask in masks]
                unit = scale // min(size, count)
                totals[size][sample] = [
                    total + share * unit for total, share in zip(totals[size][sample], part, strict=True)
                ]
                if size < count:
                    # Counts instead of shares, because all systems have the same denominator here.
                    taus.append(kendall(part, whole))
            yield from _point(query.query_id, size, taus)
    for size, sums in totals.items():
        yield from _point(ALL_QUERIES, size, [kendall(part, full) for part in sums])


def _point(query_id: str, size: int, taus: Iterable[float | None]) -> Iterator[BankSize]:
    known = [value for value in taus if value is not None]
    if known:
        yield BankSize(query_id, size, fmean(known), min(known), len(known))


def _graded(file: GradedFile) -> Iterator[GradedQuery]:
    """Queries with entries and at least one graded passage."""
    return (query for query in file.queries.values() if query.entries and query.asked)


def _matrix(query: GradedQuery, min_grade: int) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices, passages × entries: whether the passage passes the entry, and whether it has a grade."""
    entries = range(len(query.entries))
    masks = [(passage.reaching(min_grade), sum(passage.levels.values())) for passage in query.passages]
    passes = [[mask >> bit & 1 for bit in entries] for mask, _ in masks]
    asked = [[mask >> bit & 1 for bit in entries] for _, mask in masks]
    return np.array(passes, dtype=bool), np.array(asked, dtype=bool)


def _discrimination(passes: np.ndarray, asked: np.ndarray, bit: int) -> float | None:
    rows = asked[:, bit]
    item = passes[rows, bit].astype(float)
    rest = passes[rows].sum(axis=1) - item
    if len(item) < 3 or item.std() == 0 or rest.std() == 0:
        return None
    return float(np.corrcoef(item, rest)[0, 1])


def _entropy(query: GradedQuery, bit: int) -> float | None:
    from scipy.stats import entropy  # noqa: PLC0415 - slow to import

    levels = [level for passage in query.passages for level in passage.levels.items()]
    counts = Counter(grade for grade, mask in levels if mask >> bit & 1)
    return float(entropy(list(counts.values()), base=2)) if counts else None


def _covered(file: GradedFile, query: GradedQuery, min_grade: int, cutoff: int) -> dict[str, int]:
    """System to the bit mask of the entries that it covers within the cutoff."""
    reached = [passage.reaching(min_grade) for passage in query.passages]
    covered = dict.fromkeys(file.first_ranks, 0)
    for system, first_rank in file.first_ranks.items():
        for index in query.top(system, first_rank, cutoff):
            covered[system] |= reached[index]
    return covered


def _taus_without(file: GradedFile, min_grade: int, cutoff: int) -> dict[tuple[str, str], float | None]:
    """τ-b between the Cover leaderboards without and with each entry; empty for fewer than two systems.

    All queries have the same weight. A query without its only entry scores 0.
    """
    if len(file.first_ranks) < 2:
        return {}
    covered = {query.query_id: _covered(file, query, min_grade, cutoff) for query in _graded(file)}
    share = {
        query.query_id: [_share(query, mask, query.all_entries) for mask in covered[query.query_id].values()]
        for query in _graded(file)
    }
    totals = [sum(column, Fraction(0)) for column in zip(*share.values(), strict=True)]
    whole = [float(total) for total in totals]
    taus = {}
    for query in _graded(file):
        for entry_id, bit in query.entries.items():
            kept = query.all_entries & ~(1 << bit)
            new = [_share(query, mask & kept, kept) for mask in covered[query.query_id].values()]
            sums = [
                total - old + part
                for total, old, part in zip(totals, share[query.query_id], new, strict=True)
            ]
            # Equal fractions become equal floats, so ties stay ties.
            taus[query.query_id, entry_id] = kendall([float(value) for value in sums], whole)
    return taus


def _share(query: GradedQuery, mask: int, whole_mask: int) -> Fraction:
    whole = Fraction(query.weights.whole(whole_mask))
    return Fraction(query.size(mask)) / whole if whole else Fraction(0)
