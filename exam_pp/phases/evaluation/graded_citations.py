"""Citations of answers in a graded file, with the grades of one grader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from exam_pp.data_model import CitationSupport, OfOneModel, Passage, QueryPassages, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import check_one
from exam_pp.metrics.citation_scores import SUPPORT_VALUES
from exam_pp.provenance import Provenance
from exam_pp.roles import AnswerPart, SystemOutput, outputs_of


class CitationGrader(NamedTuple):
    """The source of grades: model or reviewer, prompt class, and hash of the prompt's text; "" if missing."""

    model: str
    prompt_class: str
    prompt_hash: str


@dataclass(frozen=True)
class SupportFilter:
    """Selection of grades of citations, or of answers by criteria; None accepts all.

    Attributes:
        model: Name of the model, or ``human:NAME`` for a reviewer.
        prompt_class: Name of the prompt.
        prompt_hash: Hash of the prompt's text.
        systems: Names of the systems; empty for all.
    """

    model: str | None = None
    prompt_class: str | None = None
    prompt_hash: str | None = None
    systems: Collection[str] = ()

    def accepts(self, grades: OfOneModel) -> bool:
        """Whether the grades match all conditions except that on systems.

        Args:
            grades: The grades of a part of an answer, or of a whole answer, by one grader.

        Returns:
            True if no condition contradicts the grades.
        """
        return (
            self.model in (None, grades.model)
            and self.prompt_class in (None, grades.prompt_class)
            and self.prompt_hash in (None, grades.prompt_hash)
        )


@dataclass(frozen=True)
class GradedCitation:
    """A citation of a part, with the cited passage and the grade, if the file has them."""

    citation: str
    passage: Passage | None = None
    grade: CitationSupport | None = None

    @property
    def is_missing(self) -> bool:
        """Whether no grader could read the cited passage: the file lacks it, or it has no text."""
        return self.grade is None and (self.passage is None or not self.passage.text.strip())

    @property
    def value(self) -> float | None:
        """The value of the support: 0 for a missing passage, None for an ungraded citation."""
        if self.grade is not None and self.grade.support is not None:
            return SUPPORT_VALUES[self.grade.support]
        return 0.0 if self.is_missing else None


@dataclass
class CitationReader:
    """Reads the citations of queries with the grades that a filter selects; ``graders`` gave these."""

    selection: SupportFilter
    graders: Counter[CitationGrader] = field(default_factory=Counter)

    def answers(
        self, query: QueryPassages
    ) -> Iterator[tuple[SystemOutput, list[tuple[AnswerPart, list[GradedCitation]]]]]:
        """Yield the answer of each selected system, also an empty one, with the citations of its parts.

        Parts without text have no content, and are skipped. If the texts of all parts were removed from the
        file after the grading, all parts count.
        """
        for output in outputs_of(query).values():
            if not output.answered or self._excludes(output):
                continue
            parts = [part for part in output.parts if part.passage.text.strip()]
            if not parts and any(part.passage.support_grades for part in output.parts):
                parts = output.parts
            yield output, [(part, self._citations(output, part)) for part in parts]

    def _excludes(self, output: SystemOutput) -> bool:
        chosen = not self.selection.systems or output.system in self.selection.systems
        return not chosen or is_canary(output.system)

    def _citations(self, output: SystemOutput, part: AnswerPart) -> list[GradedCitation]:
        """The citations of a part; of several grades of one citation, the last one with a label counts."""
        grades: dict[str, CitationSupport] = {}
        for of_grader in part.passage.support_grades or ():
            if not self.selection.accepts(of_grader):
                continue
            self.graders[grader_of(of_grader)] += 1
            for item in of_grader.supports:
                if item.support is not None or item.citation not in grades:
                    grades[item.citation] = item
        return [GradedCitation(key, output.cited.get(key), grades.get(key)) for key in part.citations]

    def grader(self, name: str) -> CitationGrader:
        """The grader of the grades that were read from the file ``name``."""
        return only_grader(self.graders, name, "grades of citations", "grade --prompt-class CitationSupport")


def grader_of(grades: OfOneModel) -> CitationGrader:
    """The source of grades."""
    return CitationGrader(grades.model or "", grades.prompt_class or "", grades.prompt_hash or "")


def only_grader(graders: Counter[CitationGrader], name: str, noun: str, command: str) -> CitationGrader:
    """The only grader of the selected grades."""
    if not graders:
        raise SelectionError(f"{name} has no selected {noun}; make them with `exam-pp {command}`.")
    options = [_options(grader, graders) for grader in sorted(graders)]
    check_one(options, f"{name} has {noun} by several graders")
    (grader,) = graders
    return grader


def _options(grader: CitationGrader, graders: Collection[CitationGrader]) -> str:
    """The options that select a grader, among the others."""
    options = [f"--grader {grader.model!r}"]
    if grader.prompt_class:
        options.append(f"--prompt-class {grader.prompt_class!r}")
    if sum(other[:2] == grader[:2] for other in graders) > 1:
        options.append(f"--grades hash={grader.prompt_hash}")
    return " ".join(options)


def provenance_of(grader: CitationGrader, queries: int) -> Provenance:
    """The provenance of results from the grades of one grader."""
    classes = (grader.prompt_class,) if grader.prompt_class else ()
    return Provenance((grader.model or "(no model)",), classes, queries=queries)
