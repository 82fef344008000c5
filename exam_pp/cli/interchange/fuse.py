"""``exam-pp fuse``: reciprocal rank fusion of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import FILES, METHOD_NAME, log_summary, output_option
from exam_pp.cli.ranges import IntRange


@click.command("fuse", cls=Command)
@click.argument("runs", nargs=-1, required=True, type=FILES)
@output_option("Run file to write.  [default: standard output]")
@click.option(
    "-k",
    "-S rank-constant",
    "k",
    type=IntRange(0),
    default=60,
    show_default=True,
    help="Constant k of 1 / (k + rank); the larger, the less the first ranks count.",
)
@click.option(
    "--top",
    type=IntRange(min=1),
    help="Only the top passages of each run and query, at most this many.  [default: all]",
)
@click.option(
    "--max-passages", type=IntRange(min=1), help="Number of passages to write per query.  [default: all]"
)
@click.option(
    "--name",
    "system_name",
    metavar="NAME",
    help="Name of the fused system in the run.  [default: the name of the output file without extensions, or "
    "fused]",
)
@METHOD_NAME
def command(runs: tuple[Path, ...], output: Path, method_name: Any, **options: Any) -> None:
    """Fuse runs into the run of a new system by reciprocal rank fusion.

    RUNS are run files (TREC) or folders of them. The score of a passage is the sum of 1 / (k + rank) over
    the runs that have it. Ranks are those of trec_eval: by score, then by descending id. `exam-pp convert
    --to run` writes the rankings of a passages file as runs.

    Example:

    \b
      exam-pp fuse runs -o fused.run
    """
    from exam_pp.phases.interchange.fuse_runs import FuseOptions, fuse_files

    log_summary(fuse_files(runs, output, FuseOptions(method=method_name, **options)).lines())
