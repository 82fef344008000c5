"""The audit of a grader: all its sections, with circularity and the biases in games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from exam_pp.banks import WRITER, WRITERS, TestBank, writers
from exam_pp.data_model import Role
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.family_effects import Comparison, advantage, difference_in_differences
from exam_pp.metrics.uncertainty import few_units_note
from exam_pp.phases.analysis.audit_inputs import (
    LEAST_QUERIES,
    AuditInput,
    AuditOptions,
    Verdict,
    as_matrix,
    excludes,
    read_input,
    too_few,
    undecided,
    with_interval,
)
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.plugins import needed
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.reports.analysis.audit_length import Section, calibration_section, ends, length_section
from exam_pp.store.families import Families, known_families
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.text.wording import counted, listed

_Part = tuple[str, str, str | None]
"""The role, the name and the family of a model or system; the family is None if it has none."""


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
    decimals: int = 3,
) -> Report:
    """Report signs that the scores of a grader depend on something else than quality.

    The sections follow a table of their verdicts. ``reviewer``: ``human:NAME`` for the ratings of this
    reviewer, ``judgments``, or None for the judgments if there are some.
    """
    options = options or AuditOptions()
    known = known_families(families)
    data = read_input(
        graded, bank=bank, grade_filter=grade_filter, reviewer=reviewer, qrels=qrels, role=role,
        options=options,
    )  # fmt: skip
    biases = game_biases(games, families=known, confidence=options.confidence) if games else None
    sections: dict[str, Section] = {
        "Length": length_section(data, decimals),
        "Position, length and self-preference in games": _game_section(biases, options, decimals),
        "Circularity": _circularity(
            data, known, bank_writer, {} if official is None else read_ranks(official), decimals
        ),
        "Calibration": calibration_section(data, decimals),
    }
    best, least = data.grader.file.best_grade, data.grader.min_grade
    warnings = []
    if best is not None and best < least:
        warnings.append(f"No grade reaches --min-grade {least}; the highest grade is {best}.")
    outcomes = [
        [title, next(o for o in ("evidence", "no evidence", "undecided") if o in {v.outcome for _, v in of})]
        for title, (_, of) in sections.items()
    ]
    blocks: list[Block] = [Table(["section", "verdict"], outcomes, title="Verdicts")]
    blocks += map(Paragraph, [_about(data), *warnings])
    for title, (content, verdicts) in sections.items():
        blocks += [Heading(title), *content]
        blocks += [Paragraph(f"{about}{verdict.sentence}") for about, verdict in verdicts]
    return Report(f"Audit of {data.grader.key.model}", blocks, data.provenance, warnings)


def _about(data: AuditInput) -> str:
    grader, options = data.grader, data.options
    measure = str(Cover(grader.min_grade, data.cutoff))
    if grader.is_direct:
        measure = f"share of the first {data.cutoff} passages with a grade of at least {grader.min_grade}"
    people = "no labels of people" if data.people is None else f"labels of people: {data.people.name}"
    return (
        f"Grader: {grader.key.model} ({grader.key.prompt_class}); {people}. Score of systems: {measure}. low "
        f"and high: {100 * options.confidence:.4g} % intervals by the bootstrap over queries "
        f"({options.samples:,} samples, seed {options.seed}), of shares by Gaffke's bound, of "
        "mean scores and lengths of systems by draws of their true means. "
        f"{few_units_note()} Evidence is an interval without the value of no effect; without a bias, about "
        f"{100 - 100 * options.confidence:.4g} % of such verdicts are evidence by chance, and more with few "
        "queries. For calibration, evidence is an ECE that a calibrated grader rarely has."
    )


def _circularity(
    data: AuditInput,
    families: Families | None,
    writer: str | None,
    official: Mapping[str, float],
    decimals: int,
) -> Section:
    """Compare the families of grader, bank and systems, and measure the preference for the own family."""
    known = families or Families({})
    model = data.grader.key.model
    family = known.of_model(model)
    wrote = [(WRITER, writer)] if writer is not None else writers(data.bank)
    parts: list[_Part] = [(role, name, known.of_model(name)) for role, name in [("grader", model), *wrote]]
    parts += [("system", name, known.of_system(name)) for name in data.systems]
    own = [name for role, name, of in parts if role == "system" and family and of == family]
    rows = [[role, name, of or ""] for role, name, of in parts]
    blocks: list[Block] = [Table(["role", "name", "family"], rows, title="Families")]
    blocks += [Paragraph(f"Warning: {warning}") for warning in _warnings(parts, own, data.bank)]
    if families is None:
        verdict = undecided("families of systems are unknown; use --families FILE")
    elif family is None:
        verdict = undecided(f"the grader {model!r} has no family in the families file")
    elif not own or len(own) == len(data.systems):
        noun = "no system is" if not own else "all systems are"
        verdict = undecided(f"{noun} of the grader's family ({family})")
    else:
        table, verdict = _advantages(data, family, own, official, decimals)
        note = (
            "Advantage: mean score of the family's systems minus that of the others, in standard deviations "
            "of the means of all systems, because scores have different scales. Score by judgments: sum of "
            "the judgments of the first passages, divided by the cutoff; unjudged passages count 0."
        )
        blocks += [table, Paragraph(note)]
    return blocks, [("", verdict)]


def _warnings(parts: Sequence[_Part], own: Sequence[str], bank: TestBank | None) -> Iterator[str]:
    (_, grader, family), *others = parts
    for role, name, of_part in others:
        if role in WRITERS.values():
            if name.casefold() == grader.casefold():
                yield f"The grader and the {role} are the same model ({grader})."
            elif family is not None and of_part == family:
                yield f"The grader ({grader}) and the {role} ({name}) are of one family ({family})."
            theirs = [n for r, n, of in others if r == "system" and of_part and of == of_part != family]
            if theirs:
                are = counted(len(theirs), "system is", "systems are")
                yield f"{are} of the family of the {role} ({of_part}): {listed(theirs)}."
    if own:
        are = counted(len(own), "system is", "systems are")
        yield f"{are} of the grader's family ({family}): {listed(own)}."
    if bank is not None and not any(role in WRITERS.values() for role, _, _ in parts):
        yield "The bank does not record who wrote it; use --bank-writer NAME."


def _advantages(
    data: AuditInput, family: str, own: Sequence[str], official: Mapping[str, float], decimals: int
) -> tuple[Table, Verdict]:
    """The advantage of the family's systems by the grader, by people and by other graders."""
    options, systems = data.options, data.systems
    among = [system in own for system in systems]
    rows: list[list[Cell]] = []
    verdict = undecided(
        "the file has neither judgments nor another grader, so a better score of the grader's family can be "
        "quality"
    )
    for number, (source, table) in enumerate([
        (data.name_of(data.grader.key), data.scores),
        ("judgments", data.people_scores),
        *((data.name_of(other.key), other.scores(data.cutoff)) for other in data.others),
    ]):  # fmt: skip
        queries = [query_id for query_id in data.scores if query_id in table]
        if not queries:
            continue
        scores = as_matrix(table, queries, systems)
        found = advantage(
            scores, among, confidence=options.confidence, samples=options.samples, seed=options.seed
        )
        compared = Comparison(None, None)
        if number:
            compared = difference_in_differences(
                as_matrix(data.scores, queries, systems), scores, among,
                confidence=options.confidence, samples=options.samples, seed=options.seed,
            )  # fmt: skip
            if len(rows) == 1:
                verdict = _verdict(compared, source, len(queries), family, options.confidence)
        rows.append([
            source, len(queries), *found[:4], *ends(found.interval), compared.difference,
            *ends(compared.interval),
        ])  # fmt: skip
    if ranks := [official[name] for name in own if name in official]:
        rows.append(["official ranks", None, None, None, sum(ranks) / len(ranks), *[None] * 6])
    columns = [
        "score by", "queries", "own family", "others", "mean rank of own", "advantage (sd)", "low", "high",
        "grader's minus this", "low (difference)", "high (difference)",
    ]  # fmt: skip
    title = f"Advantage of the systems of the family {family}"
    return Table(columns, rows, title=title, decimals=decimals), verdict


def _verdict(compared: Comparison, source: str, queries: int, family: str, confidence: float) -> Verdict:
    difference, interval = compared
    if difference is None:
        return undecided(f"all systems have the same score by the grader or by {source}")
    number = with_interval(difference, interval, confidence, " standard deviations")
    if interval is None or queries < LEAST_QUERIES:
        return too_few(queries, f"the difference in differences is {number}")
    if not excludes(interval):
        return Verdict(
            "no evidence",
            f"the advantage of the family {family} by this grader and by {source} differs by {number}",
        )
    more = "larger" if difference > 0 else "smaller"
    return Verdict(
        "evidence",
        f"the advantage of the family {family} by this grader is {more} than by {source}, by {number}",
    )


def game_biases(
    games: Sequence[PathLike], *, families: PathLike | Families | None = None, confidence: float
) -> Any:
    """The biases of the judges of games files.

    A plug-in offers ``biases of judges``: a function of these values, whose result has a row for each judge,
    with the shares of games that place A, the longer answer and the judge's own family won, and a Report.
    """
    return needed("biases of judges", "games")(games, families=families, confidence=confidence)


def _game_section(found: Any, options: AuditOptions, decimals: int) -> Section:
    """The biases of the judges of games, with a verdict on each judge and bias."""
    if found is None:
        return [], [("", undecided("no games files are given"))]
    verdicts = []
    for row in found.judges:
        for bias, share, subject in (
            ("position", row.shares["place A"], "place A wins"),
            ("length", row.shares["longer answer"], "the longer answer wins"),
            ("self-preference", row.shares["own family"], f"systems of the family {row.family} win"),
        ):
            verdict = _game_verdict(bias, share, subject, row.queries, options.confidence)
            if bias == "self-preference" and row.family is None:
                verdict = undecided("the judge has no family; use --families FILE")
            verdicts.append((f"{row.judge.model}, {bias}: ", verdict))
    return found.report(decimals).blocks, verdicts


def _game_verdict(bias: str, share: Any, subject: str, queries: int, confidence: float) -> Verdict:
    if share.share is None:
        return undecided("no decided games count for it")
    text = f"{subject} {100 * share.share:.1f} % of {share.total} decided games"
    low, high = share.interval
    text += f" ({100 * confidence:.4g} % interval {100 * low:.1f} to {100 * high:.1f})"
    if queries < LEAST_QUERIES:
        return too_few(queries, text)
    if not excludes(share.interval, 0.5):
        return Verdict("no evidence", text)
    if bias == "position":
        return Verdict("evidence", text)
    return undecided(f"{text}, but these answers can also be better")
