"""Leaderboards: official ranks, tables of exam_pp, published ones, JSON lines, output of trec_eval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from exam_pp.data_model import Number
from exam_pp.errors import DataError
from exam_pp.formats.base import (
    Format,
    Schema,
    Source,
    known_format,
    make_reader,
    make_writer,
    register,
)
from exam_pp.formats.dropped_fields import DroppedFields, used
from exam_pp.formats.sample import SYSTEMS, Fit, Sample, fits, most, nearly_all, with_keys
from exam_pp.metrics.leaderboard import standings
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.numbers import is_number, number_of
from exam_pp.store.tables import RUNS
from exam_pp.store.trec.published_boards import is_board_header
from exam_pp.store.trec.ranks import count_ignored_cells, read_ranks, write_ranks
from exam_pp.store.trec.scores import (
    NAMED_COLUMNS,
    QUERY_COLUMNS,
    ScoreRow,
    count_ignored_values,
    is_leaderboard,
    is_trec_eval,
    read_leaderboard_means,
    read_leaderboard_queries,
    read_score_rows,
    write_score_rows,
    write_scores,
)


def _is_table(sample: Sample) -> bool:
    header = sample.header
    ranks = len(header) == 2 and (is_number(header[1]) or "rank" in header[1].lower())
    alone = len(sample.rows) == 1 and ranks and header[0].lower() in SYSTEMS
    return ranks and sample.is_of_pairs and (sample.is_of_numbered_pairs or alone)


_READ = make_reader(
    read_ranks, lambda path, dropped: dropped.add("cells after the rank", count_ignored_cells(path))
)

register(
    Format(
        "official-json", "ranks", "official leaderboard, JSON {system: rank}",
        fits(lambda of: nearly_all(number_of(value) is not None for value in of.values), Fit.LOOSE),
        read_ranks, "system", _READ,
        make_writer(write_ranks, as_json=True),
        schema=Schema("leaderboard", "an official leaderboard: {system: rank}", dict[str, Number]),
    ),
    Format(
        "official-tsv", "ranks", "official leaderboard, TSV", fits(_is_table, Fit.FAIR), read_ranks, "system",
        _READ, make_writer(write_ranks, as_json=False),
    ),
)  # fmt: skip


def read_all_scores(path: str | Path) -> list[Score]:
    """Read means (query ``all``) and scores of single queries from a file of scores in any format.

    A file without a known format of scores is read as a leaderboard. Raises :class:`DataError`.
    """
    if (read := _reader_of(known_format(path))) is not None:
        return list(read(Path(path)))
    single = read_leaderboard_queries(path)
    try:
        return [*single, *read_leaderboard_means(path)]
    except DataError:
        if not single:
            raise
        return single  # the file has no means, only scores of single queries


def read_means(path: str | Path) -> list[Score]:
    """Read the means (query ``all``) from a file of scores in any format.

    If the file has only scores of single queries, their means are computed. Raises :class:`DataError`.
    """
    scores = _read_by_format(path)
    if scores is None:
        return read_leaderboard_means(path)
    return [Score(row.system, ALL_QUERIES, row.metric, row.mean) for row in standings(scores)]


def read_query_scores(path: str | Path) -> list[Score]:
    """Read the scores of single queries from a file of scores in any format; empty if it has only means."""
    scores = _read_by_format(path)
    if scores is None:
        return read_leaderboard_queries(path)
    return [score for score in scores if score.query_id != ALL_QUERIES]


def contains_scores(path: str | Path) -> bool:
    """Whether a file contains scores, in any format, and not official ranks."""
    if _reader_of(known_format(path)) is None:
        return is_leaderboard(path)
    sample = Sample.of(path)
    # In results of AutoJudge, the second field is a topic or measure, and ids of topics are often numbers.
    return sample.has_four_fields or not any(map(is_number, sample.header[1:2]))


def _read_by_format(path: str | Path) -> list[Score] | None:
    """The scores of a file; None for leaderboards and unknown formats.

    Raises :class:`DataError` for a file of answers, which may be a table, too.
    """
    form = known_format(path)
    if form is not None and form.content == "answers":
        raise DataError("has answers, not scores; `exam-pp evaluate` makes scores of them.", file=str(path))
    read = _reader_of(form)
    return None if read is None else list(read(Path(path)))


def _reader_of(form: Format | None) -> Callable[[Path], Iterable[Score]] | None:
    """The reader of a format of scores; None for leaderboards and formats of other content."""
    if form is None or form.content != "scores" or form.records is read_all_scores:
        return None
    return form.records


def _is_published_table(sample: Sample) -> bool:
    """Whether a line is the header of a published table with scores, perhaps after lines with settings."""
    return any(text.count("\t") > 1 and is_board_header(text) for text in sample.texts)


def _is_of_queries(sample: Sample) -> bool:
    """Whether the table has scores of queries: beside queries and systems, all cells are numbers or empty."""
    header = [name.lower() for name in sample.header]
    if not sample.columns or len(QUERY_COLUMNS.intersection(header)) != 1:
        return False  # tables with both id and text of the query are of Open RAG Eval
    places = [place for place, name in enumerate(header) if name not in NAMED_COLUMNS]
    rows = [[row[place] for place in places if place < len(row) and row[place]] for row in sample.rows[1:]]
    return most(map(bool, rows)) and all(is_number(cell) for row in rows for cell in row)


def _sniff_leaderboard(sample: Sample) -> Fit:
    if isinstance(sample.object.get("tables"), list):
        return Fit.FAIR
    if is_trec_eval(sample.texts) or sample.has(RUNS):
        return Fit.NOT
    # Results of AutoJudge also have a column of systems and numbers; their header sets them apart.
    is_autojudge = set(sample.header) >= {"run_id", "measure", "value"}
    if _is_published_table(sample) or (sample.is_titled and sample.is_of_systems and not is_autojudge):
        return Fit.CERTAIN
    is_loose = (sample.columns and sample.is_of_systems) or (_is_of_queries(sample) and not is_autojudge)
    return Fit.LOOSE if is_loose else Fit.NOT


def one_measure(scores: Iterable[Score], name: str, dropped: DroppedFields) -> list[Score]:
    """Return the scores of the first measure, for a format that has one column of means, called ``name``.

    All other measures, scores of single queries, and a different name of the measure are counted as dropped.
    """
    scores = list(scores)
    metric = next((score.metric for score in scores), name)
    kept = [score for score in scores if score.metric == metric]
    dropped.add("scores of other measures", len(scores) - len(kept))
    dropped.add("per-query scores", sum(score.query_id != ALL_QUERIES for score in kept))
    dropped.add("measure names", metric != name)
    return kept


def read_leaderboard(source: Source) -> list[Score]:
    """Read the scores; counts the other columns (standard errors, intervals, ranks) as dropped."""
    scores = read_all_scores(source.path)
    for name, count in count_ignored_values(source.path).items():
        source.dropped.field(name, count)
    return scores


register(
    Format(
        "leaderboard", "scores", "leaderboard, TSV or any table", _sniff_leaderboard, read_all_scores,
        "score", read_leaderboard, make_writer(write_scores, as_json=False),
    ),
    Format(
        "leaderboard-json", "scores", "leaderboard, JSON", read=read_leaderboard,
        write=make_writer(write_scores, as_json=True),
    ),
    Format(
        "scores-jsonl", "scores", "scores, JSON lines", with_keys("system", "query_id", "metric", "value"),
        read_score_rows, "score", make_reader(read_score_rows, used("system query_id metric value")),
        make_writer(write_score_rows),
        schema=Schema("scores", "a line of scores", ScoreRow),
    ),
    Format(
        "trec-eval", "scores", "output of trec_eval", fits(lambda sample: is_trec_eval(sample.texts)),
        read_all_scores, "score", read_leaderboard,
    ),
)  # fmt: skip
