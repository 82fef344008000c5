"""Agreement of graders: Cohen's κ, Krippendorff's α, rank correlation and differences, also by criteria."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from exam_pp.defaults import SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter, GradeFilter, GradeKey, grader_names
from exam_pp.metrics.agreement import coefficients, krippendorff_alpha, macro_f1
from exam_pp.metrics.grade_masks import gather, ratings_of_pairs
from exam_pp.metrics.qrels import judgment_qrels
from exam_pp.metrics.uncertainty import few_units_note
from exam_pp.phases.evaluation.inputs import Passages, loaded, name_of
from exam_pp.phases.evaluation.judgments import outside_scale_notes
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import selectors
from exam_pp.plugins import needed
from exam_pp.plugins.trust.alternative_annotator import COSTS, Test, alternative_annotator_test
from exam_pp.plugins.trust.pictures import Level, mean_difference
from exam_pp.plugins.trust.rating_correlation import (
    RatedItem,
    bland_altman,
    means_and_differences,
    rating_correlation,
)
from exam_pp.plugins.trust.resampling import Estimate
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
Units = Literal["passages", "pairs", "ratings"]
"""The compared values: labels of passages, ratings of pairs, or ratings by criteria."""

Number = Estimate | float | None
ALL = "all"
"""Name of the comparison of all items."""
JUDGES = "judges"
"""Name of the judgments as a grader."""
_F1 = ("macro F1", "macro F1 of the highest label")
_MAX_PICTURES = 12
"""Maximum number of plots of differences, so that reports of many graders stay readable."""
_LONG_UNITS: dict[Units, str] = {
    "passages": "labels of passages",
    "pairs": "ratings of pairs of passage and entry",
    "ratings": "ratings of answers by criteria",
}

_ALONE: dict[Units, str] = {
    "passages": " and no judgments",
    "pairs": " with ratings of entries",
    "ratings": " with ratings of answers by criteria",
}


@dataclass(frozen=True)
class Graders:
    """Two graders or more with their ratings of the same kind of units; ``people`` are among them."""

    unit: Units
    ratings: Mapping[str, Ratings]
    people: Collection[str]
    provenance: Provenance
    notes: Sequence[str] = ()


def graders(
    graded: Passages,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    models: Collection[str] = (),
    per_entry: bool = False,
) -> Graders:
    """The graders of a file: every model and prompt class that matches the filter, then reviewers.

    The label of a passage is its best rating. The judgments (the highest of several) are the last grader of
    labels of passages.

    ``bank``: Test bank; only its entries count. ``models``: Only these models and reviewers, and the
    judgments. Default: all.
    """
    source = loaded(graded)
    lines = list(without_canaries(source))
    found = selectors(lines, grade_filter or GradeFilter(), source)
    test_bank = read_bank(bank) if bank is not None else None
    by_grader: dict[GradeKey, Ratings] = {}
    for key in chosen(found, models, source):
        file = gather(lines, found[key], test_bank, ranks=False)
        by_grader[key] = ratings_of_pairs(file)
        if not per_entry:
            by_grader[key] = {
                (query_id, passage.passage_id): passage.best_grade
                for query_id, query in file.queries.items()
                for passage in query.passages
                if passage.best_grade is not None
            }
    judged = [] if per_entry else judgment_qrels(lines)
    labels: Ratings = {(line.query_id, line.passage_id): line.whole for line in judged}
    result = _compared("pairs" if per_entry else "passages", by_grader, source, labels)
    notes = [
        note
        for name, ratings in result.ratings.items()
        for note in outside_scale_notes(ratings.values(), labels.values(), f"{name}: ")
    ]
    judgments = file_names(name_of(graded, "")) if labels else ()
    provenance = replace(result.provenance, banks=file_names(bank), judgments=judgments)
    return replace(result, notes=notes, provenance=provenance)


def criteria_graders(
    graded: PathLike, *, selection: AnswerFilter | None = None, models: Collection[str] = ()
) -> Graders:
    """The graders of answers by criteria.

    An item is the answer of a system to a query, rated by a criterion. The ratings of all criteria together
    are the flattened ratings of Rackauckas et al., 2024, section 7.1.
    """
    # A plug-in offers a function of these values: grader to (query, system, criterion) to rating.
    by_grader = needed("ratings by criteria", "rag_metrics")(graded, selection)
    keys = chosen(by_grader, models, graded)
    return _compared("ratings", {key: by_grader[key] for key in keys}, graded)


def chosen(keys: Iterable[GradeKey], models: Collection[str], source: object) -> list[GradeKey]:
    """The graders of these models, all without models, models before reviewers; raises SelectionError."""
    keys = sorted(keys, key=lambda key: (key.is_reviewer, key))
    known = list(dict.fromkeys(key.model for key in keys))
    for model in models:
        if model not in known:
            raise SelectionError(f"{source} has no such grades by {model!r} (graders: {listed(known)}).")
    return [key for key in keys if not models or key.model in models]


def _compared(
    unit: Units, by_grader: Mapping[GradeKey, Ratings], source: object, judged: Ratings | None = None
) -> Graders:
    """Graders with ratings, by name, and the judgments if there are any."""
    keys = [key for key, ratings in by_grader.items() if ratings]
    name = grader_names(list(by_grader))
    ratings = {name(key): by_grader[key] for key in keys} | ({JUDGES: judged} if judged else {})
    if len(ratings) < 2:
        has = f"{counted(len(ratings), 'grader')}{_ALONE[unit]}"
        raise SelectionError(f"A comparison needs two graders, but {source} has {has}.")
    queries = {each[0] for of_grader in ratings.values() for each in of_grader}
    people = [name(key) for key in keys if key.is_reviewer]
    return Graders(unit, ratings, people, replace(graded_by(keys), queries=len(queries)))


def comparisons(compared: Graders) -> dict[tuple[str, ...], list[RatedItem]]:
    """Every two graders to their common items; ratings by criteria for all criteria, and for each."""
    rows: dict[tuple[str, ...], list[RatedItem]] = {}
    by_criterion = compared.unit == "ratings"
    for (first, left), (second, right) in combinations(compared.ratings.items(), 2):
        pair = first, second
        rows[(*pair, ALL) if by_criterion else pair] = []
        for unit in (unit for unit in left if unit in right):
            for names in [(*pair, ALL), (*pair, unit[-1])] if by_criterion else [pair]:
                item = RatedItem(unit[0], left[unit], right[unit], unit[1])
                rows.setdefault(names, []).append(item)
    return rows


def graders_report(
    compared: Graders, *, test: Test = "bound", samples: int = SAMPLES, seed: int = 0
) -> Report:
    """One row for every two graders, Krippendorff's α of all graders, rank correlations and differences.

    ``test``: How it is tested whether a model may replace people.
    """
    rows, statistics = comparisons(compared), Statistics(samples=samples, seed=seed)
    units: dict[Unit, list[int]] = {}
    for item, rating in (pair for ratings in compared.ratings.values() for pair in ratings.items()):
        units.setdefault(item, []).append(rating)
    shared = sum(len(given) > 1 for given in units.values())
    alphas = [krippendorff_alpha(units.values(), level) for level in ("nominal", "ordinal", "interval")]
    head = ["grader", "other grader", "criterion"][: len(next(iter(rows)))]

    def table(
        title: str, columns: Sequence[str], numbers: Callable[[list[RatedItem]], Iterable[Number]]
    ) -> Table:
        """A row for each comparison: the names, the items, and numbers with intervals."""
        cells: list[list[Cell]] = [
            [*names, len(items), *(cell for number in numbers(items) for cell in _cells(number))]
            for names, items in rows.items()
        ]
        columns = [*head, compared.unit, *columns]
        p_values = [at for at, column in enumerate(columns) if column.startswith("p of")]
        return Table(columns, cells, title=title, significant=p_values)

    blocks: list[Block] = [
        table(
            "Every two graders",
            [*COEFFICIENTS, *(_F1 if compared.unit == "pairs" else ())],
            lambda items: [*coefficients(*_labels(items)), *(_f1(items) if compared.unit == "pairs" else ())],
        ),
        Table(
            ["graders", compared.unit, "α (nominal)", "α (ordinal)", "α (interval)"],
            [[len(compared.ratings), shared, *alphas]],
            title="Krippendorff's α of all graders",
            decimals=3,
        ),
        table(
            "Rank correlation",
            [
                "queries", "T", "U", "τ-b", "interval of τ-b", "p of τ-b", "ρ", "interval of ρ", "p of ρ",
            ],
            lambda items: rating_correlation(items, statistics),
        ),
        table(
            "Differences (Bland-Altman)",
            [
                "bias", "interval of bias", "sd", "lower limit", "interval of lower limit", "upper limit",
                "interval of upper limit",
            ],
            lambda items: bland_altman([item.first - item.second for item in items]),
        ),
    ]  # fmt: skip
    notes = [
        *compared.notes,
        *(
            f"{first} and {second} have rated no common items: their agreement is undefined."
            for (first, second, *_), items in rows.items()
            if not items
        ),
    ]
    if compared.unit != "passages":
        # The label of a passage is its best rating, and people often rate some of its entries only.
        blocks += _replacements(compared, test, notes)
    blocks += map(Paragraph, [_explanation(compared.unit, statistics), *notes])
    blocks += difference_pictures(compared, seed)
    return Report("Agreement of graders", blocks, compared.provenance, notes)


def _labels(items: Sequence[RatedItem]) -> tuple[list[int], list[int]]:
    return [int(item.first) for item in items], [int(item.second) for item in items]


def _f1(items: Sequence[RatedItem]) -> Iterable[Number]:
    answers: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for query_id, first, second, passage_id in items:
        answers.setdefault((query_id, passage_id), []).append((int(first), int(second)))
    return macro_f1(answers.values())


def _cells(number: Number) -> list[Cell]:
    """A number, or a number and its interval."""
    if isinstance(number, Estimate):
        return [number.value, formatted_interval(number.interval, 3) or None]
    return [number]


def _replacements(compared: Graders, test: Test, notes: list[str]) -> list[Block]:
    """The alternative annotator test of each model, if there are people; adds why a model has none."""
    people = [compared.ratings[name] for name in compared.people]
    rows: list[list[Cell]] = []
    for name in [name for name in compared.ratings if people and name not in compared.people]:
        try:
            for whom, epsilon in COSTS.items():
                found = alternative_annotator_test(compared.ratings[name], people, epsilon, test)
                passed = "yes" if found.passed else "too few items" if found.too_few else "no"
                numbers = found.annotators, found.items, found.winning_rate, found.advantage
                rows.append([name, whom, epsilon, *numbers, passed])
        except SelectionError as error:
            notes.append(f"{name}: {error}")
    columns = ["judge", "in place of", "ε", "people", compared.unit, "ω", "ρ", "passed (ω ≥ 0.5)"]
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


def _explanation(unit: Units, statistics: Statistics) -> str:
    pooled = (
        ' Krippendorff\'s α of all graders, and rows "all", pool the criteria.' if unit == "ratings" else ""
    )
    f1 = "Macro F1 is a mean over answers (ResearchRubrics). " if unit == "pairs" else ""
    return (
        f"Compared: {_LONG_UNITS[unit]}.{pooled} "
        f"{f1}T and U are the pairs of items that only the grader, or only the other grader, rates equal. "
        f"Intervals of τ-b and ρ: 95 %, {statistics.samples} bootstrap samples of queries "
        f"(seed {statistics.seed}). {few_units_note()} "
        "p-values treat items as independent. Difference: grader − other grader, which need the same scale; "
        "limits of agreement: "
        "bias ± 1.96 sd, with 95 % intervals from the t distribution, which assume normal differences of "
        "independent items and need six of them."
    )


def difference_pictures(compared: Graders, seed: int = 0) -> list[Picture]:
    """Plots of differences against means, for the pairs of graders; empty without common items.

    Two graders get a plot for each criterion, more graders a plot for each pair.
    """
    pictures = []
    for (first, second, *criterion), items in comparisons(compared).items():
        if items and (len(compared.ratings) == 2 or criterion in ([], [ALL])):
            found = bland_altman([item.first - item.second for item in items])
            bias, *limits = (
                Level(of.value or 0.0, *(of.interval or (None, None)))
                for of in (found.bias, found.lower, found.upper)
            )
            lower, upper = limits if found.sd is not None else (None, None)
            points = means_and_differences([item[1:3] for item in items], seed=seed)
            title = ", ".join([f"Differences: {first} − {second}", *(n for n in criterion if n != ALL)])
            pictures.append(mean_difference(points, bias, lower, upper, title, items=len(items)))
    return pictures[:_MAX_PICTURES]


def agreement_of_graders(inputs: Inputs, folder: ReportFolder) -> list[Block]:
    """Write the agreement of every two graders; returns the table of their pairs."""
    title = "Agreement of graders"
    banks = {grade_set.bank for grade_set in inputs.sets}
    try:
        report = graders_report(graders(inputs.passages, bank=banks.pop() if len(banks) == 1 else None))
    except SelectionError as error:
        folder.skip(title, str(error), "grades of another grader")
        return []
    folder.table("graders.tsv", report, title)
    return [Heading(title, level=2), report.blocks[0]]
