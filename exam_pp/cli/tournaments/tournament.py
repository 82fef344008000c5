"""The command ``exam-pp tournament``: from answers of systems to a leaderboard made from games."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import command_line
from exam_pp.cli.leaderboard_options import ELO_INTEGER, RATING
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    MAX_QUERIES,
    QUERIES_FILE,
    OutputPath,
    emit_report,
    log_summary,
    take,
)
from exam_pp.cli.progress import Advance, progress
from exam_pp.cli.tournaments.compare import compare_options, document_options, game_options, judge_options


@click.command("tournament", cls=Command)
@click.argument("passages", type=FILE, required=False)
@click.option(
    "--queries",
    type=QUERIES_FILE,
    required=True,
    help="Texts of the queries, in any format of `exam-pp convert`, such as queries.csv of RAGElo.",
)
@click.option(
    "--answers",
    multiple=True,
    type=FILE,
    help="Answers of systems in place of PASSAGES, in any format of `exam-pp import`, such as answers.csv of "
    "RAGElo; may be repeated.",
)
@click.option(
    "--documents",
    multiple=True,
    type=FILE,
    help="Documents that the judge reads: documents.csv or reasonings.csv of RAGElo, a passages file, or "
    "texts of the documents that answers cite; may be repeated.",
)
@click.option(
    "--reasons",
    is_flag=True,
    help="First let the model label each document and write a reason (RAGEloReasoner), which the judge reads "
    "with the text; --evidence reason leaves out the text.",
)
@model_options()
@judge_options
@document_options
@game_options
@MAX_QUERIES
@RATING
@ELO_INTEGER
@click.option(
    "-o", "--output", type=OutputPath(folders=True, files=False), required=True, help="Folder to write."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    passages: Path | None,
    queries: Path,
    answers: tuple[Path, ...],
    documents: tuple[Path, ...],
    output: Path,
    **options: Any,
) -> None:
    """Rate systems by games between their answers, from files of answers to a leaderboard.

    The answers are in PASSAGES, or in the files of --answers. A model plays games between the answers of
    every two systems to the same query. The leaderboard goes to standard output: ratings with intervals over
    queries, the win matrix and the biases of the judge.

    The folder has a page (index.html, report.md), the leaderboard (leaderboard.tsv), and the file of every
    step, such as games.jsonl.gz, which `exam-pp evaluate elo` rates with other options. To continue an
    interrupted run, or after a change of options, repeat the command: finished steps are not computed again.

    Examples:

    \b
      exam-pp tournament --queries queries.csv --answers answers.csv --documents documents.csv \\
        --reasons --both-orders --model fake -o tournament
      exam-pp tournament answers.jsonl.gz --queries queries.jsonl --model lexical -o tournament-2
    """
    from exam_pp.metrics.elo import EloRules
    from exam_pp.phases.evaluation.uncertainty import Statistics
    from exam_pp.phases.rag.tournament import TournamentOptions, TournamentSources, tournament
    from exam_pp.phases.tournaments.ratings import RatingOptions
    from exam_pp.reports.tournaments.tournament import tournament_report, write_tournament
    from exam_pp.signals import STOP
    from exam_pp.store.files import allow_rereading

    if (passages is None) == (not answers):
        raise click.UsageError("Name either PASSAGES, or files of answers with --answers.")
    if options["reasons"] and (options["reasons_grader"] or options["reasons_class"]):
        raise click.UsageError(
            "--reasons-grader and --reasons-class cannot be combined with --reasons, which writes new "
            "reasons."
        )
    allow_rereading(passages, queries, *answers, *documents)
    model = take_model_options(options)
    rating = take(options, "methods", "elo_integer")
    seed = options["seed"]
    ratings = RatingOptions(
        rating["methods"],
        EloRules(integer=rating["elo_integer"]),
        statistics=Statistics("queries", samples=1000, seed=seed),
    )
    reasons = options.pop("reasons")
    chosen = TournamentOptions(compare_options(options), reasons, ratings)
    sources = TournamentSources(queries, passages, answers, documents)

    def shown(title: str) -> AbstractContextManager[Advance]:
        return progress(title, "requests")

    with STOP.on_sigterm():
        result = tournament(sources, output, model, chosen, shown)
    index = write_tournament(result, output, command_line(context, without=["output"]))
    log_summary([f"Written: {index}"])
    emit_report(tournament_report(result), "text", Path("-"), [path for _, path in sources.files])
