"""The folder of `exam-pp evaluate report`: leaderboards, correlations, agreement, figures, index page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.correlation import ranks_of
from exam_pp.phases.analysis.agreement import agreement, graders, rated_passages
from exam_pp.phases.analysis.correlation import OfficialRanks, correlation, read_official
from exam_pp.phases.analysis.response_lengths import compare_lengths, response_lengths
from exam_pp.phases.analysis.sweep import sweep
from exam_pp.phases.evaluation import rubric as evaluate
from exam_pp.phases.evaluation.judgments import judgment_provenance, judgments
from exam_pp.phases.evaluation.leaderboards import leaderboard
from exam_pp.phases.evaluation.result import Evaluation, PathLike
from exam_pp.phases.evaluation.score_runs import score_runs
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, read_selected
from exam_pp.phases.evaluation.uncertainty import Statistics
from exam_pp.provenance import with_threshold
from exam_pp.rendering.document import Block, Heading, Image, Link, Paragraph, Report
from exam_pp.rendering.plots import Drawing, png
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.agreement import agreement_report, graders_figure, graders_report
from exam_pp.reports.analysis.correlation import correlation_report, rank_figure
from exam_pp.reports.analysis.response_lengths import length_figure, length_report
from exam_pp.reports.analysis.side_by_side import compared_figure
from exam_pp.reports.analysis.sweep import sweep_figure, sweep_report
from exam_pp.reports.evaluation.leaderboards import (
    SCRIPT_DECIMALS,
    leaderboard_figure,
    leaderboard_report,
    per_query_report,
)
from exam_pp.reports.evaluation.score_layouts import official_json
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.files import atomic_output, folder_output, is_read_once, write_text
from exam_pp.store.trec.runs import method_of, run_files, write_qrels

Means = dict[str, dict[str, float]]
"""Metric to system to mean score."""


@dataclass(frozen=True)
class Sources:
    """Inputs and settings of an evaluation; only the graded file is required."""

    graded: PathLike
    bank: PathLike | None = None
    runs: PathLike | Sequence[PathLike] | None = None
    official: PathLike | None = None
    qrels: PathLike | None = None
    grade_filter: GradeFilter = field(default_factory=GradeFilter)
    measures: Sequence[str] = ("nDCG@10", "RR")
    min_grade: int | None = None
    min_relevant: int = 1
    cutoff: int = 20


@dataclass
class _Folder:
    """Writes files into the folder and collects the blocks of the index page."""

    path: Path
    blocks: list[Block] = field(default_factory=list)

    def text(self, name: str, text: str, about: str) -> None:
        write_text(self.path / name, text)
        self.blocks.append(Link(f"{name}: {about}", name))

    def figure(self, name: str, drawing: Drawing, caption: str) -> None:
        data = png(drawing)
        with atomic_output(self.path / name) as stream:
            stream.write(data)
        self.blocks += [Image(data, caption), Link(name, name)]

    def leaderboard(self, name: str, evaluation: Evaluation, title: str, statistics: Statistics) -> Means:
        """Write heading, table, figure and files of a leaderboard; returns its means."""
        self.blocks.append(Heading(title))
        ranking = leaderboard(evaluation, statistics)
        self.blocks += leaderboard_report(ranking, title).content
        drawing = leaderboard_figure(leaderboard(evaluation, statistics.intervals_only))
        self.figure(f"{name}.png", drawing, f"{title}, 95 % intervals")
        for_scripts = leaderboard_report(ranking, title, formatted=False)
        self.text(f"{name}.tsv", render(for_scripts, "tsv"), "the leaderboard")
        per_query = render(per_query_report(evaluation, title), "tsv")
        self.text(f"{name}-per-query.tsv", per_query, "scores of each query")
        means: Means = {}
        for row in ranking.rows.values():
            if row.system != OVERALL_SYSTEM:
                means.setdefault(row.metric, {})[row.system] = row.mean
        return means


def write_evaluation(sources: Sources, folder: PathLike, statistics: Statistics | None = None) -> Path:
    """Write leaderboards, correlations, agreement and figures; returns the path of the index page.

    Sections whose inputs are missing are left out: Rubric-Qrels and manual judgments need runs, agreement
    needs judgments, correlations need official ranks (a file, or the ranks by the first measure on judgments
    and runs). A missing folder is created. Files of the same names are replaced at the end, all at once.
    Raises :class:`~exam_pp.errors.ExamError` for invalid inputs.
    """
    inputs = [s for s in (sources.graded, sources.bank, sources.official, sources.qrels) if s is not None]
    for source in filter(is_read_once, inputs):
        raise SelectionError(f"'{source}' is a stream, but it is read several times. Name a file.")
    with folder_output(folder, inputs) as work:
        report = _evaluation(sources, _Folder(work), statistics)
        write_text(work / "index.html", render(report, "html"))
    return Path(folder) / "index.html"


def _evaluation(sources: Sources, out: _Folder, statistics: Statistics | None) -> Report:
    """Write all files except the index page, and return the index page as a report."""
    statistics = statistics or Statistics("nested", significance=True)
    grades = read_selected(sources.graded, sources.bank, sources.grade_filter, sources.min_grade, None)
    official = read_official(sources.official) if sources.official is not None else None
    if official is not None:
        _check_systems(official, sources, grades)
    leaderboards = {"cover": _cover(out, sources, grades, statistics)}
    if sources.runs is not None:
        over_queries = Statistics("queries", True, statistics.confidence, statistics.samples, statistics.seed)
        leaderboards["rubric-qrels"] = _rubric_qrels(out, sources, grades, over_queries)
        if official is None:
            official = _judgments(out, sources, over_queries)
    if official is not None:
        _correlations(out, sources, official, leaderboards, statistics)
    _agreement(out, sources, statistics)
    return Report(f"Evaluation of {Path(sources.graded).name}", out.blocks)


def _check_systems(official: OfficialRanks, sources: Sources, grades: SelectedGrades) -> None:
    """Raise SelectionError if no system has both an official rank and scores."""
    runs = run_files(sources.runs) if sources.runs is not None else []
    systems = {*grades.file.first_ranks, *map(method_of, runs)}
    if systems and not systems & official.ranks.keys():
        raise SelectionError(
            f"{official.source} and the graded file or runs have no system in common. Check that they use "
            "the same names of systems."
        )


def _cover(out: _Folder, sources: Sources, grades: SelectedGrades, statistics: Statistics) -> Means:
    evaluation = evaluate.cover_of(grades, cutoff=sources.cutoff)
    means = out.leaderboard("cover", evaluation, "Rubric-Cover", statistics)
    lengths = response_lengths(sources.graded, cutoff=sources.cutoff)
    if len(lengths) > 1:
        result = compare_lengths(evaluation, lengths)
        report = length_report(result)
        out.blocks += [Heading(report.title, level=2), *report.content]
        out.figure("length.png", length_figure(result), "Rubric-Cover against response length")
        for_scripts = length_report(result, decimals=SCRIPT_DECIMALS)
        out.text("length.tsv", render(for_scripts, "tsv"), "response lengths and scores")
    return means


def _rubric_qrels(out: _Folder, sources: Sources, grades: SelectedGrades, statistics: Statistics) -> Means:
    assert sources.runs is not None
    labels = evaluate.qrels_of(grades)
    evaluation = score_runs(
        labels.qrels,
        sources.runs,
        sources.measures,
        min_grade=sources.min_grade,
        default_min_grade=labels.level,
        ungraded=labels.ungraded,
    )
    evaluation.notes[:0] = labels.notes
    evaluation.provenance = with_threshold(labels.provenance, sources.min_grade)
    means = out.leaderboard("rubric-qrels", evaluation, "Rubric-Qrels", statistics)
    write_qrels(labels.qrels, out.path / "rubric.qrels")
    out.blocks.append(Link("rubric.qrels: the labels, for trec_eval", "rubric.qrels"))
    return means


def _judgments(out: _Folder, sources: Sources, statistics: Statistics) -> OfficialRanks | None:
    """Write the leaderboard of manual judgments and return its ranks by the first measure.

    Returns None without judgments.
    """
    assert sources.runs is not None
    try:
        judged = judgments(sources.qrels or sources.graded)
    except SelectionError:
        return None
    evaluation = score_runs(judged, sources.runs, sources.measures, min_grade=sources.min_relevant)
    source = sources.qrels or sources.graded
    evaluation.provenance = judgment_provenance(source, evaluation, sources.min_relevant)
    means = out.leaderboard("judgments", evaluation, "Manual judgments", statistics)
    first = evaluation.scores[0].metric
    ranked = Evaluation([score for score in evaluation.scores if score.metric == first])
    out.text("official.json", official_json(ranked), f"ranks by {first} on the manual judgments")
    return OfficialRanks("official.json", ranks_of(means[first]))


def _correlations(
    out: _Folder,
    sources: Sources,
    official: OfficialRanks,
    leaderboards: Mapping[str, Means],
    statistics: Statistics,
) -> None:
    out.blocks.append(Heading("Correlation with the official leaderboard"))
    ranks = official.ranks
    for name, means in leaderboards.items():
        try:
            result = correlation(
                f"{name}-per-query.tsv",
                official,
                scores=means,
                intervals="systems",
                samples=statistics.samples,
                seed=statistics.seed,
            )
        except SelectionError as error:
            out.blocks.append(Paragraph(str(error)))
            continue
        out.blocks += correlation_report(result, decimals=3).content
        for_scripts = correlation_report(result, decimals=SCRIPT_DECIMALS)
        out.text(f"{name}-correlation.tsv", render(for_scripts, "tsv"), "the same table for scripts")
    by_name = {
        f"{name}: {metric}": scores
        for name, means in leaderboards.items()
        for metric, scores in means.items()
        if scores.keys() & ranks.keys()
    }
    for name, scores in by_name.items():
        short = name.replace(": ", "-").translate({ord(c): "_" for c in "()=@,/ "})
        out.figure(
            f"ranks-{short}.png", rank_figure(scores, ranks, name), f"{name} against the official ranks"
        )
    if len(by_name) > 1:
        order = sorted(ranks, key=lambda system: (ranks[system], system))
        out.figure("compared.png", compared_figure(by_name, order), "Leaderboards, min–max scaled")
    try:
        swept = sweep(
            sources.graded,
            official,
            runs=sources.runs,
            bank=sources.bank,
            grade_filter=sources.grade_filter,
            measures=sources.measures,
            cutoff=sources.cutoff,
        )
    except SelectionError:
        return
    swept = replace(swept, notes=())  # the same notes stand below Rubric-Cover
    report = sweep_report(swept)
    out.blocks += [Heading(report.title, level=2), *report.content]
    with suppress(SelectionError):  # raised if no measure has a threshold
        out.figure("sweep.png", sweep_figure(swept), "Kendall's tau-b over thresholds")
    for_scripts = sweep_report(swept, decimals=SCRIPT_DECIMALS)
    out.text("sweep.tsv", render(for_scripts, "tsv"), "the same table for scripts")


def _agreement(out: _Folder, sources: Sources, statistics: Statistics) -> None:
    try:
        passages = rated_passages(
            sources.graded, qrels=sources.qrels, bank=sources.bank, grade_filter=sources.grade_filter
        )
    except SelectionError:
        return
    report = agreement_report(
        agreement(passages, min_relevant=sources.min_relevant, min_answers=(1, 2, 5), seed=statistics.seed)
    )
    out.blocks += [Heading(report.title), *report.content]
    out.text("agreement.tsv", render(report, "tsv"), "the tables")
    out.text("agreement.tex", render(report, "latex"), "the tables for a paper")
    try:
        compared = graders(sources.graded, bank=sources.bank)
    except SelectionError:
        return
    report = graders_report(compared)
    out.blocks += [Heading(report.title), *report.content]
    out.figure("graders.png", graders_figure(compared), "Weighted κ of every two graders")
    out.text("graders.tsv", render(report, "tsv"), "the same table for scripts")
