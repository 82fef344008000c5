"""Agreement of graders with each other: Cohen's κ, Krippendorff's α, rank correlation, differences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from exam_pp.defaults import SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, grader_names
from exam_pp.metrics.agreement import krippendorff_alpha
from exam_pp.metrics.grade_masks import GradedFile, gather
from exam_pp.metrics.passage_labels import KthBest
from exam_pp.metrics.qrels import judgment_qrels
from exam_pp.phases.analysis.agreement import Labelling
from exam_pp.phases.analysis.criteria_ratings import criteria_ratings
from exam_pp.phases.analysis.grader_pairs import GraderPair, Ratings, Unit, compare_graders
from exam_pp.phases.evaluation.graded_citations import SupportFilter
from exam_pp.phases.evaluation.judgments import outside_scale_notes
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import selectors
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.roles import without_canaries
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import is_read_once
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.wording import counted, listed

Compared = Literal["passages", "pairs", "ratings"]
"""The compared values: labels of passages, ratings of pairs of passage and entry, or ratings by criteria."""

JUDGES = "judges"
"""Name of the judgments as a grader."""


@dataclass(frozen=True)
class GraderAgreement:
    """Agreement of every two graders, and of all graders.

    ``unit`` is what was compared: labels of passages, ratings of pairs of passage and entry, or ratings of
    answers by criteria. ``shared`` is the number of units that at least two graders graded.
    ``nominal_alpha``, ``ordinal_alpha`` and ``interval_alpha`` are Krippendorff's α of all graders on these
    scales. ``notes`` mention labels outside the scale of the judgments, and undefined numbers. Intervals use
    ``samples`` bootstrap samples of queries.
    """

    pairs: Sequence[GraderPair]
    graders: Sequence[str]
    shared: int
    unit: Compared
    nominal_alpha: float | None
    ordinal_alpha: float | None
    interval_alpha: float | None
    provenance: Provenance = field(default_factory=Provenance)
    notes: Sequence[str] = ()
    samples: int = SAMPLES
    seed: int = 0


def graders(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    models: Collection[str] = (),
    labelling: Labelling | None = None,
    per_entry: bool = False,
    samples: int = SAMPLES,
    seed: int = 0,
) -> GraderAgreement:
    """Compute the agreement of every two graders of a file, and Krippendorff's α of all graders.

    Every model and prompt class that matches the filter is a grader. Reviewers come after models. The
    judgments (the highest of several) are the last grader.

    ``bank``: Test bank; only its entries count. ``models``: Compare only these models and reviewers, and the
    judgments. Default: all.
    """
    passage_labelling = None if per_entry else labelling or KthBest()
    labels: dict[str, Ratings] = {}
    keys: list[GradeKey] = []
    for name, key, of_grader in _labels_by_grader(
        graded, bank, grade_filter or GradeFilter(), models, passage_labelling
    ):
        labels[name] = of_grader
        keys += [] if key is None else [key]
    if len(labels) < 2:
        raise SelectionError(
            f"A comparison needs two graders, but {graded} has {counted(len(labels), 'grader')}"
            f"{' with ratings of entries' if per_entry else ' and no judgments'}."
        )
    result = _agreement_of(labels, "pairs" if per_entry else "passages", samples, seed)
    notes = [
        note
        for name, of_grader in labels.items()
        if JUDGES in labels
        for note in outside_scale_notes(of_grader.values(), labels[JUDGES].values(), f"{name}: ")
    ]
    provenance = replace(
        graded_by(keys),
        banks=file_names(bank),
        judgments=file_names(graded) if JUDGES in labels else (),
        queries=result.provenance.queries,
    )
    return replace(result, provenance=provenance, notes=[*notes, *result.notes])


def criteria_graders(
    graded: PathLike,
    *,
    selection: SupportFilter | None = None,
    models: Collection[str] = (),
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
    result = _agreement_of(ratings, "ratings", samples, seed)
    return replace(result, provenance=replace(graded_by(keys), queries=result.provenance.queries))


def _agreement_of(ratings: Mapping[str, Ratings], unit: Compared, samples: int, seed: int) -> GraderAgreement:
    """The agreement of graders; the provenance has the number of queries only."""
    criterion = (lambda item: item[-1]) if unit == "ratings" else None
    pairs = compare_graders(ratings, criterion=criterion, samples=samples, seed=seed)
    units: dict[Unit, list[int]] = {}
    for of_grader in ratings.values():
        for item, rating in of_grader.items():
            units.setdefault(item, []).append(rating)
    shared = sum(len(item) > 1 for item in units.values())
    nominal, ordinal, interval = (
        krippendorff_alpha(units.values(), level) for level in ("nominal", "ordinal", "interval")
    )
    provenance = Provenance(queries=len({item[0] for item in units}))
    notes = [note for pair in pairs for note in pair.notes]
    return GraderAgreement(
        pairs, list(ratings), shared, unit, nominal, ordinal, interval, provenance, notes, samples, seed
    )


def _chosen(keys: Sequence[GradeKey], models: Collection[str], graded: PathLike) -> list[GradeKey]:
    """The keys of these models, all without models; raises SelectionError for a model without grades."""
    known = list(dict.fromkeys(key.model for key in keys))
    for model in models:
        if model not in known:
            raise SelectionError(f"{graded} has no such grades by {model!r} (graders: {listed(known)}).")
    return [key for key in keys if not models or key.model in models]


def _labels_by_grader(
    graded: PathLike,
    bank_path: PathLike | None,
    criteria: GradeFilter,
    models: Collection[str],
    labelling: Labelling | None,
) -> Iterator[tuple[str, GradeKey | None, Ratings]]:
    """Yield each grader with its labels of passages; without a labelling, with its ratings of pairs.

    The judgments have no key.
    """
    bank = read_bank(bank_path) if bank_path is not None else None
    lines = list(without_canaries(read_passages(graded)))
    if not any(True for line in lines for passage in line.passages for _ in passage.grade_sets()):
        _check_criteria(graded)
    graders = selectors(lines, criteria, graded)
    keys = _chosen(sorted(graders, key=lambda key: (key.is_reviewer, key)), models, graded)
    name = grader_names(keys)
    for key in keys:
        file = gather(lines, graders[key], bank)
        labels = ratings_of_pairs(file) if labelling is None else _labels_of_passages(file, labelling)
        if labels:
            yield name(key), key, labels
    judged = judgment_qrels(lines) if labelling is not None else []
    if judged:
        yield JUDGES, None, {(line.query_id, line.passage_id): line.whole for line in judged}


def _check_criteria(graded: PathLike) -> None:
    """Raise SelectionError if a file without grades of passages has ratings of answers by criteria."""
    if not is_read_once(graded) and any(
        passage.criteria_grades for query in read_passages(graded) for passage in query.passages
    ):
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


def ratings_of_pairs(file: GradedFile) -> dict[tuple[str, ...], int]:
    """Return (query id, passage id, entry id) to rating."""
    return {
        (query_id, passage.passage_id, entry_id): grade
        for query_id, query in file.queries.items()
        for passage in query.passages
        for grade, entries in passage.levels.items()
        for entry_id, position in query.entries.items()
        if entries >> position & 1
    }
