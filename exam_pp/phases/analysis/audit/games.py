"""Verdicts on the biases of judges of games: place, length, own family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exam_pp.metrics.game_biases import Share
from exam_pp.phases.analysis.audit.inputs import AuditOptions
from exam_pp.phases.analysis.audit.verdicts import Verdict, excludes, untold
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
    found = game_biases(
        games, families=families, confidence=options.confidence, samples=options.samples, seed=options.seed
    )
    return GamesAudit(found, list(_verdicts(found, options.confidence)))


def _verdicts(found: GameBiases, confidence: float) -> Iterator[tuple[str, str, Verdict]]:
    for row in found.judges:
        judge = row.judge.model
        yield judge, "position", _verdict(row.biases.place_a, "place A wins", confidence)
        yield judge, "length", _verdict(row.biases.longer, "the longer answer wins", confidence)
        yield judge, "self-preference", _own_family(row.biases.own_family, row.family, confidence)


def _own_family(share: Share, family: str | None, confidence: float) -> Verdict:
    if family is None:
        return untold("the judge has no family; use --families")
    return _verdict(share, f"systems of the family {family} win", confidence)


def _verdict(share: Share, subject: str, confidence: float) -> Verdict:
    if share.share is None:
        return untold("no decided games count for it")
    text = f"{subject} {100 * share.share:.1f} % of {share.total} decided games"
    if share.interval is None:
        return untold(f"an interval needs two queries; {text}")
    low, high = share.interval
    text += f" ({100 * confidence:.4g} % interval {100 * low:.1f} to {100 * high:.1f})"
    if not excludes(share.interval, 0.5):
        return Verdict("no evidence", text)
    return Verdict("evidence", text)
