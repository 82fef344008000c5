"""Distributions of scores over queries: means, medians, quartiles and intervals of every system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.formats.base import known_format
from exam_pp.formats.scores import read_query_scores
from exam_pp.metrics.leaderboard import distribution, exact_mean
from exam_pp.metrics.measures import MeasureName
from exam_pp.metrics.uncertainty import FEWEST_FOR_T, GAFFKE, check_range, mean_interval
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.plugins.rag_metrics.consistency import score_consistency
from exam_pp.plugins.rag_metrics.open_rag_eval import read_result_rows
from exam_pp.plugins.rag_metrics.pictures import Box, box_plot, share_bars
from exam_pp.provenance import Provenance, file_names
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.results import ANSWERED, OVERALL_SYSTEM, Score
from exam_pp.roles import repeat_of
from exam_pp.text.wording import counted, listed

_ADJUSTED = "adjusted("

COLUMNS = (
    "measure", "system", "queries", "missing", "mean", "low", "high", "lowest", "lower quartile", "median",
    "upper quartile", "highest",
)  # fmt: skip


def distributions_report(
    files: Sequence[PathLike],
    measures: Sequence[str] = (),
    *,
    confidence: float = CONFIDENCE,
    decimals: int = 3,
) -> Report:
    """A table with a row for each measure and system, and a picture of each measure for HTML.

    Systems called ``NAME-run-1``, ``NAME-run-2`` and so on in one file are repeats of the system ``NAME``.
    Its score on a query is the mean over the repeats. The measure ``adjusted(M)`` is mean/(1+sd) over the
    repeats, with the population sd. It is high if the scores are high and differ little. Queries of the files
    without a score of the system are missing; they are in no number.

    Source: Open RAG Eval, metrics documentation, sections "Visualization" and "Statistical Analysis".
    """
    paths = list(dict.fromkeys(map(Path, files)))
    read = {path: _read(path) for path in paths}
    queries = {
        query_id: None
        for path, scores in read.items()
        for query_id in [*(score.query_id for score in scores), *_query_ids(path)]
    }
    repeats = {path: _repeats(scores) for path, scores in read.items()}
    merged = {path: _merged(scores, repeats[path], measures) for path, scores in read.items()}
    columns = _columns({path: scores for path, (scores, _) in merged.items()})
    known = list(dict.fromkeys(measure for measure, _ in columns))
    if unknown := [measure for measure in measures if measure not in known]:
        raise SelectionError(
            f"No file has the measure {unknown[0]!r} (measures of the files: {listed(known)})."
        )
    interval = f"{100 * confidence:.4g} % intervals"
    rows: list[list[Cell]] = []
    pictures = []
    missing: Counter[str] = Counter()
    shown = list(dict.fromkeys(measures or known))
    for measure in shown:
        boxes = []
        for system, values in ((system, values) for (of, system), values in columns.items() if of == measure):
            found, lacking = distribution(values), len(queries) - len(values)
            low, high = mean_interval(values, MeasureName(measure).range, confidence) or (None, None)
            missing += Counter({system: lacking})
            quartiles = found.lower_quartile, found.median, found.upper_quartile
            rows.append([
                measure, system, found.count, lacking, found.mean, low, high, found.low, *quartiles,
                found.high,
            ])  # fmt: skip
            boxes.append(Box(system, found.mean, low, high, quartiles, found.whiskers, found.outliers))
        pictures.append(
            share_bars(boxes, "share of questions", "Questions answered", interval)
            if measure == ANSWERED
            else box_plot(boxes, measure, f"Distribution of {measure}", interval)
        )
    notes = [f"low and high: {interval} of the mean, by {GAFFKE}, if the range of the measure is known."]
    numbers: dict[str, set[int]] = {}
    for of_file in repeats.values():
        for system, of_system in of_file.items():
            numbers.setdefault(system, set()).update(of_system)
    notes += [
        f"{system}: the score of a query is the mean over its repeats ({len(of_system)} repeats)."
        for system, of_system in numbers.items()
    ]
    if absent := sum(number for _, number in merged.values()):
        have = counted(absent, "score is", "scores are")
        notes.append(f"{have} missing from a repeat and in no mean.")
    if missing:
        systems = counted_names(list(missing), "system", "systems")
        have = counted(missing.total(), "score is", "scores are")
        notes.append(f"{have} missing, of {systems}: not counted as 0, but in no number.")
    if without_range := [measure for measure in shown if MeasureName(measure).range is None]:
        notes.append(
            f"{listed(without_range)}: intervals are Student's, which assume normal scores, because the "
            f"range of the measure is unknown; none for fewer than {FEWEST_FOR_T} queries or equal scores."
        )
    return Report(
        "Distributions of scores",
        [Table(COLUMNS, rows, decimals=decimals), *pictures, *map(Paragraph, notes)],
        Provenance(leaderboards=file_names(*paths), queries=len(queries)),
    )


def _read(path: Path) -> list[Score]:
    """The scores of single queries, without the upper bound."""
    scores = [score for score in read_query_scores(path) if score.system != OVERALL_SYSTEM]
    for score in scores:
        check_range(score, MeasureName(score.metric).range, str(path))
    if not scores:
        raise SelectionError(
            f"{path} has no scores of single queries; write them with `exam-pp evaluate ... --per-query`."
        )
    return scores


def _query_ids(path: Path) -> Iterator[str]:
    """The queries of a result CSV of Open RAG Eval, which can have rows without scores."""
    form = known_format(path)
    if form is not None and form.name == "open-rag-eval-scores":
        yield from (row.query_id for row in read_result_rows(path))


def _repeats(scores: Sequence[Score]) -> dict[str, list[int]]:
    """System to the numbers of its repeats, if it has several and its name is not that of another system."""
    systems = sorted({score.system for score in scores})
    found: dict[str, list[int]] = {}
    for system, repeat in map(repeat_of, systems):
        if repeat is not None:
            found.setdefault(system, []).append(repeat)
    return {
        system: sorted(numbers)
        for system, numbers in found.items()
        if len(numbers) > 1 and system not in systems
    }


def _merged(
    scores: Sequence[Score], repeats: Mapping[str, list[int]], measures: Sequence[str]
) -> tuple[list[Score], int]:
    """The scores, those of repeats averaged, and the scores adjusted by their consistency.

    The number is that of the scores that repeats lack, of the selected measures; of all if none is selected.
    """
    merged: list[Score] = []
    absent = 0
    table: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    for score in scores:
        system, repeat = repeat_of(score.system)
        numbers = repeats.get(system, [])
        if repeat is None or repeat not in numbers:
            merged.append(score)
            continue
        of_query = table.setdefault(score.metric, {}).setdefault(system, {})
        of_query.setdefault(score.query_id, [None] * len(numbers))[numbers.index(repeat)] = score.value
    for metric, of_system in table.items():
        for system, by_query in of_system.items():
            for query_id, values in by_query.items():
                present = [value for value in values if value is not None]
                if not measures or {metric, f"{_ADJUSTED}{metric})"} & set(measures):
                    absent += len(values) - len(present)
                merged.append(Score(system, query_id, metric, exact_mean(present)))
    merged += (score for score in score_consistency(table).scores if score.metric.startswith(_ADJUSTED))
    return merged, absent


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
