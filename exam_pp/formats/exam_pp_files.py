"""The files of exam_pp itself, apart from banks: passages, games, edits, manifests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exam_pp.data_model import Id, Passage, QueryPassages
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Schema, Source, format_of, make_reader, make_writer, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import Sample, fits, with_keys
from exam_pp.games import QueryGames
from exam_pp.models import Record
from exam_pp.splicing import duplicate_key
from exam_pp.store import edits, manifests
from exam_pp.store.files import read_lines
from exam_pp.store.games_files import read_games, write_games
from exam_pp.store.passages.graded_file import parse_query, write_passages


def _is_graded(sample: Sample) -> bool:
    value = sample.value
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[1], list)
        and not isinstance(value[0], dict | list)
    )


def _passages(source: Source) -> Iterator[QueryPassages]:
    for number, line in read_lines(source.path):
        yield parse_query(line, str(source.path), number)
        if duplicate_key(line) is not None:  # the last value is kept, as by every JSON reader
            source.dropped.add("lines with a key twice in an object", 1)


def read_any_games(path: str | Path) -> Iterator[QueryGames]:
    """Read games in any format, such as a games file or a file of RAGElo, by query.

    Raises :class:`~exam_pp.errors.DataError` for an invalid file.
    """
    form = _games_format(path)
    if form is None or form.read is None:
        yield from read_games(path)
    else:
        yield from form.read(Source(Path(path), DroppedFields()))


def contains_games(path: str | Path) -> bool:
    """Whether a file contains games, in any format."""
    return _games_format(path) is not None


def _games_format(path: str | Path) -> Format | None:
    """The format of a file of games; None for another content."""
    try:
        form = format_of(path)
    except DataError:
        return None
    return form if form.content == "games" else None


def _changes(path: Path) -> list[Record]:
    found = edits.read_edits(path)
    return [*found.ratings, *found.supports, *found.bank, *found.games]


register(
    Format(
        "graded", "passages", "passages file, one line per query", fits(_is_graded),
        read=_passages, write=make_writer(write_passages),
        schema=Schema(
            "graded", "a line of a passages file: [query_id, [passage, ...]]", tuple[Id, list[Passage]]
        ),
    ),
    Format(
        "games", "games", "games file, one line per query", with_keys("query_id", "game_sets"), read_games,
        "query", make_reader(read_games), make_writer(write_games),
        schema=Schema("games", "a line of a games file", QueryGames),
    ),
    Format(
        "edits", "edits", "edits file of a reviewer",
        fits(lambda sample: sample.object.get("format") == edits.FORMAT), _changes, "change",
        schema=Schema("edits", "an edits file", edits.Edits),
    ),
    Format(
        "manifest", "manifest", "manifest of an output",
        fits(lambda sample: sample.object.get("format") == manifests.FORMAT),
        lambda path: [manifests.read_manifest(path)], "manifest",
        schema=Schema("manifest", "a manifest of an output", manifests.Manifest),
    ),
)  # fmt: skip
