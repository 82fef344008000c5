"""Rubric-Cover: the share of a query's bank entries that a system's first k passages cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum

from exam_pp.defaults import CUTOFF
from exam_pp.metrics.grade_masks import GradedPassage, GradedQuery
from exam_pp.metrics.measures import Measure, union
from exam_pp.results import OVERALL_SYSTEM, Score


@dataclass(frozen=True)
class Cover:
    """Share of the entries for which a passage within the cutoff has a grade of at least ``min_grade``.

    With ``normalised``, the denominator is the entries that *any* graded passage of the query covers; the
    score is 0 if no passage covers an entry. Values are in 0..1.

    Source: Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024, section 4.5;
    normalisation: Sander and Dietz, "EXAM", DESIRES 2021.
    """

    min_grade: int
    cutoff: int = CUTOFF
    normalised: bool = False

    def __str__(self) -> str:
        return f"{'nCover' if self.normalised else 'Cover'}(min_grade={self.min_grade})@{self.cutoff}"

    @cached_property
    def measure(self) -> Measure:
        """The formula, with its name."""
        return Measure(str(self), ((self.min_grade, 1.0),))

    def __call__(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> Iterator[Score]:
        """Yield a score for every system of ``first_ranks``, and one for the overall system.

        ``first_ranks`` maps each system to its first rank, 0 or 1.
        """
        covered_by_any = union(query.reached(self.min_grade))
        whole = query.weights.whole(covered_by_any if self.normalised else query.all_entries)
        for system, covered in self.covered(query, first_ranks).items():
            yield self._score(query, system, covered, whole)
        if not query.weights.negative:  # what all passages cover together is no upper bound then
            yield self._score(query, OVERALL_SYSTEM, covered_by_any, whole)

    def _score(self, query: GradedQuery, system: str, covered: int, whole: float) -> Score:
        share = self.measure.share({self.min_grade: covered}, query.weights, whole)
        return Score(system, query.query_id, self.measure.name, share or 0.0)

    def covered(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> dict[str, int]:
        """System to the mask of the entries that its passages within the cutoff cover."""
        reached = query.reached(self.min_grade)
        return {
            system: union([reached[index] for index in query.top(system, first_rank, self.cutoff)])
            for system, first_rank in first_ranks.items()
        }

    def bounds(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> Iterator[tuple[Score, Score]]:
        """Yield lower and upper bound of each score over all possible grades of the ungraded pairs.

        A pair is a passage and an entry. Grading a pair of another system's passage can lower a normalised
        score, because the denominator grows. Grading a system's own pairs never lowers its score.
        """
        reached = query.reached(self.min_grade)
        open_pairs = [query.all_entries & ~passage.graded for passage in query.passages]
        covered_by_any = union(reached)
        tops = {system: query.top(system, first, self.cutoff) for system, first in first_ranks.items()}
        if not query.weights.negative:
            tops[OVERALL_SYSTEM] = list(range(len(reached)))
        for system, top in tops.items():
            covered, possible = query.weights.extremes(
                union(reached[index] for index in top), union(open_pairs[index] for index in top)
            )
            least, most = (query.all_entries, query.all_entries)
            if self.normalised:
                own_passages = set(top)
                by_others = union(
                    pairs for index, pairs in enumerate(open_pairs) if index not in own_passages
                )
                least, most = (covered_by_any | by_others, covered_by_any | possible)
            yield (
                self._score(query, system, covered, query.weights.whole(least)),
                self._score(query, system, possible, query.weights.whole(most)),
            )


@dataclass(frozen=True)
class SoftCover:
    """Mean over the entries of the highest probability, within the cutoff, of reaching ``min_grade``.

    Σ_e max_p Σ_{r ≥ m} p(r | passage p, entry e) / |E|. A pair without stored probabilities counts 0 or 1
    by its grade.
    """

    min_grade: int
    cutoff: int = CUTOFF

    def __str__(self) -> str:
        return f"SoftCover(min_grade={self.min_grade})@{self.cutoff}"

    def __call__(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> Iterator[Score]:
        """Yield a score for every system and the overall system, as :meth:`Cover.__call__` does."""
        reached = [self._reaching(passage) for passage in query.passages]
        for system, first_rank in first_ranks.items():
            top = query.top(system, first_rank, self.cutoff)
            yield Score(system, query.query_id, str(self), self._value(query, [reached[i] for i in top]))
        if not query.weights.negative:
            yield Score(OVERALL_SYSTEM, query.query_id, str(self), self._value(query, reached))

    def _reaching(self, passage: GradedPassage) -> dict[int, float]:
        """Bit position of an entry to the probability that its grade is at least ``min_grade``."""
        mask = passage.reaching(self.min_grade)
        hard = {position: 1.0 for position in range(mask.bit_length()) if mask >> position & 1}
        start = max(0, self.min_grade)
        # Stored probabilities are rounded, so their sum may exceed 1 slightly.
        soft = {entry: min(1.0, fsum(values[start:])) for entry, values in passage.soft.items()}
        return hard | soft

    def _value(self, query: GradedQuery, passages: Iterable[Mapping[int, float]]) -> float:
        best: dict[int, float] = {}
        for reached in passages:
            for entry, probability in reached.items():
                best[entry] = max(probability, best.get(entry, 0.0))
        weights = query.weights.of_entries or [1.0] * len(query.entries)
        total = fsum(weights[entry] * probability for entry, probability in best.items())
        whole = query.weights.whole(query.all_entries)
        return total / whole if whole else 0.0
