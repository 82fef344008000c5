"""The leaderboards of a study: one place for their measure, cutoff and grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.banks import EntryKind
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.nugget_leaderboard import read_conditions
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.prompts.base import with_aliases


@dataclass(frozen=True)
class Board:
    """The leaderboard of a graded file with the verdict.

    ``assigns``: Whether answers have assigned nuggets, for nugget scores in place of Rubric-Cover.
    ``kind`` (of the entries) and ``grader`` are those of the scores; None for all.
    """

    graded: Path
    bank: Path | None
    assigns: bool = False
    kind: EntryKind | None = None
    grader: GradeKey | None = None

    def evaluation(self) -> Evaluation:
        """The scores, those of the verdict first; raises :class:`~exam_pp.errors.ExamError`."""
        model, prompt = (None, None) if self.grader is None else self.grader
        criteria = with_aliases(GradeFilter(model, prompt, self.kind))
        if self.assigns and self.bank is not None:
            (condition,) = read_conditions([self.graded], [self.bank], grade_filter=criteria)
            return condition.measured
        return cover(self.graded, self.bank, grade_filter=criteria)

    @property
    def words(self) -> Sequence[str]:
        """The words of the command that shows it."""
        named: dict[str, object] = {"--bank": self.bank}
        if self.grader is not None:
            named |= {"--grader": self.grader.model, "--prompt": self.grader.prompt_class}
        if self.kind is not None:
            named["--grades"] = f"type={self.kind}"
        words = [word for name, value in named.items() if value is not None for word in (name, typed(value))]
        return ["evaluate", "nuggets" if self.assigns else "cover", typed(self.graded), *words]


def typed(word: object) -> str:
    """A word as it is typed: a file whose name begins with a hyphen is no option."""
    return f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
