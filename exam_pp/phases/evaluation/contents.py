"""Facts for the report of an evaluation: contents of a graded file, weak spots, hashes of inputs."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from exam_pp import provenance
from exam_pp.data_model import DIRECT_ID, AnyGrades
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import copy_ratings
from exam_pp.phases.evaluation.inputs import Passages, bank_of, views
from exam_pp.phases.evaluation.nugget_scores import assigns_nuggets
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import SelectedGrades
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.store.files import size_and_sha256
from exam_pp.store.trec.runs import run_files

GradeKind = Literal["question", "nugget", "assignment", "direct"]


@dataclass(frozen=True)
class GraderContents:
    """The grades of a model and prompt class, or of a reviewer.

    ``rated``: Whether there are ratings on a scale, not only correct and wrong entries.
    ``tokens``: Tokens of prompts and replies, as an endpoint counts them.
    """

    kind: GradeKind
    rated: bool = False
    selected: bool = False
    queries: int = 0
    passages: int = 0
    grades: int = 0
    banks: list[PathLike] = field(default_factory=list)
    tokens: int = 0


@dataclass(frozen=True)
class GradedContents:
    """Counts of a graded file; ``systems`` are those with rankings, ``entries`` is bank to its size."""

    queries: int = 0
    passages: int = 0
    judged: int = 0
    systems: Sequence[str] = ()
    graders: Mapping[GradeKey, GraderContents] = field(default_factory=dict)
    entries: Mapping[PathLike, int] = field(default_factory=dict)


def graded_contents(
    graded: Passages, banks: Sequence[PathLike] = (), grade_filter: GradeFilter | None = None
) -> GradedContents:
    """Count what a graded file has.

    Returns the counts, with the graders sorted by model and prompt class.
    """
    criteria = with_aliases(grade_filter or GradeFilter())
    selector = GradeSelector(criteria)
    by_name = {bank: bank_of(bank) for bank in banks}
    # mixed: no system is scored here, so a system may have both roles.
    queries = views(graded, mixed=True)
    passages = [(query.query_id, passage) for query in queries for passage in query.passages]
    kinds: dict[GradeKey, GradeKind] = {}
    tokens: Counter[GradeKey] = Counter()
    rated: set[GradeKey] = set()
    selected: set[GradeKey] = set()
    units: dict[GradeKey, list[tuple[str, set[str]]]] = {}
    for query_id, passage in passages:
        # Graders that the filter does not select are counted as well, so the selection is only a mark.
        selected |= {GradeKey.of(grades, criteria) for grades in selector.select(passage)}
        graded_entries: dict[GradeKey, set[str]] = {}
        for grades in passage.grade_sets():
            key = GradeKey.of(grades, criteria)
            tokens[key] += sum(grades.tokens or ())
            if key not in kinds:
                kinds[key] = _kind(grades)
            rated |= {key} if grades.is_rated else set()
            graded_entries.setdefault(key, set()).update(grades.graded_ids() or copy_ratings(grades, {}))
        for key, ids in graded_entries.items():
            units.setdefault(key, []).append((query_id, ids))
    selector.check_any(str(graded))
    entries = {
        query.query_id: {name: bank.entries(query.query_id).keys() for name, bank in by_name.items()}
        for query in queries
    }
    banks_of = {
        key: dict.fromkeys(
            name
            for query_id, ids in of_grader
            for name, known in entries[query_id].items()
            if not known.isdisjoint(ids)
        )
        for key, of_grader in units.items()
    }
    return GradedContents(
        len(entries),
        len(passages),
        sum(bool(passage.judgments) for _, passage in passages),
        list(dict.fromkeys(ranking.method for _, passage in passages for ranking in passage.rankings)),
        {
            key: GraderContents(
                kinds[key],
                key in rated,
                key in selected,
                len({query_id for query_id, _ in of_grader}),
                len(of_grader),
                sum(len(ids) for _, ids in of_grader),
                list(banks_of[key]),
                tokens[key],
            )
            for key, of_grader in sorted(units.items())
        },
        {name: sum(len(query.entries) for query in bank.queries.values()) for name, bank in by_name.items()},
    )


def _kind(grades: AnyGrades) -> GradeKind:
    if DIRECT_ID in grades.entry_ratings():
        return "direct"
    if assigns_nuggets(grades):
        return "assignment"
    if grades.prompt_type is not None:
        return "nugget" if grades.prompt_type.startswith("nugget") else "question"
    prompt = PROMPTS.find(grades.prompt_class)
    return "nugget" if prompt is not None and prompt.kind == "nugget" else "question"


class CoveredEntry(NamedTuple):
    """An entry, and the systems that cover it within their cutoff, or make this mistake."""

    query_id: str
    entry_id: str
    text: str
    systems: Collection[str]
    to_avoid: bool = False


def covered_entries(grades: SelectedGrades, cutoff: int | None) -> Iterator[CoveredEntry]:
    """All entries, with the systems that cover them in Rubric-Cover by the same grades and cutoff."""
    cover = Cover(grades.min_grade, cutoff or grades.file.cutoff)
    for query in grades.queries:
        masks = cover.covered(query, grades.file.first_ranks)
        known = grades.bank.entries(query.query_id) if grades.bank is not None else {}
        for entry_id, position in query.entries.items():
            text = known[entry_id].listed if entry_id in known else entry_id
            systems = [system for system, mask in masks.items() if mask >> position & 1]
            to_avoid = bool(query.weights.negative >> position & 1)
            yield CoveredEntry(query.query_id, entry_id, text, systems, to_avoid)


class MissingGrades(NamedTuple):
    """Pairs of a ranked passage within the cutoff and an entry: those without a grade, and all."""

    ungraded: int
    pairs: int


def missing_grades(grades: SelectedGrades, cutoff: int | None) -> MissingGrades:
    """Count the pairs of the systems' first passages and the entries of their query that have no grade."""
    ungraded = pairs = 0
    cutoff = grades.file.cutoff if cutoff is None else cutoff
    for query in grades.queries:
        ranked = {
            index
            for system, first_rank in grades.file.first_ranks.items()
            for index in query.top(system, first_rank, cutoff)
        }
        pairs += len(ranked) * len(query.entries)
        graded = (query.passages[index].graded & query.all_entries for index in ranked)
        ungraded += len(ranked) * len(query.entries) - sum(mask.bit_count() for mask in graded)
    return MissingGrades(ungraded, pairs)


PACKAGES = ("numpy", "scipy", "ir-measures")
"""Packages that the numbers of an evaluation may depend on."""


class InputFile(NamedTuple):
    """A file that was read.

    ``sha256``: SHA-256 of its bytes, as ``sha256sum`` prints it; a compressed file is not decompressed.
    """

    role: str
    path: str
    bytes: int
    sha256: str


def input_files(sources: Iterable[tuple[str, PathLike | None]]) -> list[InputFile]:
    """The size and SHA-256 of every input.

    ``sources``: Pairs of role and file or folder; a folder gives a row for each of its run files, None gives
    no row. Returns the rows in the order of ``sources``, the files of a folder in the order of their names.
    """
    files = []
    for role, source in sources:
        if source is not None:
            paths = run_files(source) if Path(source).is_dir() else [Path(source)]
            files += [InputFile(role, str(path), *size_and_sha256(path)) for path in paths]
    return files


def versions() -> dict[str, str]:
    """Name to version: exam_pp, Python, and the installed ones of :data:`PACKAGES`."""
    found = {"exam_pp": provenance.VERSION, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
