"""Parts of `exam-pp evaluate report`: leaderboards, correlations, agreement and sweeps, with their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import permutations
from typing import Any

from exam_pp.errors import SelectionError
from exam_pp.metrics.measures import NUGGET_METRICS, measure_named
from exam_pp.phases.analysis.agreement import rated_passages, separation
from exam_pp.phases.analysis.correlation import Correlations, OfficialRanks, correlation
from exam_pp.phases.evaluation.contents import CoveredEntry
from exam_pp.phases.evaluation.cover import corrections_of, cover_of
from exam_pp.phases.evaluation.judgments import judgment_provenance, judgments, pool_notes
from exam_pp.phases.evaluation.leaderboards import leaderboard
from exam_pp.phases.evaluation.nugget_leaderboard import ScoringRules, nugget_leaderboard, read_conditions
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.rubric_qrels import qrels_of
from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs
from exam_pp.provenance import Provenance, with_thresholds
from exam_pp.rendering.document import Block, Fold, Link, Report, Table
from exam_pp.reports.analysis.first_screen import JudgedBy
from exam_pp.reports.analysis.report_folder import GradeSet, Inputs, ReportFolder, titled
from exam_pp.reports.analysis.report_summary import Leaderboard, links_of_queries
from exam_pp.reports.evaluation.leaderboards import (
    leaderboard_report,
    official_json,
    per_query_report,
)
from exam_pp.reports.evaluation.nugget_leaderboard import nugget_report
from exam_pp.results import Qrel
from exam_pp.store.trec.runs import write_qrels
from exam_pp.text.wording import counted

_ROWS = 30  # at most, of what a system has and another one lacks


def rubric_cover(inputs: Inputs, folder: ReportFolder) -> dict[GradeSet, Leaderboard]:
    """Write Rubric-Cover by the grades of questions and nuggets."""
    covered = {}
    for grade_set in inputs.of_kind("question", "nugget"):
        grades, scored = inputs.read(grade_set), partial(cover_of, cutoff=inputs.sources.cutoff)
        evaluation = scored(grades)
        if grades.provenance.reviewed:
            of_judge = cache(partial(inputs.read_judge_alone, grade_set))
            evaluation.corrections = corrections_of(grades, of_judge, scored, inputs.sources.cutoff)
        cutoff = (evaluation.provenance or Provenance()).cutoff
        verb = "answer" if grade_set.kind == "question" else "contain"
        by = "an answer covers" if evaluation.of_answers else f"the first {cutoff} passages {verb}"
        about = f"Share of the {grade_set.kind}s that {by}"
        covered[grade_set] = _write(inputs, folder, "Rubric-Cover", "cover", evaluation, grade_set, about)
    if not covered:
        folder.skip("Rubric-Cover", "no grades of questions or nuggets are selected", "exam-pp grade")
    return covered


def rubric_qrels(inputs: Inputs, folder: ReportFolder) -> list[Leaderboard]:
    """Write Rubric-Qrels by all ratings, and their labels."""
    boards: list[Leaderboard] = []
    if not inputs.has_rankings:
        folder.skip("Rubric-Qrels", "no runs, and the graded file has no rankings", "--runs")
        return boards
    if not inputs.rated:
        folder.skip("Rubric-Qrels", "no ratings are selected", "exam-pp grade")
    for grade_set in inputs.rated:
        grades = inputs.read(grade_set)
        labels = qrels_of(grades)
        evaluation = _scored(
            inputs,
            labels.qrels,
            min_grade=None if inputs.sources.min_grade is None else grades.min_grade,
            default_min_grade=labels.level,
            ungraded=labels.ungraded,
        )
        evaluation.notes[:0] = labels.notes
        evaluation.provenance = with_thresholds(labels.provenance, evaluation.provenance)
        boards.append(_write(inputs, folder, "Rubric-Qrels", "rubric-qrels", evaluation, grade_set))
        name = f"rubric{grade_set.suffix}.qrels"
        write_qrels(labels.qrels, folder.path / name)
        folder.files.append((name, "the labels, for trec_eval"))
    return boards


def nugget_scores(inputs: Inputs, folder: ReportFolder) -> list[Leaderboard]:
    """Write the nugget scores by all nugget assignments."""
    boards = []
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
            measures=inputs.sources.rubric_measures,
        )
        scores = nugget_leaderboard([condition], statistics=inputs.statistics)
        standings = scores.conditions[0][1]
        metric = standings.metrics[0]
        about = f"Share of the {'vital ' * metric.startswith('V')}facts that an answer states"
        if metric not in NUGGET_METRICS:
            measure = measure_named(metric)
            about = measure.meaning.rstrip(".") if measure is not None else ""
        board = Leaderboard(
            titled(condition.title, grade_set.name),
            f"nuggets{grade_set.suffix}",
            standings,
            grade_set.key,
            about,
        )
        folder.table(f"{board.stem}.tsv", nugget_report(scores, formatted=False), board.title)
        _write_queries(folder, board, condition.evaluation)
        boards.append(board)
    return boards


def differences(
    folder: ReportFolder,
    leaderboards: Sequence[Leaderboard],
    entries: Sequence[CoveredEntry],
    addresses: Mapping[str, str],
) -> Iterator[Block]:
    """Write which systems cover the entries; yields what each of the first two has and the other lacks.

    Queries come first in which a system gains most. ``addresses`` are those of the queries. Mistakes are
    no entries that a system has, and come after these.
    """
    if not entries or len(leaderboards[0].systems) < 2:
        return
    board = leaderboards[0]
    table = Table(
        ["query", "entry id", "entry", *board.systems],
        [[*each[:3], *(str(int(name in each.systems)) for name in board.systems)] for each in entries],
    )
    mistakes = [each for each in entries if each.to_avoid]
    about = "the entries, with 1 if a system covers them" + " or makes this mistake" * bool(mistakes)
    folder.table("entries.tsv", Report("", [table]), about)
    verb, noun = ("covers", "entry") if board.stem.startswith("cover") else ("states", "fact")
    if verb == "states" and board.standings.metrics[0] not in NUGGET_METRICS:
        verb, noun = "meets", "requirement"
    entries = [each for each in entries if not each.to_avoid]
    number = Counter((each.query_id, name) for each in entries for name in (*each.systems, ""))
    for has, lacks in permutations(board.systems[:2]):
        only = [each for each in entries if has in each.systems and lacks not in each.systems]
        only.sort(key=lambda each: number[each.query_id, lacks] - number[each.query_id, has])
        sides = Counter((has in each.systems, lacks in each.systems) for each in entries)
        about = (
            f"{has} {verb} {counted(len(only), noun)} that {lacks} lacks, {lacks} {verb} "
            f"{sides[False, True]} that {has} lacks, both {sides[True, True]}, "
            f"neither {sides[False, False]}"
        )
        shown = Table(
            ["query", has, lacks, f"{noun} that only {has} {verb}"],
            [
                [q, *(f"{number[q, name]} of {number[q, '']}" for name in (has, lacks)), text]
                for q, _, text, *_ in only[:_ROWS]
            ],
            title=f"The first {min(len(only), _ROWS)} of {len(only)}",
            links=links_of_queries([each.query_id for each in only], 0, addresses),
        )
        if only:
            yield Fold(
                f"What {has} has and {lacks} lacks",
                about,
                [shown, Link("entries.tsv: all, for every system", "entries.tsv")],
            )
    if made := [each for each in mistakes if not set(board.systems[:2]).isdisjoint(each.systems)]:
        sums = [f"{name} makes {sum(name in each.systems for each in made)}" for name in board.systems[:2]]
        listed = Table(
            ["query", *board.systems[:2], "mistake"],
            [
                [q, *("made" * (name in by) for name in board.systems[:2]), text]
                for q, _, text, by, _ in made[:_ROWS]
            ],
            title=f"The first {min(len(made), _ROWS)} of {len(made)}",
            links=links_of_queries([each.query_id for each in made[:_ROWS]], 0, addresses),
        )
        yield Fold("Mistakes", f"{', '.join(sums)} of {counted(len(mistakes), 'mistake')}", [listed])


def manual_judgments(inputs: Inputs, folder: ReportFolder) -> Leaderboard | None:
    """Write the leaderboard of manual judgments, and the ranks by its first measure.

    Returns None without judgments.
    """
    if not inputs.has_judgments:
        folder.skip("Manual judgments", "the graded file has no judgments", "--qrels")
        return None
    if not inputs.has_rankings:
        folder.skip("Manual judgments", "no runs, and the graded file has no rankings", "--runs")
        return None
    source = inputs.sources.qrels or inputs.sources.graded
    labels = judgments(inputs.sources.qrels or inputs.passages)
    evaluation = _scored(inputs, labels, min_grade=inputs.sources.min_relevant)
    evaluation.notes += pool_notes(inputs.passages) if inputs.sources.qrels is None else []
    evaluation.provenance = judgment_provenance(source, evaluation)
    board = _write(inputs, folder, "Manual judgments", "judgments", evaluation)
    first = evaluation.scores[0].metric
    ranked = Evaluation([score for score in evaluation.scores if score.metric == first])
    folder.text("official.json", official_json(ranked), f"ranks by {first} on the manual judgments")
    return board


def _scored(inputs: Inputs, labels: Sequence[Qrel], **options: Any) -> Evaluation:
    """Scores of the runs by labels; without runs, of the rankings in the graded file."""
    sources, runs = inputs.sources, inputs.runs
    if runs is None:
        return score_rankings(labels, inputs.passages, sources.measures, role=sources.role, **options)
    return score_runs(labels, runs, sources.measures, **options)


def _write(
    inputs: Inputs,
    folder: ReportFolder,
    section: str,
    stem: str,
    evaluation: Evaluation,
    grade_set: GradeSet | None = None,
    about: str = "",
) -> Leaderboard:
    """Compute a leaderboard, and write its files."""
    standings = leaderboard(evaluation, inputs.statistics)
    board = Leaderboard(section, stem, standings, about=about)
    if grade_set is not None:
        title = titled(section, grade_set.name)
        board = replace(board, title=title, stem=f"{stem}{grade_set.suffix}", grader=grade_set.key)
    for_scripts = leaderboard_report(standings, board.title, audience="scripts")
    folder.table(f"{board.stem}.tsv", for_scripts, board.title)
    _write_queries(folder, board, evaluation)
    return board


def _write_queries(folder: ReportFolder, board: Leaderboard, evaluation: Evaluation) -> None:
    """Write the scores of each query."""
    report, about = per_query_report(evaluation, board.title), f"{board.title}: scores of each query"
    folder.table(f"{board.stem}-per-query.tsv", report, about)


def official_correlations(
    inputs: Inputs, folder: ReportFolder, leaderboards: Sequence[Leaderboard], official: OfficialRanks | None
) -> dict[str, Correlations]:
    """The correlations of all leaderboards, by title."""
    section = "Correlation with the official leaderboard"
    if official is None:
        folder.skip(section, "no official ranks", "--official")
        return {}
    results: dict[str, Correlations] = {}
    for board in leaderboards:
        if board.stem == "judgments" and inputs.sources.official is None:
            continue
        try:
            results[board.title] = correlation(f"{board.stem}.tsv", official, scores=board.means)
        except SelectionError as error:
            folder.skip(f"Correlation of {board.title}", str(error), "official ranks of these systems")
    return results


def agreement_with_judgments(inputs: Inputs, folder: ReportFolder) -> list[JudgedBy]:
    """The agreement of all ratings with manual judgments."""
    sources = inputs.sources
    judged: list[JudgedBy] = []
    title = "Agreement with judgments"
    if not inputs.has_judgments:
        folder.skip(title, "the graded file has no judgments", "--qrels")
        return judged
    for grade_set in inputs.rated:
        try:
            passages = rated_passages(
                inputs.passages,
                qrels=sources.qrels,
                bank=grade_set.bank,
                grade_filter=grade_set.grade_filter,
            )
        except SelectionError as error:
            folder.skip(titled(title, grade_set.name), str(error), "judgments of graded passages")
            continue
        rated = sum(bool(passage.ratings) for passage in passages)
        judged.append(JudgedBy(grade_set.key, rated, separation(passages, sources.min_relevant)))
    return judged
