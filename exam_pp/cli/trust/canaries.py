"""``exam-pp canaries``: add canaries to a pool, and report what graders gave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.options import (
    FILTER,
    MIN_GRADE,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    SCRIPT_FORMATS,
    bank_option,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    log_summary,
    output_option,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import SelectionError
from exam_pp.phases.trust.canary_texts import CANARIES, control_of
from exam_pp.provenance import Provenance, graded_by
from exam_pp.rendering.document import Cell, Paragraph, Report, Table

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter, GradeKey
    from exam_pp.metrics.grade_masks import GradedPassage, GradedQuery


_KINDS = {
    "add": Kind(
        """Add the canaries as systems to PASSAGES.

        The canaries are systems `canary:NAME` at the end of each query: an empty passage (empty), a passage
        of another query (other-query), the bank entries (bank), the repeated query (query), keywords without
        sentences (keywords), instructions to the grader in a passage of another query (injection-en, -de,
        -fr, -es, -zh), claims of authority before it (authority), a good passage of the query (original) with
        its text twice (doubled) and with negated facts (negated, English only).

        Grade the output with `exam-pp grade`. Leaderboards have canaries only with `--canaries`. `exam-pp
        filter --remove canaries` removes canaries again.

        Examples:

        \b
          exam-pp canaries add passages.jsonl.gz --bank questions.jsonl -o with-canaries.jsonl.gz
          exam-pp canaries add passages.jsonl.gz --bank questions.jsonl --canary empty \\
            --canary keywords --top 3 -o with-canaries.jsonl.gz
          exam-pp canaries add passages.jsonl.gz --queries queries.jsonl -o with-canaries.jsonl.gz
        """,
        ("bank", "queries", "names", "depth", "seed"),
    ),
    "report": Kind(
        """Show what every grader in the graded PASSAGES gave to the canaries.

        For each grader and canary: the mean rating, the share of pairs of passage and entry that are covered,
        and Cover, next to the same for the passages of all real systems, and for the unchanged passages
        (control).

        Examples:

        \b
          exam-pp canaries report graded-canaries.jsonl.gz
          exam-pp canaries report graded-canaries.jsonl.gz --min-grade 3 --format html -o canaries.html
        """,
        ("min_grade", *FILTER,
         "form"),
    ),
}  # fmt: skip


@click.command("canaries", cls=Command, kinds=_KINDS)
@click.argument("kind", type=click.Choice(list(_KINDS)))
@PASSAGES
@bank_option("Test bank with the texts of queries and entries.")
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"{QUERY_TEXTS} In place of --bank, for direct prompts.",
)
@output_option()
@click.option(
    "--canary",
    "names",
    type=click.Choice(list(CANARIES)),
    multiple=True,
    help="Only this canary; may be repeated.  [default: all]",
)
@click.option(
    "--top",
    "depth",
    type=IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Number of passages of each canary and query.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the choice of other queries and answers."
)
@MIN_GRADE
@filter_options
@format_option()
def command(
    *,
    kind: Literal["add", "report"],
    passages: Path,
    bank: Path | None,
    queries: Path | None,
    output: Path,
    names: tuple[str, ...],
    depth: int,
    seed: int,
    min_grade: int | None,
    form: str,
    **criteria: Any,
) -> None:
    """Add systems that deserve no score, and show what graders gave them.

    `add` writes PASSAGES with the canaries. Grade them, and `report` shows what the graders can be made to
    believe.

    Examples:

    \b
      exam-pp canaries add passages.jsonl.gz --bank questions.jsonl -o with-canaries.jsonl.gz
      exam-pp canaries report graded-canaries.jsonl.gz
    """
    if kind == "report":
        result = canary_report(passages, grade_filter=grade_filter(**criteria), min_grade=min_grade)
        report = canary_grades_report(result, formatted=form not in SCRIPT_FORMATS)
        emit_report(report, form, output, [passages])
        return
    from exam_pp.phases.trust.canaries import CanaryOptions, add_canaries

    if (bank is None) == (queries is None):
        raise click.UsageError("Use either --bank or --queries for the texts of the queries.")
    options = CanaryOptions(names, seed, depth)
    log_summary(add_canaries(passages, bank, output, options, queries=queries).lines())


REAL = "(real passages)"
"""Name of the row of all passages that no canary returned."""


@dataclass
class CanaryGrades:
    """The grades of a grader for the passages of a canary, or for all real passages.

    ``covers``: For each query with ratings the share of the entries that the passages cover; empty for real
    passages. ``control``: The canary that this one changes, with its grades for the same queries; None if it
    changes none, or the file lacks it.
    """

    grader: GradeKey
    canary: str
    min_grade: int
    passages: int = 0
    by_query: dict[str, list[int]] = field(default_factory=dict)
    covers: list[float] = field(default_factory=list)
    control: CanaryGrades | None = None

    @property
    def ratings(self) -> list[int]:
        """The ratings of all graded pairs."""
        return list(chain.from_iterable(self.by_query.values()))

    @property
    def mean(self) -> float | None:
        """The mean rating; None without ratings."""
        from exam_pp.metrics.leaderboard import exact_mean

        ratings = self.ratings
        return exact_mean([float(rating) for rating in ratings]) if ratings else None

    @property
    def covered(self) -> float | None:
        """The share of the graded pairs with a rating of at least the threshold; None without ratings."""
        ratings = self.ratings
        return sum(rating >= self.min_grade for rating in ratings) / len(ratings) if ratings else None

    @property
    def cover(self) -> float | None:
        """The mean over queries of the share of entries that the passages cover; None without ratings."""
        from exam_pp.metrics.leaderboard import exact_mean

        return exact_mean(self.covers) if self.covers else None

    def add(self, query_id: str, passages: Iterable[GradedPassage]) -> None:
        """Add passages of a query."""
        ratings = self.by_query.setdefault(query_id, [])
        for passage in passages:
            self.passages += 1
            ratings += passage.ratings

    def compare(self, control: CanaryGrades | None) -> None:
        """Set the control, for the queries of this canary."""
        if control is not None:
            shared = {query_id: control.by_query.get(query_id, []) for query_id in self.by_query}
            self.control = replace(control, by_query=shared)


@dataclass(frozen=True)
class CanaryReport:
    """The grades of canaries by all graders: for each grader the real passages first, then the canaries."""

    rows: Sequence[CanaryGrades]
    provenance: Provenance


def canary_report(
    graded: Path, *, grade_filter: GradeFilter | None = None, min_grade: int | None = None
) -> CanaryReport:
    """Collect the grades of canaries, and of all other passages, for every grader in a file.

    ``min_grade``: Lowest rating that covers an entry. Default: 4, the highest grade of a shorter scale, or 1
    for prompts without a scale.
    """
    from exam_pp.data_model import is_canary
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.metrics.grade_masks import gather
    from exam_pp.phases.evaluation.inputs import views
    from exam_pp.phases.evaluation.selected_grades import selectors, threshold

    lines = views(graded, mixed=True, canaries=True)
    if not any(is_canary(r.method) for line in lines for p in line.passages for r in p.rankings):
        raise SelectionError(f"{graded} has no canaries; add them with `exam-pp canaries` before grading.")
    rows: list[CanaryGrades] = []
    keys = []
    for key, selector in selectors(lines, grade_filter or GradeFilter(), graded).items():
        file = gather(lines, selector)
        keys.append(key)
        rows += _of_grader(key, file.queries.values(), threshold(selector, min_grade))
    return CanaryReport(rows, graded_by(keys))


def _of_grader(key: GradeKey, queries: Iterable[GradedQuery], min_grade: int) -> list[CanaryGrades]:
    """A row for the real passages, and one for each canary."""
    from exam_pp.data_model import CANARY, is_canary

    rows = {REAL: CanaryGrades(key, REAL, min_grade)}
    for query in queries:
        canaries = {system: ranking for system, ranking in query.rankings.items() if is_canary(system)}
        of_canaries: set[int] = set()
        for system, ranking in canaries.items():
            indices = {index for _, _, index in ranking}
            of_canaries |= indices
            row = rows.setdefault(system, CanaryGrades(key, system, min_grade))
            row.add(query.query_id, (query.passages[index] for index in sorted(indices)))
            if any(query.passages[index].levels for index in indices):
                row.covers.append(_cover(query, indices, min_grade))
        real = (p for index, p in enumerate(query.passages) if index not in of_canaries)
        rows[REAL].add(query.query_id, real)
    for system, row in rows.items():
        row.compare(rows.get(f"{CANARY}{control_of(system.removeprefix(CANARY))}"))
    return list(rows.values())


def _cover(query: GradedQuery, indices: Iterable[int], min_grade: int) -> float:
    covered = 0
    for index in indices:
        covered |= query.passages[index].reaching(min_grade)
    return covered.bit_count() / len(query.entries)


_COLUMNS = (
    "canary", "passages", "pairs", "mean rating", "control mean", "covered", "control covered", "Cover",
)  # fmt: skip


def canary_grades_report(result: CanaryReport, *, formatted: bool = True) -> Report:
    """The grades of each canary, and of the real passages, for every grader.

    With ``formatted``, every grader has a table with its name as title; otherwise the only table has columns
    of the grader.
    """
    graders = list(dict.fromkeys((row.grader, row.min_grade) for row in result.rows))
    if formatted:
        tables = [
            Table(
                _COLUMNS,
                [_cells(row) for row in result.rows if row.grader == grader],
                title=f"{grader.model}, {grader.prompt_class}, covered from {min_grade}",
            )
            for grader, min_grade in graders
        ]
    else:
        rows: list[list[Cell]] = [
            [row.grader.model, row.grader.prompt_class, row.min_grade, *_cells(row)] for row in result.rows
        ]
        tables = [Table(["grader", "prompt class", "min grade", *_COLUMNS], rows, decimals=6)]
    notes = [
        "pairs: graded pairs of passage and entry. covered: the share of them with a rating of at least the "
        "threshold. Cover: the share of the entries of a query that the passages cover, as a mean over "
        "queries.",
        "control: canary:original for doubled and negated, canary:other-query for injections and authority, "
        "on the same queries.",
        *_not_graded(result),
    ]
    return Report("Grades of canaries", [*tables, *map(Paragraph, notes)], result.provenance)


def _not_graded(result: CanaryReport) -> Iterator[str]:
    """A sentence on each grader that graded real passages only."""
    for grader in dict.fromkeys(row.grader for row in result.rows):
        if not any(row.ratings for row in result.rows if row.grader == grader and row.canary != REAL):
            yield (
                f"{grader.model}, {grader.prompt_class}, graded no canary: grade the file again to see what "
                "it gives them."
            )


def _cells(row: CanaryGrades) -> list[Cell]:
    control = row.control
    return [
        row.canary,
        row.passages,
        len(row.ratings),
        row.mean,
        None if control is None else control.mean,
        row.covered,
        None if control is None else control.covered,
        row.cover,
    ]
