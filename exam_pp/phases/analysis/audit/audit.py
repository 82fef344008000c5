"""The audit of a grader: all sections, with what is missing for the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from exam_pp.data_model import Role
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.analysis.audit.circularity import CircularityAudit, audit_circularity
from exam_pp.phases.analysis.audit.games import GamesAudit, audit_games
from exam_pp.phases.analysis.audit.inputs import AuditInput, AuditOptions, read_input
from exam_pp.phases.analysis.audit.length import LengthAudit, audit_length
from exam_pp.phases.analysis.audit.soft_grades import CalibrationAudit, audit_calibration
from exam_pp.phases.analysis.audit.verdicts import Verdict, undecided
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.tournaments.biases import known_families
from exam_pp.provenance import Provenance
from exam_pp.store.families import Families
from exam_pp.store.trec.ranks import read_ranks


@dataclass(frozen=True)
class Audit:
    """The audit of a grader.

    ``people``: ``judgments``, ``human:NAME`` or None: the labels of people.
    """

    grader: str
    prompt_class: str
    people: str | None
    measure: str
    length: LengthAudit
    games: GamesAudit | Verdict
    circularity: CircularityAudit
    calibration: CalibrationAudit
    options: AuditOptions = field(default_factory=AuditOptions)
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)


def audit(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    reviewer: str | None = None,
    qrels: PathLike | None = None,
    families: PathLike | Families | None = None,
    bank_writer: str | None = None,
    games: Sequence[PathLike] = (),
    official: PathLike | None = None,
    role: Role | None = None,
    options: AuditOptions | None = None,
) -> Audit:
    """Look for signs that the scores of a grader depend on something else than quality.

    ``reviewer``: ``human:NAME`` for the ratings of this reviewer, ``judgments``, or None for the judgments if
    there are some.
    """
    options = options or AuditOptions()
    known = known_families(families)
    data = read_input(
        graded,
        bank=bank,
        grade_filter=grade_filter,
        reviewer=reviewer,
        qrels=qrels,
        role=role,
        options=options,
    )
    return Audit(
        data.grader.key.model,
        data.grader.key.prompt_class,
        None if data.people is None else data.people.name,
        data.grader.measure(options.cutoff),
        audit_length(data),
        audit_games(games, known, options) if games else undecided("no games files are given"),
        audit_circularity(data, known, bank_writer, None if official is None else read_ranks(official)),
        audit_calibration(data),
        options,
        list(_threshold_notes(data)),
        data.provenance,
    )


def _threshold_notes(data: AuditInput) -> Iterator[str]:
    best, least = data.grader.file.best_grade, data.grader.min_grade
    if best is not None and best < least:
        yield f"No grade reaches --min-grade {least}; the highest grade is {best}."
