"""Options that ``exam-pp query`` and ``exam-pp db`` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.options import FILE, FILES, METHOD_NAME, QUERIES_FILE, take, together

if TYPE_CHECKING:
    from exam_pp.phases.sql.query import SqlSources
    from exam_pp.store.sql.duck import Limits


source_options = together(
    click.option("--bank", "banks", multiple=True, type=FILE, help="Test bank, for `bank`."),
    click.option("--runs", multiple=True, type=FILES, help="Run file or folder of them, for `runs`."),
    click.option("--scores", multiple=True, type=FILE, help="Leaderboard, for `scores`."),
    click.option("--queries", multiple=True, type=QUERIES_FILE, help="Query texts, for `queries`."),
    METHOD_NAME,
)
"""What stands beside the graded files; taken by :func:`take_sources`."""


limit_options = together(
    click.option(
        "--memory-limit",
        default="512MB",
        show_default=True,
        help="Memory for DuckDB, such as 4GB; beyond it, it writes to temporary files (see TMPDIR).",
    ),
    click.option("--threads", type=click.IntRange(min=1), help="Threads for DuckDB.  [default: all cores]"),
)
"""What the database may use; taken by :func:`take_limits`."""


def take_sources(files: Sequence[Path], options: dict[str, Any]) -> SqlSources:
    """The sources, taken out of a command's keyword arguments."""
    from exam_pp.phases.sql.query import SqlSources

    names = ("banks", "runs", "scores", "queries", "method_name")
    return SqlSources(files, **take(options, *names))


def take_limits(options: dict[str, Any]) -> Limits:
    """The limits, taken out of a command's keyword arguments."""
    from exam_pp.store.sql.duck import Limits

    return Limits(options.pop("memory_limit"), options.pop("threads"))
