"""The first screen of a report, of results that are made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from exam_pp.grade_filter import GradeKey
from exam_pp.phases.evaluation.contents import GradedContents, GraderContents, MissingGrades
from exam_pp.phases.evaluation.leaderboards import Basis, Statistics, leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Bars, Block, Checks, Statement
from exam_pp.reports.analysis.first_screen import first_screen
from exam_pp.reports.analysis.report_summary import Leaderboard
from exam_pp.results import OVERALL_SYSTEM, Score

METRIC = "Cover(min_grade=4)@5"
JUDGE = GradeKey("google/flan-t5-large", "SomePrompt")
STATISTICS = Statistics("queries", significance=True)


def board(means: dict[str, float], stem: str = "cover", queries: int = 20, **options: Any) -> Leaderboard:
    """Scores that differ from query to query, but in the same way for all systems."""
    scores = [
        Score(system, f"q{n}", METRIC, mean + (n % 5 - 2) / 100)
        for system, mean in means.items()
        for n in range(queries)
    ]
    return Leaderboard(stem, stem, leaderboard(Evaluation(scores), STATISTICS), JUDGE, **options)


def screen(*leaderboards: Leaderboard, reviewers: int = 0, **options: Any) -> list[Block]:
    graders = {JUDGE: GraderContents("question", True, True, grades=900)}
    for number in range(reviewers):
        graders[GradeKey(f"human:{number}", "SomePrompt")] = GraderContents("question", True, grades=3)
    return first_screen(GradedContents(graders=graders), leaderboards, **options)


def lines_of(blocks: list[Block]) -> list[str]:
    (checks,) = [block for block in blocks if isinstance(block, Checks)]
    return [f"{line.mark}: {line.lead}{line.text}" for line in checks.lines]


def test_a_line_separates_systems_that_are_all_better_than_all_below() -> None:
    """a and b are equal, and better than c; the upper bound is no system."""
    first = board({"a": 0.8, "b": 0.8, "c": 0.3, OVERALL_SYSTEM: 0.9}, about="Share of the questions")
    statement, bars, _ = screen(first)

    assert isinstance(statement, Statement)
    assert statement.text.startswith(statement.headline)
    assert "share the top score" in statement.headline
    assert isinstance(bars, Bars)
    assert [(*row[:2], row.place, row.leads, row.line) for row in bars.rows] == [
        ("a", "80 %", "1–2", True, False),
        ("b", "80 %", "1–2", True, True),
        ("c", "30 %", "3", False, False),
    ]
    assert bars.columns[2] == "95 % interval"
    limits = [first.standings.uncertainty.systems[system, METRIC] for system in "abc"]
    assert [row.interval for row in bars.rows] == [
        f"{100 * (of.low or 0):.0f}–{100 * (of.high or 0):.0f} %" for of in limits
    ]
    assert bars.about == f"Share of the questions: {METRIC}."
    assert bars.notes[-1] == "Upper bound: all graded passages together score 90 %."


def test_places_without_a_certain_cut_have_no_line() -> None:
    _, bars, _ = screen(board({"a": 0.8, "b": 0.8}))
    assert isinstance(bars, Bars)
    assert not any(row.line or row.leads for row in bars.rows)


def test_every_check_has_a_mark_and_a_number() -> None:
    means = {"a": 0.8, "b": 0.6, "c": 0.3}
    shown = lines_of(
        screen(
            board(means),
            board({"a": 0.1, "b": 0.2, "c": 0.3}, "rubric-qrels"),
            reviewers=2,
            missing=MissingGrades(3, 120),
            canaries={"canary:keywords": 0.5, "canary:empty": 0.0},
            official=1.0,
        )
    )
    assert shown == [
        "good: 20 queries show which system is better for 3 of 3 pairs of systems.",
        "fact: The judge is google/flan-t5-large, with 900 grades.",
        "fact: 6 ratings by 2 reviewers: the scores are of the judge alone.",
        "fact: 3 of 120 grades missing: they cannot change the order.",
        "doubt: 1 of 2 canaries above a system: canary:keywords has 50 %, and deserves no score.",
        f"doubt: These order the systems differently (Kendall's τ): {METRIC} by the same grades -1.00.",
    ]


def test_a_judge_of_the_family_of_a_system_is_doubted() -> None:
    first = board({"flan-t5-answers": 0.8, "bm25": 0.3})
    origin = Provenance(models=(JUDGE.model,))
    standings = replace(first.standings, provenance=origin)
    assert lines_of(screen(replace(first, standings=standings)))[1] == (
        "doubt: The judge is google/flan-t5-large, with 900 grades. google/flan-t5-large is of one model "
        "family with the system flan-t5-answers; it may favour them."
    )


def test_lines_without_content_do_not_appear() -> None:
    assert [line.partition(":")[0] for line in lines_of(screen(board({"a": 0.8, "b": 0.6})))] == [
        "good",
        "fact",
    ]
    few = lines_of(screen(board({"a": 0.8, "b": 0.6}, queries=3)))
    assert few[0] == "doubt: 3 queries show which system is better for 0 of 1 pair of systems."


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("judge", [
            "doubt: 20 queries show which system is better for 0 of 1 pair of systems.",
            "fact: The judge is google/flan-t5-large, with 900 grades.",
            "doubt: 20 changed. 57 of b's 108, 0 of a's 60 graded pairs were checked: rate "
            "the fair sample, with which the review page begins.",
        ]),
        ("sample", [
            "good: 20 queries show which system is better for 1 of 1 pair of systems.",
            "good: 20 changed, among them a fair sample: 2 of 9 entries of each query.",
        ]),
        ("people", [
            "good: 20 queries show which system is better for 1 of 1 pair of systems.",
            "good: 20 changed.",
        ]),
    ],
)  # fmt: skip
def test_what_people_checked(kind: Literal["judge", "sample", "people"], lines: list[str]) -> None:
    """A judge that sees no difference, and people who see one."""
    means = {"a": 0.8, "b": 0.6}
    corrected = board(means)
    of_claims = board({"a": 0.7, "b": 0.7} if kind == "judge" else means).standings.evaluation.scores
    basis = Basis(kind, "1 person", Evaluation(list(of_claims)), 0.05, 2, 9,
                  {"a": (0, 60), "b": (57, 108)})  # fmt: skip
    origin = Provenance(models=("reviewed:x",), reviewed=("20 changed",), partly_reviewed=("20 changed",))
    uncertainty = replace(corrected.standings.uncertainty, basis=basis)
    standings = replace(corrected.standings, uncertainty=uncertainty, provenance=origin)
    assert lines_of(screen(replace(corrected, standings=standings))) == lines
