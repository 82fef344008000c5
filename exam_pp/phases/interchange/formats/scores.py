"""Conversion: leaderboards of scores, and official ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.leaderboards import PUBLISHED_COVER, published_cover
from exam_pp.phases.evaluation.rubric import Evaluation
from exam_pp.phases.evaluation.score_files import read_all_scores
from exam_pp.phases.interchange.dropped_fields import uncounted, used
from exam_pp.phases.interchange.formats.base import Source, Target, add_format, reading
from exam_pp.phases.interchange.losses import Losses
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.delimited import check_name
from exam_pp.store.files import is_stream, write_text
from exam_pp.store.interchange.autojudge_eval import Order, read_evaluation, write_evaluation
from exam_pp.store.trec.ranks import read_ranks, side_cells, write_ranks
from exam_pp.store.trec.score_rows import read_score_rows, write_score_rows
from exam_pp.store.trec.scores import side_values, write_scores


def one_measure(scores: Iterable[Score], name: str, losses: Losses) -> list[Score]:
    """The scores of the first measure, for a table of means that calls it ``name``."""
    scores = list(scores)
    metric = next((score.metric for score in scores), name)
    shown = [score for score in scores if score.metric == metric]
    losses.add("scores of other measures", len(scores) - len(shown))
    losses.add("scores of single queries", sum(score.query_id != ALL_QUERIES for score in shown))
    losses.add("names of measures", metric != name)
    return shown


def _write_cover(scores: Iterable[Score], target: Target) -> None:
    """The published board shows one measure by its own name for it: the mean, with three decimals."""
    shown = one_measure(scores, PUBLISHED_COVER, target.losses)
    rows = standings(shown)
    for row in rows:
        check_name(row.system)
    target.losses.add("digits beyond the third", sum(round(row.mean, 3) != row.mean for row in rows))
    write_text(target.path, published_cover(Evaluation(shown)), inputs=target.inputs)


def _write_table(scores: Iterable[Score], target: Target, *, as_json: bool) -> None:
    write_scores(scores, target.path, as_json=as_json, inputs=target.inputs)


def _read_evaluation(order: Order) -> Callable[[Source], list[Score]]:
    return lambda source: list(read_evaluation(source.path, order))


def _write_evaluation(scores: Iterable[Score], target: Target, order: Order) -> None:
    write_evaluation(scores, target.path, order, inputs=target.inputs)


def read_table(source: Source) -> list[Score]:
    """What stands beside the scores (standard errors, intervals, ranks) is lost."""
    scores = read_all_scores(source.path)
    for name, count in side_values(source.path).items():
        source.losses.add(f"values of {name!r}", count)
    return scores


def _read_ranks(source: Source) -> Mapping[str, float]:
    ranks = read_ranks(source.path)
    if is_stream(source.path):
        uncounted(source.losses)
    else:
        source.losses.add("cells behind the rank", side_cells(source.path))
    return ranks


def _write_ranks(ranks: Mapping[str, float], target: Target, *, as_json: bool) -> None:
    write_ranks(ranks, target.path, as_json=as_json, inputs=target.inputs)


def _write_score_rows(scores: Iterable[Score], target: Target) -> None:
    write_score_rows(scores, target.path, inputs=target.inputs)


add_format(
    "leaderboard",
    "scores",
    "leaderboard, TSV or any table",
    read_table,
    partial(_write_table, as_json=False),
)
add_format("leaderboard-json", "scores", "leaderboard, JSON", read_table, partial(_write_table, as_json=True))
add_format(
    "scores-jsonl",
    "scores",
    "scores, JSON lines",
    reading(read_score_rows, used("system query_id metric value")),
    _write_score_rows,
)
add_format("published-cover", "scores", "published board of Rubric-Cover", read_table, _write_cover)
add_format("trec-eval", "scores", "what trec_eval prints", read_table, None)
add_format(
    "autojudge-eval",
    "scores",
    "results of AutoJudge: run topic measure value",
    _read_evaluation("ir_measures"),
    partial(_write_evaluation, order="ir_measures"),
)
add_format(
    "autojudge-tot",
    "scores",
    "results of AutoJudge: run measure topic value",
    _read_evaluation("tot"),
    partial(_write_evaluation, order="tot"),
)
add_format(
    "official-json",
    "ranks",
    "official leaderboard, JSON {system: rank}",
    _read_ranks,
    partial(_write_ranks, as_json=True),
)
add_format(
    "official-tsv",
    "ranks",
    "official leaderboard, TSV",
    _read_ranks,
    partial(_write_ranks, as_json=False),
)
