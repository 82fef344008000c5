"""``exam-pp evaluate rag``: the evaluation of everything that RAG systems retrieved and answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import command_line, is_given
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    OutputPath,
    bank_option,
    log_summary,
)
from exam_pp.cli.progress import Advance, progress
from exam_pp.rendering.document import Block, Cell, Heading, Link, Paragraph, Report, Table
from exam_pp.results import Score
from exam_pp.store.files import folder_output, safe_name, write_text

if TYPE_CHECKING:
    from exam_pp.formats.open_rag_eval_results import ResultRow
    from exam_pp.phases.evaluation.result import Evaluation
    from exam_pp.phases.rag.config import RagConfig
    from exam_pp.phases.rag.evaluation import RagEvaluation
    from exam_pp.reports.analysis.report_folder import ReportFolder
    from exam_pp.reports.analysis.report_summary import Leaderboard


@click.command("rag", cls=Command)
@PASSAGES
@click.option(
    "--config",
    type=FILE,
    help="TOML file with the options of all steps, or a YAML file with the evaluators of Open RAG Eval.",
)
@click.option("--queries", type=QUERIES_FILE, help=f"{QUERY_TEXTS}  [default: those of PASSAGES, if any]")
@bank_option("Test bank of nuggets.")
@model_options(required=False)
@click.option(
    "-o", "--output", type=OutputPath(folders=True, files=False), required=True, help="Folder to write."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    passages: Path,
    config: Path | None,
    queries: Path | None,
    bank: Path | None,
    output: Path,
    **options: Any,
) -> None:
    """Evaluate retrieval, nuggets, citations, factual consistency and repeats of RAG systems in one run.

    PASSAGES holds rankings and answers, graded or not, or is a file of answers with their passages, as of
    Open RAG Eval. Without a model, the metrics are those of the grades in PASSAGES. With --model or a table
    [model] in --config, the model labels passages and answers. Options of the command line take precedence
    over those of --config. A server that --config names gets passages and the key only if --base-url or
    OPENAI_BASE_URL names it, too. Paths in --config are below its folder.

    Open index.html in the folder, which also has leaderboards, score rows (scores.jsonl), and the results of
    each system as a CSV file of Open RAG Eval. A metric without input, or whose step failed, is left out, and
    named on the page with the reason. To continue an interrupted run, or after a change of options, repeat
    the command: finished steps, in the folder `steps`, are not computed again.

    Examples:

    \b
      exam-pp evaluate rag cited.jsonl.gz --queries queries.jsonl \\
        --bank nuggets.jsonl --model lexical -o rag
      exam-pp evaluate rag repeated.csv --config rag.toml -o rag-2
    """
    from exam_pp.phases.rag.evaluation import evaluate_rag
    from exam_pp.signals import STOP

    chosen, unsupported = _config(config, options["base_url"])
    if unsupported:
        log_summary([f"Ignored keys of {config}: {', '.join(unsupported)}."])
    chosen = _with_options(context, chosen, queries, bank, options)

    def shown(title: str) -> AbstractContextManager[Advance]:
        return progress(title, "requests")

    with STOP.on_sigterm():
        result = evaluate_rag(passages, output, chosen, shown)
    if config is not None:
        result.inputs.append(("configuration", config))
    index = write_rag(result, output, _settings(chosen), command_line(context, without=["output"]))
    log_summary([f"Written: {index}"])


def _config(path: Path | None, base_url: str | None) -> tuple[RagConfig, list[str]]:
    from exam_pp.phases.rag.config import RagConfig, read_config

    if path is None:
        return RagConfig(), []
    if path.suffix in (".yaml", ".yml"):
        from exam_pp.phases.rag.config import read_open_rag_eval_config

        return read_open_rag_eval_config(path, base_url)
    return read_config(path, base_url), []


def _with_options(
    context: click.Context,
    config: RagConfig,
    queries: Path | None,
    bank: Path | None,
    options: dict[str, Any],
) -> RagConfig:
    """The configuration with the options that the user named."""
    from exam_pp.llm.transport import is_same_server

    named = [name for name in options if is_given(context, name)]
    is_permission = any(is_same_server(server, options["base_url"]) for server in config.servers)
    if "base_url" in named and is_permission and not options["pipeline"].startswith("openai"):
        named.remove("base_url")  # it is the server of a table, and not that of another model
        options["base_url"] = None
    changes: dict[str, Any] = {} if queries is None else {"queries": queries}
    if bank is not None:
        changes["nuggets"] = config.nuggets.model_copy(update={"bank": bank})
    if named:
        options["model"] = options["model"] or (config.model and config.model.model)
        if options["model"] is None:
            raise click.UsageError(f"{_spelt(named[0])} needs --model or a table [model].")
        keys = {text.partition("=")[0].replace("-", "_") for text in options["settings"]}
        given = take_model_options(options)
        fields = {"num_beams" if name == "greedy" else name for name in keys.union(named) - {"settings"}}
        changes["model"] = replace(config.model or given, **{name: getattr(given, name) for name in fields})
    return config.model_copy(update=changes)


def _spelt(name: str) -> str:
    return "-M" if name == "settings" else f"--{name.replace('_', '-')}"


def _settings(config: RagConfig) -> dict[str, str]:
    """The options of each table, for the provenance."""
    settings = {}
    for table, value in config.model_dump(mode="json", exclude_none=True).items():
        values = value if isinstance(value, dict) else {"": value}
        for key, option in values.items():
            settings[f"{table}.{key}" if key else table] = str(option)
    return settings


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
    from exam_pp.formats.open_rag_eval_results import write_result_rows
    from exam_pp.phases.evaluation.contents import input_files
    from exam_pp.phases.evaluation.verdict import named_systems
    from exam_pp.rendering.render import render
    from exam_pp.reports.analysis.report_folder import ReportFolder
    from exam_pp.reports.analysis.report_summary import left_out_blocks, made_of
    from exam_pp.reports.evaluation.short_names import for_readers
    from exam_pp.store.trec.scores import write_score_rows

    with folder_output(folder, [path for _, path in result.inputs]) as work:
        page, sections = ReportFolder(work), list[Block]()
        boards = [_write_section(page, sections, index, result) for index in range(len(result.sections))]
        write_score_rows(score_rows(result), work / SCORES)
        files = []
        for system, rows in result_rows(result).items():
            if rows:
                files.append(f"{safe_name(system)}.csv")
                write_result_rows(rows, work / files[-1])
        origin, document = made_of(command, input_files(result.inputs), dict(settings or {}), boards)
        write_text(work / "provenance.json", document)
        blocks = [
            *_summary(result, boards),
            *sections,
            Heading("Files for other tools"),
            Link(f"{SCORES}: score rows of all metrics", SCORES),
            *(Link(f"{name}: results as of Open RAG Eval", name) for name in files),
            Heading("Provenance"),
            *origin,
            Link("provenance.json: the same for scripts", "provenance.json"),
            *([Heading("Left out")] if result.left_out else []),
            *left_out_blocks(result.left_out),
        ]
        report = Report(
            f"{result.source.name.partition('.')[0]}: {named_systems(list(result.systems))}", blocks
        )
        write_text(work / "index.html", render(for_readers(report), "html"))
    return folder / "index.html"


def _write_section(
    page: ReportFolder, sections: list[Block], index: int, result: RagEvaluation
) -> Leaderboard:
    """Add the leaderboard of a metric to the sections, and write its tables."""
    from exam_pp.phases.evaluation.leaderboards import leaderboard
    from exam_pp.reports.analysis.report_summary import Leaderboard
    from exam_pp.reports.evaluation.leaderboard_pictures import leaderboard_pictures
    from exam_pp.reports.evaluation.leaderboards import leaderboard_report, per_query_report

    title, stem, evaluation = result.sections[index]
    standings = leaderboard(evaluation)
    sections.append(Heading(title))
    if stem == "consistency":
        sections += _consistency(evaluation)
    else:
        sections += leaderboard_report(standings, title, pictures=leaderboard_pictures(standings)).content
    for name, about, report in (
        (f"{stem}.tsv", "the leaderboard", leaderboard_report(standings, title, audience="scripts")),
        (
            f"{stem}-per-query.tsv",
            "scores of each query",
            per_query_report(evaluation, title),
        ),
    ):
        page.table(name, report, about)
        sections.append(Link(f"{name}: {about}", name))
    return Leaderboard(title, stem, standings)


def _consistency(evaluation: Evaluation) -> Iterator[Block]:
    """The similarity of answers as a leaderboard, and the spread of each metric as a row."""
    from exam_pp.metrics.leaderboard import standings as standings_of
    from exam_pp.phases.evaluation.leaderboards import leaderboard
    from exam_pp.reports.evaluation.leaderboard_pictures import leaderboard_pictures
    from exam_pp.reports.evaluation.leaderboards import leaderboard_report

    similar = [score for score in evaluation.scores if not _SPREAD.fullmatch(score.metric)]
    spread = [score for score in evaluation.scores if _SPREAD.fullmatch(score.metric)]
    if similar:
        standings = leaderboard(replace(evaluation, scores=similar, notes=[]))
        pictures = leaderboard_pictures(standings)
        yield from leaderboard_report(standings, "Similarity of answers", pictures=pictures).content
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


_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "MeanLabel": ("retrieval_score_mean_umbrela_score",),
    "A": ("generation_score_nuggetizer_scores.All", "generation_score_mean_nugget_assignment_score"),
    "A_strict": ("generation_score_nuggetizer_scores.All Strict",),
    "V": ("generation_score_nuggetizer_scores.Vital", "generation_score_vital_nuggetizer_score"),
    "V_strict": ("generation_score_nuggetizer_scores.Vital Strict",),
    "W": ("generation_score_nuggetizer_scores.Weighted",),
    "W_strict": ("generation_score_nuggetizer_scores.Weighted Strict",),
    "FactualConsistency": ("generation_score_hallucination_score",),
    "citation_precision": ("generation_score_citation_scores.weighted_precision",),
    "citation_recall": ("generation_score_citation_scores.weighted_recall",),
    "citation_F1": ("generation_score_citation_scores.f1", "generation_score_citation_f1_score"),
    "Answered": ("generation_score_no_answer_score.query_answered",),
}
"""Metric to its columns; after a dot, the key in a JSON cell."""

_AT_K = re.compile(r"(P|AP_top)\(rel=\d+\)@(\d+)")
_RANK_METRICS = "retrieval_score_precision_metrics"
LABELS = "retrieval_score_umbrela_scores"
"""The column of the labels of the retrieved passages."""


def score_rows(result: RagEvaluation) -> list[Score]:
    """The scores of all metrics, for each system and query."""
    return [score for section in result.sections for score in section.evaluation.scores]


def result_rows(result: RagEvaluation) -> dict[str, list[ResultRow]]:
    """The results of each system in the columns of Open RAG Eval.

    Returns system to a row for each query and repeat. A ranking without repeats counts for all of them.
    Metrics without a result have no column.
    """
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for score in score_rows(result):
        scores.setdefault((score.system, score.query_id), {})[score.metric] = score.value
    labels: dict[str, dict[str, int]] = {}
    for label in result.labels:
        labels.setdefault(label.query_id, {})[label.passage_id] = label.whole
    query_ids = dict.fromkeys(query_id for _, query_id in (*result.retrieved, *scores))
    return {
        system: [
            row
            for query_id in query_ids
            for row in _rows(result, system, query_id, scores, labels.get(query_id, {}))
        ]
        for system in result.systems
    }


def _rows(
    result: RagEvaluation,
    system: str,
    query_id: str,
    scores: Mapping[tuple[str, str], Mapping[str, float]],
    labels: Mapping[str, int],
) -> Iterator[ResultRow]:
    """The results of each repeat of a system; a single repeat has no number."""
    from exam_pp.formats.open_rag_eval_results import ResultRow

    repeats = result.systems[system]
    for repeat, name in repeats.items():
        values = {**scores.get((system, query_id), {}), **scores.get((name, query_id), {})}
        retrieved = result.retrieved.get((name, query_id), [])
        of_passages = {passage_id: labels[passage_id] for passage_id in retrieved if passage_id in labels}
        cells: dict[str, Any] = {LABELS: of_passages} if of_passages else {}
        for metric, value in values.items():
            for column, keys, cell in _cells(metric, value):
                target = cells
                for key in (column, *keys)[:-1]:
                    target = target.setdefault(key, {})
                target[(column, *keys)[-1]] = cell
        if cells:
            number = repeat if len(repeats) > 1 else None
            yield ResultRow(query_id, result.query_texts.get(query_id, ""), number, cells)


def _cells(metric: str, value: float) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """The columns of a score, with the keys in their JSON cells and the value there."""
    if match := _AT_K.fullmatch(metric):
        yield _RANK_METRICS, ("precision@" if match[1] == "P" else "AP@", match[2]), value
    elif metric.startswith("RR("):
        yield _RANK_METRICS, ("MRR",), value
    for name in _COLUMNS.get(metric, ()):
        column, *keys = name.split(".")
        yield column, tuple(keys), value if metric != "Answered" else "yes" if value else "no"
