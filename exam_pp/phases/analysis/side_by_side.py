"""Comparison of several leaderboards, with standard errors and official ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.formats.scores import contains_scores, read_query_scores
from exam_pp.metrics.correlation import ranks_of
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import scores_by_measure
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.provenance import Provenance, file_names
from exam_pp.store.trec.ranks import read_ranks


@dataclass(frozen=True)
class ComparedLeaderboards:
    """Leaderboards to compare.

    ``leaderboards`` is name to system to score; ``standard_errors`` is name to system to standard error, if
    it is known.
    ``ranks`` is system to official rank; empty without official ranks. ``provenance`` has the names of the
    files.
    """

    leaderboards: Mapping[str, Mapping[str, float]]
    standard_errors: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, float]
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def order(self) -> list[str]:
        """Systems by official rank, then systems without a rank by their score in the first leaderboard."""
        first = next(iter(self.leaderboards.values()))
        systems = dict.fromkeys(system for scores in self.leaderboards.values() for system in scores)
        last = float("inf")
        return sorted(systems, key=lambda s: (self.ranks.get(s, last), -first.get(s, -last), s))


def compare_leaderboards(
    leaderboards: Sequence[PathLike], official: PathLike | None = None
) -> ComparedLeaderboards:
    """Read the measures of several leaderboards for a comparison (EXAM++, figure 2)."""
    named: dict[str, dict[str, float]] = {}
    standard_errors: dict[str, dict[str, float]] = {}
    ranks: dict[str, float] = {}
    files = list(dict.fromkeys(map(Path, leaderboards)))
    if official is not None and contains_scores(official):
        files = list(dict.fromkeys([*files, Path(official)]))
        ranks = ranks_of(next(iter(scores_by_measure(official).values())))
    elif official is not None:
        ranks = read_ranks(official)
    read = {file: scores_by_measure(file) for file in files}
    measures = [measure for by_measure in read.values() for measure in by_measure]
    stems = [file.stem for file in files]
    for file, by_measure in read.items():
        known = {
            (row.metric, row.system): row.stderr for row in standings(read_query_scores(file)) if row.stderr
        }
        for measure, scores in by_measure.items():
            source = file.stem if stems.count(file.stem) == 1 else str(file)
            name = measure if measures.count(measure) == 1 else f"{source}: {measure}"
            named[name] = scores
            standard_errors[name] = {s: known[measure, s] for s in scores if (measure, s) in known}
    systems = [
        {system for scores in by_measure.values() for system in scores} for by_measure in read.values()
    ]
    if ranks and not any(names & ranks.keys() for names in systems):
        raise SelectionError(
            f"{official} and the leaderboards have no system in common. Check that they use the same names "
            "of systems."
        )
    if ranks:
        systems.append(set(ranks))
    if len(systems) > 1 and not any(a & b for a, b in combinations(systems, 2)):
        raise SelectionError(
            "The leaderboards have no system in common. Check that they use the same names of systems."
        )
    origin = Provenance(leaderboards=file_names(*leaderboards), official=file_names(official))
    return ComparedLeaderboards(named, standard_errors, ranks, origin)
