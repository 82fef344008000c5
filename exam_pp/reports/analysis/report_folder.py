"""The folder of `exam-pp evaluate report`: its inputs and settings, and the writer of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from exam_pp.data_model import Role
from exam_pp.defaults import MIN_JUDGMENT
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, grader_names
from exam_pp.metrics.measures import Measure
from exam_pp.metrics.qrels import judgment_qrels
from exam_pp.phases.evaluation.contents import GradedContents, GradeKind, graded_contents
from exam_pp.phases.evaluation.inputs import loaded
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.score_runs import ReadRuns, read_matrix
from exam_pp.phases.evaluation.selected_grades import (
    SelectedGrades,
    judge_alone,
    read_selected,
    within_scale,
)
from exam_pp.prompts.base import with_aliases
from exam_pp.rendering.document import Report
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.report_summary import bank_names
from exam_pp.store.files import safe_name, write_text
from exam_pp.store.trec.runs import MethodName, read_qrels


class ReportFolder:
    """Writes the files of the sections.

    ``files`` are their names and contents. ``left_out`` are the sections without inputs: the name, the
    reason, and the option or command that adds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: list[tuple[str, str]] = []
        self.left_out: list[tuple[str, str, str]] = []

    def skip(self, section: str, reason: str, to_add: str) -> None:
        """Name a section that is left out, why, and the option or command that adds it."""
        self.left_out.append((section, reason, to_add))

    def text(self, name: str, text: str, about: str) -> None:
        """Write a text; ``about`` describes it."""
        write_text(self.path / name, text)
        self.files.append((name, about))

    def table(self, name: str, report: Report, about: str) -> None:
        """Write the tables of a report as TSV."""
        self.text(name, render(report, "tsv"), about)


def titled(title: str, name: str) -> str:
    """The title of a section with the name of a grader or bank, which may be empty."""
    return f"{title}: {name}" if name else title


@dataclass(frozen=True)
class Sources:
    """Inputs and settings of an evaluation; only the graded file is required.

    ``review`` also writes the review page. ``rubric_measures`` are measures of nugget assignments in place of
    those that fit the bank. ``command`` is the command line for the provenance. ``role`` is
    that of :func:`~exam_pp.phases.evaluation.cover.cover`, ``method`` that of
    :func:`~exam_pp.store.trec.runs.read_run`.
    """

    graded: PathLike
    banks: Sequence[PathLike] = ()
    runs: Sequence[PathLike] = ()
    official: PathLike | None = None
    qrels: PathLike | None = None
    grade_filter: GradeFilter = field(default_factory=GradeFilter)
    measures: Sequence[str] = ("nDCG@10", "RR")
    min_grade: int | None = None
    min_relevant: int = MIN_JUDGMENT
    cutoff: int | None = None
    review: bool = True
    command: str = ""
    role: Role | None = None
    method: MethodName = "stem"
    rubric_measures: Sequence[Measure] = ()


@dataclass(frozen=True)
class GradeSet:
    """The grades of a grader for the entries of a bank.

    ``name`` is that of the grader in titles, empty if the file has a single grader. ``suffix`` is that of its
    files, empty if a single set is evaluated.
    """

    key: GradeKey
    kind: GradeKind
    bank: PathLike | None
    name: str
    suffix: str
    grade_filter: GradeFilter


class Inputs:
    """Sources of the report, and the sets of grades that its sections evaluate.

    ``statistics`` are the options of all leaderboards.
    """

    def __init__(self, sources: Sources, statistics: Statistics) -> None:
        self.sources = sources
        self.statistics = statistics
        self.passages = loaded(sources.graded)
        self.contents: GradedContents = graded_contents(self.passages, sources.banks, sources.grade_filter)
        self.sets = grade_sets(self.contents, sources)
        self._grades: dict[GradeSet, SelectedGrades] = {}

    def of_kind(self, *kinds: GradeKind) -> list[GradeSet]:
        """The sets of grades of these kinds."""
        return [grade_set for grade_set in self.sets if grade_set.kind in kinds]

    @property
    def rated(self) -> list[GradeSet]:
        """The sets of grades other than nugget assignments."""
        return [grade_set for grade_set in self.sets if grade_set.kind != "assignment"]

    @property
    def has_judgments(self) -> bool:
        """Whether there are judgments, in a file of their own or in the graded file."""
        return self.sources.qrels is not None or bool(self.contents.judged)

    @property
    def has_rankings(self) -> bool:
        """Whether there are runs, or rankings in the graded file."""
        return bool(self.sources.runs or self.contents.systems)

    @cached_property
    def runs(self) -> ReadRuns | None:
        """The runs, which are read once; None without runs."""
        sources = self.sources
        if not sources.runs:
            return None
        passages = {(query.query_id, p.passage_id) for query in self.passages.queries for p in query.passages}
        outside = judgment_qrels(self.passages.queries, beyond_pool=True)
        passages.update((line.query_id, line.passage_id) for line in outside)
        if sources.qrels is not None:
            passages.update((line.query_id, line.passage_id) for line in read_qrels(sources.qrels))
        return ReadRuns(sources.runs, read_matrix(sources.runs, passages, method=sources.method))

    def read(self, grade_set: GradeSet) -> SelectedGrades:
        """The grades of a set, which are read once."""
        if grade_set not in self._grades:
            sources = self.sources
            grades = read_selected(
                self.passages,
                grade_set.bank,
                grade_set.grade_filter,
                None if grade_set.kind == "assignment" else sources.min_grade,
                None,
                role=sources.role,
            )
            self._grades[grade_set] = within_scale(grades) if len(self.sets) > 1 else grades
        return self._grades[grade_set]

    def read_judge_alone(self, grade_set: GradeSet) -> SelectedGrades:
        """The grades of a set without those of people."""
        grades, role = self.read(grade_set), self.sources.role
        return read_selected(
            self.passages, grade_set.bank, judge_alone(grades), grades.min_grade, None, role=role
        )


def suffix_of(name: str) -> str:
    """The end of file names for a grader or bank."""
    return f"-{safe_name(name.replace(', ', '-').replace(' ', '-'))}"


def grade_sets(contents: GradedContents, sources: Sources) -> list[GradeSet]:
    """The sets of grades to evaluate, by model and prompt class.

    Reviewers rate only some pairs, so their grades are evaluated only if no others are selected. Raises
    SelectionError if no selected grades are for entries of the banks.
    """
    pairs = _graders_with_banks(contents, sources)
    if not pairs and not any(grader.grades for grader in contents.graders.values()):
        raise SelectionError(
            f"No pair of {sources.graded} has a grade, because no reply could be read: see why with `exam-pp "
            "verify unparsed`, or grade with --reply chosen."
        )
    if not pairs:
        banks = ", ".join(map(str, sources.banks))
        raise SelectionError(
            f"No selected grades in {sources.graded} are for entries of {banks}; name their bank with --bank."
            if banks
            else f"The grades in {sources.graded} are nugget assignments; name their bank with --bank."
        )
    short = grader_names(list(contents.graders)) if len(contents.graders) > 1 else None
    keys = [key for key, _ in pairs]
    names = bank_names(sources.banks)
    sets = []
    for key, bank in pairs:
        name = short(key) if short is not None else ""
        if bank is not None and keys.count(key) > 1:
            name = ", ".join(part for part in (name, names[bank]) if part)
        suffix = suffix_of(name) if len(pairs) > 1 else ""
        only = replace(sources.grade_filter.for_scores, model=key.model, prompt_class=key.prompt_class)
        sets.append(GradeSet(key, contents.graders[key].kind, bank, name, suffix, with_aliases(only)))
    return sets


def _graders_with_banks(contents: GradedContents, sources: Sources) -> list[tuple[GradeKey, PathLike | None]]:
    """The selected graders, each with every bank of its grades, in the order of the sections.

    Sections begin with the first bank, and with ratings, which have thresholds.
    """
    chosen = {key: grader for key, grader in contents.graders.items() if grader.selected}
    chosen = {key: grader for key, grader in chosen.items() if not key.is_reviewer} or chosen
    pairs: list[tuple[GradeKey, PathLike | None]] = []
    for key, grader in chosen.items():
        if grader.kind == "direct" or (not sources.banks and grader.kind != "assignment"):
            pairs.append((key, None))
        else:
            pairs += [(key, bank) for bank in grader.banks]
    order: dict[PathLike | None, int] = {bank: number for number, bank in enumerate(sources.banks)}
    return sorted(pairs, key=lambda pair: (order.get(pair[1], len(order)), not chosen[pair[0]].rated))
