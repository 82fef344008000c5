"""Report of the biases of judges: a row for each judge and bias, and tables of lengths and orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exam_pp.metrics.game_biases import LENGTH_STEPS, Biases, Share
from exam_pp.phases.tournaments.biases import GameBiases, JudgeBiases
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table

_JUDGE = ("judge", "prompt class")


def biases_report(result: GameBiases, *, decimals: int = 3) -> Report:
    """Tables of the games, the biases, the longer answer by difference in length, and both orders."""
    games = Table(
        [*_JUDGE, "family", "queries", "games", "ungraded", "by rule", "ties"],
        [[*row.judge, row.family or "", row.queries, *_counts(row.biases)] for row in result.judges],
        title="Games",
    )
    shares = _share_table("Biases", "bias", _biases(result), decimals)
    lengths = _share_table(
        "Wins of the longer answer, by the difference in words", "difference", _lengths(result), decimals
    )
    orders = Table(
        [*_JUDGE, "pairs", "same", "A twice", "B twice", "one tie", "flip rate", "low", "high", "reversed"],
        [
            [
                *row.judge, row.biases.flipped.total, *row.biases.orders, row.biases.flipped.share,
                *_ends(row.biases.flipped), row.biases.reversed.share,
            ]
            for row in result.judges
            if row.biases.flipped.total
        ],
        title="Pairs in both orders",
        decimals=decimals,
    )  # fmt: skip
    blocks: list[Block] = [games, *(table for table in (shares, lengths, orders) if table.rows)]
    blocks += [Paragraph(note) for note in [*_notes(result), *result.notes]]
    return Report("Biases of judges", blocks, result.provenance)


def _counts(biases: Biases) -> list[Cell]:
    return [biases.games, biases.ungraded, biases.by_rule, biases.ties]


def _biases(result: GameBiases) -> Iterator[tuple[JudgeBiases, str, Share]]:
    """The shares of each judge, with the name of what wins."""
    for row in result.judges:
        yield row, "place A", row.biases.place_a
        yield row, "longer answer", row.biases.longer
        yield row, "own family", row.biases.own_family


def _lengths(result: GameBiases) -> Iterator[tuple[JudgeBiases, str, Share]]:
    for row in result.judges:
        for step, share in zip(_steps(), row.biases.longer_by_difference, strict=True):
            yield row, step, share


def _share_table(
    title: str, column: str, shares: Iterable[tuple[JudgeBiases, str, Share]], decimals: int
) -> Table:
    """A row for each share with games."""
    rows: list[list[Cell]] = [
        [*row.judge, name, share.count, share.total, share.share, *_ends(share), share.p_value]
        for row, name, share in shares
        if share.total
    ]
    columns = [*_JUDGE, column, "wins", "games", "share", "low", "high", "p"]
    return Table(columns, rows, title=title, decimals=decimals)


def _ends(share: Share) -> tuple[float | None, float | None]:
    return share.interval or (None, None)


def _steps() -> list[str]:
    """Names of the ranges of differences in length."""
    percent = [round(100 * limit) for limit in LENGTH_STEPS]
    return [
        f"up to {high} %" if low == 0 else f"{low} to {high} %"
        for low, high in zip([0, *percent], percent, strict=False)
    ]


def _notes(result: GameBiases) -> Iterator[str]:
    yield (
        f"low and high: {100 * result.confidence:.4g} % intervals by Gaffke's bound, with queries as the "
        "units; other queries are assumed to have no more games than the largest here. p: exact "
        "randomisation test over queries, for a share of one half."
    )
    if any(row.biases.longer.total for row in result.judges):
        yield (
            "A longer answer can also be better. A share that grows with the difference in length suggests a "
            "judge that rewards length."
        )
    if any(row.biases.own_family.total for row in result.judges):
        yield "Systems of the judge's family can also be better: compare with judges of other families."
    if any(row.biases.flipped.total for row in result.judges):
        yield (
            "Pairs in both orders: flip rate is the share of pairs whose verdicts differ; reversed is the "
            "share in which the other answer wins if the places are swapped (A twice, B twice)."
        )
