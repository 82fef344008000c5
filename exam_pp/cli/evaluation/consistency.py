"""``exam-pp evaluate consistency``: similarity of repeated answers, and the spread of their scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import model_names
from exam_pp.cli.leaderboard_options import LeaderboardOutput, leaderboard_options
from exam_pp.cli.options import FILES, ONLY_QUERIES, OUTPUT_PATH, PASSAGES
from exam_pp.cli.ranges import IntRange

if TYPE_CHECKING:
    from exam_pp.phases.evaluation.repeats import Embedder


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
    "--rouge/--no-rouge",
    default=True,
    show_default=True,
    help="Compare answers by ROUGE-1, ROUGE-2 and ROUGE-L, which needs the extra rouge.",
)
@click.option("--stem", is_flag=True, help="ROUGE compares stems of words.")
@click.option(
    "--model",
    "encoder",
    shell_complete=model_names,
    metavar="MODEL",
    help="Also compare answers by BERTScore, with this encoder: a Hugging Face model or checkpoint folder.",
)
@click.option(
    "--layer",
    type=IntRange(1),
    help="Layer of the encoder whose vectors are compared.  [default: that of bert-score, else the last one]",
)
@click.option(
    "--rescale/--no-rescale",
    default=True,
    show_default=True,
    help="Rescale BERTScore with the baseline of bert-score for English, where exam_pp has it.",
)
@click.option("--device", metavar="DEVICE", help="Device of the encoder.  [default: the first GPU, else cpu]")
@click.option(
    "--variance",
    type=click.Choice(["population", "sample"]),
    default="population",
    show_default=True,
    help="Variance of scores over n repeats: division by n (population), as in Open RAG Eval, or by n − 1 "
    "(sample).",
)
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
    rouge: bool,
    stem: bool,
    encoder: str | None,
    layer: int | None,
    rescale: bool,
    device: str | None,
    variance: Literal["population", "sample"],
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
      exam-pp evaluate consistency repeated.jsonl.gz --no-rouge --scores repeated-scores.jsonl
    """
    from exam_pp.formats.scores import read_query_scores
    from exam_pp.phases.evaluation.consistency import (
        SimilarityOptions,
        consistency,
        repeated_answers,
        write_pairs,
    )
    from exam_pp.phases.evaluation.inputs import query_ids
    from exam_pp.phases.evaluation.nugget_leaderboard import score_files

    files = [file for source in scores for file in score_files(source)]
    selected = None if queries is None else query_ids(queries)
    repeats = repeated_answers(passages, queries=selected, systems=systems)
    rows = [score for file in files for score in read_query_scores(file)]
    if selected is not None:
        rows = [score for score in rows if score.query_id in selected]
    embedder = None if encoder is None else _embedder(encoder, layer, device)
    result = consistency(
        repeats,
        similarity=SimilarityOptions(rouge, stem, embedder, rescale),
        scores=rows,
        sample=variance == "sample",
    )
    inputs = [passages, queries, *files]
    if pairs_output is not None:
        write_pairs(result.pairs, pairs_output, inputs=[path for path in inputs if path is not None])
    output.write(result.evaluation, "Consistency over repeats", inputs)


def _embedder(encoder: str, layer: int | None, device: str | None) -> Embedder:
    from exam_pp.llm.base import ModelOptions
    from exam_pp.llm.embeddings import TokenEmbedder
    from exam_pp.metrics.text_similarity import default_layer

    return TokenEmbedder(ModelOptions(encoder, device=device), layer or default_layer(encoder))
