"""The leaderboards of a study: one place for their measure, cutoff and grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_pp.banks import EntryKind
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.metrics.measures import LENGTH
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.inputs import Bank, Passages
from exam_pp.phases.evaluation.nugget_leaderboard import graded_conditions
from exam_pp.phases.evaluation.own_measures import read_measures
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.grading.steps import is_data_set
from exam_pp.prompts.base import with_aliases


@dataclass(frozen=True)
class Board:
    """The leaderboard of a graded file with the verdict.

    ``assigns``: Whether answers have assigned nuggets, for nugget scores in place of Rubric-Cover.
    ``kind`` (of the entries) and ``grader`` are those of the scores; None for all. ``measures`` is a
    file of measures in place of those that fit the bank.
    """

    graded: Path
    bank: Path | None
    assigns: bool = False
    kind: EntryKind | None = None
    grader: GradeKey | None = None
    measures: Path | None = None

    def evaluation(self, passages: Passages | None = None, bank: Bank | None = None) -> Evaluation:
        """The scores, those of the verdict first; raises :class:`~exam_pp.errors.ExamError`.

        ``passages`` and ``bank`` stand in place of those of the board.
        """
        passages, bank = passages or self.graded, bank or self.bank
        model, prompt = (None, None) if self.grader is None else self.grader
        criteria = with_aliases(GradeFilter(model, prompt, self.kind))
        if self.assigns and bank is not None:
            measures = read_measures(self.measures)
            (condition,) = graded_conditions(passages, bank, grade_filter=criteria, measures=measures)
            return condition.evaluation.of_metrics(*condition.metrics, LENGTH)
        return cover(passages, bank, grade_filter=criteria)

    @property
    def words(self) -> Sequence[str]:
        """The words of the command that shows it."""
        model, prompt = (None, None) if self.grader is None else self.grader
        words = [self.graded, *options("--bank", self.bank), *options("--grader", model)]
        words += options("--prompt", prompt) + options("--grades", self.kind and f"type={self.kind}")
        words += options("--measure-file", self.measures) if self.assigns else []
        return ["evaluate", "nuggets" if self.assigns else "cover", *map(typed, words)]


Words = list[str | Path]
"""Words of a command, with its input files as paths."""


def options(name: str, values: Any) -> Words:
    """The words of an option for each value; None has no words. Data sets are no files."""
    items = [item for item in (values if isinstance(values, list | tuple) else [values]) if item is not None]
    words = [item if isinstance(item, Path) and not is_data_set(item) else str(item) for item in items]
    return [each for word in words for each in (name, word)]


def typed(word: object) -> str:
    """A word as it is typed: a file whose name begins with a hyphen is no option, unless it is ``-``."""
    is_file = isinstance(word, Path) and str(word) != "-"
    return f"./{word}" if is_file and str(word).startswith("-") else str(word)
