"""The audit of a grader: signs that its scores depend on something else than quality, each with a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, Literal, NamedTuple

from exam_pp.banks import WRITER, WRITERS, TestBank, writers
from exam_pp.data_model import DIRECT_ID, HUMAN, QueryView, Role, is_human
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import GradedFile, gather, ratings_of_pairs
from exam_pp.metrics.qrels import judgment_qrels
from exam_pp.metrics.uncertainty import Interval, few_units_note
from exam_pp.phases.evaluation.inputs import loaded, views
from exam_pp.phases.evaluation.judgments import judgments
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, read_selected, threshold
from exam_pp.plugins import needed
from exam_pp.plugins.trust.audit_numbers import (
    BINS,
    Calibration,
    Correlation,
    Estimate,
    Group,
    advantage,
    calibration,
    correlation_within,
    difference_in_differences,
)
from exam_pp.plugins.trust.pictures import reliability_diagram
from exam_pp.provenance import file_names, graded_by
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.edits import human_model
from exam_pp.store.families import Families, known_families
from exam_pp.text.wording import counted, listed

Outcome = Literal["evidence", "no evidence", "undecided"]
LEAST_QUERIES = 10
"""Fewest queries for a verdict by an interval: with fewer, intervals over resampled queries are too narrow.

Source: Cameron, Gelbach and Miller, "Bootstrap-based improvements for inference with clustered errors",
Review of Economics and Statistics 90 (2008): too many false alarms with 5 to 10 clusters.
"""
JUDGMENTS = "judgments"
"""The value of ``reviewer`` for the judgments."""
Numbers = Mapping[str, Mapping[str, float]]
"""Query id to system to a number."""


class Verdict(NamedTuple):
    """The outcome of a section of an audit, with its reason.

    ``outcome``: Whether the data show the bias, do not show it, or cannot say. ``reason``: The reason with
    its number, as a sentence without capital and full stop.
    """

    outcome: Outcome
    reason: str


Section = tuple[Sequence[Block], Sequence[tuple[str, Verdict]]]
"""The blocks of a section of an audit, and its verdicts, each with what it is about."""


@dataclass(frozen=True)
class Audited:
    """The grades of a file, and the labels of people for them.

    ``labels``: Those of people: (query, passage) to judgment, or (query, passage, entry) to the rating of a
    reviewer; empty without judgments and reviewer. ``people``: What they are called; None without labels.
    """

    grades: SelectedGrades
    lines: Sequence[QueryView]
    cutoff: int
    people: str | None
    labels: Mapping[tuple[str, ...], int]
    min_judgment: int
    statistics: Statistics

    @property
    def of_pairs(self) -> bool:
        """Whether people labelled pairs of passage and entry, not passages."""
        return self.people not in (None, JUDGMENTS)

    @property
    def noun(self) -> str:
        """The name of one label."""
        return "reviewer's rating" if self.of_pairs else "judgment"

    def scores(self, file: GradedFile, min_grade: int) -> Numbers:
        """Score of every system on every query: Cover, or for direct grades the share of good passages."""
        cover = Cover(min_grade, self.cutoff)
        if is_direct(file):
            return self.means(
                {
                    (query_id, passage.passage_id): passage.reaching(min_grade)
                    for query_id in file.graded
                    for passage in file.queries[query_id].passages
                }
            )
        return {
            query_id: {
                score.system: score.value
                for score in cover(file.queries[query_id], file.first_ranks)
                if score.system != OVERALL_SYSTEM
            }
            for query_id in file.graded
        }

    def means(self, values: Mapping[tuple[str, ...], int]) -> Numbers:
        """Mean value of the first passages of every system, for all queries with values.

        Passages without a value, missing passages and negative values count 0.
        """
        known = {query_id for query_id, _ in values}
        found: dict[str, dict[str, float]] = {}
        for query in self.grades.queries:
            if query.query_id in known:
                for system, first in self.grades.file.first_ranks.items():
                    top = [query.passages[at].passage_id for at in query.top(system, first, self.cutoff)]
                    total = sum(max(0, values.get((query.query_id, passage_id), 0)) for passage_id in top)
                    found.setdefault(query.query_id, {})[system] = total / max(self.cutoff, len(top))
        return found


def is_direct(file: GradedFile) -> bool:
    """Whether the grades are of the passages themselves."""
    return all(file.queries[query_id].entries.keys() <= {DIRECT_ID} for query_id in file.graded)


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
    role: Role | None = None,
    min_grade: int | None = None,
    min_judgment: int = 1,
    cutoff: int | None = None,
    statistics: Statistics | None = None,
    decimals: int = 3,
) -> Report:
    """Report signs that the scores of a grader depend on something else than quality.

    The sections follow a table of their verdicts. ``reviewer``: ``human:NAME`` for the ratings of this
    reviewer, ``judgments``, or None for the judgments if there are some.
    """
    statistics, known = statistics or Statistics(), known_families(families)
    passages = loaded(graded)
    grades = read_selected(
        passages, bank, grade_filter, min_grade, None, soft=True, role=role, reviewed=False
    )
    lines = views(passages, role)
    people, labels = _labels_of_people(lines, grades, reviewer, qrels)
    cutoff = cutoff or grades.file.cutoff
    data = Audited(grades, lines, cutoff, people, labels, min_judgment, statistics)
    biases = None
    if games:
        biases = game_biases(games, families=known, confidence=statistics.confidence)
    sections: dict[str, Section] = {
        "Length": _length(data, decimals),
        "Position, length and self-preference in games": _games(biases, statistics, decimals),
        "Circularity": _circularity(data, known, bank_writer, decimals),
        "Calibration": _calibration(data, decimals),
    }
    best, least = grades.file.best_grade, grades.min_grade
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
        blocks += [Paragraph(f"{about}{of.outcome.capitalize()}: {of.reason}.") for about, of in verdicts]
    provenance = replace(
        graded_by([grades.selector.key]),
        banks=file_names(bank),
        judgments=file_names(qrels or graded) if people == JUDGMENTS else (),
        cutoff=cutoff,
        min_grades=(least,),
        queries=len(grades.queries),
    )
    return Report(f"Audit of {grades.selector.key.model}", blocks, provenance, warnings)


def _labels_of_people(
    lines: Sequence[QueryView], grades: SelectedGrades, reviewer: str | None, qrels: PathLike | None
) -> tuple[str | None, Mapping[tuple[str, ...], int]]:
    """The name and the labels of people."""
    if reviewer in (None, JUDGMENTS):
        judged = judgment_qrels(lines) if qrels is None else judgments(qrels)
        if reviewer and not judged:
            raise SelectionError(f"{grades.source} has no judgments; use --qrels or --reviewer human:NAME.")
        labels: dict[tuple[str, ...], int] = {(line.query_id, line.passage_id): line.whole for line in judged}
        return JUDGMENTS if labels else None, labels
    model = human_model(reviewer) or HUMAN
    selector = GradeSelector(GradeFilter(model))
    file = gather(lines, selector, grades.bank)
    names = sorted({key.model for key in selector.seen if is_human(key.model)})
    if model not in names:
        known = listed(names) or "none"
        raise SelectionError(f"{grades.source} has no grades by {model!r} (reviewers: {known}).")
    return model, ratings_of_pairs(file)


def _about(data: Audited) -> str:
    key, min_grade, statistics = data.grades.selector.key, data.grades.min_grade, data.statistics
    measure = str(Cover(min_grade, data.cutoff))
    if is_direct(data.grades.file):
        measure = f"share of the first {data.cutoff} passages with a grade of at least {min_grade}"
    people = "no labels of people" if data.people is None else f"labels of people: {data.people}"
    return (
        f"Grader: {key.model} ({key.prompt_class}); {people}. Score of systems: {measure}. low "
        f"and high: {100 * statistics.confidence:.4g} % intervals by the bootstrap over queries "
        f"({statistics.samples:,} samples, seed {statistics.seed}), of shares by Gaffke's bound. "
        f"{few_units_note()} Evidence is an interval without the value of no effect; without a bias, "
        f"about {100 - 100 * statistics.confidence:.4g} % of such verdicts are evidence by chance, and more "
        "with few queries. For calibration, evidence is an ECE that a calibrated grader rarely has."
    )


def undecided(reason: str) -> Verdict:
    """The verdict ``undecided``."""
    return Verdict("undecided", reason)


def too_few(queries: int, number: str) -> Verdict:
    """The verdict without an interval that can be trusted; ``number`` says what was found."""
    reason = "all samples of the queries agree, which says nothing about other queries"
    if queries < LEAST_QUERIES:
        reason = f"a verdict needs at least {LEAST_QUERIES} queries, here {queries}"
    return undecided(f"{reason}; {number}")


def with_interval(value: float | None, interval: Interval | None, confidence: float, unit: str = "") -> str:
    """A number with its interval: ``0.12 (95 % interval 0.03 to 0.20)``."""
    if value is None:
        return "undefined"
    text = f"{value:z.3f}{unit}"
    if interval is None:
        return text
    return f"{text} ({100 * confidence:.4g} % interval {interval.low:z.3f} to {interval.high:z.3f})"


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """The ends of an interval as cells."""
    return interval or (None, None)


def _side(interval: Interval | None) -> int:
    """On which side of 0 an interval is; 0 if it contains it."""
    return 0 if interval is None else (interval.low > 0) - (interval.high < 0)


def _length(data: Audited, decimals: int) -> Section:
    """Correlations of grades with length, within queries, with and without people's labels."""
    words = {
        (line.query_id, passage.passage_id): len(passage.text.split())
        for line in data.lines
        for passage in line.passages
    }
    grades: Mapping[tuple[str, ...], int]
    if data.of_pairs:
        grades = ratings_of_pairs(data.grades.file)
    else:
        grades = {
            (query.query_id, passage.passage_id): passage.best_grade
            for query in data.grades.queries
            for passage in query.passages
            if passage.best_grade is not None
        }
    values = [
        (key[0], words.get((key[0], key[1]), 0), grade, data.labels.get(key)) for key, grade in grades.items()
    ]
    labelled = [(q, x, y, z) for q, x, y, z in values if z is not None]
    noun, units = data.noun, "pairs" if data.of_pairs else "passages"
    grouped = {("grade", "query"): _grouped((q, None, (x, y)) for q, x, y, _ in values)}
    if labelled:
        grouped |= {
            (noun, "query"): _grouped((q, None, (x, z)) for q, x, _, z in labelled),
            ("grade", f"query, {noun}"): _grouped((q, None, (x, y, z)) for q, x, y, z in labelled),
            ("grade", f"query, same {noun}"): _grouped((q, z, (x, y)) for q, x, y, z in labelled),
        }
    found = {key: correlation_within(groups, data.statistics) for key, groups in grouped.items()}
    table = Table(
        ["of", "with length of", "constant", "units", "queries", "Spearman", "low", "high"],
        [[of, units, held, each.units, each.queries, each.value, *_ends(each.interval)]
         for (of, held), each in found.items()],
        title="Correlation with length in words",
        decimals=decimals,
    )  # fmt: skip
    note = (
        "Without labels of people, this cannot separate length from quality: longer passages can be better."
    )
    if data.people is not None:
        note = (
            f"Partial correlations hold the {noun} constant as a rank; rows with 'same' compare "
            f"only units with the same {noun}. Labels of people are coarse, so a longer passage "
            "can still be better than another with the same label, and it can cover more entries."
        )
    return [table, Paragraph(note)], [("", _length_verdict(data, found))]


def _grouped(values: Iterable[tuple[str, float | None, Sequence[float]]]) -> list[list[Group]]:
    """The groups of each query: the rows with the same label."""
    groups: dict[str, dict[float | None, list[Sequence[float]]]] = {}
    for query_id, label, row in values:
        groups.setdefault(query_id, {}).setdefault(label, []).append(row)
    return [list(of_query.values()) for of_query in groups.values()]


def _length_verdict(data: Audited, found: Mapping[tuple[str, str], Correlation]) -> Verdict:
    """The verdict by the correlations of grades, by what is held constant."""
    noun, confidence = data.noun, data.statistics.confidence
    if data.people is None:
        known = with_interval(*found["grade", "query"][:2], confidence)
        return undecided(
            f"the correlation of grade and length within queries is {known}, but without labels of people it "
            "can be length or quality"
        )
    if (noun, "query") not in found:
        return undecided(f"no graded passage or pair has a {noun}")
    partial, within = (found["grade", f"query, {same}{noun}"] for same in ("", "same "))
    if partial.value is None:
        return undecided(f"grade or length have only one value in every query with a {noun}")
    number = f"partial Spearman correlation {with_interval(*partial[:2], confidence)}"
    both = [partial]
    if within.value is not None:
        both.append(within)
        number += f", and {with_interval(*within[:2], confidence)} among units with the same {noun}"
    if partial.queries < LEAST_QUERIES or any(each.interval is None for each in both):
        return too_few(partial.queries, number)
    sides = {_side(each.interval) for each in both}
    if len(sides) > 1:
        return undecided(f"the two ways to hold the {noun} constant disagree: {number}")
    if sides == {0}:
        return Verdict(
            "no evidence", f"at the same {noun}, grade and length are not clearly related: {number}"
        )
    direction = "longer" if sides == {1} else "shorter"
    return Verdict(
        "evidence", f"at the same {noun}, {direction} passages of a query get higher grades: {number}"
    )


def _calibration(data: Audited, decimals: int) -> Section:
    """Compare the probability of reaching the threshold with the labels of people."""
    least, by_people = data.grades.min_grade, data.min_judgment
    if data.people is None:
        return [], [("", undecided("the file has no labels of people"))]
    if data.of_pairs:
        by_people = least
    elif not is_direct(data.grades.file):
        reason = "grades of bank entries need ratings of the same entries by a person: use --reviewer "
        return [], [("", undecided(f"{reason}human:NAME"))]
    queries: dict[str, list[tuple[float, bool]]] = {}
    soft = 0
    for query in data.grades.queries:
        for passage in query.passages:
            for entry_id, position in query.entries.items():
                pair = query.query_id, passage.passage_id, entry_id
                label = data.labels.get(pair if data.of_pairs else pair[:2])
                if label is None or not passage.graded >> position & 1:
                    continue
                values = passage.soft.get(position)
                probability: float = passage.reaching(least) >> position & 1
                if values:
                    # Stored probabilities are rounded, so their sum may exceed 1 slightly.
                    probability = min(1.0, fsum(values[max(0, least) :]))
                    soft += 1
                queries.setdefault(query.query_id, []).append((probability, label >= by_people))
    found = calibration(list(queries.values()), data.statistics)
    if found is None:
        return [], [("", undecided("people labelled none of the graded pairs"))]
    rows: list[list[Cell]] = [
        ["pairs", found.pairs, None, None],
        ["mean probability", found.probability, None, None],
        ["share by people", found.share, None, None],
        ["mean probability minus share", found.bias.value, *_ends(found.bias.interval)],
        ["ECE", found.ece.value, *_ends(found.ece.interval)],
        ["Brier score", found.brier.value, *_ends(found.brier.interval)],
        ["ECE of a calibrated grader", found.expected_ece, None, found.highest_ece],
    ]
    title = f"Probability of a grade of at least {least} against a {data.noun} of at least {by_people}"
    note = (
        f"ECE: mean difference of probability and share by people over the bins, weighted by pairs. It is "
        f"above 0 even for a calibrated grader, the more so the fewer the pairs: {found.expected_ece:.3f} "
        f"on average here. Its interval has the same bias. {soft} of {found.pairs} pairs have soft "
        "grades; the others count with the probability 0 or 1."
    )
    blocks: list[Block] = [
        Table(["measure", "value", "low", "high"], rows, title=title, decimals=decimals),
        Table(
            ["from", "to", "pairs", "mean probability", "share by people"],
            [list(each) for each in found.bins],
            title=f"{BINS} bins of equal width",
            decimals=decimals,
        ),
        Paragraph(note),
        reliability_diagram(found.bins, "Reliability of the probabilities", ece=found.ece.value),
    ]
    return blocks, [("", _calibration_verdict(found, soft, data.statistics.confidence))]


def _calibration_verdict(found: Calibration, soft: int, confidence: float) -> Verdict:
    if not soft:
        return undecided(
            "the grades have no probabilities (exam-pp grade --soft makes them); as certain statements they "
            f"are wrong in a share of {with_interval(*found.brier, confidence)} of {found.pairs} pairs"
        )
    ece = f"the ECE on {found.pairs} pairs is {with_interval(*found.ece, confidence)}"
    chance = (
        f"a calibrated grader would have {found.expected_ece:.3f} on average and at most "
        f"{found.highest_ece:.3f} with {100 * confidence:.4g} % probability"
    )
    if found.queries < LEAST_QUERIES:
        return too_few(found.queries, ece)
    if (found.ece.value or 0) <= found.highest_ece:
        return Verdict("no evidence", f"{ece}; {chance}")
    bias = found.bias.value or 0
    by = f"{abs(bias):.3f} too {'high' if bias > 0 else 'low'}"
    return Verdict("evidence", f"{ece}; {chance}. Probabilities are on average {by}")


def _circularity(data: Audited, families: Families | None, writer: str | None, decimals: int) -> Section:
    """Compare the families of grader, bank and systems, and measure the preference for the own family."""
    known, bank = families or Families({}), data.grades.bank
    model, systems = data.grades.selector.key.model, list(data.grades.file.first_ranks)
    family = known.of_model(model)
    wrote = [(WRITER, writer)] if writer is not None else writers(bank)
    parts = [(role, name, known.of_model(name)) for role, name in [("grader", model), *wrote]]
    parts += [("system", name, known.of_system(name)) for name in systems]
    own = [name for role, name, of in parts if role == "system" and family and of == family]
    rows = [[role, name, of or ""] for role, name, of in parts]
    blocks: list[Block] = [Table(["role", "name", "family"], rows, title="Families")]
    blocks += [Paragraph(f"Warning: {warning}") for warning in _warnings(parts, own, bank)]
    if families is None:
        verdict = undecided("families of systems are unknown; use --families FILE")
    elif family is None:
        verdict = undecided(f"the grader {model!r} has no family in the families file")
    elif not own or len(own) == len(systems):
        noun = "no system is" if not own else "all systems are"
        verdict = undecided(f"{noun} of the grader's family ({family})")
    else:
        table, verdict = _advantages(data, family, [system in own for system in systems], decimals)
        note = (
            "Advantage: mean score of the family's systems minus that of the others, in standard deviations "
            "of the means of all systems, because scores have different scales. Score by judgments: sum of "
            "the judgments of the first passages, divided by the cutoff; unjudged passages count 0."
        )
        blocks += [table, Paragraph(note)]
    return blocks, [("", verdict)]


def _warnings(
    parts: Sequence[tuple[str, str, str | None]], own: Sequence[str], bank: TestBank | None
) -> Iterator[str]:
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


def _advantages(data: Audited, family: str, own: Sequence[bool], decimals: int) -> tuple[Table, Verdict]:
    """The advantage of the family's systems by the grader, by people and by other graders."""
    systems, statistics = list(data.grades.file.first_ranks), data.statistics
    by_grader, *others = _scores_by_source(data)
    rows: list[list[Cell]] = []
    verdict = undecided(
        "the file has neither judgments nor another grader, so a better score of the grader's family can be "
        "quality"
    )
    for source, table in [by_grader, *others]:
        queries = [query_id for query_id in by_grader[1] if query_id in table]
        of_grader, scores = (
            [[of[query_id][system] for query_id in queries] for system in systems]
            for of in (by_grader[1], table)
        )
        found = advantage(scores, own, statistics)
        compared = Estimate(None, None)
        if rows:
            compared = difference_in_differences(of_grader, scores, own, statistics)
            if len(rows) == 1:
                verdict = _preference(compared, source, len(queries), family, statistics.confidence)
        rows.append([
            source, len(queries), *found[:4], *_ends(found.interval), compared.value,
            *_ends(compared.interval),
        ])  # fmt: skip
    columns = [
        "score by", "queries", "own family", "others", "mean rank of own", "advantage (sd)", "low", "high",
        "grader's minus this", "low (difference)", "high (difference)",
    ]  # fmt: skip
    title = f"Advantage of the systems of the family {family}"
    return Table(columns, rows, title=title, decimals=decimals), verdict


def _scores_by_source(data: Audited) -> Iterator[tuple[str, Numbers]]:
    """Scores by the grader, by the judgments, and by other models with grades on its scale."""
    selected = data.grades.selector
    files = {selected.key: (data.grades.file, data.grades.min_grade)}
    for key in sorted(key for key in selected.seen if key != selected.key and not key.is_reviewer):
        selector = GradeSelector(GradeFilter(key.model, key.prompt_class))
        file = gather(data.lines, selector, data.grades.bank)
        if file.graded and selector.rated == selected.rated:
            files[key] = file, threshold(selector, None)
    models = [key.model for key in files]
    scores = [
        (key.model if models.count(key.model) == 1 else f"{key.model} ({key.prompt_class})", data.scores(*of))
        for key, of in files.items()
    ]
    judged = {} if data.of_pairs else data.means(data.labels)
    yield from [scores[0], *([(JUDGMENTS, judged)] if judged else []), *scores[1:]]


def _preference(compared: Estimate, source: str, queries: int, family: str, confidence: float) -> Verdict:
    """The verdict on the difference of the advantages by the grader and by another source."""
    if compared.value is None:
        return undecided(f"all systems have the same score by the grader or by {source}")
    number = with_interval(*compared, confidence, " standard deviations")
    if compared.interval is None or queries < LEAST_QUERIES:
        return too_few(queries, f"the difference in differences is {number}")
    by = f"the advantage of the family {family} by this grader"
    side = _side(compared.interval)
    if not side:
        return Verdict("no evidence", f"{by} and by {source} differs by {number}")
    return Verdict("evidence", f"{by} is {'larger' if side > 0 else 'smaller'} than by {source}, by {number}")


def game_biases(
    games: Sequence[PathLike], *, families: PathLike | Families | None = None, confidence: float
) -> Any:
    """The biases of the judges of games files.

    A plug-in offers ``biases of judges``: a function of these values, whose result has a row for each judge,
    with the shares of games that place A, the longer answer and the judge's own family won, and a Report.
    """
    return needed("biases of judges", "games")(games, families=families, confidence=confidence)


def _games(found: Any, statistics: Statistics, decimals: int) -> Section:
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
            verdict = _game_verdict(bias, share, subject, row.queries, statistics.confidence)
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
    if share.interval.low <= 0.5 <= share.interval.high:
        return Verdict("no evidence", text)
    if bias == "position":
        return Verdict("evidence", text)
    return undecided(f"{text}, but these answers can also be better")
