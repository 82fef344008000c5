"""``exam-pp fuse``: reciprocal rank fusion of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import FILES, METHOD_NAME, log_summary, output_option
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.fusion import DEFAULT_K, reciprocal_rank_fusion
from exam_pp.results import RunLine
from exam_pp.store.files import STDIO
from exam_pp.store.inputs import reading
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.store.trec.runs import MethodName, Run


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
    log_summary([fuse_files(runs, output, method=method_name, **options)])


DEFAULT_NAME = "fused"
"""The name of the fused system if the run is written to standard output."""


def fuse(
    runs: Sequence[Run],
    system: str,
    *,
    k: int = DEFAULT_K,
    top: int | None = None,
    max_passages: int | None = None,
) -> Iterator[RunLine]:
    """Yield the lines of the fused run, best first, for every query that any of the runs has.

    Ranks are those of trec_eval: by score in single precision, then by descending id; the rank column of a
    file does not count. The lines have the same order, so that ties of fused scores are ranked as they are
    evaluated.

    ``top``: Number of top passages of each run that count; None for all. ``max_passages``: Number of passages
    of each query; None for all.

    Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", SIGIR 2009.
    """
    from exam_pp.metrics.ties_in_runs import trec_eval_ranking

    for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
        tops = (trec_eval_ranking(run[query_id])[:top] for run in runs if query_id in run)
        scores = reciprocal_rank_fusion(({key: n for n, key in enumerate(ranked, 1)} for ranked in tops), k)
        for rank, passage_id in enumerate(trec_eval_ranking(scores)[:max_passages], 1):
            yield RunLine(query_id, passage_id, rank, scores[passage_id], system)


@reading()
def fuse_files(
    sources: Sequence[Path],
    output: Path,
    *,
    k: int = DEFAULT_K,
    top: int | None = None,
    max_passages: int | None = None,
    system_name: str | None = None,
    method: MethodName = "stem",
) -> str:
    """Write the fusion of run files, or of folders of run files, as a run file; returns a summary.

    ``system_name``: Name of the fused system; None for the name of the output file. The other options are
    those of :func:`fuse`.
    """
    from exam_pp.store.trec.runs import method_of, read_rankings, run_files, warn_of_skipped_files, write_run

    for source in sources:
        warn_of_skipped_files(source)
    files = run_files(sources)
    runs: dict[str, Run] = {}
    origins: dict[str, Path] = {}
    for file in files:
        systems = read_rankings(file, method=method)
        if not systems:
            raise DataError("has no results.", file=str(file))
        for system, run in systems.items():
            if system in runs:
                raise SelectionError(
                    f"{origins[system]} and {file} are both runs of {system!r}. Rename one of the files, or "
                    "use --method-name to name systems in another way."
                )
            runs[system], origins[system] = run, file
    if len(runs) < 2:
        raise SelectionError(f"fuse needs at least two runs, but {files[0]} is the only one.")
    system = system_name or (DEFAULT_NAME if str(output) == STDIO else method_of(output))
    lines = list(fuse(list(runs.values()), system, k=k, top=top, max_passages=max_passages))
    write_run(lines, output, inputs=files)
    queries = len({line.query_id for line in lines})
    return (
        f"Fused {counted(len(runs), 'run')} as {system!r}: {counted(len(lines), 'passage')} for "
        f"{counted(queries, 'query')}."
    )
