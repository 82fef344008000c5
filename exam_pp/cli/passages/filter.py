"""``exam-pp filter``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    ONLY_QUERIES,
    PASSAGES,
    filter_options,
    grade_filter,
    log_summary,
    output_option,
    role_option,
)

_PARTS = ("grades", "human", "texts", "prompts", "replies", "judgments", "rankings")


def _names(_context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    """The new name of each old one."""
    names: dict[str, str] = {}
    for pair in pairs:
        old, _, new = pair.partition("=")
        if not (old and new):
            raise click.BadParameter(f"{pair!r} must have the form OLD=NEW.")
        if old in names:
            raise click.BadParameter(f"{old!r} has two new names, {names[old]!r} and {new!r}.")
        names[old] = new
    return names


@click.command("filter", cls=Command)
@PASSAGES
@output_option("File to write.  [default: standard output]")
@click.option("--query", "named", multiple=True, metavar="ID", help="Only this query; may be repeated.")
@ONLY_QUERIES
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Only the rankings of this system and the passages that it returned; of a games file the games of "
    "this system, or between several; may be repeated.",
)
@role_option("both")
@click.option(
    "--only",
    "conditions",
    multiple=True,
    type=click.Choice(["judged", "graded", "ungraded"]),
    help="Only passages with a judgment (judged), with grades (graded), or without grades (ungraded); may be "
    "repeated.",
)
@click.option("--min-judgment", type=int, help="Only passages with a judgment of at least this.")
@click.option("--min-grade", type=int, help="Only passages with a rating of at least this.")
@filter_options
@click.option(
    "--remove",
    "parts",
    multiple=True,
    type=click.Choice([*_PARTS, "canaries"]),
    help="Part to remove; may be repeated: all grades, or those that --grader and similar options select "
    "(grades); the grades of reviewers (human); the texts of passages, and prompts that contain them "
    "(texts); the prompts of failed requests (prompts); the replies of models, also extracted answers, which "
    "may quote passages (replies); the judgments; the rankings; or the systems that `exam-pp canaries` added "
    "(canaries).",
)
@click.option(
    "--rename system",
    "systems_to_rename",
    multiple=True,
    metavar="OLD=NEW",
    callback=_names,
    help="New name of a system in the rankings; may be repeated.",
)
@click.option(
    "--rename grader",
    "graders_to_rename",
    multiple=True,
    metavar="OLD=NEW",
    callback=_names,
    help="New name of a model or reviewer in the grades; may be repeated.",
)
@click.option(
    "--rename prompt-class",
    "classes_to_rename",
    multiple=True,
    metavar="OLD=NEW",
    callback=_names,
    help="New name of a prompt class in the grades; may be repeated.",
)
def command(
    passages: Path,
    output: Path,
    named: tuple[str, ...],
    queries: Path | None,
    systems: tuple[str, ...],
    role: Any,
    conditions: tuple[str, ...],
    min_judgment: int | None,
    min_grade: int | None,
    parts: tuple[str, ...],
    systems_to_rename: dict[str, str],
    graders_to_rename: dict[str, str],
    classes_to_rename: dict[str, str],
    **criteria: Any,
) -> None:
    """Keep selected queries, systems, passages and grades; remove parts before sharing; rename.

    The order is fixed: conditions select, then --remove removes parts, then --rename changes names, so that
    all options use the names in PASSAGES.

    --grader, --prompt and the other options for grades drop all other grades, but no passages; --only
    and --min-grade then apply to the remaining grades. With --remove grades, these options select the grades
    to remove instead. Queries without remaining passages are dropped.

    Removing keeps ids, ratings and the reasons of ungraded pairs; `exam-pp merge` adds removed texts again
    from a file that has them. Two names can be swapped; two graders or two systems cannot get the same name.

    PASSAGES may also be a games file: --query, --queries, --system, --grader, --prompt and
    --grades hash select games. Its grades are sets of games, its texts those of queries.

    Examples:

    \b
      exam-pp filter graded.jsonl.gz --system bm25 --min-grade 4 -o covered.jsonl.gz
      exam-pp filter graded.jsonl.gz --remove texts --remove replies -o shared.jsonl.gz
      exam-pp filter graded.jsonl.gz --rename grader=google/flan-t5-large=flan-t5 \\
        --rename system=bm25=BM25 -o renamed.jsonl.gz
      exam-pp filter all.games.jsonl.gz --system bm25 --system gen-long -o two.games.jsonl.gz
    """
    from exam_pp.cli.passages.remove_and_rename import Changes, Renaming, StripOptions, change_file
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.passages.filter import FilterOptions
    from exam_pp.store.trec.queries import read_queries

    if {"graded", "ungraded"} <= set(conditions):
        raise click.UsageError("--only graded and --only ungraded exclude each other.")
    ids = None if queries is None and not named else {*named, *(read_queries(queries) if queries else ())}
    grades, removes_grades = grade_filter(**criteria), "grades" in parts
    keep = FilterOptions(
        queries=ids,
        systems=systems,
        role=role,
        canaries="canaries" not in parts,
        graded="graded" in conditions if {"graded", "ungraded"} & set(conditions) else None,
        min_grade=min_grade,
        judged="judged" in conditions,
        min_judgment=min_judgment,
        grade_filter=GradeFilter() if removes_grades else grades,
    )
    remove = StripOptions(
        grades=grades if removes_grades else None,
        **{part: part in parts for part in _PARTS if part != "grades"},
    )
    changes = Changes(keep, remove, Renaming(graders_to_rename, classes_to_rename, systems_to_rename), named)
    if changes == Changes():
        raise click.UsageError(
            "Select what to keep, for example with --query or --only judged, or use --remove or --rename."
        )
    changed = change_file(passages, output, changes, inputs=[queries] if queries else [])
    log_summary([changed.rewritten])
    if set(parts) - {"canaries"}:
        removed = ", ".join(f"{part} ({count})" for part, count in changed.removed.items())
        log_summary([f"Removed: {removed or 'the file has none of these parts'}."])
