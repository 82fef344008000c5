"""``exam-pp apply``: add what people decided to graded files, or make games of it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.options import (
    FILE,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    bank_option,
    log_summary,
    prompt_file_option,
    prompt_option,
    required_output,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import SelectionError
from exam_pp.plugins import needed

RATINGS, SPREADSHEET, GAMES = "edits of ratings", "a spreadsheet of ratings", "decisions on games"
"""What a file of DECISIONS holds."""


@click.command("apply", cls=Command)
@PASSAGES
@click.argument("decisions", nargs=-1, required=True, type=FILE)
@required_output("Graded file to write, or games file for decisions on games.")
@click.option(
    "--reviewer",
    metavar="NAME",
    help="Name of the reviewer, for a single edits file; required for spreadsheets.  [default: the name in "
    "the edits file]",
)
@prompt_option(
    "Prompt of the ratings; required if PASSAGES have several.  [default: that of the grades in "
    "PASSAGES, or CriteriaRatings for a spreadsheet]",
)
@prompt_file_option("TOML file with your own prompt, for its scale; may be repeated.")
@bank_option("Test bank of the review page, if it had one; required for entries without grades in PASSAGES.")
@click.option(
    "--force",
    is_flag=True,
    help="Also apply ratings without keys, and labels, that were made for another version of PASSAGES.",
)
@click.option(
    "--max-rating",
    type=IntRange(1),
    help="Highest rating of a spreadsheet; the lowest is 0.  [default: that of the ratings in PASSAGES, or "
    "2]",
)
@click.option("--games", type=FILE, help="Games file to which games are added.  [default: a new file]")
@click.option("--queries", type=QUERIES_FILE, help=f"{QUERY_TEXTS} For games.  [default: those in --games]")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed that was given to `exam-pp review-games`."
)
def command(
    *,
    passages: Path,
    decisions: tuple[Path, ...],
    output: Path,
    reviewer: str | None,
    prompt_class: str | None,
    prompt_files: tuple[Path, ...],
    bank: Path | None,
    force: bool,
    max_rating: int | None,
    games: Path | None,
    queries: Path | None,
    seed: int,
) -> None:
    """Add the ratings of people to PASSAGES, as grades by `human:NAME`, or make games of their decisions.

    DECISIONS are files of one kind. Grades of models stay as they are.

    Edits files of `exam-pp review`: the new grades have the prompt of the reviewed grades, so that
    `exam-pp analyze graders` can compare reviewers and models. A rating of the page counts wherever PASSAGES
    have the texts that the reviewer read. Labels of citations are added, too, for
    `exam-pp evaluate answers --grader human:NAME`. Edits of the bank are not applied; use `exam-pp bank
    apply` for them.

    Edits files of `exam-pp review-games`: the output is a games file. Skipped games are left out. A decision
    that does not fit the answers in PASSAGES, or contradicts another one of the same reviewer, is refused,
    and then no file is written.

    CSV files with a person's ratings of answers by criteria, with the columns query_id and system, and a
    column for each criterion. A column comment is optional, an empty cell is no rating. `exam-pp analyze
    graders --by criterion` compares the ratings with those of models, `exam-pp analyze distributions`
    compares systems by them.

    Examples:

    \b
      exam-pp apply graded.jsonl.gz edits.json --bank questions.jsonl -o corrected.jsonl.gz
      exam-pp apply answers.jsonl.gz ratings.csv --reviewer ann -o rated-by-ann.jsonl.gz
      exam-pp apply answers.jsonl.gz game-edits.json --seed 7 --games games.jsonl.gz -o all.jsonl.gz
    """
    if passages.suffix in (".csv", ".json") and decisions[0].suffix not in (".csv", ".json"):
        raise click.UsageError(
            f"The passages come first: exam-pp apply {decisions[0]} {passages} -o {output}."
        )
    kind = _kind_of(decisions)
    lines: Iterable[str]
    if kind != RATINGS:
        refuse_without(RATINGS, "bank", "prompt_files", "force")
    if kind != SPREADSHEET:
        refuse_without(SPREADSHEET, "max_rating")
    if kind != GAMES:
        refuse_without(GAMES, "games", "queries", "seed")
    if kind == GAMES:
        # A plug-in offers it: a function of these values that returns what it has to say.
        refuse_without("ratings", "prompt_class")
        lines = needed("decisions on games", "games")(
            passages, decisions, output, games=games, queries=queries, reviewer=reviewer, seed=seed
        ).lines()
    elif kind == SPREADSHEET:
        if reviewer is None:
            raise click.UsageError(
                f"{decisions[0]} is no edits file, and a spreadsheet needs --reviewer NAME."
            )
        # As for games; the function returns the lines.
        lines = needed("ratings of answers by criteria", "rag_metrics")(
            passages, decisions, output,
            reviewer=reviewer, prompt_class=prompt_class, max_rating=max_rating,
        )  # fmt: skip
    else:
        from exam_pp.phases.grading.prompt_files import choose_prompts
        from exam_pp.phases.review.apply_ratings import apply_ratings

        prompts = {prompt.name: prompt for prompt in choose_prompts((), prompt_files)}
        lines = apply_ratings(
            passages, decisions, output,
            prompt_class=prompt_class, bank=bank, reviewer=reviewer, prompts=prompts, force=force,
        ).lines()  # fmt: skip
    log_summary(lines)


def _kind_of(decisions: tuple[Path, ...]) -> str:
    """The kind of all files; raises SelectionError if they differ."""
    kinds = {kind: file for file in decisions for kind in _kinds_in(file)}
    if len(kinds) > 1:
        shown = ", but ".join(f"{file} has {kind}" for kind, file in kinds.items())
        raise SelectionError(f"{shown}: apply one kind of decisions at a time.")
    return next(iter(kinds))


def _kinds_in(file: Path) -> list[str]:
    from exam_pp.store.edits import read_edits
    from exam_pp.store.files import read_lines

    if not any(line.startswith((b"{", b"[")) for _, line in islice(read_lines(file), 1)):
        return [SPREADSHEET]
    edits = read_edits(file)
    if not edits.games:
        return [RATINGS]
    return [RATINGS, GAMES] if edits.ratings or edits.supports else [GAMES]
