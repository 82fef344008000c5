"""The page of `exam-pp evaluate report`: the whole evaluation, and a folder with its tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.metrics.correlation import ranks_of
from exam_pp.phases.analysis.correlation import OfficialRanks, read_official
from exam_pp.phases.evaluation.contents import (
    covered_entries,
    input_files,
    missing_grades,
)
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.verdict import page_title
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.plugins import offered
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Block, Cell, Fold, Link, Report
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.first_screen import first_screen
from exam_pp.reports.analysis.report_folder import Inputs, ReportFolder, Sources
from exam_pp.reports.analysis.report_sections import (
    agreement_with_judgments,
    differences,
    manual_judgments,
    nugget_scores,
    official_correlations,
    rubric_cover,
    rubric_qrels,
)
from exam_pp.reports.analysis.report_summary import (
    Leaderboard,
    content_tables,
    leaderboard_tables,
    left_out_blocks,
    made_of,
    method_notes,
)
from exam_pp.reports.evaluation.leaderboards import score_heatmap
from exam_pp.reports.evaluation.short_names import for_readers
from exam_pp.reports.review.page import render_page
from exam_pp.store.files import folder_output, write_text
from exam_pp.store.passages.graded_file import without_garbage_collection
from exam_pp.store.trec.runs import systems_of, warn_of_other_names

REVIEW_PAGE = "review.html"


def write_evaluation(sources: Sources, folder: PathLike, statistics: Statistics | None = None) -> Path:
    """Write the whole evaluation of a graded file; returns the path of the page.

    The page is self-contained; it links to the tables and to the review page in the same folder. Equal inputs
    give equal bytes. Sections without inputs are named at the end of the page, with the missing input. A
    missing folder is created. Files of the same names are replaced at the end, all at once.
    """
    files = [s for s in (sources.graded, *sources.banks, sources.official, sources.qrels) if s is not None]
    with folder_output(folder, files) as work, without_garbage_collection():
        inputs = Inputs(sources, statistics or Statistics("queries", significance=True))
        report = _report(inputs, ReportFolder(work))
        write_text(work / "index.html", render(for_readers(report), "html"))
    return Path(folder) / "index.html"


def _report(inputs: Inputs, folder: ReportFolder) -> Report:
    """Write all files except the page, and return the page."""
    sources = inputs.sources
    ran = systems_of(sources.runs, sources.method)
    warn_of_other_names(ran, inputs.contents.systems, sources.graded)
    covered = rubric_cover(inputs, folder)
    leaderboards = [
        *covered.values(),
        *rubric_qrels(inputs, folder),
        *nugget_scores(inputs, folder),
    ]
    official = None
    if (by_judgments := manual_judgments(inputs, folder)) is not None:
        leaderboards.append(by_judgments)
        # Without official ranks, the leaderboard of the judgments stands in for them.
        scores = by_judgments.means[by_judgments.standings.metrics[0]]
        official = OfficialRanks("official.json", ranks_of(scores))
    if sources.official is not None:
        official = read_official(sources.official)
        _check_systems(official, {*ran, *inputs.contents.systems})
    correlations = official_correlations(inputs, folder, leaderboards, official)
    judged = agreement_with_judgments(inputs, folder)
    # A plug-in offers a function that writes tables into the folder and returns blocks of the page.
    further = [block for write in offered("sections of the report") for block in write(inputs, folder)]
    # Before the differences, which link to its queries.
    addresses = _review_page(inputs, folder)
    # The first leaderboard is Rubric-Cover or, if there are no ratings, that of nuggets of answers.
    of_first = [*covered, *(inputs.of_kind("assignment") if not inputs.rated else [])][:1]
    entries = [
        entry
        for grade_set in of_first
        for entry in covered_entries(inputs.read(grade_set), sources.cutoff if covered else None)
    ]
    of_systems = list(differences(folder, leaderboards, entries, addresses))
    origin, document = _origin(inputs, leaderboards)
    folder.text("provenance.json", document, "how the report was made, for scripts")
    correlated = correlations.get(leaderboards[0].title) if leaderboards and sources.official else None
    # Rubric-Cover is the first section, so its first scores are those of the first leaderboard.
    first = next(iter(covered), None)
    review = [Link(f"{REVIEW_PAGE}: passages and grades of the first grader", REVIEW_PAGE)]
    names = {grade_set.key: grade_set.name or "yes" for grade_set in inputs.sets}
    folds: dict[str, tuple[str, list[Block]]] = {
        "Where systems differ": (
            "scores by query",
            _differences(leaderboards),
        ),
        "Evidence and all measures": (
            "passages and grades, all leaderboards, correlation",
            [
                *(review if addresses else []),
                *leaderboard_tables(leaderboards, correlations),
                *further,
            ],
        ),
        "How it was made": (
            "graders, methods, files, settings, versions",
            [
                *content_tables(inputs.contents, names, folder.files),
                *method_notes(leaderboards),
                *origin,
                *left_out_blocks(folder.left_out),
            ],
        ),
    }
    # A plug-in offers a function of inputs and grades that returns the scores of canaries by system.
    canaries = {
        system: score
        for scores in offered("scores of canaries")
        if first is not None
        for system, score in scores(inputs, first).items()
    }
    systems = leaderboards[0].systems if leaderboards else []
    return Report(
        page_title(_study(sources), systems, Path(sources.graded).name),
        [
            *first_screen(
                inputs.contents,
                leaderboards,
                judged,
                missing=None if first is None else missing_grades(inputs.read(first), sources.cutoff),
                canaries=canaries,
                official=None if correlated is None else correlated.measures[0].correlation.kendall,
            ),
            *of_systems,
            *(Fold(title, about, blocks) for title, (about, blocks) in folds.items() if blocks),
        ],
        leaderboards[0].standings.provenance if leaderboards else None,
    )


def _study(sources: Sources) -> str:
    """The name of the study: its folder, or another file's own name; that of Python code is temporary."""
    graded = Path(sources.graded)
    name = graded.name.partition(".")[0]
    if name.partition("-")[0] in ("graded", "corrected", "assigned", ""):
        # The same in every study, or standard input ("-").
        name = graded.absolute().parent.name
    return name if sources.command else ""


def _differences(leaderboards: Sequence[Leaderboard]) -> list[Block]:
    """The scores of the first leaderboard by query."""
    if not leaderboards:
        return []
    standings = leaderboards[0].standings
    picture = score_heatmap(
        score._replace(metric=leaderboards[0].measure)
        for score in standings.evaluation.scores
        if score.metric == standings.metrics[0]
    )
    return [] if picture is None else [picture]


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
    if not inputs.sets:
        folder.skip("Review page", "no ratings are selected", "exam-pp grade")
        return {}
    reviewed = (inputs.rated or inputs.sets)[0]
    prompt_class = reviewed.key.prompt_class
    options = ReviewOptions(
        min_grade=sources.min_grade,
        cutoff=sources.cutoff,
        study=_study(sources),
        measures=sources.rubric_measures,
    )
    criteria = with_aliases(replace(sources.grade_filter, prompt_class=prompt_class))
    try:
        material = review_material(inputs.passages, criteria, bank=reviewed.bank, options=options)
    except SelectionError as error:
        folder.skip("Review page", str(error), "exam-pp review")
        return {}
    write_text(folder.path / REVIEW_PAGE, render_page(material.head, material.tables))
    folder.files.append((REVIEW_PAGE, f"the grades with prompt {prompt_class}"))
    return {
        query["id"]: f"{REVIEW_PAGE}#/q/{number}" for number, query in enumerate(material.head["queries"])
    }


def _origin(inputs: Inputs, leaderboards: Sequence[Leaderboard]) -> tuple[list[Block], str]:
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
    made = (board.standings.provenance or Provenance() for board in leaderboards)
    settings: dict[str, Cell] = {
        "measures": ", ".join(sources.measures),
        "cutoff": sources.cutoff or next(filter(None, (of.cutoff for of in made)), None),
        "threshold": "default of each prompt" if sources.min_grade is None else sources.min_grade,
        "lowest relevant judgment": sources.min_relevant,
        "confidence level": statistics.confidence,
        "bootstrap samples": statistics.samples,
        "seed": statistics.seed,
    }
    return made_of(sources.command, files, settings, leaderboards)
