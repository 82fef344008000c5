"""Published leaderboards and tables of correlations, with the lines around their tables.

The published implementation writes tables that start with the column ``method`` (or ``qrels``), often several
in a file, with lines such as ``min_rating = 4`` before them, and ``spearman_correlation = 0.9`` after them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from exam_pp.results import ALL_QUERIES
from exam_pp.store.csv_cells import split_cells
from exam_pp.store.numbers import is_number

_FIRST_COLUMNS = ("method", "qrels")
_FOOTER = re.compile(
    r"(spearman|kendall)([ _]?(rank)?[ _]?(correlation|rho|tau|p|p_?value))?(@.*)?|"
    r"(qrels?|leaderboard)_file|min_(self_)?rating|trec_eval_metric|official_leaderboard|p_?value",
    re.IGNORECASE,
)
_SETTING = re.compile(r"#?\s*(?P<name>[^=:\t]*?[^=:\t\s])\s*(?:=|:\s|\t)\s*(?P<value>.*)")
_CORRELATIONS = ("spearman", "kendall")
_CORRELATED = "trec_eval_metric"
UNDEFINED = "nan"
"""A correlation with a leaderboard of equal scores."""


@dataclass
class PublishedLeaderboard:
    """A table with its settings, such as ``min_rating``, from the lines before and after it.

    A row is its line number and its cells by column, of which some may be missing.
    """

    columns: Sequence[str]
    settings: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)

    @property
    def is_of_correlations(self) -> bool:
        """Whether the rows are correlations of leaderboards, and not systems."""
        return _CORRELATED in self.columns and bool({*_CORRELATIONS} & {*self.columns})


def is_board_header(line: str) -> bool:
    """Whether a line has the column names of a published table."""
    cells = split_cells(line)
    return len(cells) > 1 and cells[0].lower() in _FIRST_COLUMNS and not any(map(is_number, cells))


def is_footer(name: str) -> bool:
    """Whether the first cell of a row is the name of a setting or correlation, and not a system."""
    return _FOOTER.fullmatch(name.partition("=")[0].strip().lstrip("# ")) is not None


def read_boards(lines: Iterable[tuple[int, str]]) -> tuple[list[PublishedLeaderboard], Counter[str]]:
    """Split lines into tables.

    ``lines``: Line numbers and lines; lines that are not in ``lines`` are blank. Returns the tables, and the
    counts of the lines around them by the name of the setting (``note`` without one). Lines directly below a
    table belong to it; others belong to the next table, if there is one.
    """
    boards: list[PublishedLeaderboard] = []
    notes: Counter[str] = Counter()
    waiting: dict[str, str] = {}
    last = 0
    for number, line in lines:
        cells = split_cells(line)
        if is_board_header(line):
            boards.append(PublishedLeaderboard(cells, waiting))
            waiting, last = {}, number
        elif boards and len(cells) > 1 and cells[0] and not is_footer(cells[0]):
            boards[-1].rows.append((number, dict(zip(boards[-1].columns, cells, strict=False))))
            last = number
        else:
            match = _SETTING.fullmatch(line)
            name = match["name"].lower() if match else "note"
            notes[name] += 1
            is_below = bool(boards) and number == last + 1
            if is_below:
                last = number
            if match:
                (boards[-1].settings if is_below else waiting)[name] = match["value"].strip()
    if boards:
        boards[-1].settings.update(waiting)
    return boards, notes


def long_rows(
    boards: Sequence[PublishedLeaderboard], measures: Sequence[Sequence[str]]
) -> list[tuple[int, tuple[str, ...]]]:
    """The scores of several tables as line number and (system, query, measure, value).

    ``measures`` are the columns of scores of each table. Measures that several tables share get the settings
    that differ between the tables: ``exam(min_rating=4)``.
    """
    rows: list[tuple[int, tuple[str, ...]]] = []
    shared = {
        name for name, count in Counter(name for names in measures for name in names).items() if count > 1
    }
    for place, (board, names) in enumerate(zip(boards, measures, strict=True), 1):
        if board.is_of_correlations:
            rows += _correlation_rows(board)
            continue
        setting = _differing_settings(board, boards) or str(place)
        for number, cells in board.rows:
            for name in names:
                measure = f"{name}({setting})" if name in shared else name
                if cells.get(name):
                    rows.append((number, (cells[board.columns[0]], ALL_QUERIES, measure, cells[name])))
    return rows


def _differing_settings(board: PublishedLeaderboard, boards: Sequence[PublishedLeaderboard]) -> str:
    """The settings that identify a table; empty if they are those of another table, too."""
    if sum(other.settings == board.settings for other in boards) > 1:
        return ""
    differing = (
        name
        for name in board.settings
        if not name.startswith(_CORRELATIONS)
        and any(o.settings.get(name) != board.settings[name] for o in boards)
    )
    return ", ".join(f"{name}={board.settings[name]}" for name in differing)


def _correlation_rows(board: PublishedLeaderboard) -> Iterable[tuple[int, tuple[str, ...]]]:
    """Correlations as scores: the measure names the correlation, the correlated measure and the threshold."""
    for number, cells in board.rows:
        details = [cells.get(_CORRELATED, "")]
        details += [f"{name}={cells[name]}" for name in ("min_rating",) if cells.get(name)]
        for name in _CORRELATIONS:
            if cells.get(name) and cells[name].lower() != UNDEFINED:
                measure = f"{name}({', '.join(filter(None, details))})"
                yield (
                    number,
                    (cells[board.columns[0]], cells.get("query") or ALL_QUERIES, measure, cells[name]),
                )
