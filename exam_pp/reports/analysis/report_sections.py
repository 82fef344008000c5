"""Sections of `exam-pp evaluate report`: leaderboards, correlations, agreement and sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from exam_pp.errors import SelectionError
from exam_pp.metrics.correlation import ranks_of
from exam_pp.phases.analysis.agreement import agreement, rated_passages
from exam_pp.phases.analysis.correlation import Correlations, OfficialRanks, correlation
from exam_pp.phases.analysis.graders import graders
from exam_pp.phases.analysis.sweep import sweep
from exam_pp.phases.evaluation import rubric as evaluate
from exam_pp.phases.evaluation.judgments import judgment_provenance, judgments
from exam_pp.phases.evaluation.leaderboards import Standings, Statistics, leaderboard
from exam_pp.phases.evaluation.nugget_leaderboard import ScoringRules, nugget_leaderboard, read_conditions
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs
from exam_pp.provenance import with_thresholds
from exam_pp.rendering.document import Heading
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.agreement import agreement_report, graders_report
from exam_pp.reports.analysis.correlation import correlation_report, sweep_report
from exam_pp.reports.analysis.report_folder import GradeSet, Inputs, ReportFolder, suffix_of, titled
from exam_pp.reports.analysis.report_summary import Leaderboard
from exam_pp.reports.evaluation.leaderboards import (
    SCRIPT_DECIMALS,
    leaderboard_report,
    official_json,
    per_query_report,
)
from exam_pp.reports.evaluation.nugget_leaderboard import nugget_report
from exam_pp.results import Qrel
from exam_pp.store.trec.runs import write_qrels


class LeaderboardSections:
    """Writes leaderboards; ``leaderboards`` are those of all sections so far."""

    def __init__(self, inputs: Inputs, folder: ReportFolder) -> None:
        self.leaderboards: list[Leaderboard] = []
        self._inputs = inputs
        self._folder = folder

    def rubric_cover(self) -> dict[GradeSet, Evaluation]:
        """Write Rubric-Cover by the grades of questions and nuggets; returns its scores."""
        inputs, folder = self._inputs, self._folder
        covered = {}
        for grade_set in inputs.of_kind("question", "nugget"):
            title = folder.section("Rubric-Cover", grade_set)
            evaluation = evaluate.cover_of(inputs.read(grade_set), cutoff=inputs.sources.cutoff)
            self._write(title, f"cover{grade_set.suffix}", evaluation, inputs.statistics)
            covered[grade_set] = evaluation
        if not covered:
            folder.skip("Rubric-Cover", "no grades of questions or nuggets are selected", "exam-pp grade")
        return covered

    def rubric_qrels(self) -> None:
        """Write Rubric-Qrels by all ratings, and their labels."""
        inputs, folder = self._inputs, self._folder
        if not inputs.has_rankings:
            folder.skip("Rubric-Qrels", "no runs, and the graded file has no rankings", "--runs")
            return
        if not inputs.rated:
            folder.skip("Rubric-Qrels", "no ratings are selected", "exam-pp grade")
        for grade_set in inputs.rated:
            title = folder.section("Rubric-Qrels", grade_set)
            grades = inputs.read(grade_set)
            labels = evaluate.qrels_of(grades)
            evaluation = self._scored(
                labels.qrels,
                min_grade=None if inputs.sources.min_grade is None else grades.min_grade,
                default_min_grade=labels.level,
                ungraded=labels.ungraded,
            )
            evaluation.notes[:0] = labels.notes
            evaluation.provenance = with_thresholds(labels.provenance, evaluation.provenance)
            self._write(title, f"rubric-qrels{grade_set.suffix}", evaluation, inputs.over_queries)
            name = f"rubric{grade_set.suffix}.qrels"
            write_qrels(labels.qrels, folder.path / name)
            folder.link(name, "the labels, for trec_eval")

    def nugget_scores(self) -> None:
        """Write the nugget scores by all nugget assignments."""
        inputs, folder = self._inputs, self._folder
        assigned = inputs.of_kind("assignment")
        if not assigned:
            graders = inputs.contents.graders.values()
            if any(grader.kind == "assignment" and grader.selected for grader in graders):
                reason, to_add = "nugget assignments have no bank", "--bank with the nuggets"
            else:
                reason = "no nugget assignments are selected"
                to_add = "exam-pp grade with an assignment prompt"
            folder.skip("Nugget scores", reason, to_add)
        for grade_set in assigned:
            assert grade_set.bank is not None
            (condition,) = read_conditions(
                [inputs.sources.graded],
                [grade_set.bank],
                grade_filter=grade_set.grade_filter,
                rules=ScoringRules(role=inputs.sources.role),
            )
            title = folder.section("Nugget scores", grade_set)
            scores = nugget_leaderboard([condition], statistics=inputs.over_queries)
            standings = scores.conditions[0][1]
            folder.add(nugget_report(scores).content)
            stem = f"nuggets{grade_set.suffix}"
            folder.table(f"{stem}.tsv", nugget_report(scores, formatted=False), "the leaderboard")
            self._keep(title, stem, standings, condition.evaluation)

    def manual_judgments(self) -> OfficialRanks | None:
        """Write the leaderboard of manual judgments; returns its ranks by the first measure.

        Returns None without judgments.
        """
        inputs, folder = self._inputs, self._folder
        if not inputs.has_judgments:
            folder.skip("Manual judgments", "the graded file has no judgments", "--qrels")
            return None
        if not inputs.has_rankings:
            folder.skip("Manual judgments", "no runs, and the graded file has no rankings", "--runs")
            return None
        source = inputs.sources.qrels or inputs.sources.graded
        labels = judgments(inputs.sources.qrels or inputs.study)
        evaluation = self._scored(labels, min_grade=inputs.sources.min_relevant)
        evaluation.provenance = judgment_provenance(source, evaluation)
        self._write(folder.section("Manual judgments"), "judgments", evaluation, inputs.over_queries)
        first = evaluation.scores[0].metric
        ranked = Evaluation([score for score in evaluation.scores if score.metric == first])
        folder.text("official.json", official_json(ranked), f"ranks by {first} on the manual judgments")
        return OfficialRanks("official.json", ranks_of(self.leaderboards[-1].means[first]))

    def _scored(self, labels: Sequence[Qrel], **options: Any) -> Evaluation:
        """Scores of the runs by labels; without runs, of the rankings in the graded file."""
        sources, study = self._inputs.sources, self._inputs.study
        if not sources.runs:
            return score_rankings(labels, study, sources.measures, role=sources.role, **options)
        return score_runs(labels, sources.runs, sources.measures, method=sources.method, **options)

    def _write(self, title: str, stem: str, evaluation: Evaluation, statistics: Statistics) -> None:
        """Add the table and the pictures of a leaderboard, and write its files."""
        standings = leaderboard(evaluation, statistics)
        self._folder.add(leaderboard_report(standings, title).content)
        for_scripts = leaderboard_report(standings, title, audience="scripts")
        self._folder.table(f"{stem}.tsv", for_scripts, "the leaderboard")
        self._keep(title, stem, standings, evaluation)

    def _keep(self, title: str, stem: str, standings: Standings, evaluation: Evaluation) -> None:
        """Keep a leaderboard, and write its scores of each query."""
        self.leaderboards.append(Leaderboard(title, stem, standings))
        self._folder.table(
            f"{stem}-per-query.tsv", per_query_report(evaluation, title), "scores of each query"
        )


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
                inputs.study,
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
                inputs.study,
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
        compared = graders(inputs.study, bank=banks.pop() if len(banks) == 1 else None)
    except SelectionError as error:
        folder.skip(title, str(error), "grades of another grader")
        return
    folder.section(title)
    report = graders_report(compared)
    folder.add(report.content)
    folder.table("graders.tsv", report, "the same table for scripts")
