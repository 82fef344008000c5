"""Provenance of reports: grader, test bank, cutoff, threshold and number of queries behind a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exam_pp._version import __version__
from exam_pp.judges import baselines_among
from exam_pp.text.wording import counted, in_one_line, listed

if TYPE_CHECKING:  # reports are imported for the help of every command, grades are not
    from exam_pp.decided_grades import Review
    from exam_pp.grade_filter import GradeKey

VERSION = __version__
"""Version in reports; golden files replace it."""


@dataclass(frozen=True)
class Provenance:
    """Origin of the numbers of a report; empty fields do not apply or are unknown.

    ``reviewed``: What people changed of the ratings of the models; ``partly_reviewed`` are those of these
    of which they checked only some. ``edited``: What people changed of the banks while they saw the
    leaderboard. ``prompts`` are short names, which reports
    for readers have instead of ``prompt_classes``. ``writers`` are the models that wrote the banks, if these
    record them. ``cutoff``: Number of ranks of each system that count; None for measures with a cutoff in
    their name, and for answers that count as a whole.
    """

    models: tuple[str, ...] = ()
    prompt_classes: tuple[str, ...] = ()
    banks: tuple[str, ...] = ()
    judgments: tuple[str, ...] = ()
    leaderboards: tuple[str, ...] = ()
    official: tuple[str, ...] = ()
    cutoff: int | None = None
    min_grades: tuple[int, ...] = ()
    queries: int | None = None
    reviewed: tuple[str, ...] = ()
    partly_reviewed: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """One sentence for readers: ``Made by``, the version, and the fields that apply."""
        models = [f"{name} (a baseline)" if baselines_among([name]) else name for name in self.models]
        parts = [
            _named(models, "model"),
            "; ".join(self.reviewed),
            _named(self.prompt_classes, "prompt class", "prompt classes"),
            _named(self.prompts, "prompt"),
            _named(self.banks, "bank"),
            _named(self.judgments, "judgments", "judgments"),
            _named(self.leaderboards, "leaderboard"),
            _named(self.official, "official ranks", "official ranks"),
            "" if self.cutoff is None else f"cutoff {self.cutoff}",
            _named([str(grade) for grade in self.min_grades], "threshold"),
            "" if self.queries is None else counted(self.queries, "query"),
        ]
        details = "; ".join(part for part in parts if part)
        return f"Made by exam_pp {VERSION}{': ' if details else ''}{details}."

    @property
    def values(self) -> Mapping[str, object]:
        """Version and non-empty fields by name, for JSON."""
        values: dict[str, object] = {"exam_pp": VERSION}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value != ():
                values[field.name] = value
        return values


def _named(names: Iterable[str], singular: str, plural: str | None = None) -> str:
    """The names after their noun; empty without names."""
    known = list(names)
    if not known:
        return ""
    noun = singular if len(known) == 1 else plural or f"{singular}s"
    return f"{noun} {in_one_line(listed(known))}"


def graded_by(keys: Iterable[GradeKey]) -> Provenance:
    """The provenance of grades by these graders."""
    graders = list(keys)
    return Provenance(
        tuple(dict.fromkeys(key.model for key in graders)),
        tuple(dict.fromkeys(key.prompt_class for key in graders)),
    )


def reviewed_by(provenance: Provenance, review: Review | None, ratings: int, *, partly: bool) -> Provenance:
    """The provenance of this number of ratings, some of which people gave in the place of a judge's.

    ``partly``: Whether they did not rate all of them.
    """
    if review is None or not review.rated:
        return provenance
    said = (review.sentence(ratings),)
    return replace(provenance, reviewed=said, partly_reviewed=said if partly else ())


def file_names(*files: object) -> tuple[str, ...]:
    """The names of the inputs that are files, without their folders; ``-`` is standard input."""
    return tuple(dict.fromkeys(Path(file).name for file in files if isinstance(file, str | Path)))


def with_thresholds(labels: Provenance, measures: Provenance | None) -> Provenance:
    """The provenance of scores by labels: thresholds of the labels, else the relevance levels of measures."""
    levels = () if measures is None else measures.min_grades
    return replace(labels, min_grades=labels.min_grades or levels)


def combined(provenances: Iterable[Provenance | None]) -> Provenance | None:
    """The provenance of a table from several sources; None if none is known.

    A cutoff or number of queries that differs between the sources is left out.
    """
    known = [provenance for provenance in provenances if provenance is not None]
    if not known:
        return None
    merged: dict[str, object] = {}
    for field in fields(Provenance):
        values = [getattr(provenance, field.name) for provenance in known]
        if isinstance(values[0], tuple):
            merged[field.name] = tuple(dict.fromkeys(item for value in values for item in value))
        else:
            merged[field.name] = values[0] if len(set(values)) == 1 else None
    return Provenance(**merged)  # type: ignore[arg-type]  # the types are those of the fields
