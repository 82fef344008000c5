"""Win matrices and head-to-head comparisons, with the figures of RAGElo's paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binomtest

from exam_pp.plugins.games.outcomes import Outcome, Outcomes
from exam_pp.plugins.games.ratings import count_wins, head_to_head
from tests.plugins.games.table_5 import SYSTEMS, TABLE_5, table_5_games
from tests.plugins.games.test_elo import GAMES, outcomes_of


def test_table_5_of_the_paper() -> None:
    """The cells, and the column AVG; the paper misprints it for Hybrid (36.0 and 44.3)."""
    matrix = count_wins(Outcomes.of(table_5_games())).ordered(SYSTEMS)
    cells = np.array(TABLE_5) / 100
    np.fill_diagonal(cells, np.nan)

    assert matrix.shares == pytest.approx(cells, nan_ok=True)
    assert matrix.averages == pytest.approx([0.348, 0.486, 0.274, 0.328, 0.365, 0.438], abs=0.0005)
    assert (matrix.games == 200 * (1 - np.eye(6))).all()


def test_the_paper_compares_rag_and_ragf_with_bm25() -> None:
    """Section 7.2.2: "RAGF won 49% of the games, RAG won 14.5%, and [...] tied in 36.5%"."""
    (pair,) = head_to_head(Outcomes.of(table_5_games()), [("RAGF BM25", "RAG BM25")])

    assert (pair.games, pair.queries) == (200, 200)
    assert (pair.won[0], pair.lost[0], pair.tied[0]) == pytest.approx((0.49, 0.145, 0.365))
    assert pair.p == pair.adjusted_p == pytest.approx(binomtest(98, 127).pvalue)
    error = (0.49 * 0.51 / 200) ** 0.5
    assert pair.won[1] == pytest.approx((0.49 - 1.96 * error, 0.49 + 1.96 * error), abs=0.015)


@given(GAMES)
def test_swapped_places_swap_the_matrix(games: list[tuple[int, int, int, float]]) -> None:
    outcomes = outcomes_of(games)
    swapped = Outcomes(
        outcomes.systems, outcomes.query_ids, outcomes.query, outcomes.a, outcomes.b, 1 - outcomes.score
    )

    assert count_wins(swapped).shares == pytest.approx(count_wins(outcomes).shares.T, nan_ok=True)
    turned = Outcomes(
        outcomes.systems, outcomes.query_ids, outcomes.query, outcomes.b, outcomes.a, 1 - outcomes.score
    )
    assert count_wins(turned).shares == pytest.approx(count_wins(outcomes).shares, nan_ok=True)


def test_a_query_with_several_games_counts_once_in_the_test() -> None:
    games = [Outcome("1", "a", "b", 1.0)] * 8 + [Outcome("2", "b", "a", 1.0)]
    (pair,) = head_to_head(Outcomes.of(games), [("a", "b")])

    assert (pair.won[0], pair.lost[0]) == pytest.approx((8 / 9, 1 / 9))
    assert pair.p == 1


@pytest.mark.parametrize(
    ("queries", "score", "shares"), [("1234", 0.5, (0, 0, 1)), ("1", 1.0, (1, 0, 0))], ids=["ties", "one win"]
)
def test_few_queries_say_little(queries: str, score: float, shares: tuple[int, int, int]) -> None:
    """The interval of n of n by Clopper and Pearson is from 0.025^(1/n) to 1."""
    games = [Outcome(query, "a", "b", score) for query in queries]
    (pair,) = head_to_head(Outcomes.of(games), [("a", "b")])
    least = 0.025 ** (1 / len(queries))
    ends = [(least, 1) if share else (0, 1 - least) for share in shares]

    found, intervals = zip(pair.won, pair.lost, pair.tied, strict=True)
    assert (found, pair.p) == (shares, 1)
    assert np.array(intervals) == pytest.approx(np.array(ends))


def test_several_pairs_are_corrected() -> None:
    games = [Outcome(str(q), *pair, 1.0) for q in range(8) for pair in (("a", "b"), ("b", "c"))]
    rows = head_to_head(Outcomes.of(games), [("a", "b"), ("b", "c")])

    assert [row.p for row in rows] == [2 / 256] * 2
    assert [row.adjusted_p for row in rows] == [4 / 256] * 2
