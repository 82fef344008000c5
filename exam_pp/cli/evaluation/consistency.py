"""``exam-pp evaluate consistency``: similarity of repeated answers, and the spread of their scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import LeaderboardOutput, leaderboard_options
from exam_pp.cli.options import FILES, ONLY_QUERIES, OUTPUT_PATH, PASSAGES, model_names
from exam_pp.text.wording import listed

if TYPE_CHECKING:
    from exam_pp.llm.embeddings import TokenEmbedder


_METRICS = {
    "rouge": ("rouge", "rouge-stem"),
    "bertscore": ("bertscore", "bertscore-raw"),
    "spread": ("spread", "spread-sample"),
}
"""Family to its metrics, of which one is computed."""


@click.command("consistency", cls=Command)
@PASSAGES
@click.option(
    "--scores",
    type=FILES,
    multiple=True,
    help="Scores of single queries whose systems are the repeats, such as `rag-run-1` (rows of JSON, TSV, or "
    "results of Open RAG Eval); may be repeated.",
)
@ONLY_QUERIES
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated.")
@click.option(
    "--metric",
    "metrics",
    type=click.Choice([name for names in _METRICS.values() for name in names]),
    multiple=True,
    help="ROUGE-1, ROUGE-2 and ROUGE-L of words (rouge) or their stems (rouge-stem), which need the extra "
    "rouge; BERTScore by --model, rescaled with the baseline of bert-score for English where exam_pp has it "
    "(bertscore), or not rescaled (bertscore-raw); the spread of --scores, with variances over n repeats "
    "divided by n, as in Open RAG Eval (spread), or by n − 1 (spread-sample). May be repeated.  [default: "
    "rouge; bertscore with --model; spread with --scores]",
)
@click.option(
    "--model",
    "encoder",
    shell_complete=model_names,
    metavar="MODEL",
    help="Encoder of BERTScore: a Hugging Face model or checkpoint folder. NAME_L9, in the notation of "
    "bert-score, compares the vectors of layer 9 in place of its default, else the last one.",
)
@click.option("--device", metavar="DEVICE", help="Device of the encoder.  [default: the first GPU, else cpu]")
@click.option(
    "--also pairs",
    "pairs_output",
    type=OUTPUT_PATH,
    help="JSON lines with precision, recall and F1 of each pair of answers, to write, too.",
)
@leaderboard_options()
def command(
    *,
    passages: Path,
    scores: tuple[Path, ...],
    queries: Path | None,
    systems: tuple[str, ...],
    metrics: tuple[str, ...],
    encoder: str | None,
    device: str | None,
    pairs_output: Path | None,
    output: LeaderboardOutput,
) -> None:
    """Compare the answers of repeated runs of each system, and describe the spread of their scores.

    A score is the mean F1 over all pairs of repeats of an answer: ROUGE-1, ROUGE-2, ROUGE-L, and BERTScore
    with --model. Higher means more consistent. With --scores, further columns have the mean, variance,
    coefficient of variation (cv: sd/mean, lower is more consistent) and mean/(1+sd) (adjusted) of each score
    over the repeats. Missing answers and scores are in no number, and are counted below the table.

    PASSAGES holds the answers of several runs under one name, as `exam-pp import --answers` stores those of
    Open RAG Eval.

    Examples:

    \b
      exam-pp evaluate consistency repeated.jsonl.gz
      exam-pp evaluate consistency repeated.jsonl.gz --metric spread --scores repeated-scores.jsonl
    """
    from exam_pp.formats.scores import read_query_scores
    from exam_pp.phases.evaluation.consistency import consistency, repeated_answers, write_pairs
    from exam_pp.phases.evaluation.inputs import query_ids
    from exam_pp.phases.evaluation.nugget_leaderboard import score_files

    chosen = _chosen(metrics, encoder, scores)
    files = [file for source in scores for file in score_files(source)]
    selected = None if queries is None else query_ids(queries)
    repeats = repeated_answers(passages, queries=selected, systems=systems)
    rows = [score for file in files for score in read_query_scores(file)]
    if selected is not None:
        rows = [score for score in rows if score.query_id in selected]
    embedder = None if encoder is None else _embedder(encoder, device)
    result = consistency(
        repeats,
        with_rouge=not chosen.isdisjoint(("rouge", "rouge-stem")),
        stem="rouge-stem" in chosen,
        embedder=embedder,
        rescale="bertscore" in chosen,
        scores=rows,
        sample="spread-sample" in chosen,
    )
    inputs = [passages, queries, *files]
    if pairs_output is not None:
        write_pairs(result.pairs, pairs_output, inputs=[path for path in inputs if path is not None])
    output.write(result.evaluation, "Consistency over repeats", inputs)


def _chosen(metrics: tuple[str, ...], encoder: str | None, scores: tuple[Path, ...]) -> set[str]:
    """The metrics; without names, those for which there are inputs. Raises click.UsageError."""
    inputs = {"bertscore": encoder, "spread": scores}
    if encoder is None:
        refuse_without("--model", "device")
    if not metrics:
        return {"rouge"} | {name for name, given in inputs.items() if given}
    chosen = set(metrics)
    families = sorted(family for family, names in _METRICS.items() if not chosen.isdisjoint(names))
    for family in families:
        if chosen.issuperset(_METRICS[family]):
            raise click.UsageError(f"Use one of --metric {listed(_METRICS[family], ' and ')}.")
    for family, option in (("bertscore", "--model"), ("spread", "--scores")):
        if family in families and not inputs[family]:
            raise click.UsageError(f"--metric {listed(_METRICS[family], ' and ')} need {option}.")
    if "bertscore" not in families:
        refuse_without("--metric bertscore", "encoder")
    if "spread" not in families:
        refuse_without("--metric spread", "scores")
    return chosen


def _embedder(encoder: str, device: str | None) -> TokenEmbedder:
    from exam_pp.llm.base import ModelOptions
    from exam_pp.llm.embeddings import TokenEmbedder
    from exam_pp.metrics.text_similarity import default_layer

    name, _, layer = encoder.rpartition("_L")
    if Path(encoder).exists() or not layer.isdecimal():
        return TokenEmbedder(ModelOptions(encoder, device=device), default_layer(encoder))
    if int(layer) < 1:
        raise click.UsageError(f"--model {encoder}: layers are counted from 1.")
    return TokenEmbedder(ModelOptions(name, device=device), int(layer))
