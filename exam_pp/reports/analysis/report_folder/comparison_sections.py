"""Sections of `exam-pp evaluate report` that compare: official ranks, judgments, graders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exam_pp.errors import SelectionError
from exam_pp.phases.analysis.agreement import agreement, rated_passages
from exam_pp.phases.analysis.correlation import Correlations, OfficialRanks, correlation
from exam_pp.phases.analysis.graders import graders
from exam_pp.phases.analysis.sweep import sweep
from exam_pp.rendering.document import Heading
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.agreement import agreement_report
from exam_pp.reports.analysis.correlation import correlation_report
from exam_pp.reports.analysis.graders import graders_report
from exam_pp.reports.analysis.report_folder.folder import ReportFolder, titled
from exam_pp.reports.analysis.report_folder.inputs import Inputs, suffix_of
from exam_pp.reports.analysis.report_folder.summary import Leaderboard
from exam_pp.reports.analysis.sweep import sweep_report
from exam_pp.reports.evaluation.leaderboards import SCRIPT_DECIMALS


def official_correlations(
    inputs: Inputs, folder: ReportFolder, leaderboards: Sequence[Leaderboard], official: OfficialRanks | None
) -> dict[str, Correlations]:
    """Write the correlations of all leaderboards; returns title to correlation."""
    section = "Correlation with the official leaderboard"
    if official is None:
        folder.skip(section, "no official ranks", "--official")
        return {}
    results: dict[str, Correlations] = {}
    for board in leaderboards:
        if board.stem == "judgments" and inputs.sources.official is None:
            continue
        try:
            result = correlation(
                f"{board.stem}-per-query.tsv",
                official,
                scores=board.means,
                intervals="systems",
                samples=inputs.statistics.samples,
                seed=inputs.statistics.seed,
            )
        except SelectionError as error:
            folder.skip(f"Correlation of {board.title}", str(error), "official ranks of these systems")
            continue
        results[board.title] = result
        folder.section(section)
        _write_correlation(folder, board, result)
    return results


def _write_correlation(folder: ReportFolder, board: Leaderboard, result: Correlations) -> None:
    folder.add([Heading(board.title, level=2), *correlation_report(result, decimals=3).content])
    for_scripts = correlation_report(result, decimals=SCRIPT_DECIMALS)
    folder.table(f"{board.stem}-correlation.tsv", for_scripts, "the same table for scripts")


def correlations_by_setting(inputs: Inputs, folder: ReportFolder, official: OfficialRanks | None) -> None:
    """Write the correlation with official ranks by prompt, threshold and measure, for each bank."""
    title = "Correlation by setting"
    if official is None:
        folder.skip(title, "no official ranks", "--official")
        return
    sources = inputs.sources
    for bank, name, criteria in inputs.banks():
        try:
            swept = sweep(
                sources.graded,
                official,
                runs=sources.runs or None,
                bank=bank,
                grade_filter=criteria,
                measures=sources.measures,
                cutoff=sources.cutoff,
                method=sources.method,
            )
        except SelectionError as error:
            folder.skip(titled(title, name), str(error), "official ranks of these systems")
            continue
        suffix = suffix_of(name) if name else ""
        swept = replace(swept, notes=())  # the same notes stand below Rubric-Cover
        folder.section(title)
        folder.add([Heading(name, level=2)] if name else [])
        folder.add(sweep_report(swept).content)
        for_scripts = sweep_report(swept, decimals=SCRIPT_DECIMALS)
        folder.table(f"sweep{suffix}.tsv", for_scripts, "the same table for scripts")


def agreement_with_judgments(inputs: Inputs, folder: ReportFolder) -> None:
    """Write the agreement of all ratings with manual judgments."""
    sources = inputs.sources
    title = "Agreement with judgments"
    if not inputs.has_judgments:
        folder.skip(title, "the graded file has no judgments", "--qrels")
        return
    for grade_set in inputs.rated:
        try:
            passages = rated_passages(
                sources.graded,
                qrels=sources.qrels,
                bank=grade_set.bank,
                grade_filter=grade_set.grade_filter,
            )
        except SelectionError as error:
            folder.skip(titled(title, grade_set.name), str(error), "judgments of graded passages")
            continue
        most = max(len(passage.ratings) for passage in passages)
        ranks = [rank for rank in (1, 2, 5) if rank <= most]  # direct grades are one per passage
        result = agreement(
            passages, min_relevant=sources.min_relevant, min_answers=ranks, seed=inputs.statistics.seed
        )
        folder.section(title, grade_set)
        report = agreement_report(result)
        folder.add(report.content)
        folder.table(f"agreement{grade_set.suffix}.tsv", report, "the tables")
        folder.text(f"agreement{grade_set.suffix}.tex", render(report, "latex"), "the tables for a paper")


def agreement_of_graders(inputs: Inputs, folder: ReportFolder) -> None:
    """Write the agreement of every two graders."""
    title = "Agreement of graders"
    banks = {grade_set.bank for grade_set in inputs.sets}
    try:
        compared = graders(inputs.sources.graded, bank=banks.pop() if len(banks) == 1 else None)
    except SelectionError as error:
        folder.skip(title, str(error), "grades of another grader")
        return
    folder.section(title)
    report = graders_report(compared)
    folder.add(report.content)
    folder.table("graders.tsv", report, "the same table for scripts")
