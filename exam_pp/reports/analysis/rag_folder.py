"""The folder of `exam-pp evaluate rag`: a page with all metrics, score rows, results of Open RAG Eval."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from exam_pp.formats.open_rag_eval_results import write_result_rows
from exam_pp.metrics.leaderboard import standings as standings_of
from exam_pp.phases.evaluation.input_files import input_files, versions
from exam_pp.phases.evaluation.leaderboards import leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.rag.evaluation import RagEvaluation
from exam_pp.phases.rag.results import result_rows, score_rows
from exam_pp.rendering.document import Block, Cell, Heading, Link, Paragraph, Report, Table
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.report_folder.folder import ReportFolder
from exam_pp.reports.analysis.report_folder.summary import (
    EvaluationProvenance,
    Leaderboard,
    left_out_blocks,
)
from exam_pp.reports.evaluation.leaderboards import leaderboard_report, per_query_report
from exam_pp.store.files import folder_output, safe_name, write_text
from exam_pp.store.trec.scores import write_score_rows

SCORES = "scores.jsonl"

_SHORT = {
    "MeanLabel", "V_strict", "A", "citation_precision", "citation_recall", "citation_F1",
    "FactualConsistency", "Answered", "ROUGE-L", "BERTScore",
}  # fmt: skip
"""Metrics of the summary, beside the reciprocal rank and the first precision."""


def write_rag(
    result: RagEvaluation, folder: Path, settings: Mapping[str, Cell] | None = None, command: str = ""
) -> Path:
    """Write the page, the tables, the score rows, and a CSV file of Open RAG Eval for each system."""
    with folder_output(folder, [path for _, path in result.inputs]) as work:
        page = ReportFolder(work)
        boards = [_write_section(page, index, result) for index in range(len(result.sections))]
        write_score_rows(score_rows(result), work / SCORES)
        files = []
        for system, rows in result_rows(result).items():
            if rows:
                files.append(f"{safe_name(system)}.csv")
                write_result_rows(rows, work / files[-1])
        provenance = EvaluationProvenance(
            command, input_files(result.inputs), versions(), dict(settings or {}), boards
        )
        write_text(work / "provenance.json", provenance.json)
        blocks = [
            *_summary(result, boards),
            *page.blocks,
            Heading("Files for other tools"),
            Link(f"{SCORES}: score rows of all metrics", SCORES),
            *(Link(f"{name}: results as of Open RAG Eval", name) for name in files),
            *provenance.blocks,
            Link("provenance.json: the same for scripts", "provenance.json"),
            *left_out_blocks(result.left_out),
        ]
        write_text(work / "index.html", render(Report(f"Evaluation of {result.source.name}", blocks), "html"))
    return folder / "index.html"


def _write_section(page: ReportFolder, index: int, result: RagEvaluation) -> Leaderboard:
    """Add the leaderboard of a metric to the page, and write its tables."""
    title, stem, evaluation = result.sections[index]
    page.section(title)
    standings = leaderboard(evaluation)
    page.add(
        _consistency(evaluation) if stem == "consistency" else leaderboard_report(standings, title).content
    )
    page.table(f"{stem}.tsv", leaderboard_report(standings, title, formatted=False), "the leaderboard")
    page.table(f"{stem}-per-query.tsv", per_query_report(evaluation, title), "scores of each query")
    return Leaderboard(title, stem, standings)


def _consistency(evaluation: Evaluation) -> Iterator[Block]:
    """The similarity of answers as a leaderboard, and the spread of each metric as a row."""
    similar = [score for score in evaluation.scores if not _SPREAD.fullmatch(score.metric)]
    spread = [score for score in evaluation.scores if _SPREAD.fullmatch(score.metric)]
    if similar:
        standings = leaderboard(replace(evaluation, scores=similar, notes=[]))
        yield from leaderboard_report(standings, "Similarity of answers").content
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for row in standings_of(spread):
        match = _SPREAD.fullmatch(row.metric)
        assert match is not None
        rows.setdefault((row.system, match[2]), {})[match[1]] = row.mean
    if rows:
        yield Table(
            ["system", "metric", *_SPREADS],
            [[*names, *(values.get(name) for name in _SPREADS)] for names, values in rows.items()],
            title="Spread of scores over repeats, means over queries",
        )
    yield from map(Paragraph, evaluation.notes)


_SPREADS = ("mean", "variance", "cv", "adjusted")
_SPREAD = re.compile(rf"({'|'.join(_SPREADS)})\((.+)\)")


def _summary(result: RagEvaluation, boards: list[Leaderboard]) -> list[Heading | Table | Paragraph]:
    """A row for each system, or each repeat of it, with the mean of the main metrics."""
    means = {metric: of_metric for board in boards for metric, of_metric in board.means.items()}
    first = [next((name for name in means if name.startswith(start)), "") for start in ("P(", "RR(")]
    metrics = [metric for metric in means if metric in _SHORT or metric in first]
    systems = dict.fromkeys(system for metric in metrics for system in means[metric])
    queries = len({query_id for _, query_id in result.retrieved})
    facts: list[tuple[Cell, Cell]] = [
        ("queries", queries),
        ("systems", len(result.systems)),
        ("metrics with results", ", ".join(board.title for board in boards)),
        ("left out", ", ".join(left_out.section for left_out in result.left_out) or "nothing"),
    ]
    rows = [[system, *(means[metric].get(system) for metric in metrics)] for system in systems]
    return [
        Heading("Summary"),
        Table(["evaluated", "number"], facts),
        Table(["system", *metrics], rows, title="Means over queries"),
        Paragraph("An empty cell is a missing result, not 0. The leaderboards below say how many queries it "
                  "covers."),
    ]  # fmt: skip
