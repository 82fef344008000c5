"""Reading and writing official leaderboards as ranks of systems, and tables of run types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.splicing import duplicate_key
from exam_pp.store.csv_cells import check_name, numbered_rows, plain_numbers, system_first
from exam_pp.store.files import read_text_lines, write_text
from exam_pp.store.numbers import is_number, number_of, parse_number
from exam_pp.store.parsing import parse_json
from exam_pp.store.trec.published_boards import is_footer


def read_ranks(path: str | Path) -> dict[str, float]:
    """Read an official leaderboard.

    Args:
        path: JSON ``{system: rank}``, or lines ``system<TAB>rank`` (or comma-separated), with or without a
            header, whose second column is not a number. Further columns are ignored.

    Returns:
        Ranks by system; 1 is best, fractions and ties are allowed.

    Raises:
        DataError: The file is not in the format.
    """
    lines = list(read_text_lines(path))
    if lines and lines[0][1].startswith("{"):
        text = "\n".join(text for _, text in lines)
        ranks = _json(parse_json(text, path), path)
        if (system := duplicate_key(text.encode("utf-8", "surrogatepass"))) is not None:
            raise DataError(f"the system {system!r} occurs twice.", file=str(path))
    else:
        ranks = _table(lines, path)
    if not ranks:
        raise DataError("has no systems.", file=str(path))
    return ranks


def _json(value: object, path: str | Path) -> dict[str, float]:
    assert isinstance(value, dict)
    ranks: dict[str, float] = {}
    for system, rank in value.items():
        number = number_of(rank)
        if number is None:
            raise DataError(f"the rank {rank!r} is not a number.", file=str(path), field=system)
        ranks[system] = number
    return ranks


def count_ignored_cells(path: str | Path) -> int:
    """Count the lines of correlations and the cells after the rank, which :func:`read_ranks` ignores."""
    lines = list(read_text_lines(path))
    is_json = bool(lines) and lines[0][1].startswith("{")
    rows = [] if is_json else [row for _, row in _rows(lines, path)]
    cells = [cell for row in rows if len(row) > 2 and is_number(row[1]) for cell in row[2:]]
    return sum(map(bool, cells)) + sum(map(_is_footer, rows))


def _rows(lines: Sequence[tuple[int, str]], path: str | Path) -> list[tuple[int, list[str]]]:
    """The line number and the cells of each row: the system, then its rank."""
    rows = numbered_rows(lines, path)
    cells = [row for _, row in rows]
    turned = system_first(cells) if cells and not any(map(is_number, cells[0])) else cells
    return [(number, row) for (number, _), row in zip(rows, turned, strict=True)]


def _is_footer(cells: Sequence[str]) -> bool:
    """Whether a line is a correlation, such as ``spearman_correlation =0.67``, not the rank of a system."""
    return is_footer(cells[0]) and not any(map(is_number, cells[1:2]))


def _table(lines: list[tuple[int, str]], path: str | Path) -> dict[str, float]:
    ranks: dict[str, float] = {}
    rows = [(number, row) for number, row in _rows(lines, path) if not _is_footer(row)]
    for number, row in rows:
        if len(row) < 2:
            raise DataError("has no second column.", file=str(path), line=number)
    cells = plain_numbers([row[1] for _, row in rows], path, "rank", whole=True)
    for index, ((number, (system, given, *_)), cell) in enumerate(zip(rows, cells, strict=True)):
        if is_number(cell):
            if system in ranks:
                raise DataError(f"the system {system!r} occurs twice.", file=str(path), line=number)
            ranks[system] = parse_number(cell)
        elif index:
            raise DataError(f"{given!r} is not a number.", file=str(path), line=number, field="rank")
    return ranks


def write_ranks(
    ranks: Mapping[str, float],
    path: str | Path,
    *,
    as_json: bool = True,
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write an official leaderboard as JSON, or as TSV with a header; whole ranks have no decimals.

    Raises :class:`DataError` for a name that a TSV file cannot represent.
    """
    numbers = {system: int(rank) if rank == int(rank) else rank for system, rank in ranks.items()}
    if as_json:
        write_text(path, json.dumps(numbers, ensure_ascii=False, indent=2) + "\n", inputs=inputs)
        return
    for system in numbers:
        check_name(system)
    rows = "".join(f"{system}\t{rank}\n" for system, rank in numbers.items())
    write_text(path, f"system\trank\n{rows}", inputs=inputs)


_HEADERS = ("run_id", "run id", "run", "system", "runtag")


def read_run_types(path: str | Path) -> dict[str, str]:
    """Read types by run id from lines ``run<TAB>type`` (or comma-separated), with or without a header.

    Further columns are ignored. Raises :class:`DataError` for invalid lines and a run with two types.
    """
    types: dict[str, str] = {}
    for index, (number, (run, *rest)) in enumerate(numbered_rows(list(read_text_lines(path)), path)):
        if index == 0 and run.lower() in _HEADERS:
            continue
        if not run or not rest or not rest[0]:
            raise DataError("is not a run id and a type, separated by a tab.", file=str(path), line=number)
        if types.setdefault(run, rest[0]) != rest[0]:
            raise DataError(f"the run {run!r} has two types.", file=str(path), line=number)
    if not types:
        raise DataError("has no run types.", file=str(path))
    return types
