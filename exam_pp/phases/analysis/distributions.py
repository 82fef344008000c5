"""Distributions of the scores of systems over queries, from several files of scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.formats.base import known_format
from exam_pp.formats.open_rag_eval_results import read_result_rows
from exam_pp.formats.scores import read_query_scores
from exam_pp.metrics.distribution import Distribution, distribution
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.metrics.score_ranges import range_of
from exam_pp.metrics.uncertainty import FEWEST_FOR_T, Interval, mean_interval
from exam_pp.phases.evaluation.repeats import score_consistency
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.phases.evaluation.uncertainty import check_range
from exam_pp.provenance import Provenance, file_names
from exam_pp.results import OVERALL_SYSTEM, Score
from exam_pp.roles import repeat_of
from exam_pp.store.files import is_read_once
from exam_pp.wording import counted, listed

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
    """Distributions of the scores of several files."""

    rows: Sequence[SystemDistribution]
    confidence: float = CONFIDENCE
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def measures(self) -> dict[str, list[SystemDistribution]]:
        """Measure to its rows."""
        by_measure: dict[str, list[SystemDistribution]] = {}
        for row in self.rows:
            by_measure.setdefault(row.measure, []).append(row)
        return by_measure


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
    form = None if is_read_once(path) else known_format(path)
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
