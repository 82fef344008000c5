"""Official leaderboards: system to rank, as JSON and TSV."""

from __future__ import annotations

from collections.abc import Mapping

from exam_pp.data_model import Number
from exam_pp.formats.base import Format, Schema, Source, make_writer, register
from exam_pp.formats.dropped_fields import report_uncounted_stream
from exam_pp.formats.sample import SYSTEMS, Fit, Sample, fits, nearly_all
from exam_pp.store.files import is_read_once
from exam_pp.store.numbers import is_number, number_of
from exam_pp.store.trec.ranks import count_ignored_cells, read_ranks, write_ranks


def _is_object_of_numbers(sample: Sample) -> bool:
    return nearly_all(number_of(value) is not None for value in sample.values)


def _is_table(sample: Sample) -> bool:
    header = sample.header
    ranks = len(header) == 2 and (is_number(header[1]) or "rank" in header[1].lower())
    alone = len(sample.rows) == 1 and ranks and header[0].lower() in SYSTEMS
    return ranks and sample.is_of_pairs and (sample.is_of_numbered_pairs or alone)


def _read(source: Source) -> Mapping[str, float]:
    ranks = read_ranks(source.path)
    if is_read_once(source.path):
        report_uncounted_stream(source.dropped)
    else:
        source.dropped.add("cells after the rank", count_ignored_cells(source.path))
    return ranks


register(
    Format(
        "official-json", "ranks", "official leaderboard, JSON {system: rank}",
        fits(_is_object_of_numbers, Fit.LOOSE), read_ranks, "system", _read,
        make_writer(write_ranks, as_json=True),
        schema=Schema("leaderboard", "an official leaderboard: {system: rank}", dict[str, Number]),
    ),
    Format(
        "official-tsv", "ranks", "official leaderboard, TSV", fits(_is_table, Fit.FAIR), read_ranks, "system",
        _read, make_writer(write_ranks, as_json=False),
    ),
)  # fmt: skip
