"""The assembly of the folder of `exam-pp evaluate report`: all sections, review page and provenance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.phases.analysis.correlation import OfficialRanks, read_official
from exam_pp.phases.evaluation.contents import input_files, versions, weak_spots
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.prompts.base import with_aliases
from exam_pp.rendering.document import Cell, Link, Report
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.report_folder.comparison_sections import (
    agreement_of_graders,
    agreement_with_judgments,
    correlations_by_setting,
    official_correlations,
)
from exam_pp.reports.analysis.report_folder.folder import ReportFolder
from exam_pp.reports.analysis.report_folder.inputs import Inputs, Sources
from exam_pp.reports.analysis.report_folder.leaderboard_sections import LeaderboardSections
from exam_pp.reports.analysis.report_folder.summary import (
    EvaluationProvenance,
    Leaderboard,
    grader_blocks,
    left_out_blocks,
    summary_blocks,
    weak_spot_blocks,
)
from exam_pp.reports.review.page import render_page
from exam_pp.store.files import folder_output, is_read_once, write_text
from exam_pp.store.trec.runs import systems_of, warn_of_other_names

REVIEW_PAGE = "review.html"


def write_evaluation(sources: Sources, folder: PathLike, statistics: Statistics | None = None) -> Path:
    """Write the whole evaluation of a graded file; returns the path of the page.

    The page is self-contained; it links to the tables and to the review page in the same folder. Equal inputs
    give equal bytes. Sections without inputs are named at the end of the page, with the missing input. A
    missing folder is created. Files of the same names are replaced at the end, all at once.
    """
    files = [s for s in (sources.graded, *sources.banks, sources.official, sources.qrels) if s is not None]
    for source in filter(is_read_once, files):
        raise SelectionError(f"'{source}' is a stream, but it is read several times. Name a file.")
    with folder_output(folder, files) as work:
        inputs = Inputs(sources, statistics or Statistics("nested", significance=True))
        report = _report(inputs, ReportFolder(work))
        write_text(work / "index.html", render(report, "html"))
    return Path(folder) / "index.html"


def _report(inputs: Inputs, folder: ReportFolder) -> Report:
    """Write all files except the page, and return the page."""
    sources = inputs.sources
    ran = systems_of(sources.runs, sources.method)
    warn_of_other_names(ran, inputs.contents.systems, sources.graded)
    sections = LeaderboardSections(inputs, folder)
    leaderboards = sections.leaderboards
    covered = sections.rubric_cover()
    sections.rubric_qrels()
    sections.nugget_scores()
    official = sections.manual_judgments()
    if sources.official is not None:
        official = read_official(sources.official)
        _check_systems(official, {*ran, *inputs.contents.systems})
    correlations = official_correlations(inputs, folder, leaderboards, official)
    correlations_by_setting(inputs, folder, official)
    agreement_with_judgments(inputs, folder)
    agreement_of_graders(inputs, folder)
    addresses = _review_page(inputs, folder)
    if covered:
        first = next(iter(covered))
        spots = weak_spots(covered[first], inputs.read(first))
        folder.add(weak_spot_blocks(spots, leaderboards[0], addresses) if spots.queries else [])
    provenance = _provenance(inputs, leaderboards)
    write_text(folder.path / "provenance.json", provenance.json)
    names = {grade_set.key: grade_set.name or "yes" for grade_set in inputs.sets}
    blocks = [
        *summary_blocks(inputs.contents, leaderboards, correlations),
        *grader_blocks(inputs.contents, names),
        *folder.blocks,
        *provenance.blocks,
        Link("provenance.json: the same for scripts", "provenance.json"),
        *left_out_blocks(folder.left_out),
    ]
    return Report(f"Evaluation of {Path(sources.graded).name}", blocks)


def _check_systems(official: OfficialRanks, systems: Collection[str]) -> None:
    """Raise SelectionError if no system has both an official rank and scores."""
    if systems and official.ranks.keys().isdisjoint(systems):
        raise SelectionError(
            f"{official.source} and the graded file or runs have no system in common. Check that they use "
            "the same names of systems."
        )


def _review_page(inputs: Inputs, folder: ReportFolder) -> dict[str, str]:
    """Write the review page of the first grader; returns query id to its address."""
    sources = inputs.sources
    if not sources.review:
        folder.skip("Review page", "--no-review", "--review")
        return {}
    if not inputs.rated:
        folder.skip("Review page", "no ratings are selected", "exam-pp grade")
        return {}
    reviewed = inputs.rated[0]
    prompt_class = reviewed.key.prompt_class
    options = ReviewOptions(min_grade=sources.min_grade, cutoff=sources.cutoff)
    criteria = with_aliases(replace(sources.grade_filter, prompt_class=prompt_class))
    try:
        material = review_material(sources.graded, criteria, bank=reviewed.bank, options=options)
    except SelectionError as error:
        folder.skip("Review page", str(error), "exam-pp review")
        return {}
    write_text(folder.path / REVIEW_PAGE, render_page(material.head, material.tables))
    folder.section("Review page")
    folder.link(REVIEW_PAGE, f"the grades with prompt class {prompt_class}")
    return {
        query["id"]: f"{REVIEW_PAGE}#/q/{number}" for number, query in enumerate(material.head["queries"])
    }


def _provenance(inputs: Inputs, leaderboards: Sequence[Leaderboard]) -> EvaluationProvenance:
    sources, statistics = inputs.sources, inputs.statistics
    files = input_files(
        [
            ("graded file", sources.graded),
            *(("bank", bank) for bank in sources.banks),
            *(("run", run) for run in sources.runs),
            ("official ranks", sources.official),
            ("judgments", sources.qrels),
        ]
    )
    settings: dict[str, Cell] = {
        "measures": ", ".join(sources.measures),
        "cutoff": sources.cutoff,
        "threshold": "default of each prompt" if sources.min_grade is None else sources.min_grade,
        "lowest relevant judgment": sources.min_relevant,
        "confidence level": statistics.confidence,
        "bootstrap samples": statistics.samples,
        "seed": statistics.seed,
    }
    return EvaluationProvenance(sources.command, files, versions(), settings, leaderboards)
