"""Agreement of graders, also by criteria: Cohen's κ, Krippendorff's α, rank correlation, differences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal, NamedTuple

from exam_pp.defaults import SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter, GradeFilter, GradeKey, grader_names
from exam_pp.metrics.agreement import (
    Coefficients,
    coefficients,
    krippendorff_alpha,
)
from exam_pp.metrics.grade_masks import GradedFile, gather, ratings_of_pairs
from exam_pp.metrics.qrels import KthBest, judgment_qrels
from exam_pp.metrics.uncertainty import Interval, few_units_note
from exam_pp.phases.analysis.agreement import Labelling
from exam_pp.phases.evaluation.inputs import LoadedPassages, Passages, loaded, name_of
from exam_pp.phases.evaluation.judgments import outside_scale_notes
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import selectors
from exam_pp.plugins import needed
from exam_pp.plugins.trust.alternative_annotator import COSTS, Replacement, Test, alternative_annotator_test
from exam_pp.plugins.trust.pictures import Level, matrix, mean_difference
from exam_pp.plugins.trust.rating_correlation import (
    BlandAltman,
    Estimate,
    RatedItem,
    bland_altman,
    means_and_differences,
    rating_correlation,
)
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Picture, Report, Table
from exam_pp.reports.analysis.agreement import COEFFICIENTS
from exam_pp.reports.analysis.correlation import formatted_interval
from exam_pp.reports.analysis.report_folder import Inputs, ReportFolder
from exam_pp.roles import without_canaries
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.text.wording import counted, listed

Unit = tuple[str, ...]
"""An item with ratings, such as a passage, or an answer with a criterion; its first text is the query id."""
Ratings = Mapping[Unit, int]
"""The ratings of a grader."""

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

_GRADES = "such grades by {} (graders"
JUDGES = "judges"
"""Name of the judgments as a grader."""


@dataclass(frozen=True)
class GraderAgreement:
    """Agreement of every two graders, and of all graders.

    ``unit`` is what was compared: labels of passages, ratings of pairs of passage and entry, or ratings of
    answers by criteria. ``shared`` is the number of units that at least two graders graded. ``alphas`` are
    Krippendorff's α of all graders on nominal, ordinal and interval scales. ``replacements`` has the
    alternative annotator test of each model against the people of the file, for the annotators of each cost
    (:data:`COSTS`). ``notes`` mention labels outside the scale of the judgments, and undefined numbers.
    Intervals use ``samples`` bootstrap samples of queries.
    """

    pairs: Sequence[GraderPair]
    graders: Sequence[str]
    shared: int
    unit: Compared
    alphas: Sequence[float | None]
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
    # A plug-in offers a function of these values: grader to (query, system, criterion) to rating.
    by_grader = needed("ratings by criteria", "rag_metrics")(graded, selection)
    keys = chosen(by_grader, models, graded, _GRADES)
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
    samples: int = SAMPLES,
    seed: int = 0,
    test: Test = "bound",
) -> GraderAgreement:
    """The agreement of graders. The provenance has the number of queries only.

    ``keys``: Name to key of the graders of grades; the judgments and judges of games have no key.
    """
    pairs = _compare(ratings, by_criterion=unit == "ratings")
    units: dict[Unit, list[int]] = {}
    for of_grader in ratings.values():
        for item, rating in of_grader.items():
            units.setdefault(item, []).append(rating)
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
        sum(len(given) > 1 for given in units.values()),
        unit,
        [krippendorff_alpha(units.values(), level) for level in ("nominal", "ordinal", "interval")],
        provenance,
        notes,
        samples,
        seed,
        tests,
    )


def chosen(keys: Iterable[GradeKey], models: Collection[str], source: object, graded: str) -> list[GradeKey]:
    """The graders of these models, all without models, models before reviewers; raises SelectionError.

    ``graded``: What models may lack in the source, and the name of a grader.
    """
    keys = sorted(keys, key=lambda key: (key.is_reviewer, key))
    known = list(dict.fromkeys(key.model for key in keys))
    for model in models:
        if model not in known:
            raise SelectionError(f"{source} has no {graded.format(repr(model))}: {listed(known)}).")
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
    keys = chosen(graders, models, graded, _GRADES)
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


_MAX_PICTURES = 12
"""Maximum number of plots of differences, so that reports of many graders stay readable."""
_UNITS: dict[Compared, str] = {"passages": "passages", "pairs": "pairs", "ratings": "ratings"}
_LONG_UNITS: dict[Compared, str] = {
    "passages": "labels of passages",
    "pairs": "ratings of pairs of passage and entry",
    "ratings": "ratings of answers by criteria",
}


def pairs_table(result: GraderAgreement) -> Table:
    """One row for every two graders."""
    head, rows = _head(result.pairs)
    return Table(
        [*head, _UNITS[result.unit], *COEFFICIENTS],
        [
            [*names, len(comparison.items), *comparison.coefficients]
            for names, comparison in rows
            if comparison.coefficients is not None
        ],
        title="Every two graders",
    )


def graders_report(result: GraderAgreement, *, pictures: bool = True) -> Report:
    """One row for every two graders, Krippendorff's α of all graders, rank correlations and differences."""
    unit = _UNITS[result.unit]
    blocks: list[Block] = [
        pairs_table(result),
        alpha_table(result),
        correlation_table(result, unit),
        _differences(result.pairs, unit),
        *_replacements(result, unit),
        *map(Paragraph, [_explanation(result), *result.notes]),
    ]
    if pictures:
        blocks += [*([kappa_picture(result)] if len(result.pairs) > 1 else []), *difference_pictures(result)]
    return Report("Agreement of graders", blocks, result.provenance, result.notes)


def alpha_table(result: GraderAgreement, decimals: int = 3) -> Table:
    """Krippendorff's α of all graders, and the number of units that several rated."""
    columns = ["graders", _UNITS[result.unit], "α (nominal)", "α (ordinal)", "α (interval)"]
    cells = [len(result.graders), result.shared, *result.alphas]
    return Table(columns, [cells], title="Krippendorff's α of all graders", decimals=decimals)


def _replacements(result: GraderAgreement, unit: str) -> list[Block]:
    """The alternative annotator test of each model; empty if it was not computed."""
    rows: list[list[Cell]] = [
        [name, whom, COSTS[whom], test.annotators, test.items, test.winning_rate, test.advantage,
         "yes" if test.passed else "too few items" if test.too_few else "no"]
        for name, whom, test in result.replacements
    ]  # fmt: skip
    columns = ["judge", "in place of", "ε", "people", unit, "ω", "ρ", "passed (ω ≥ 0.5)"]
    explanation = (
        "Alternative annotator test (Calderon et al., 2025): ρ is the probability that the judge agrees with "
        "the other people at least as well as a person does; ω is the share of people to whom the judge is "
        "shown to be equal up to ε, the cost of such people's work. One-sided tests by Gaffke's bound of the "
        "mean loss (--test published: t tests), corrected by Benjamini and Yekutieli at 0.05; items are "
        "treated as independent. Agreement is the distance of ratings (RMSE), which fits scales and 0 or 1, "
        "and not labels without an order."
    )
    title = "May the judge replace people?"
    return [Table(columns, rows, title=title), Paragraph(explanation)] if rows else []


def _explanation(result: GraderAgreement) -> str:
    several = any(len(pair.comparisons) > 1 for pair in result.pairs)
    pooled = ' Krippendorff\'s α of all graders, and rows "all", pool the criteria.' if several else ""
    return (
        f"Compared: {_LONG_UNITS[result.unit]}.{pooled} "
        "T and U are the pairs of items that only the grader, or only "
        f"the other grader, rates equal. Intervals of τ-b and ρ: 95 %, {result.samples} bootstrap samples of "
        f"queries (seed {result.seed}). {few_units_note()} p-values treat items as independent. Difference: "
        "grader − other grader, which need the same scale; limits of agreement: bias ± 1.96 sd, with 95 % "
        "intervals from the t distribution, which assume normal differences of independent items and need "
        "six of them."
    )


def correlation_table(result: GraderAgreement, unit: str) -> Table:
    """Rank correlations of every two graders: over all items, then by criterion."""
    head, rows = _head(result.pairs)
    return Table(
        [
            *head,
            unit,
            "queries",
            "T",
            "U",
            "τ-b",
            "interval of τ-b",
            "p of τ-b",
            "ρ",
            "interval of ρ",
            "p of ρ",
        ],
        [
            [
                *names,
                correlation.items,
                correlation.queries,
                correlation.first_ties,
                correlation.second_ties,
                correlation.kendall.value,
                _range(correlation.kendall.interval),
                correlation.kendall.p_value,
                correlation.spearman.value,
                _range(correlation.spearman.interval),
                correlation.spearman.p_value,
            ]
            for names, comparison in rows
            for correlation in [
                rating_correlation(comparison.items, samples=result.samples, seed=result.seed)
            ]
        ],
        title="Rank correlation",
        significant=[len(head) + 6, len(head) + 9],
    )


def _differences(pairs: Sequence[GraderPair], unit: str) -> Table:
    head, rows = _head(pairs)
    columns = [
        *head, unit, "bias", "interval of bias", "sd", "lower limit", "interval of lower limit",
        "upper limit", "interval of upper limit",
    ]  # fmt: skip
    return Table(
        columns,
        [
            [
                *names,
                len(comparison.items),
                *(
                    [None] * (len(columns) - len(head) - 1)
                    if (limits := comparison.differences) is None
                    else [
                        *_pair_cells(limits.bias),
                        limits.sd,
                        *_pair_cells(limits.lower),
                        *_pair_cells(limits.upper),
                    ]
                ),
            ]
            for names, comparison in rows
        ],
        title="Differences (Bland-Altman)",
    )


def _head(pairs: Sequence[GraderPair]) -> tuple[list[str], list[tuple[list[Cell], RatingComparison]]]:
    """The first columns, and the first cells of each comparison; a criterion only if there are several."""
    by_criterion = any(len(pair.comparisons) > 1 for pair in pairs)
    head = ["grader", "other grader", *(["criterion"] if by_criterion else [])]
    rows: list[tuple[list[Cell], RatingComparison]] = [
        ([pair.first, pair.second, *([comparison.name] if by_criterion else [])], comparison)
        for pair in pairs
        for comparison in pair.comparisons
    ]
    return head, rows


def _pair_cells(estimate: Estimate | None) -> list[Cell]:
    return [None, None] if estimate is None else [estimate.value, _range(estimate.interval)]


def _range(interval: Interval | None) -> str | None:
    return formatted_interval(interval, 3) or None


def kappa_picture(result: GraderAgreement) -> Picture:
    """Weighted κ (quadratic) of every two graders as a matrix."""
    values = {(pair.first, pair.second): pair.coefficients.quadratic_kappa for pair in result.pairs}
    return matrix(result.graders, values, COEFFICIENTS[2])


def difference_pictures(result: GraderAgreement) -> list[Picture]:
    """Plots of differences against means, for the pairs of graders; empty without common items.

    Two graders get a plot for each criterion, more graders a plot for each pair.
    """
    return [
        mean_difference(
            means_and_differences([item[1:] for item in comparison.items], seed=result.seed),
            *_lines(comparison),
            f"Differences: {title}",
            items=len(comparison.items),
        )
        for title, comparison in _plotted(result)
    ]


def _plotted(result: GraderAgreement) -> Iterator[tuple[str, RatingComparison]]:
    """The comparisons with items that are plotted, with their titles."""
    plotted = [
        (
            f"{pair.first} − {pair.second}" + ("" if comparison.name == ALL else f", {comparison.name}"),
            comparison,
        )
        for pair in result.pairs
        for comparison in (pair.comparisons if len(result.pairs) == 1 else pair.comparisons[:1])
        if comparison.items
    ]
    yield from plotted[:_MAX_PICTURES]


def _lines(comparison: RatingComparison) -> tuple[Level, Level | None, Level | None]:
    """The bias and the limits of agreement."""
    assert comparison.differences is not None
    bias, lower, upper = (
        None if line is None else Level(line.value, *(line.interval or (None, None)))
        for line in (comparison.differences.bias, comparison.differences.lower, comparison.differences.upper)
    )
    assert bias is not None
    return bias, lower, upper


def agreement_of_graders(inputs: Inputs, folder: ReportFolder) -> list[Block]:
    """Write the agreement of every two graders; returns the table of their pairs."""
    title = "Agreement of graders"
    banks = {grade_set.bank for grade_set in inputs.sets}
    try:
        compared = graders(inputs.passages, bank=banks.pop() if len(banks) == 1 else None)
    except SelectionError as error:
        folder.skip(title, str(error), "grades of another grader")
        return []
    folder.table("graders.tsv", graders_report(compared, pictures=False), title)
    return [Heading(title, level=2), pairs_table(compared)]
