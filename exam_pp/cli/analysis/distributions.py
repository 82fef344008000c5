"""``exam-pp analyze distributions``: scores over queries, and paired tests between systems by criterion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import SEED, confidence_option
from exam_pp.cli.options import (
    FILE,
    emit_figure,
    emit_report,
    format_option,
    output_option,
    plot_option,
    support_filter_options,
)
from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.metrics.score_ranges import range_of
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.provenance import Provenance, file_names
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.rows import Box, box_plot, share_bars
from exam_pp.results import ANSWERED, OVERALL_SYSTEM, Score
from exam_pp.text.wording import counted, listed

if TYPE_CHECKING:
    from exam_pp.metrics.leaderboard import Distribution
    from exam_pp.metrics.uncertainty import Interval
    from exam_pp.phases.analysis.paired_criteria import CriterionTest, PairedCriteria


@click.command("distributions", cls=Command)
@click.argument("scores", metavar="SCORES...|GRADED", nargs=-1, required=True, type=FILE)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure, by its name in SCORES; may be repeated.  [default: all]",
)
@confidence_option(
    "Confidence level of the intervals; for GRADED, 1 minus it is also the level of significance."
)
@support_filter_options
@SEED
@plot_option("a box plot of each measure")
@format_option()
@output_option()
def command(
    *,
    scores: tuple[Path, ...],
    measures: tuple[str, ...],
    confidence: float,
    seed: int,
    plot: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Compare the scores of systems over queries: box plots, means, medians, intervals and tests.

    SCORES are files with scores of single queries: those of `exam-pp evaluate ... --per-query`, JSON lines
    of scores, output of `trec_eval -q`, or results of Open RAG Eval (CSV). The formats html and --plot have
    pictures; the share of questions answered (Answered) is a bar. Systems NAME-run-1, NAME-run-2 ... are
    repeats of NAME: their scores are averaged, and adjusted(M) is mean/(1+sd) of the measure M over them.

    GRADED has ratings of answers by criteria, by one model or person (--grader). Every two of the systems are
    compared by each criterion on the queries that both have ratings for: with the paired randomisation test
    and the paired t test, both two-sided. Holm's method adjusts the p-values over all rows, so name only the
    systems in question (--system).

    Examples:

    \b
      exam-pp analyze distributions ndcg.tsv --format html -o distributions.html
      exam-pp analyze distributions cover.tsv ndcg.tsv -m nDCG@10
      exam-pp analyze distributions rated-answers.jsonl --grader human:ann \\
        --system gen-long --system gen-short
    """
    from exam_pp.phases.evaluation.judgments import is_passages

    if len(scores) == 1 and is_passages(scores[0]):
        refuse_without("files of scores", "measures", "plot")
        _paired_tests(*scores, confidence=confidence, seed=seed, form=form, output=output, **criteria)
        return
    refuse_without("a graded file", "seed", *criteria)

    result = score_distributions(scores, measures, confidence=confidence)
    if plot is not None:
        emit_figure(distribution_pictures(result), plot, scores)
    emit_report(distributions_report(result, decimals=6 if form == "tsv" else 3), form, output, scores)


def _paired_tests(
    graded: Path,
    *,
    grader: str | None,
    prompt_class: str | None,
    prompt_hash: str | None,
    systems: tuple[str, ...],
    confidence: float,
    seed: int,
    form: str,
    output: Path,
) -> None:
    """The tests of every two systems by criterion."""
    from exam_pp.phases.analysis.paired_criteria import paired_criteria
    from exam_pp.phases.evaluation.citations import AnswerFilter

    selection = AnswerFilter(grader, prompt_class, prompt_hash, systems)
    result = paired_criteria(graded, selection=selection, confidence=confidence, seed=seed)
    emit_report(paired_criteria_report(result), form, output, [graded], result.notes)


_ADJUSTED = "adjusted("


@dataclass(frozen=True)
class SystemDistribution:
    """The scores of a system on the queries.

    ``missing``: The queries of the files without a score; they are in no number. ``interval``: Confidence
    interval of the mean; None without a known range of the measure if there are fewer than 6 scores, or if
    all are equal.
    """

    measure: str
    system: str
    missing: int
    distribution: Distribution
    interval: Interval | None


@dataclass(frozen=True)
class Distributions:
    """Distributions of the scores of several files; the rows of a measure stand together."""

    rows: Sequence[SystemDistribution]
    confidence: float = CONFIDENCE
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)


def score_distributions(
    files: Sequence[PathLike],
    measures: Sequence[str] = (),
    *,
    confidence: float = CONFIDENCE,
) -> Distributions:
    """Describe the distribution of scores over queries, for each measure and system.

    Systems called ``NAME-run-1``, ``NAME-run-2`` and so on in one file are repeats of the system ``NAME``.
    Its score on a query is the mean over the repeats. The measure ``adjusted(M)`` is mean/(1+sd) over the
    repeats, with the population sd. It is high if the scores are high and differ little.

    Source: Open RAG Eval, metrics documentation, sections "Visualization" and "Statistical Analysis".
    """
    from exam_pp.metrics.leaderboard import distribution
    from exam_pp.metrics.uncertainty import mean_interval

    paths = list(dict.fromkeys(map(Path, files)))
    read = {path: _read(path) for path in paths}
    queries = {
        query_id: None
        for path, scores in read.items()
        for query_id in [*(score.query_id for score in scores), *_query_ids(path)]
    }
    repeats = _RepeatCounts()
    columns = _columns({path: list(_merged_repeats(read[path], measures, repeats)) for path in paths})
    known = list(dict.fromkeys(measure for measure, _ in columns))
    if unknown := [measure for measure in measures if measure not in known]:
        raise SelectionError(
            f"No file has the measure {unknown[0]!r} (measures of the files: {listed(known)})."
        )
    rows = [
        SystemDistribution(
            measure,
            system,
            len(queries) - len(values),
            distribution(values),
            mean_interval(values, range_of(measure), confidence),
        )
        for measure in dict.fromkeys(measures or known)
        for (of_measure, system), values in columns.items()
        if of_measure == measure
    ]
    provenance = Provenance(leaderboards=file_names(*paths), queries=len(queries))
    return Distributions(rows, confidence, [*repeats.notes(), *_notes(rows)], provenance)


def _read(path: Path) -> list[Score]:
    """The scores of single queries, without the upper bound."""
    from exam_pp.formats.scores import read_query_scores
    from exam_pp.phases.evaluation.leaderboards import check_range

    scores = [score for score in read_query_scores(path) if score.system != OVERALL_SYSTEM]
    for score in scores:
        check_range(score, range_of(score.metric), str(path))
    if not scores:
        raise SelectionError(
            f"{path} has no scores of single queries; write them with `exam-pp evaluate ... --per-query`."
        )
    return scores


def _query_ids(path: Path) -> Iterator[str]:
    """The queries of a result CSV of Open RAG Eval, which can have rows without scores."""
    from exam_pp.formats.base import known_format
    from exam_pp.formats.open_rag_eval_results import read_result_rows

    form = known_format(path)
    if form is not None and form.name == "open-rag-eval-scores":
        yield from (row.query_id for row in read_result_rows(path))


@dataclass
class _RepeatCounts:
    """System to the numbers of its repeats in all files, and the number of scores that repeats lack."""

    systems: dict[str, set[int]] = field(default_factory=dict)
    absent: int = 0

    def notes(self) -> Iterator[str]:
        for system, numbers in self.systems.items():
            yield f"{system}: the score of a query is the mean over its repeats ({len(numbers)} repeats)."
        if self.absent:
            have = counted(self.absent, "score is", "scores are")
            yield f"{have} missing from a repeat and in no mean."


def _merged_repeats(
    scores: Sequence[Score], measures: Sequence[str], counts: _RepeatCounts
) -> Iterator[Score]:
    """The scores, those of repeats averaged, and the scores adjusted by their consistency.

    Counts are about the selected measures; about all if none is selected.
    """
    from exam_pp.metrics.leaderboard import exact_mean
    from exam_pp.phases.evaluation.consistency import score_consistency
    from exam_pp.roles import repeat_of

    repeats = _repeats({score.system for score in scores})
    for system, numbers in repeats.items():
        counts.systems.setdefault(system, set()).update(numbers)
    table: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    for score in scores:
        system, repeat = repeat_of(score.system)
        numbers = repeats.get(system, [])
        if repeat is None or repeat not in numbers:
            yield score
            continue
        of_query = table.setdefault(score.metric, {}).setdefault(system, {})
        of_query.setdefault(score.query_id, [None] * len(numbers))[numbers.index(repeat)] = score.value
    for metric, of_system in table.items():
        for system, by_query in of_system.items():
            for query_id, values in by_query.items():
                present = [value for value in values if value is not None]
                if not measures or {metric, f"{_ADJUSTED}{metric})"} & set(measures):
                    counts.absent += len(values) - len(present)
                yield Score(system, query_id, metric, exact_mean(present))
    yield from (score for score in score_consistency(table).scores if score.metric.startswith(_ADJUSTED))


def _repeats(systems: Iterable[str]) -> dict[str, list[int]]:
    """System to the numbers of its repeats, if it has several and its name is not that of another system."""
    from exam_pp.roles import repeat_of

    systems = sorted(systems)
    found: dict[str, list[int]] = {}
    for name in systems:
        system, repeat = repeat_of(name)
        if repeat is not None:
            found.setdefault(system, []).append(repeat)
    return {
        system: sorted(numbers)
        for system, numbers in found.items()
        if len(numbers) > 1 and system not in systems
    }


def _columns(tables: Mapping[Path, Sequence[Score]]) -> dict[tuple[str, str], list[float]]:
    """Measure and system to the scores; a system of several files has the name of the file, too."""
    stems = Counter(path.stem for path in tables)
    keys = Counter(key for scores in tables.values() for key in {(s.metric, s.system) for s in scores})
    columns: dict[tuple[str, str], list[float]] = {}
    for path, scores in tables.items():
        source = path.stem if stems[path.stem] == 1 else str(path)
        for score in scores:
            key = (score.metric, score.system)
            name = score.system if keys[key] == 1 else f"{source}: {score.system}"
            columns.setdefault((score.metric, name), []).append(score.value)
    return columns


def _notes(rows: Sequence[SystemDistribution]) -> Iterator[str]:
    from exam_pp.metrics.uncertainty import FEWEST_FOR_T

    missing = {row.system: None for row in rows if row.missing}
    if missing:
        total = sum(row.missing for row in rows)
        systems = counted_names(list(missing), "system", "systems")
        yield (
            f"{counted(total, 'score is', 'scores are')} missing, of {systems}: not counted as 0, but in no "
            "number."
        )
    names = dict.fromkeys(row.measure for row in rows)
    if unknown := [name for name in names if range_of(name) is None]:
        yield (
            f"{listed(unknown)}: intervals are Student's, which assume normal scores, because the range of "
            f"the measure is unknown; none for fewer than {FEWEST_FOR_T} queries or equal scores."
        )


COLUMNS = (
    "measure", "system", "queries", "missing", "mean", "low", "high", "lowest", "lower quartile", "median",
    "upper quartile", "highest",
)  # fmt: skip


def distributions_report(result: Distributions, *, decimals: int = 3) -> Report:
    """A table with a row for each measure and system, and a picture of each measure for HTML."""
    from exam_pp.metrics.uncertainty import GAFFKE

    table = Table(COLUMNS, [_cells(row) for row in result.rows], decimals=decimals)
    notes = [
        f"low and high: {_interval(result)} of the mean, by {GAFFKE}, if the range of the measure is known.",
        *result.notes,
    ]
    return Report(
        "Distributions of scores",
        [table, *distribution_pictures(result), *map(Paragraph, notes)],
        result.provenance,
    )


def distribution_pictures(result: Distributions) -> list[Picture]:
    """A box plot of each measure; bars of the means for the share of questions answered."""
    return [
        share_bars(_boxes(rows), "share of questions", "Questions answered", _interval(result))
        if measure == ANSWERED
        else box_plot(_boxes(rows), measure, f"Distribution of {measure}", _interval(result))
        for measure, rows in groupby(result.rows, lambda row: row.measure)
    ]


def _boxes(rows: Iterable[SystemDistribution]) -> list[Box]:
    """The rows as boxes of a picture."""
    return [
        Box(
            row.system,
            row.distribution.mean,
            row.interval and row.interval.low,
            row.interval and row.interval.high,
            (row.distribution.lower_quartile, row.distribution.median, row.distribution.upper_quartile),
            row.distribution.whiskers,
            row.distribution.outliers,
        )
        for row in rows
    ]


def _interval(result: Distributions) -> str:
    return f"{100 * result.confidence:.4g} % intervals"


def _cells(row: SystemDistribution) -> list[Cell]:
    numbers, (low, high) = row.distribution, row.interval or (None, None)
    return [
        row.measure, row.system, numbers.count, row.missing, numbers.mean, low, high, numbers.low,
        numbers.lower_quartile, numbers.median, numbers.upper_quartile, numbers.high,
    ]  # fmt: skip


def paired_criteria_report(result: PairedCriteria) -> Report:
    """A row for each pair of systems and criterion; significant differences are bold and have a star."""
    from exam_pp.metrics.uncertainty import GAFFKE

    columns = [
        "criterion", "system", "other system", "queries", "mean", "other mean", "difference", "interval",
        "interval of the test", "t",
        "p (t test)", "p (t test, Holm)", "p", "p (Holm)", "significant",
    ]  # fmt: skip
    table = Table(
        columns,
        [_test_cells(row, is_significant=result.is_significant(row)) for row in result.rows],
        title="Every two systems by criterion",
        bold={(number, 6) for number, row in enumerate(result.rows) if result.is_significant(row)},
        significant=[10, 11, 12, 13],
    )
    explanation = (
        f"Ratings by {result.grader}. Difference: system − other system, with its "
        f"{100 * result.confidence:.4g} % interval ({GAFFKE}), and that of the test, which holds if all "
        "queries behave like these. p: two-sided paired randomisation test; Holm: "
        f"adjusted over all rows. A star marks differences with an adjusted p of at most "
        f"{1 - result.confidence:.2g}. The t test is two-sided and paired; it assumes normal differences."
    )
    return Report(
        "Paired tests by criterion", [table, *map(Paragraph, [explanation, *result.notes])], result.provenance
    )


def _test_cells(row: CriterionTest, *, is_significant: bool) -> list[Cell]:
    from exam_pp.reports.analysis.correlation import formatted_interval

    tests = row.tests
    return [
        row.criterion, row.first, row.second, tests.queries, tests.first, tests.second, tests.difference,
        formatted_interval(tests.interval, 3) or None, formatted_interval(tests.test_interval, 3), tests.t,
        tests.t_p_value, row.t_adjusted,
        tests.p_value, row.adjusted, "*" if is_significant else "",
    ]  # fmt: skip
