"""Agreement of graders, also by criteria: Cohen's κ, Krippendorff's α, rank correlation, differences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal, NamedTuple

from exam_pp.data_model import OfOneModel
from exam_pp.defaults import SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter, GradeFilter, GradeKey, check_one, grader_names
from exam_pp.metrics.agreement import (
    BlandAltman,
    Coefficients,
    bland_altman,
    coefficients,
    krippendorff_alpha,
)
from exam_pp.metrics.alternative_annotator import COSTS, Replacement, Test, alternative_annotator_test
from exam_pp.metrics.grade_masks import GradedFile, gather, ratings_of_pairs
from exam_pp.metrics.qrels import KthBest, judgment_qrels
from exam_pp.metrics.rating_correlation import RatedItem
from exam_pp.phases.analysis.agreement import Labelling
from exam_pp.phases.evaluation.inputs import LoadedPassages, Passages, loaded, name_of
from exam_pp.phases.evaluation.judgments import outside_scale_notes
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.phases.evaluation.selected_grades import selectors
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.roles import without_canaries
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.wording import counted, listed


class CriteriaRatings(dict[tuple[str, ...], int]):
    """Query, system (with its repeat) and criterion to rating.

    ``highest``: Criterion to its highest level; the highest rating, if the file does not record its levels.
    """

    def __init__(self) -> None:
        super().__init__()
        self.highest: dict[str, int] = {}


def criteria_ratings(
    graded: PathLike, selection: AnswerFilter | None = None
) -> dict[GradeKey, CriteriaRatings]:
    """Read the ratings of answers by criteria."""
    selection = selection or AnswerFilter()
    ratings: dict[GradeKey, CriteriaRatings] = {}
    hashes: dict[GradeKey, set[str]] = {}
    graders: dict[GradeKey, None] = {}
    systems: dict[str, None] = {}
    for query in read_passages(graded):
        for passage in query.passages:
            for grades in passage.criteria_grades or ():
                key = key_of(grades)
                graders[key] = None
                systems[grades.system] = None
                if not selection.accepts(grades) or not selection.selects(grades.system):
                    continue
                if grades.prompt_hash is not None:
                    hashes.setdefault(key, set()).add(grades.prompt_hash)
                levels = grades.highest_levels
                for item in grades.ratings:
                    if item.rating is not None:
                        of_grader = ratings.setdefault(key, CriteriaRatings())
                        of_grader[query.query_id, grades.system, item.criterion] = item.rating
                        of_grader.highest[item.criterion] = max(
                            item.rating,
                            levels.get(item.criterion, 0),
                            of_grader.highest.get(item.criterion, 0),
                        )
    _check(graded, selection, list(graders), systems, bool(ratings))
    for key, versions in hashes.items():
        subject = f"The ratings of answers by {key.model} in {graded} were made with {len(versions)} versions"
        check_one(sorted(versions), f"{subject} of the prompt", "--grades hash")
    return {key: ratings[key] for key in sorted(ratings, key=lambda key: (key.is_reviewer, key))}


def key_of(grades: OfOneModel) -> GradeKey:
    """The grader of ratings by criteria, or the judge of games."""
    return GradeKey(grades.model or "(no model)", grades.prompt_class or "(no prompt class)")


def _check(
    graded: PathLike,
    selection: AnswerFilter,
    graders: list[GradeKey],
    systems: Collection[str],
    any_selected: bool,
) -> None:
    if not graders:
        raise SelectionError(
            f"{graded} has no ratings of answers by criteria; make them with `exam-pp grade "
            "--prompt criteria`, or add "
            "those of a person with `exam-pp apply`."
        )
    if absent := [system for system in selection.systems if system not in systems]:
        names = counted_names(absent, "system", "systems")
        known = counted_names(list(systems), "system", "systems")
        raise SelectionError(
            f"{graded} has no ratings by criteria of the answers of {names}; it has those of {known}."
        )
    if not any_selected:
        listing = "; ".join(map(str, sorted(graders)))
        raise SelectionError(
            f"No ratings by criteria in {graded} match the filter. The file has ratings of: {listing}."
        )


Unit = tuple[str, ...]
"""An item with ratings, such as a passage, or an answer with a criterion; its first text is the query id."""
Ratings = Mapping[Unit, int]
"""The ratings of a grader."""
Alphas = tuple[float | None, float | None, float | None]
"""Krippendorff's α on nominal, ordinal and interval scales; None is undefined."""

ALL = "all"
"""Name of the comparison of all items."""
MEAN = "mean of criteria"
"""Name of the comparison of mean ratings over criteria."""


class RatingComparison(NamedTuple):
    """Comparison of the ratings of two graders on common items.

    ``coefficients``: Cohen's κ, weighted κ and Krippendorff's α; None for mean ratings. ``differences``: Bias
    and limits of agreement of the first rating minus the second; None without items.
    """

    name: str
    items: Sequence[RatedItem]
    coefficients: Coefficients | None
    differences: BlandAltman | None


@dataclass(frozen=True)
class GraderPair:
    """Agreement of two graders on the items of both; ``comparisons`` begin with all items."""

    first: str
    second: str
    comparisons: Sequence[RatingComparison]

    @property
    def common(self) -> int:
        """The number of items that both graders rated."""
        return len(self.comparisons[0].items)

    @property
    def coefficients(self) -> Coefficients:
        """Agreement on all items."""
        pooled = self.comparisons[0].coefficients
        assert pooled is not None, "only means of criteria have no coefficients"
        return pooled


def _undefined(pair: GraderPair) -> Iterator[str]:
    """Sentences on undefined numbers."""
    both = f"{pair.first} and {pair.second}"
    if not pair.common:
        yield f"{both} have rated no common items: their agreement is undefined."
        return
    if pair.common == 1:
        yield f"{both} have rated one common item: correlations and limits of agreement are undefined."
        return
    for comparison in pair.comparisons:
        of = "" if comparison.name == ALL else f" of {comparison.name}"
        _, first, second = zip(*comparison.items, strict=True)
        for name, other, ratings in ((pair.first, pair.second, first), (pair.second, pair.first, second)):
            if len(set(ratings)) == 1:
                yield (
                    f"All ratings{of} by {name} of items that {other} rated, too, are equal: τ-b and ρ are "
                    "undefined."
                )


def _compare(ratings: Mapping[str, Ratings], *, by_criterion: bool) -> list[GraderPair]:
    """Compare every two graders on their common items, in the order of the graders.

    ``by_criterion``: Compare the ratings also by the criterion of the item, which is its last text.
    """
    pairs = []
    for first, second in combinations(ratings, 2):
        left, right = ratings[first], ratings[second]
        common = [unit for unit in left if unit in right]
        items = {unit: RatedItem(unit[0], left[unit], right[unit]) for unit in common}
        groups = {ALL: list(items.values())}
        if by_criterion:
            for unit, item in items.items():
                groups.setdefault(unit[-1], []).append(item)
            if len(groups) > 2:
                groups[MEAN] = _means(items)
        comparisons = [
            RatingComparison(
                name,
                group,
                None
                if name == MEAN
                else coefficients([int(item.first) for item in group], [int(item.second) for item in group]),
                bland_altman([item.first - item.second for item in group]),
            )
            for name, group in groups.items()
        ]
        pairs.append(GraderPair(first, second, comparisons))
    return pairs


def _means(items: Mapping[Unit, RatedItem]) -> list[RatedItem]:
    """The mean ratings of each answer over the criteria that both graders rated."""
    by_answer: dict[Unit, list[RatedItem]] = {}
    for unit, item in items.items():
        by_answer.setdefault(unit[:-1], []).append(item)
    return [
        RatedItem(
            unit[0],
            sum(item.first for item in of_answer) / len(of_answer),
            sum(item.second for item in of_answer) / len(of_answer),
        )
        for unit, of_answer in by_answer.items()
    ]


Compared = Literal["passages", "pairs", "ratings", "games"]
"""The compared values: labels of passages, ratings of pairs or by criteria, or verdicts of games."""

JUDGES = "judges"
"""Name of the judgments as a grader."""


@dataclass(frozen=True)
class GraderAgreement:
    """Agreement of every two graders, and of all graders.

    ``unit`` is what was compared: labels of passages, ratings of pairs of passage and entry, or ratings of
    answers by criteria. ``shared`` is the number of units that at least two graders graded. ``alphas`` are
    Krippendorff's α of all graders. ``replacements`` has the alternative annotator test of each model against
    the people of the file, for the annotators of each cost
    (:data:`~exam_pp.metrics.alternative_annotator.COSTS`). ``notes`` mention labels outside the scale of the
    judgments, and undefined numbers. Intervals use ``samples`` bootstrap samples of queries.
    """

    pairs: Sequence[GraderPair]
    graders: Sequence[str]
    shared: int
    unit: Compared
    alphas: Alphas
    provenance: Provenance = field(default_factory=Provenance)
    notes: Sequence[str] = ()
    samples: int = SAMPLES
    seed: int = 0
    replacements: Sequence[tuple[str, str, Replacement]] = ()


def graders(
    graded: Passages,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    models: Collection[str] = (),
    labelling: Labelling | None = None,
    per_entry: bool = False,
    test: Test = "bound",
    samples: int = SAMPLES,
    seed: int = 0,
) -> GraderAgreement:
    """Compute the agreement of every two graders of a file, and Krippendorff's α of all graders.

    Every model and prompt class that matches the filter is a grader. Reviewers come after models. The
    judgments (the highest of several) are the last grader.

    ``bank``: Test bank; only its entries count. ``models``: Compare only these models and reviewers, and the
    judgments. Default: all. ``test``: How it is tested whether a model may replace people.
    """
    passage_labelling = None if per_entry else labelling or KthBest()
    labels: dict[str, Ratings] = {}
    keys: dict[str, GradeKey] = {}
    for name, key, of_grader in _labels_by_grader(
        graded, bank, grade_filter or GradeFilter(), models, passage_labelling
    ):
        labels[name] = of_grader
        keys |= {} if key is None else {name: key}
    if len(labels) < 2:
        raise SelectionError(
            f"A comparison needs two graders, but {graded} has {counted(len(labels), 'grader')}"
            f"{' with ratings of entries' if per_entry else ' and no judgments'}."
        )
    result = agreement_of(labels, keys, "pairs" if per_entry else "passages", samples, seed, test)
    notes = [
        note
        for name, of_grader in labels.items()
        if JUDGES in labels
        for note in outside_scale_notes(of_grader.values(), labels[JUDGES].values(), f"{name}: ")
    ]
    provenance = replace(
        graded_by(keys.values()),
        banks=file_names(bank),
        judgments=file_names(name_of(graded, "")) if JUDGES in labels else (),
        queries=result.provenance.queries,
    )
    return replace(result, provenance=provenance, notes=[*notes, *result.notes])


def criteria_graders(
    graded: PathLike,
    *,
    selection: AnswerFilter | None = None,
    models: Collection[str] = (),
    test: Test = "bound",
    samples: int = SAMPLES,
    seed: int = 0,
) -> GraderAgreement:
    """Compute the agreement of every two graders of answers by criteria, over all criteria and by criterion.

    An item is the answer of a system to a query, rated by a criterion. The ratings of all criteria together
    are the flattened ratings of Rackauckas et al., 2024, section 7.1.

    ``models``: Compare only these models and reviewers. Default: all.
    """
    by_grader = criteria_ratings(graded, selection)
    keys = _chosen(list(by_grader), models, graded)
    if len(keys) < 2:
        raise SelectionError(
            f"A comparison needs two graders, but {graded} has ratings of answers by "
            f"{counted(len(keys), 'grader')} ({listed([key.model for key in keys])})."
        )
    name = grader_names(keys)
    ratings: dict[str, Ratings] = {name(key): by_grader[key] for key in keys}
    result = agreement_of(ratings, {name(key): key for key in keys}, "ratings", samples, seed, test)
    return replace(result, provenance=replace(graded_by(keys), queries=result.provenance.queries))


def agreement_of(
    ratings: Mapping[str, Ratings],
    keys: Mapping[str, GradeKey],
    unit: Compared,
    samples: int,
    seed: int,
    test: Test = "bound",
) -> GraderAgreement:
    """The agreement of graders. The provenance has the number of queries only.

    ``keys``: Name to key of the graders of grades; the judgments and judges of games have no key.
    """
    pairs = _compare(ratings, by_criterion=unit == "ratings")
    units, alphas = alphas_of(ratings.values())
    provenance = Provenance(queries=len({item[0] for item in units}))
    notes = [note for pair in pairs for note in _undefined(pair)]
    people = [ratings[name] for name, key in keys.items() if key.is_reviewer]
    tests: list[tuple[str, str, Replacement]] = []
    # The label of a passage is its best rating, and people often rate some of its entries only.
    tested = people and unit != "passages"
    for name in (name for name, key in keys.items() if tested and not key.is_reviewer):
        try:
            tests += [
                (name, whom, alternative_annotator_test(ratings[name], people, epsilon, test))
                for whom, epsilon in COSTS.items()
            ]
        except SelectionError as error:
            notes.append(f"{name}: {error}")
    return GraderAgreement(
        pairs,
        list(ratings),
        sum(number > 1 for number in units.values()),
        unit,
        alphas,
        provenance,
        notes,
        samples,
        seed,
        tests,
    )


def alphas_of(ratings: Iterable[Ratings]) -> tuple[dict[Unit, int], Alphas]:
    """Each rated item to the number of its graders, and Krippendorff's α of all graders."""
    units: dict[Unit, list[int]] = {}
    for of_grader in ratings:
        for item, rating in of_grader.items():
            units.setdefault(item, []).append(rating)
    nominal, ordinal, interval = (
        krippendorff_alpha(units.values(), level) for level in ("nominal", "ordinal", "interval")
    )
    return {item: len(of_item) for item, of_item in units.items()}, (nominal, ordinal, interval)


def _chosen(keys: Sequence[GradeKey], models: Collection[str], graded: Passages) -> list[GradeKey]:
    """The keys of these models, all without models; raises SelectionError for a model without grades."""
    known = list(dict.fromkeys(key.model for key in keys))
    for model in models:
        if model not in known:
            raise SelectionError(f"{graded} has no such grades by {model!r} (graders: {listed(known)}).")
    return [key for key in keys if not models or key.model in models]


def _labels_by_grader(
    graded: Passages,
    bank_path: PathLike | None,
    criteria: GradeFilter,
    models: Collection[str],
    labelling: Labelling | None,
) -> Iterator[tuple[str, GradeKey | None, Ratings]]:
    """Yield each grader with its labels of passages; without a labelling, with its ratings of pairs.

    The judgments have no key.
    """
    bank = read_bank(bank_path) if bank_path is not None else None
    graded = loaded(graded)
    _check_not_criteria(graded)
    lines = list(without_canaries(graded))
    graders = selectors(lines, criteria, graded)
    keys = _chosen(sorted(graders, key=lambda key: (key.is_reviewer, key)), models, graded)
    name = grader_names(keys)
    for key in keys:
        file = gather(lines, graders[key], bank, ranks=False)
        labels = ratings_of_pairs(file) if labelling is None else _labels_of_passages(file, labelling)
        if labels:
            yield name(key), key, labels
    judged = judgment_qrels(lines) if labelling is not None else []
    if judged:
        yield JUDGES, None, {(line.query_id, line.passage_id): line.whole for line in judged}


def _check_not_criteria(graded: LoadedPassages) -> None:
    """Raise SelectionError if a file without grades of passages has ratings of answers by criteria."""
    passages = [passage for query in graded for passage in query.passages]
    is_graded = any(True for passage in passages for _ in passage.grade_sets())
    if not is_graded and any(passage.criteria_grades for passage in passages):
        raise SelectionError(
            f"{graded} has no grades of passages, but ratings of answers by criteria; add --by criterion."
        )


def _labels_of_passages(file: GradedFile, labelling: Labelling) -> dict[tuple[str, ...], int]:
    return {
        (query_id, passage.passage_id): labelling(passage.ratings)
        for query_id, query in file.queries.items()
        for passage in query.passages
        if passage.levels
    }
