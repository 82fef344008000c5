"""Depth of the rankings in a passages file, and a note on cutoffs below it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from exam_pp.metrics.grade_masks import GradedFile, GradedQuery
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.text.wording import counted


@dataclass
class RankingDepth:
    """Depth of rankings down to a cutoff, counted from 1 for the first rank of each system.

    A file with pooled passages has all ranks of a system down to the depth of the pool. Below that depth it
    has only passages that another system ranked higher, so it lacks some ranks.

    ``complete``: Depth to which no ranking lacks a rank; None if no rank is missing. ``retrieved``: Whether
    any ranking is one of a run, and not the parts of a generated answer.
    """

    cutoff: int
    deepest: int = 0
    complete: int | None = None
    missing: int = 0
    retrieved: bool = False

    @classmethod
    def of(cls, files: Iterable[GradedFile], cutoff: int) -> RankingDepth:
        """The depth of the rankings of all queries in files that hold the same rankings."""
        depth = cls(cutoff)
        seen: set[str] = set()
        for file in files:
            for query in file.queries.values():
                if query.query_id not in seen:
                    seen.add(query.query_id)
                    depth.add(query, file.first_ranks)
        return depth

    def add(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> None:
        """Add the rankings of a query."""
        for system, places in query.rankings.items():
            ranks = sorted(rank - first_ranks[system] for rank, _, _ in places)
            self.deepest = max(self.deepest, ranks[-1] + 1)
            if len(ranks) > self.deepest:  # of several passages with the same rank, the cutoff counts each
                self.deepest = max(self.deepest, len({index for _, _, index in places}))
            # After ties the next rank is higher by their number, as in 1, 1, 3, so no rank is missing.
            hole = next((place for place, rank in enumerate(ranks[: self.cutoff]) if rank > place), None)
            if hole is not None:
                self.complete = hole if self.complete is None else min(self.complete, hole)
                known = set(ranks)
                self.missing += sum(rank not in known for rank in range(hole, min(ranks[-1], self.cutoff)))
            if not self.retrieved:
                answer = f"{system}/{query.query_id}"
                self.retrieved = any(
                    query.passages[index].passage_id.partition("#")[0] != answer for _, _, index in places
                )

    def notes(self, source: PathLike) -> list[str]:
        """A note if the cutoff is deeper than the rankings in ``source``.

        Files with judged passages only lack first ranks too, whatever the cutoff, so they have no note.
        Neither have files of generated answers, which end where the answers end.
        """
        if self.complete:
            ranks = counted(self.missing, "lower rank is", "lower ranks are")
            return [
                f"The cutoff {self.cutoff} is deeper than the rankings in {source}, which are complete only "
                f"to rank {self.complete}: {ranks} missing and cannot cover entries. Use --cutoff "
                f"{self.complete}, or import with a larger --top."
            ]
        if self.retrieved and self.deepest < self.cutoff:
            return [
                f"The cutoff {self.cutoff} is deeper than the rankings in {source}, which end at rank "
                f"{self.deepest}: scores are those of @{self.deepest}."
            ]
        return []
