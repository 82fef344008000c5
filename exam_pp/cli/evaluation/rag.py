"""``exam-pp evaluate rag``: the evaluation of everything that RAG systems retrieved and answered."""

from __future__ import annotations

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

if TYPE_CHECKING:
    from exam_pp.phases.rag.config import RagConfig


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
    from exam_pp.reports.analysis.rag_folder import write_rag
    from exam_pp.signals import STOP
    from exam_pp.store.files import allow_rereading

    allow_rereading(config)
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
