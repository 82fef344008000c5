"""Several leaderboards side by side, with standard errors and official ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.formats.scores import holds_scores, read_query_scores
from exam_pp.metrics.correlation import ranks_of
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import scores_by_measure
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.store.trec.ranks import read_ranks


@dataclass(frozen=True)
class ComparedLeaderboards:
    """Board to system to score; ``errors`` are standard errors, where they are known."""

    boards: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, float]

    @property
    def order(self) -> list[str]:
        """Systems by official rank, then the others; without ranks, by the first board."""
        first = next(iter(self.boards.values()))
        systems = dict.fromkeys(system for board in self.boards.values() for system in board)
        last = float("inf")
        return sorted(systems, key=lambda s: (self.ranks.get(s, last), -first.get(s, -last), s))


def compare_leaderboards(
    leaderboards: Sequence[PathLike], official: PathLike | None = None
) -> ComparedLeaderboards:
    """The measures of several leaderboards (what ``evaluate`` writes, or tables with a header).

    ``official`` are ranks, or a leaderboard of scores, which is then compared as well and ranks the systems
    by its first measure. Boards written by ``--per-query`` have standard errors. Raises
    :class:`~exam_pp.errors.ExamError` for files that cannot be used, and if no two boards have a system in
    common.

    Source: Farzi and Dietz, "EXAM++" (2024), figure 2.
    """
    named: dict[str, dict[str, float]] = {}
    errors: dict[str, dict[str, float]] = {}
    ranks: dict[str, float] = {}
    files = list(dict.fromkeys(map(Path, leaderboards)))
    if official is not None and holds_scores(official):
        files = list(dict.fromkeys([*files, Path(official)]))
        ranks = ranks_of(next(iter(scores_by_measure(official).values())))
    elif official is not None:
        ranks = read_ranks(official)
    read = {file: scores_by_measure(file) for file in files}
    measures = [measure for boards in read.values() for measure in boards]
    stems = [file.stem for file in files]
    for file, boards in read.items():
        known = {
            (row.metric, row.system): row.stderr for row in standings(read_query_scores(file)) if row.stderr
        }
        for measure, board in boards.items():
            source = file.stem if stems.count(file.stem) == 1 else str(file)
            name = measure if measures.count(measure) == 1 else f"{source}: {measure}"
            named[name] = board
            errors[name] = {s: known[measure, s] for s in board if (measure, s) in known}
    systems = [{system for board in boards.values() for system in board} for boards in read.values()]
    if ranks:
        systems.append(set(ranks))
    if len(systems) > 1 and not any(one & other for one, other in combinations(systems, 2)):
        raise SelectionError("No two of the leaderboards have a system in common (are they named alike?).")
    return ComparedLeaderboards(named, errors, ranks)
