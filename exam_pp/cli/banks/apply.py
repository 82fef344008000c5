"""``exam-pp bank apply``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.options import FILE, OUTPUT_PATH, log_summary, required_output
from exam_pp.cli.ranges import NumberRange


@click.command("apply", cls=Command)
@click.argument("bank", type=FILE)
@click.argument("edits", type=FILE, required=False)
@required_output("Test bank to write; with --secret, its public part.")
@click.option(
    "--force", is_flag=True, help="Also apply edits that were made for another version of the bank."
)
@click.option(
    "--secret",
    "share",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    help="Share of the entries of each query, such as 0.3, that becomes secret, so that no system can be "
    "trained on all of the bank. The choice depends only on the seed and the entries of the query.",
)
@click.option(
    "--also secret", "secret", type=OUTPUT_PATH, help="Test bank to write with the secret part of --secret."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the choice of secret entries.")
def command(
    bank: Path,
    edits: Path | None,
    output: Path,
    force: bool,
    share: float | None,
    secret: Path | None,
    seed: int,
) -> None:
    """Apply the changes of an edits file to BANK, or split it into a public and a secret part.

    EDITS is a file of the page of `exam-pp review`, or of `exam-pp bank clinic --also edits`. If an edit
    does not fit the bank, no edit is applied. Every edit is recorded in the history of the bank. A reworded
    entry gets a new id, so that `exam-pp grade` grades only this entry again. With --secret, the split
    follows the edits; `exam-pp merge` merges the parts again.

    Examples:

    \b
      exam-pp bank apply questions.jsonl edits.json -o new-questions.jsonl
      exam-pp bank apply questions.jsonl --secret 0.3 -o public.jsonl --also secret=secret.jsonl
    """
    from exam_pp.phases.banks.edit import apply_to_bank

    if edits is None:
        refuse_without("EDITS", "force")
    if share is None:
        refuse_without("--secret", "secret", "seed")
        if edits is None:
            raise click.UsageError("apply needs EDITS or --secret.")
    elif secret is None:
        raise click.UsageError("--secret needs --also secret=FILE.")
    log_summary(apply_to_bank(bank, output, edits, force=force, secret=secret, share=share or 0, seed=seed))
