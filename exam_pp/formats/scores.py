"""Leaderboards of scores: our tables, published boards, JSON lines, and what trec_eval prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Schema, Source, Target, known_format, reading, register, writing
from exam_pp.formats.dropped_fields import DroppedFields, used
from exam_pp.formats.sample import Fit, Sample, fits, with_keys
from exam_pp.metrics.leaderboard import standings
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.delimited import check_name
from exam_pp.store.files import is_stream, write_text
from exam_pp.store.trec.score_rows import ScoreRow, read_score_rows, write_score_rows
from exam_pp.store.trec.scores import (
    is_leaderboard,
    read_leaderboard_means,
    read_leaderboard_queries,
    side_values,
    write_scores,
)
from exam_pp.store.trec.trec_eval import is_number, is_trec_eval

PUBLISHED_COVER = "ExamCover"
"""What the published implementation calls Rubric-Cover."""


def read_all_scores(path: str | Path) -> list[Score]:
    """Means (query ``all``) and scores of single queries, of a file of scores in any format.

    A file of no other format is read by :func:`~exam_pp.store.trec.scores.read_leaderboard_means`. Raises
    :class:`DataError`.
    """
    if (read := _reader_of(known_format(path))) is not None:
        return list(read(Path(path)))
    single = read_leaderboard_queries(path)
    try:
        return [*single, *read_leaderboard_means(path)]
    except DataError:
        if not single:
            raise
        return single  # single queries without their means


def read_means(path: str | Path) -> list[Score]:
    """The means (query ``all``) of a file of scores in any format; a stream is read as a leaderboard.

    Of a format whose files give scores of single queries alone, they are the means of these. Raises
    :class:`DataError`.
    """
    scores = _read_by_format(path)
    if scores is None:
        return read_leaderboard_means(path)
    return [Score(row.system, ALL_QUERIES, row.metric, row.mean) for row in standings(scores)]


def read_query_scores(path: str | Path) -> list[Score]:
    """The scores of single queries of a file of scores in any format; nothing if it has means alone."""
    scores = _read_by_format(path)
    if scores is None:
        return read_leaderboard_queries(path)
    return [score for score in scores if score.query_id != ALL_QUERIES]


def holds_scores(path: str | Path) -> bool:
    """Whether a file is of scores, in any format, rather than official ranks: a name and a number first."""
    if is_stream(path) or _reader_of(known_format(path)) is None:
        return is_leaderboard(path)
    return not any(map(is_number, Sample.of(path).header[1:2]))


def _read_by_format(path: str | Path) -> list[Score] | None:
    """The scores of a file; None for leaderboards, for files of no format, and for streams."""
    read = None if is_stream(path) else _reader_of(known_format(path))
    return None if read is None else list(read(Path(path)))


def _reader_of(form: Format | None) -> Callable[[Path], Iterable[Score]] | None:
    """The reader of a format of scores that is not read as a leaderboard."""
    if form is None or form.content != "scores" or form.records is read_all_scores:
        return None
    return form.records


def _is_leaderboard_of_means(sample: Sample) -> bool:
    """Whether it is a board of the published implementation, whose rows look like those of other files."""
    return sample.header[:1] == ["method"] and "+/-" in sample.header


def _is_published_cover(sample: Sample) -> bool:
    return _is_leaderboard_of_means(sample) and sample.header[1] == PUBLISHED_COVER


def _sniff_leaderboard(sample: Sample) -> Fit:
    if isinstance(sample.object.get("tables"), list):
        return Fit.FAIR
    if is_trec_eval(sample.texts) or _is_published_cover(sample):
        return Fit.NOT
    # Results of AutoJudge have a column of systems and numbers, too.
    evaluation = set(sample.header) >= {"run_id", "measure", "value"}
    if _is_leaderboard_of_means(sample) or (sample.is_titled and sample.is_of_systems and not evaluation):
        return Fit.CERTAIN
    return Fit.LOOSE if sample.columns and sample.is_of_systems else Fit.NOT


def one_measure(scores: Iterable[Score], name: str, dropped: DroppedFields) -> list[Score]:
    """The scores of the first measure, for a table of means that calls it ``name``."""
    scores = list(scores)
    metric = next((score.metric for score in scores), name)
    shown = [score for score in scores if score.metric == metric]
    dropped.add("scores of other measures", len(scores) - len(shown))
    dropped.add("scores of single queries", sum(score.query_id != ALL_QUERIES for score in shown))
    dropped.add("names of measures", metric != name)
    return shown


def published_cover(scores: Iterable[Score]) -> str:
    """The Cover board of the published implementation: three decimals, sorted by name."""
    rows = standings(scores)
    metric = rows[0].metric if rows else ""
    lines = [f"method\t{PUBLISHED_COVER}\t+/-\tstd-err"]
    for row in sorted(row for row in rows if row.metric == metric):
        error = "" if row.stderr is None else f"{row.stderr:.3f}"
        lines.append(f"{row.system}\t{row.mean:.3f}\t+/-\t{error}")
    return "\n".join(lines) + "\n"


def read_leaderboard(source: Source) -> list[Score]:
    """The scores; what stands beside them (standard errors, intervals, ranks) is lost."""
    scores = read_all_scores(source.path)
    for name, count in side_values(source.path).items():
        source.dropped.add(f"values of {name!r}", count)
    return scores


def _write_cover(scores: Iterable[Score], target: Target) -> None:
    """The published board shows one measure by its own name for it: the mean, with three decimals."""
    shown = one_measure(scores, PUBLISHED_COVER, target.dropped)
    rows = standings(shown)
    for row in rows:
        check_name(row.system)
    target.dropped.add("digits beyond the third", sum(round(row.mean, 3) != row.mean for row in rows))
    write_text(target.path, published_cover(shown), inputs=target.inputs)


register(
    Format(
        "leaderboard", "scores", "leaderboard, TSV or any table", _sniff_leaderboard, read_all_scores,
        "score", read_leaderboard, writing(write_scores, as_json=False),
    ),
    Format(
        "leaderboard-json", "scores", "leaderboard, JSON", read=read_leaderboard,
        write=writing(write_scores, as_json=True),
    ),
    Format(
        "scores-jsonl", "scores", "scores, JSON lines", with_keys("system", "query_id", "metric", "value"),
        read_score_rows, "score", reading(read_score_rows, used("system query_id metric value")),
        writing(write_score_rows),
        schema=Schema("scores", "a line of scores", ScoreRow),
    ),
    Format(
        "published-cover", "scores", "published board of Rubric-Cover", fits(_is_published_cover),
        read_all_scores, "score", read_leaderboard, _write_cover,
    ),
    Format(
        "trec-eval", "scores", "what trec_eval prints", fits(lambda sample: is_trec_eval(sample.texts)),
        read_all_scores, "score", read_leaderboard,
    ),
)  # fmt: skip
