"""``exam-pp sample-pairs``: draw pairs of passage and bank entry for people to label."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    CUTOFF_DEFAULT,
    GRADED,
    PROMPT,
    ROLE,
    bank_option,
    grade_filter,
    grades_options,
    log_notes,
    log_summary,
    model_names,
    required_output,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.pair_sample import SampledBy


@click.command("sample-pairs", cls=Command)
@GRADED
@bank_option("Test bank; only pairs with its entries are drawn.", default="all graded entries")
@required_output("File with the sampled pairs to write.")
@click.option(
    "--count",
    "budget",
    type=IntRange(min=1),
    required=True,
    help="Number of pairs to expect; the drawn number is random.",
)
@click.option(
    "--by",
    type=click.Choice(get_args(SampledBy)),
    default="even",
    show_default=True,
    help="All pairs are equally likely (even); the same number of pairs is expected for each rating "
    "(rating); pairs are likelier if graders disagree on them (disagreement); or entries are drawn, each "
    "with all its passages (entry; best for Cover).",
)
@click.option(
    "--grader",
    "graders",
    shell_complete=model_names,
    multiple=True,
    metavar="NAME",
    help="Only grades by this model; with --by disagreement repeated, for the graders to compare.  "
    "[default: the only model; for disagreement also all others]",
)
@PROMPT
@grades_options
@click.option(
    "--cutoff",
    type=IntRange(min=0),
    help="Draw from the passages within the first ranks of at least one system. 0: from all graded "
    f"passages.  {CUTOFF_DEFAULT}",
)
@ROLE
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random draw.")
def command(
    *,
    graded: Path,
    bank: Path | None,
    output: Path,
    budget: int,
    by: SampledBy,
    graders: tuple[str, ...],
    cutoff: int | None,
    role: Any,
    seed: int,
    **criteria: Any,
) -> None:
    """Draw pairs of passage and bank entry for people to label, with known probabilities.

    The pairs are graded by one model (the first --grader) with one prompt. Every pair is drawn independently
    of the others (with --by entry, every entry with all its pairs), and its probability is in the file, so
    that scores can be corrected without bias. The draw depends only on the seed and the ids; a larger
    --count keeps the pairs of a smaller one.

    With --by disagreement, a quarter of --count is spread evenly over all pairs, and the rest by the
    range of the ratings of the graders.

    Then label the pairs with `exam-pp review --pairs`.

    Examples:

    \b
      exam-pp sample-pairs graded.jsonl.gz --bank questions.jsonl --count 300 --by rating -o pairs.json
      exam-pp sample-pairs two-models.jsonl.gz --bank questions.jsonl --grader google/flan-t5-large \\
        --prompt self-rated --count 300 --by disagreement \\
        -o pairs.json
    """
    from exam_pp.phases.trust.sample_pairs import sample_pairs
    from exam_pp.store.pair_samples import write_pair_sample

    if len(graders) > 1 and by != "disagreement":
        raise click.UsageError(f"--by {by} uses the grades of one grader; name --grader only once.")
    drawn = sample_pairs(
        graded,
        bank=bank,
        grade_filter=grade_filter(graders[0] if graders else None, **criteria),
        budget=budget,
        by=by,
        compared=graders[1:],
        cutoff=cutoff,
        role=role,
        seed=seed,
    )
    write_pair_sample(drawn.sample, output, inputs=[path for path in (graded, bank) if path is not None])
    log_notes(drawn.notes)
    log_summary(drawn.lines())
