"""The audit of a grader: all its sections, with circularity and the biases in games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from exam_pp.banks import WRITER, WRITERS, writers
from exam_pp.data_model import Role
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.family_effects import Advantage, Comparison, advantage, difference_in_differences
from exam_pp.metrics.game_biases import Share
from exam_pp.phases.analysis.audit_inputs import (
    LEAST_QUERIES,
    AuditInput,
    AuditOptions,
    Table,
    Verdict,
    as_matrix,
    excludes,
    read_input,
    too_few,
    undecided,
    with_interval,
)
from exam_pp.phases.analysis.audit_length import (
    CalibrationAudit,
    LengthAudit,
    audit_calibration,
    audit_length,
)
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.tournaments.biases import GameBiases, game_biases, known_families
from exam_pp.provenance import Provenance
from exam_pp.store.families import Families
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.text.wording import counted, listed


@dataclass(frozen=True)
class FamilyMember:
    """A model or system with its role and family; the family is None if it has none."""

    role: str
    name: str
    family: str | None


@dataclass(frozen=True)
class FamilyAdvantage:
    """The advantage of the family's systems by one source of scores.

    ``compared`` is the grader's advantage minus this one; None for the grader itself.
    """

    source: str
    advantage: Advantage
    queries: int
    compared: Comparison | None = None


@dataclass(frozen=True)
class CircularityAudit:
    """The circularity section of an audit.

    ``official_rank``: Mean official rank of the family's systems; None without official ranks.
    """

    parts: Sequence[FamilyMember]
    warnings: Sequence[str]
    verdict: Verdict
    family: str | None = None
    own: Sequence[str] = ()
    advantages: Sequence[FamilyAdvantage] = field(default_factory=tuple)
    official_rank: float | None = None


def audit_circularity(
    data: AuditInput,
    families: Families | None,
    writer: str | None,
    official: Mapping[str, float] | None,
) -> CircularityAudit:
    """Compare the families of grader, bank and systems, and measure the preference for the own family."""
    known = families or Families({})
    model = data.grader.key.model
    family = known.of_model(model)
    parts = [FamilyMember("grader", model, family)]
    wrote = [(WRITER, writer)] if writer is not None else writers(data.bank)
    parts += [FamilyMember(role, name, known.of_model(name)) for role, name in wrote]
    parts += [FamilyMember("system", name, known.of_system(name)) for name in data.systems]
    own = [part.name for part in parts if part.role == "system" and family and part.family == family]
    warnings = list(_warnings(parts, family, own))
    if data.bank is not None and not any(part.role in WRITERS.values() for part in parts):
        warnings.append("The bank does not record who wrote it; use --bank-writer NAME.")
    if families is None:
        verdict = undecided("families of systems are unknown; use --families FILE")
    elif family is None:
        verdict = undecided(f"the grader {model!r} has no family in the families file")
    elif not own or len(own) == len(data.systems):
        noun = "no system is" if not own else "all systems are"
        verdict = undecided(f"{noun} of the grader's family ({family})")
    else:
        advantages = list(_advantages(data, own))
        ranks = [] if official is None else [official[name] for name in own if name in official]
        mean = sum(ranks) / len(ranks) if ranks else None
        verdict = _verdict(advantages, family, data.options.confidence)
        return CircularityAudit(parts, warnings, verdict, family, own, advantages, mean)
    return CircularityAudit(parts, warnings, verdict, family, own)


def _warnings(parts: Sequence[FamilyMember], family: str | None, own: Sequence[str]) -> Iterator[str]:
    grader = parts[0]
    for part in parts[1:]:
        if part.role in WRITERS.values():
            if part.name.casefold() == grader.name.casefold():
                yield f"The grader and the {part.role} are the same model ({grader.name})."
            elif family is not None and part.family == family:
                both = f"The grader ({grader.name}) and the {part.role} ({part.name})"
                yield f"{both} are of one family ({family})."
            theirs = [
                other.name
                for other in parts
                if other.role == "system" and part.family and other.family == part.family != family
            ]
            if theirs:
                are = counted(len(theirs), "system is", "systems are")
                yield f"{are} of the family of the {part.role} ({part.family}): {listed(theirs)}."
    if own:
        are = counted(len(own), "system is", "systems are")
        yield f"{are} of the grader's family ({family}): {listed(own)}."


def _advantages(data: AuditInput, own: Sequence[str]) -> Iterator[FamilyAdvantage]:
    options, systems = data.options, data.systems
    among = [system in own for system in systems]

    def of(name: str, table: Table, *, compare: bool) -> FamilyAdvantage:
        queries = [query_id for query_id in data.scores if query_id in table]
        scores = as_matrix(table, queries, systems)
        found = advantage(
            scores, among, confidence=options.confidence, samples=options.samples, seed=options.seed
        )
        if not compare:
            return FamilyAdvantage(name, found, len(queries))
        mine = as_matrix(data.scores, queries, systems)
        compared = difference_in_differences(
            mine, scores, among,
            confidence=options.confidence, samples=options.samples, seed=options.seed,
        )  # fmt: skip
        return FamilyAdvantage(name, found, len(queries), compared)

    yield of(data.name_of(data.grader.key), data.scores, compare=False)
    if any(query_id in data.scores for query_id in data.people_scores):
        yield of("judgments", data.people_scores, compare=True)
    for other in data.others:
        table = other.scores(data.cutoff)
        if any(query_id in data.scores for query_id in table):
            yield of(data.name_of(other.key), table, compare=True)


def _verdict(advantages: Sequence[FamilyAdvantage], family: str, confidence: float) -> Verdict:
    compared = [row for row in advantages if row.compared is not None]
    if not compared:
        return undecided(
            "the file has neither judgments nor another grader, so a better score of the grader's family can "
            "be quality"
        )
    row = compared[0]
    assert row.compared is not None
    difference, interval = row.compared
    if difference is None:
        return undecided(f"all systems have the same score by the grader or by {row.source}")
    number = with_interval(difference, interval, confidence, " standard deviations")
    if interval is None or row.queries < LEAST_QUERIES:
        return too_few(row.queries, f"the difference in differences is {number}")
    if not excludes(interval):
        return Verdict(
            "no evidence",
            f"the advantage of the family {family} by this grader and by {row.source} differs by {number}",
        )
    more = "larger" if difference > 0 else "smaller"
    return Verdict(
        "evidence",
        f"the advantage of the family {family} by this grader is {more} than by {row.source}, by {number}",
    )


def _game_verdicts(found: GameBiases | None, confidence: float) -> Iterator[tuple[str, Verdict]]:
    """The verdict on each judge and bias, with their names."""
    if found is None:
        yield "", undecided("no games files are given")
        return
    for row in found.judges:
        judge = row.judge.model
        shares = {
            "position": (row.biases.place_a, "place A wins"),
            "length": (row.biases.longer, "the longer answer wins"),
            "self-preference": (row.biases.own_family, f"systems of the family {row.family} win"),
        }
        for bias, (share, subject) in shares.items():
            if bias == "self-preference" and row.family is None:
                verdict = undecided("the judge has no family; use --families FILE")
            else:
                verdict = _game_verdict(bias, share, subject, row.queries, confidence)
            yield f"{judge}, {bias}", verdict


def _game_verdict(bias: str, share: Share, subject: str, queries: int, confidence: float) -> Verdict:
    if share.share is None:
        return undecided("no decided games count for it")
    text = f"{subject} {100 * share.share:.1f} % of {share.total} decided games"
    assert share.interval is not None
    low, high = share.interval
    text += f" ({100 * confidence:.4g} % interval {100 * low:.1f} to {100 * high:.1f})"
    if queries < LEAST_QUERIES:
        return too_few(queries, text)
    if not excludes(share.interval, 0.5):
        return Verdict("no evidence", text)
    if bias == "position":
        return Verdict("evidence", text)
    return undecided(f"{text}, but these answers can also be better")


@dataclass(frozen=True)
class Audit:
    """The audit of a grader.

    ``people``: ``judgments``, ``human:NAME`` or None: the labels of people. ``games``: The biases of the
    judges of games; None without games. ``game_verdicts``: The verdict on each judge and bias.
    """

    grader: str
    prompt_class: str
    people: str | None
    measure: str
    length: LengthAudit
    games: GameBiases | None
    game_verdicts: Sequence[tuple[str, Verdict]]
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
    biases = game_biases(games, families=known, confidence=options.confidence) if games else None
    return Audit(
        data.grader.key.model,
        data.grader.key.prompt_class,
        None if data.people is None else data.people.name,
        data.grader.measure(data.cutoff),
        audit_length(data),
        biases,
        list(_game_verdicts(biases, options.confidence)),
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
