"""Verdicts on the biases of judges of games: place, length, own family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exam_pp.metrics.game_biases import Share
from exam_pp.phases.analysis.audit.inputs import AuditOptions
from exam_pp.phases.analysis.audit.verdicts import LEAST_QUERIES, Verdict, excludes, too_few, undecided
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.tournaments.biases import GameBiases, game_biases
from exam_pp.store.families import Families


@dataclass(frozen=True)
class GamesAudit:
    """The games section of an audit: the biases, and a verdict for each judge and bias."""

    biases: GameBiases
    verdicts: Sequence[tuple[str, str, Verdict]]


def audit_games(games: Sequence[PathLike], families: Families | None, options: AuditOptions) -> GamesAudit:
    """Measure the biases of the judges of games files."""
    found = game_biases(games, families=families, confidence=options.confidence)
    return GamesAudit(found, list(_verdicts(found, options.confidence)))


def _verdicts(found: GameBiases, confidence: float) -> Iterator[tuple[str, str, Verdict]]:
    for row in found.judges:
        judge = row.judge.model
        shares = {
            "position": (row.biases.place_a, "place A wins"),
            "length": (row.biases.longer, "the longer answer wins"),
            "self-preference": (row.biases.own_family, f"systems of the family {row.family} win"),
        }
        for bias, (share, subject) in shares.items():
            if bias == "self-preference" and row.family is None:
                yield judge, bias, undecided("the judge has no family; use --families FILE")
            else:
                yield judge, bias, _verdict(bias, share, subject, row.queries, confidence)


def _verdict(bias: str, share: Share, subject: str, queries: int, confidence: float) -> Verdict:
    if share.share is None:
        return undecided("no decided games count for it")
    text = f"{subject} {100 * share.share:.1f} % of {share.total} decided games"
    assert share.interval is not None
    low, high = share.interval
    text += f" ({100 * confidence:.4g} % interval {100 * low:.1f} to {100 * high:.1f})"
    if queries < LEAST_QUERIES:
        return too_few(queries, text)
    if not excludes(share.interval, 0.5):
        return Verdict("no evidence", text)
    if bias == "position":
        return Verdict("evidence", text)
    return undecided(f"{text}, but these answers can also be better")
