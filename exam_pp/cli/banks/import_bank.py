"""``exam-pp bank import``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import COLUMNS, FILE, REPAIR, SPLIT_LINES, log_summary, required_output
from exam_pp.store.numbers import is_number, parse_number


def _weights(
    _context: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, float]:
    weights = {word: weight for word, _, weight in (pair.rpartition("=") for pair in pairs)}
    if not all(word.strip() and is_number(weight) for word, weight in weights.items()):
        raise click.BadParameter(f"{' '.join(pairs)} is not WORD=WEIGHT, such as must=5.")
    return {word: parse_number(weight) for word, weight in weights.items()}


@click.command("import", cls=Command)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--from",
    "form",
    type=click.Choice(
        [
            *("tqa", "squad2", "csv", "genq", "nuggetizer", "autojudge", "ragtime26", "rubrics"),
            *("references", "bank"),
        ]
    ),
    help="Textbook Question Answering (tqa), SQuAD2 JSON (squad2), table of questions or nuggets "
    "such as a spreadsheet (csv), first published format of question banks (genq), nuggets of AutoNuggetizer "
    "(nuggetizer), nugget bank of AutoJudge (autojudge) or of RAGTIME 2026 (ragtime26), rubrics of "
    "ResearchRubrics, TREC RAG 2026, RAGDoll, HealthBench, DRAGUN and the package rubric (rubrics), "
    "reference answers in an export of ragas, DeepEval and others (references), or test bank (bank).  "
    "[default: detected from the content]",
)
@required_output("Test bank to write.")
@click.option(
    "--bank",
    "base",
    type=FILE,
    help="With --from csv: the bank that was exported; fields that the spreadsheet lacks are taken from it.",
)
@click.option(
    "--queries",
    type=FILE,
    help="Queries with the texts of those that have none; with --from csv, their ids replace texts in the "
    "column of queries.",
)
@click.option(
    "--kind",
    type=click.Choice(["question", "nugget"]),
    help="Entries of questions with answers: the questions, or each answer as a nugget in the group of its "
    "question.  [default: nugget for ragtime26, question for autojudge]",
)
@click.option(
    "--importance",
    "weights",
    multiple=True,
    metavar="WORD=WEIGHT",
    callback=_weights,
    help="Weight of the entries with this importance, such as must=5 for `must_have`; may be repeated.  "
    "[default: must_have and should_have 1, avoid -1, mandatory 5, optional 2, DRAGUN's A 4, B 2, C 1]",
)
@click.option(
    "--drop-negative",
    is_flag=True,
    help="Leave out entries with a weight of 0 or below, as RAGDoll reads rubrics.",
)
@click.option(
    "--facets",
    type=click.Choice(["title", "facet"]),
    default="facet",
    show_default=True,
    help="Keep queries with ids `query/facet` as they are (facet), or make them facets of the title query "
    "`query`, as TREC CAR needs it (title).",
)
@SPLIT_LINES
@COLUMNS
@REPAIR
def command(
    files: tuple[Path, ...],
    form: Any,
    output: Path,
    base: Path | None,
    queries: Path | None,
    facets: str,
    columns: dict[str, str] | None,
    *,
    repair: bool,
    **options: Any,
) -> None:
    """Make a test bank from the FILES of another tool or collection.

    Question banks in the published format of the workbench paper need no import.

    \b
      tqa     every lesson becomes a query with the questions that need no diagram
      squad2  every paragraph becomes a query; a question without an answer gets
              `gold_answers: []`, so that "unanswerable" is the correct reply;
              `exam-pp convert --from squad2-paragraphs` reads the paragraphs
      csv     an entry with a changed text gets a new id, so that `exam-pp grade`
              grades only this entry again

    Example:

    \b
      exam-pp bank import questions.csv --from csv --bank questions.jsonl -o new-questions.jsonl
    """
    from exam_pp.phases.banks.import_bank import bank_format, import_bank
    from exam_pp.store.problems import repairing
    from exam_pp.store.tables import columns_named

    with columns_named(columns), repairing(enabled=repair) as repairs:
        form = form or bank_format(files)
        if base is not None and form != "csv":
            raise click.UsageError("--bank needs --from csv.")
        for option, given in (("--facets title", facets == "title"), ("--kind", options["kind"])):
            if given and form in ("tqa", "squad2"):
                raise click.UsageError(f"{option} cannot be combined with --from tqa or squad2.")
        imported = import_bank(
            files, output, form,
            base=base, queries=queries, title_queries=facets == "title", **options,
        )  # fmt: skip
        log_summary(imported.lines())
    log_summary(repairs.lines())
