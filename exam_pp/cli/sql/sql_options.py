"""Options that ``exam-pp query`` and ``exam-pp db`` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.options import FILE, FILES, METHOD_NAME, QUERIES_FILE, QUERY_FORMATS, take, together
from exam_pp.cli.ranges import IntRange

if TYPE_CHECKING:
    from exam_pp.phases.sql.query import SqlSources
    from exam_pp.store.sql.duck import Limits


source_options = together(
    click.option(
        "--bank", "banks", multiple=True, type=FILE, help="Test bank, for the table bank; may be repeated."
    ),
    click.option(
        "--runs",
        multiple=True,
        type=FILES,
        help="Run file, or folder of run files, for the table runs; may be repeated.",
    ),
    click.option(
        "--scores",
        multiple=True,
        type=FILE,
        help="Leaderboard or other file of scores, for the table scores; may be repeated.",
    ),
    click.option(
        "--queries",
        multiple=True,
        type=QUERIES_FILE,
        help=f"Texts of the queries, for the table queries ({QUERY_FORMATS}); may be repeated.",
    ),
    METHOD_NAME,
)
"""Options for the inputs besides graded files; read by :func:`take_sources`."""


limit_options = together(
    click.option(
        "-S memory-limit",
        "memory_limit",
        default="512MB",
        show_default=True,
        metavar="SIZE",
        help="Memory of DuckDB, such as 4GB; beyond it, DuckDB writes temporary files (see TMPDIR).",
    ),
    click.option(
        "--threads", type=IntRange(min=1), help="Number of threads of DuckDB.  [default: all cores]"
    ),
)
"""Options for DuckDB's memory and threads; read by :func:`take_limits`."""


def take_sources(files: Sequence[Path], options: dict[str, Any]) -> SqlSources:
    """Remove the source options from a command's keyword arguments and return the sources."""
    from exam_pp.phases.sql.query import SqlSources

    names = ("banks", "runs", "scores", "queries", "method_name")
    return SqlSources(files, **take(options, *names))


def take_limits(options: dict[str, Any]) -> Limits:
    """Remove the limit options from a command's keyword arguments and return the limits."""
    from exam_pp.store.sql.duck import Limits

    return Limits(options.pop("memory_limit"), options.pop("threads"))
