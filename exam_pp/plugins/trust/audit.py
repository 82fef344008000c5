"""The audit of a grader: signs that its scores depend on something else than quality, each with a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from exam_pp.banks import WRITER, WRITERS, TestBank, writers
from exam_pp.data_model import DIRECT_ID, QueryView, Role
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.qrels import judgment_qrels
from exam_pp.metrics.uncertainty import Interval, few_units_note
from exam_pp.phases.evaluation.inputs import loaded, views
from exam_pp.phases.evaluation.judgments import judgments
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, read_selected
from exam_pp.plugins.trust.audit_numbers import (
    Correlation,
    Group,
    advantage,
    correlation_within,
    difference_in_differences,
)
from exam_pp.plugins.trust.resampling import Estimate
from exam_pp.provenance import file_names, graded_by
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.families import Families, known_families
from exam_pp.text.wording import listed

LEAST_QUERIES = 10
"""Fewest queries for a verdict by an interval: with fewer, intervals over resampled queries are too narrow.

Source: Cameron, Gelbach and Miller, "Bootstrap-based improvements for inference with clustered errors",
Review of Economics and Statistics 90 (2008): too many false alarms with 5 to 10 clusters.
"""
Labels = Mapping[tuple[str, str], int]
"""Query id and passage id to the judgment of a passage, or to another number of it."""
Numbers = Mapping[str, Mapping[str, float]]
"""Query id to system to a number."""


class Verdict(NamedTuple):
    """Whether the data show the bias, do not show it, or cannot say.

    ``reason``: With its number, as a sentence without capital and full stop.
    """

    outcome: Literal["evidence", "no evidence", "undecided"]
    reason: str


Section = tuple[Sequence[Block], Verdict]


def audit(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    qrels: PathLike | None = None,
    families: PathLike | Families | None = None,
    bank_writer: str | None = None,
    role: Role | None = None,
    min_grade: int | None = None,
    cutoff: int | None = None,
    statistics: Statistics | None = None,
    decimals: int = 3,
) -> Report:
    """Report signs that the scores of a grader depend on something else than quality.

    The sections follow a table of their verdicts. ``qrels``: Judgments in place of those in the file.
    """
    statistics, known = statistics or Statistics(), known_families(families)
    passages = loaded(graded)
    grades = read_selected(passages, bank, grade_filter, min_grade, None, role=role, reviewed=False)
    lines = views(passages, role)
    judged = judgment_qrels(lines) if qrels is None else judgments(qrels)
    labels = {(line.query_id, line.passage_id): line.whole for line in judged}
    cutoff = cutoff or grades.file.cutoff
    sections: dict[str, Section] = {
        "Length": _length(grades, lines, labels, statistics, decimals),
        "Circularity": _circularity(grades, labels, cutoff, known, bank_writer, statistics, decimals),
    }
    best, least = grades.file.best_grade, grades.min_grade
    warnings = []
    if best is not None and best < least:
        warnings.append(f"No grade reaches --min-grade {least}; the highest grade is {best}.")
    outcomes = [[title, verdict.outcome] for title, (_, verdict) in sections.items()]
    about = _about(grades, cutoff, statistics, has_labels=bool(labels))
    blocks: list[Block] = [Table(["section", "verdict"], outcomes, title="Verdicts")]
    blocks += map(Paragraph, [about, *warnings])
    for title, (content, verdict) in sections.items():
        sentence = f"{verdict.outcome.capitalize()}: {verdict.reason}."
        blocks += [Heading(title), *content, Paragraph(sentence)]
    provenance = replace(
        graded_by([grades.selector.key]),
        banks=file_names(bank),
        judgments=file_names(qrels or graded) if labels else (),
        cutoff=cutoff,
        min_grades=(least,),
        queries=len(grades.queries),
    )
    return Report(f"Audit of {grades.selector.key.model}", blocks, provenance, warnings)


def _about(grades: SelectedGrades, cutoff: int, statistics: Statistics, *, has_labels: bool) -> str:
    key, min_grade = grades.selector.key, grades.min_grade
    measure = str(Cover(min_grade, cutoff))
    if is_direct(grades):
        measure = f"share of the first {cutoff} passages with a grade of at least {min_grade}"
    people = "labels of people: judgments" if has_labels else "no labels of people"
    return (
        f"Grader: {key.model} ({key.prompt_class}); {people}. Score of systems: {measure}. low "
        f"and high: {100 * statistics.confidence:.4g} % intervals by the bootstrap over queries "
        f"({statistics.samples:,} samples, seed {statistics.seed}), of shares by Gaffke's bound. "
        f"{few_units_note()} Evidence is an interval without the value of no effect; without a bias, "
        f"about {100 - 100 * statistics.confidence:.4g} % of such verdicts are evidence by chance, and more "
        "with few queries."
    )


def is_direct(grades: SelectedGrades) -> bool:
    """Whether the grades are of the passages themselves."""
    return all(query.entries.keys() <= {DIRECT_ID} for query in grades.queries)


def _undecided(reason: str) -> Verdict:
    return Verdict("undecided", reason)


def _by_interval(interval: Interval | None, queries: int, number: str, reasons: Mapping[int, str]) -> Verdict:
    """The verdict by the side of 0 on which the interval is: -1 or 1, or 0 around it."""
    if queries < LEAST_QUERIES:
        return _undecided(f"a verdict needs at least {LEAST_QUERIES} queries, here {queries}; {number}")
    if interval is None:
        agree = "all samples of the queries agree, which says nothing about other queries"
        return _undecided(f"{agree}; {number}")
    side = (interval.low > 0) - (interval.high < 0)
    return Verdict("evidence" if side else "no evidence", reasons[side])


def _length(
    grades: SelectedGrades,
    lines: Sequence[QueryView],
    labels: Labels,
    statistics: Statistics,
    decimals: int,
) -> Section:
    """Correlations of grades with length, within queries, with and without the judgments."""
    words = {
        (line.query_id, passage.passage_id): len(passage.text.split())
        for line in lines
        for passage in line.passages
    }
    values = [
        (key[0], words.get(key, 0), passage.best_grade, labels.get(key))
        for query in grades.queries
        for passage in query.passages
        if passage.best_grade is not None
        for key in [(query.query_id, passage.passage_id)]
    ]
    grouped = {("grade", "query"): _grouped((q, None, (x, y)) for q, x, y, _ in values)}
    if labels:
        judged = [(q, x, y, z) for q, x, y, z in values if z is not None]
        grouped |= {
            ("judgment", "query"): _grouped((q, None, (x, z)) for q, x, _, z in judged),
            ("grade", "query, same judgment"): _grouped((q, z, (x, y)) for q, x, y, z in judged),
        }
    found = {key: correlation_within(groups, statistics) for key, groups in grouped.items()}
    table = Table(
        ["of", "with length of", "constant", "units", "queries", "Spearman", "low", "high"],
        [[of, "passages", held, each.units, each.queries, *each.estimate.cells]
         for (of, held), each in found.items()],
        title="Correlation with length in words",
        decimals=decimals,
    )  # fmt: skip
    note = (
        "The row with 'same' compares only passages with the same judgment. Labels of people are coarse, so "
        "a longer passage can still be better than another with the same label, and it can cover more "
        "entries."
        if labels
        else "Without labels of people, this cannot separate length from quality: longer passages can be "
        "better."
    )
    return [table, Paragraph(note)], _length_verdict([*found.values()], statistics.confidence)


def _grouped(values: Iterable[tuple[str, float | None, Sequence[float]]]) -> list[list[Group]]:
    """The groups of each query: the rows with the same label."""
    groups: dict[str, dict[float | None, list[Sequence[float]]]] = {}
    for query_id, label, row in values:
        groups.setdefault(query_id, {}).setdefault(label, []).append(row)
    return [list(of_query.values()) for of_query in groups.values()]


def _length_verdict(found: Sequence[Correlation], confidence: float) -> Verdict:
    """The verdict by the correlation at the same judgment, which is the last one with judgments."""
    number = found[-1].estimate.text(confidence)
    if len(found) == 1:
        return _undecided(
            f"the correlation of grade and length within queries is {number}, but without labels of people "
            "it can be length or quality"
        )
    if found[-1].estimate.value is None:
        return _undecided("grade or length have only one value for each judgment of a query")
    number = f"Spearman correlation {number}"
    same = "at the same judgment,"
    reasons = {
        0: f"{same} grade and length are not clearly related: {number}",
        1: f"{same} longer passages of a query get higher grades: {number}",
        -1: f"{same} shorter passages of a query get higher grades: {number}",
    }
    return _by_interval(found[-1].estimate.interval, found[-1].queries, number, reasons)


def _circularity(
    grades: SelectedGrades,
    labels: Labels,
    cutoff: int,
    families: Families | None,
    writer: str | None,
    statistics: Statistics,
    decimals: int,
) -> Section:
    """Compare the families of grader, bank and systems, and measure the preference for the own family."""
    known, bank = families or Families({}), grades.bank
    model, systems = grades.selector.key.model, list(grades.file.first_ranks)
    family = known.of_model(model)
    wrote = [(WRITER, writer)] if writer is not None else writers(bank)
    parts = [(role, name, known.of_model(name)) for role, name in [("grader", model), *wrote]]
    parts += [("system", name, known.of_system(name)) for name in systems]
    is_own = {name: family is not None and known.of_system(name) == family for name in systems}
    own = [name for name in systems if is_own[name]]
    rows = [[role, name, of or ""] for role, name, of in parts]
    blocks: list[Block] = [Table(["role", "name", "family"], rows, title="Families")]
    blocks += [Paragraph(f"Warning: {warning}") for warning in _warnings(parts, bank)]
    if families is None:
        verdict = _undecided("families of systems are unknown; use --families FILE")
    elif family is None:
        verdict = _undecided(f"the grader {model!r} has no family in the families file")
    elif not own or len(own) == len(systems):
        noun = "no system is" if not own else "all systems are"
        verdict = _undecided(f"{noun} of the grader's family ({family})")
    else:
        scores = {model: _scores(grades, cutoff), "judgments": _means(grades, labels, cutoff)}
        table, verdict = _advantages(scores, family, is_own, statistics, decimals)
        note = (
            "Advantage: mean score of the family's systems minus that of the others, in standard deviations "
            "of the means of all systems, because scores have different scales. Score by judgments: sum of "
            "the judgments of the first passages, divided by the cutoff; unjudged passages count 0."
        )
        blocks += [table, Paragraph(note)]
    return blocks, verdict


def _warnings(parts: Sequence[tuple[str, str, str | None]], bank: TestBank | None) -> Iterator[str]:
    families: dict[str, list[tuple[str, str]]] = {}
    for role, name, family in parts:
        families.setdefault(family or name.casefold(), []).append((role, name))
    for family, members in families.items():
        if len({"bank" if role in WRITERS.values() else role for role, _ in members}) > 1:
            yield f"Of one model or family ({family}): {listed([' '.join(member) for member in members])}."
    if bank is not None and not any(role in WRITERS.values() for role, _, _ in parts):
        yield "The bank does not record who wrote it; use --bank-writer NAME."


def _scores(grades: SelectedGrades, cutoff: int) -> Numbers:
    """Score of every system on every query: Cover, or for direct grades the share of good passages."""
    file, cover = grades.file, Cover(grades.min_grade, cutoff)
    if is_direct(grades):
        return _means(
            grades,
            {
                (query.query_id, passage.passage_id): passage.reaching(grades.min_grade)
                for query in grades.queries
                for passage in query.passages
            },
            cutoff,
        )
    return {
        query.query_id: {
            score.system: score.value
            for score in cover(query, file.first_ranks)
            if score.system != OVERALL_SYSTEM
        }
        for query in grades.queries
    }


def _means(grades: SelectedGrades, values: Labels, cutoff: int) -> Numbers:
    """Mean value of the first passages of every system, for all queries with values.

    Passages without a value, missing passages and negative values count 0.
    """
    known = {query_id for query_id, _ in values}
    found: dict[str, dict[str, float]] = {}
    for query in grades.queries:
        if query.query_id in known:
            for system, first in grades.file.first_ranks.items():
                top = [query.passages[at].passage_id for at in query.top(system, first, cutoff)]
                total = sum(max(0, values.get((query.query_id, passage_id), 0)) for passage_id in top)
                found.setdefault(query.query_id, {})[system] = total / max(cutoff, len(top))
    return found


def _advantages(
    scores: Mapping[str, Numbers],
    family: str,
    is_own: Mapping[str, bool],
    statistics: Statistics,
    decimals: int,
) -> tuple[Table, Verdict]:
    """The advantage of the family's systems by the grader and by the judgments."""
    by_grader, by_people = scores.values()
    own = [*is_own.values()]
    rows: list[list[Cell]] = []
    verdict = _undecided("the file has no judgments, so a better score of the grader's family can be quality")
    for source, table in scores.items() if by_people else [*scores.items()][:1]:
        query_ids = [query_id for query_id in by_grader if query_id in table]
        of_grader, of_source = (
            [[of[query_id][system] for query_id in query_ids] for system in is_own]
            for of in (by_grader, table)
        )
        *means, standardised = advantage(of_source, own, statistics)
        compared = Estimate(None, None)
        if table is not by_grader:
            compared = difference_in_differences(of_grader, of_source, own, statistics)
            verdict = _preference(compared, len(query_ids), family, statistics.confidence)
        rows.append([source, len(query_ids), *means, *standardised.cells, *compared.cells])
    columns = [
        "score by", "queries", "own family", "others", "mean rank of own", "advantage (sd)", "low", "high",
        "grader's minus this", "low (difference)", "high (difference)",
    ]  # fmt: skip
    title = f"Advantage of the systems of the family {family}"
    return Table(columns, rows, title=title, decimals=decimals), verdict


def _preference(compared: Estimate, queries: int, family: str, confidence: float) -> Verdict:
    """The verdict on the difference of the advantages by the grader and by the judgments."""
    if compared.value is None:
        return _undecided("all systems have the same score by the grader or by judgments")
    number = compared.text(confidence, " standard deviations")
    by = f"the advantage of the family {family} by this grader"
    reasons = {
        0: f"{by} and by judgments differs by {number}",
        1: f"{by} is larger than by judgments, by {number}",
        -1: f"{by} is smaller than by judgments, by {number}",
    }
    few = f"the difference in differences is {number}"
    return _by_interval(compared.interval, queries, few, reasons)
