"""Samples of pairs of passage and bank entry for people to label, with known probabilities.

In a Poisson sample every item is drawn independently of the others, with its own probability. An item that is
drawn with probability p then stands for 1/p items: the Horvitz-Thompson estimate of a total is unbiased.

Source: Särndal, Swensson and Wretman, "Model Assisted Survey Sampling", 1992, sections 2.8 and 3.5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from exam_pp.data_model import Role
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.grade_masks import GradedPassage, GradedQuery, gather, ratings_of_pairs
from exam_pp.phases.evaluation.inputs import LoadedPassages, loaded, views
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import (
    SelectedGrades,
    entry_kind,
    highest_grade,
    read_selected,
    selectors,
)
from exam_pp.plugins.trust.pair_sample import Block, PairSample, SampledBy, SampledPair, drawn_number
from exam_pp.prompts.base import with_aliases
from exam_pp.store.edits import file_sha256
from exam_pp.store.inputs import reading
from exam_pp.text.wording import counted, listed

_Pair = tuple[str, ...]
"""Query id, passage id and entry id."""
EVEN_SHARE = 0.25
"""The share of the expected size that is spread evenly over all pairs, by disagreement."""
_DIGITS = 9
"""Decimals of a spread, so that rounding errors do not make strata of their own."""


@dataclass(frozen=True)
class DrawnPairs:
    """A sample of pairs, the number of pairs that was expected, and notes for the user."""

    sample: PairSample
    expected: float
    notes: Sequence[str]

    def lines(self) -> Iterator[str]:
        """The summary, a sentence per line."""
        yield (
            f"Drew {len(self.sample.pairs)} of {counted(self.sample.size, 'graded pair')} "
            f"(expected: {self.expected:g})."
        )
        passages = {(pair.query_id, pair.passage_id) for pair in self.sample.pairs}
        queries = {query_id for query_id, _ in passages}
        read, of = counted(len(passages), "passage"), counted(len(queries), "query", "queries")
        yield f"A person reads {read} of {of} to label them."


@reading()
def sample_pairs(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    budget: int,
    by: SampledBy = "even",
    compared: Sequence[str] = (),
    cutoff: int | None = None,
    role: Role | None = None,
    seed: int = 0,
) -> DrawnPairs:
    """Draw graded pairs of passage and bank entry for people to label.

    Every pair (by ``entry``, every entry with all its pairs) is drawn independently of the others with a
    probability that the sample records, so the number of pairs is random. The draw depends only on the seed
    and the ids, not on the order of the file. With the same seed and a larger budget, the sample contains the
    smaller one.

    ``graded``: Graded file. ``bank``: Test bank; only its
    entries count. Default: the entries that have grades. ``cutoff``: Draw from the passages within the first
    ranks of at least one system. Default: as for :func:`exam_pp.cover`. 0, and files without rankings: from
    all graded passages.
    """
    criteria = with_aliases(grade_filter or GradeFilter())
    passages = loaded(graded)
    data = read_selected(passages, bank, criteria, None, None, role=role, reviewed=False)
    if data.selector.key.is_reviewer:
        raise SelectionError(
            f"The selected grades in {graded} are those of the reviewer {data.selector.key.model!r}, but "
            "pairs are drawn from the grades of a model: name it with --grader."
        )
    notes = list(data.notes)
    if not data.file.first_ranks and cutoff != 0:
        notes.append("The file has no rankings: the pairs are drawn from all graded passages.")
        cutoff = 0
    cutoff = (data.file.cutoff if cutoff is None else cutoff) or None
    ratings: dict[_Pair, int] = {
        (query.query_id, passage.passage_id, entry_id): rating
        for query in data.queries
        for passage in _within(data, query, cutoff)
        for rating, entries in passage.levels.items()
        for entry_id, position in query.entries.items()
        if entries >> position & 1
    }
    # Pairs of a stratum have the same probability.
    strata: Mapping[_Pair, float] = dict.fromkeys(ratings, 0)
    if by == "rating":
        strata = ratings
    elif by == "disagreement":
        strata = _disagreement(ratings, data, _other_graders(passages, data, criteria, compared, role))
    # Sorted, because the last digits of sums depend on their order, and the order of the file must not count.
    sizes = dict(sorted(Counter(strata.values()).items()))
    size = len(strata)
    if not size:
        raise SelectionError(
            f"No passage within the first {cutoff} ranks of a system has a grade in {data.source}. Use a "
            "larger --cutoff, or --cutoff 0 for all graded passages."
        )
    if budget > size:
        notes.append(
            f"--count {budget} is above the number of graded pairs ({size}): the sample has all of "
            "them, with probability 1."
        )
    if by == "disagreement" and not any(sizes):
        notes.append("The graders agree on all pairs, so all pairs have the same probability.")
    probabilities = inclusion_probabilities(sizes, weights_of(sizes, by), budget)
    sample = PairSample(
        graded_sha256=file_sha256(graded),
        model=data.selector.key.model,
        prompt_class=data.selector.key.prompt_class,
        by=by,
        seed=seed,
        cutoff=cutoff,
        population=dict(sorted((query.query_id, _blocks(data, query, cutoff)) for query in data.queries)),
        # Also of pairs that are not drawn: the rarest ones may hide the most errors of the judge.
        lowest_probability=min(probabilities.values()),
        pairs=[
            SampledPair(
                query_id=key[0], passage_id=key[1], entry_id=key[2], probability=probabilities[strata[key]]
            )
            for key in sorted(strata)
            # The largest hashes are rounded to 1.0, which is not below a probability of 1.
            if probabilities[strata[key]] == 1 or drawn_number(by, seed, *key) < probabilities[strata[key]]
        ],
    )
    if not sample.pairs:
        notes.append("No pair was drawn. Use a larger --count.")
    return DrawnPairs(sample, min(budget, size), notes)


def _within(data: SelectedGrades, query: GradedQuery, cutoff: int | None) -> list[GradedPassage]:
    """The passages within the cutoff of any system."""
    if cutoff is None:
        return query.passages
    ranked = data.file.first_ranks.items()
    indices = {index for system, first in ranked for index in query.top(system, first, cutoff)}
    return [query.passages[index] for index in indices]


def _blocks(data: SelectedGrades, query: GradedQuery, cutoff: int | None) -> list[Block]:
    """All entries and all passages within the cutoff; passages with the same graded entries are a block."""
    passages: dict[int, list[str]] = {}
    ungraded = query.all_entries
    for passage in _within(data, query, cutoff):
        passages.setdefault(passage.graded, []).append(passage.passage_id)
        ungraded &= ~passage.graded
    if ungraded:
        passages[ungraded] = []
    blocks = [
        Block(
            passages=sorted(ids),
            entries=sorted(key for key, position in query.entries.items() if mask >> position & 1),
        )
        for mask, ids in passages.items()
    ]
    return sorted(blocks, key=lambda block: (block.passages, block.entries))


def _scaled(rating: float, highest: int) -> float:
    # For an unknown prompt, the highest rating of the file stands for its scale, and it may be 0.
    return min(1.0, max(0.0, rating / max(1, highest)))


def _other_graders(
    passages: LoadedPassages,
    data: SelectedGrades,
    criteria: GradeFilter,
    compared: Sequence[str],
    role: Role | None,
) -> list[dict[_Pair, float]]:
    """The ratings of every other grader, from 0 to 1."""
    # Grades without a scale would disagree with each rating between the ends of a scale.
    criteria = replace(criteria, model=None, rated_only=data.selector.rated)
    graded = data.source
    lines = views(passages, role, mixed=True)
    known = selectors(lines, criteria, graded)
    selected = data.selector.key
    others = [key for key in known if key != selected]
    models = list(dict.fromkeys(key.model for key in others))
    for model in compared:
        if model == selected.model and model not in models:
            raise SelectionError(f"--grader names {model!r} twice; name the grader to compare it with.")
        if model not in models:
            raise SelectionError(
                f"{graded} has no such grades by {model!r} (graders: {listed([selected.model, *models])})."
            )
    # People rate few pairs, so they count only if they are named.
    others = [key for key in others if (key.model in compared if compared else not key.is_reviewer)]
    if not others:
        raise SelectionError(
            f"--by disagreement needs the grades of two models, but {graded} has only those of "
            f"{selected.model!r}; grade it with another model, or name a reviewer with --grader."
        )
    ratings = []
    for selector in map(known.__getitem__, others):
        file = gather(lines, selector, data.bank, kind=entry_kind(selector.filter))
        highest = highest_grade(selector, file)
        ratings.append({key: _scaled(rating, highest) for key, rating in ratings_of_pairs(file).items()})
    return ratings


def _disagreement(
    ratings: Mapping[_Pair, int],
    data: SelectedGrades,
    others: Sequence[Mapping[_Pair, float]],
) -> dict[_Pair, float]:
    """The range of the ratings of each pair by all graders, from 0 to 1."""
    if all(ratings.keys().isdisjoint(of_grader) for of_grader in others):
        raise SelectionError(
            f"--by disagreement needs pairs with ratings by two graders, but no other grader in "
            f"{data.source} rated the pairs of {data.selector.key.model!r}."
        )
    ranges = {}
    for key, rating in ratings.items():
        given = [_scaled(rating, data.highest_grade), *(of[key] for of in others if key in of)]
        ranges[key] = round(max(given) - min(given), _DIGITS)
    return ranges


def inclusion_probabilities(
    sizes: Mapping[float, int], weights: Mapping[float, float], expected: float
) -> dict[float, float]:
    """Return the probability of an item in each stratum, proportional to its weight but at most 1.

    Returns stratum to probability in (0, 1]. The sum of the probabilities of all items is ``expected``.
    """
    if expected >= sum(sizes.values()):
        return dict.fromkeys(sizes, 1.0)
    strata = sorted(sizes, key=lambda stratum: weights[stratum])
    weight_until = list(accumulate(sizes[stratum] * weights[stratum] for stratum in strata))
    probabilities: dict[float, float] = {}
    rest = expected
    for stratum, weight in reversed(list(zip(strata, weight_until, strict=True))):
        # The heaviest strata are taken in full until the rest can be drawn in proportion to the weights.
        probability = min(1.0, rest * (weights[stratum] / weight))
        probabilities[stratum] = probability
        rest -= sizes[stratum] * probability
    return {stratum: probabilities[stratum] for stratum in sizes}


def weights_of(sizes: Mapping[float, int], by: SampledBy) -> dict[float, float]:
    """The weight of an item in each stratum.

    By ``rating``, the same number of items is expected from each stratum. Otherwise, weights grow with the
    spread, which is the key of a stratum: a share of :data:`EVEN_SHARE` is spread evenly, so that no item has
    a weight of 0, and the rest is proportional to the spread. If all spreads are 0, all weights are equal.
    """
    if by == "rating":
        return {stratum: 1 / size for stratum, size in sizes.items()}
    count, total = sum(sizes.values()), sum(size * spread for spread, size in sizes.items())
    if not total:
        return dict.fromkeys(sizes, 1.0)
    return {spread: EVEN_SHARE / count + (1 - EVEN_SHARE) * spread / total for spread in sizes}
