"""The leaderboards of a study: one place for their measure, cutoff and grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.banks import EntryKind
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.nugget_leaderboard import read_conditions
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.rubric import cover


@dataclass(frozen=True)
class Board:
    """The leaderboard of a graded file with the verdict.

    ``assigns``: Whether answers have assigned nuggets, for nugget scores in place of Rubric-Cover. ``cutoff``
    and ``kind`` (of the entries) are those of the scores; None for the default, and for all grades.
    """

    graded: Path
    bank: Path
    assigns: bool = False
    cutoff: int | None = None
    kind: EntryKind | None = None

    def evaluation(self) -> Evaluation:
        """The scores, those of the verdict first; raises :class:`~exam_pp.errors.ExamError`."""
        if self.assigns:
            (condition,) = read_conditions([self.graded], [self.bank])
            return condition.measured
        return cover(self.graded, self.bank, cutoff=self.cutoff, grade_filter=GradeFilter(kind=self.kind))

    @property
    def words(self) -> Sequence[str]:
        """The words of the command that shows it."""
        if self.assigns:
            return ["evaluate", "nuggets", str(self.graded), "--bank", str(self.bank)]
        words = ["evaluate", "cover", str(self.graded), "--bank", str(self.bank)]
        words += [] if self.cutoff is None else ["--cutoff", str(self.cutoff)]
        return words if self.kind is None else [*words, "--grades", f"type={self.kind}"]
