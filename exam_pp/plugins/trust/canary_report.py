"""Report on the grades of canaries by every grader of a file, next to those of real passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from exam_pp.data_model import CANARY, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.grade_masks import GradedQuery, gather
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.phases.evaluation.inputs import views
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import selectors, threshold
from exam_pp.plugins.trust.canary_texts import control_of
from exam_pp.provenance import graded_by
from exam_pp.rendering.document import Cell, Paragraph, Report, Table

REAL = "(real passages)"
"""Name of the row of all passages that no canary returned."""

_COLUMNS = (
    "canary", "passages", "pairs", "mean rating", "control mean", "covered", "control covered", "Cover",
)  # fmt: skip


def canary_report(
    graded: PathLike,
    *,
    grade_filter: GradeFilter | None = None,
    min_grade: int | None = None,
    formatted: bool = True,
) -> Report:
    """The grades of each canary, and of all other passages, for every grader in a file.

    With ``formatted``, every grader has a table with its name as title; otherwise the only table has columns
    of the grader. ``min_grade``: Lowest rating that covers an entry. Default: 4, the highest grade of a
    shorter scale, or 1 for prompts without a scale.
    """
    lines = views(graded, mixed=True, canaries=True)
    if not any(is_canary(r.method) for line in lines for p in line.passages for r in p.rankings):
        raise SelectionError(f"{graded} has no canaries; add them with `exam-pp canaries` before grading.")
    tables: list[Table] = []
    every: list[list[Cell]] = []
    notes = [
        "pairs: graded pairs of passage and entry. covered: the share of them with a rating of at least the "
        "threshold. Cover: the share of the entries of a query that the passages cover, as a mean over "
        "queries.",
        "control: canary:original for doubled and negated, canary:other-query for injections and authority, "
        "on the same queries.",
    ]
    graders = selectors(lines, grade_filter or GradeFilter(), graded)
    for key, selector in graders.items():
        file, least = gather(lines, selector), threshold(selector, min_grade)
        rows = _rows(file.queries.values(), least)
        title = f"{key.model}, {key.prompt_class}, covered from {least}"
        tables.append(Table(_COLUMNS, rows, title=title))
        every += [[key.model, key.prompt_class, least, *row] for row in rows]
        if not any(pairs for _, _, pairs, *_ in rows[1:]):
            notes.append(
                f"{key.model}, {key.prompt_class}, graded no canary: grade the file again to see what it "
                "gives them."
            )
    if not formatted:
        tables = [Table(["grader", "prompt class", "min grade", *_COLUMNS], every, decimals=6)]
    return Report("Grades of canaries", [*tables, *map(Paragraph, notes)], graded_by(list(graders)))


def _rows(queries: Iterable[GradedQuery], min_grade: int) -> list[list[Cell]]:
    """A row for the real passages, and one for each canary."""
    ratings: dict[str, dict[str, list[int]]] = {REAL: {}}
    passages: Counter[str] = Counter()
    covers: dict[str, list[float]] = {}
    for query in queries:
        of = {s: {index for *_, index in ranks} for s, ranks in query.rankings.items() if is_canary(s)}
        of[REAL] = set(range(len(query.passages))).difference(*of.values())
        for name, indices in of.items():
            found = [query.passages[index] for index in sorted(indices)]
            passages[name] += len(found)
            of_query = ratings.setdefault(name, {}).setdefault(query.query_id, [])
            of_query += chain.from_iterable(passage.ratings for passage in found)
            if name != REAL and any(passage.levels for passage in found):
                covered = 0
                for passage in found:
                    covered |= passage.reaching(min_grade)
                covers.setdefault(name, []).append(covered.bit_count() / len(query.entries))
    rows: list[list[Cell]] = []
    for name, by_query in ratings.items():
        of_control = ratings.get(f"{CANARY}{control_of(name.removeprefix(CANARY))}", {})
        own = list(chain.from_iterable(by_query.values()))
        control = list(chain.from_iterable(of_control.get(query_id, ()) for query_id in by_query))
        means = [exact_mean(list(map(float, given))) if given else None for given in (own, control)]
        shares = [sum(r >= min_grade for r in of) / len(of) if of else None for of in (own, control)]
        cover = exact_mean(covers[name]) if name in covers else None
        rows.append([name, passages[name], len(own), *means, *shares, cover])
    return rows
