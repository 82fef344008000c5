"""Content and order of the verification reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from exam_pp.cli.review.verification.base import Selection
from exam_pp.cli.review.verification.disagreements import HIGH, LOW, Disagreements
from exam_pp.cli.review.verification.grid import Grid, grid_report
from exam_pp.cli.review.verification.spurious import Spurious
from exam_pp.cli.review.verification.uncovered import Uncovered
from exam_pp.cli.review.verification.unparsed import Unparsed
from exam_pp.data_model import Passage
from exam_pp.phases.review.checked_passages import CheckedQuery, Reading, checked_passages
from exam_pp.rendering.document import Block, Heading, Paragraph, Quote, Table
from tests.reports.review.verification.material import (
    BANK,
    EXTRACTION,
    PIONEERS,
    RATED,
    grades,
    pages,
    passage,
    query,
    rated,
    summary,
    table,
)


def shown(report: Selection, *queries: CheckedQuery) -> list[dict[str, Any]]:
    for checked in queries:
        report.add(checked)
    listed = table(report)
    return [dict(zip(listed.columns, row, strict=True)) for row in listed.rows]


def column(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in rows]


def tables(report: Selection) -> list[Table]:
    return [block for block in pages(report) if isinstance(block, Table)]


def texts(blocks: list[Block], kind: type[Heading | Paragraph | Quote]) -> list[str]:
    return [
        block.label if isinstance(block, Quote) else block.text for block in blocks if isinstance(block, kind)
    ]


def both(a: int, b: int = 0) -> dict[str, Any]:
    return rated({"q/a": a, "q/b": b})


class TestUncovered:
    """Workbench paper, section 4.4: relevant passages that do not address any of the questions."""

    PASSAGES = (
        passage("covered", both(4), relevance=[3]),
        passage("near", both(3), relevance=[3]),
        passage("far", both(0), relevance=[3]),
        passage("less", both(0), relevance=[1]),
        passage("other", both(0), relevance=[0]),
        passage("unjudged", both(0)),
        passage("failed", relevance=[3]),
    )

    def test_passages_and_their_order(self) -> None:
        report = Uncovered()
        assert column(shown(report, query(*self.PASSAGES)), "passage_id") == ["far", "near", "less"]
        assert summary(report) == (
            "3 of 5 relevant passages (judged 1 or higher) have no grade of 4 or higher; 1 more is not "
            "graded."
        )

    def test_thresholds(self) -> None:
        assert column(shown(Uncovered(2), query(*self.PASSAGES)), "passage_id") == ["far", "near"]
        assert column(shown(Uncovered(), query(*self.PASSAGES, min_grade=3)), "passage_id") == ["far", "less"]

    def test_no_uncovered_passages(self) -> None:
        report = Uncovered()
        assert shown(report, query(self.PASSAGES[0])) == []
        assert pages(report) == []
        assert summary(report).endswith("the bank covers all of them.")
        ungraded = Uncovered()
        ungraded.add(query(passage("u", relevance=[2]), passage("n", both(5, 5), relevance=[0])))
        assert summary(ungraded) == (
            "None of 1 relevant passages (judged 1 or higher) is graded, so the report is empty."
        )
        ungraded.add(query(self.PASSAGES[0]))
        assert summary(ungraded).endswith("have no grade of 4 or higher; 1 more is not graded.")


class TestSpurious:
    """Workbench paper, section 4.4: entries that non-relevant passages frequently cover."""

    PASSAGES = (
        passage("n1", both(4, 5), relevance=[0]),
        passage("n2", both(5, 4), relevance=[-2, 0]),
        passage("n3", both(5, 0), relevance=[0]),
        passage("r1", both(5, 0), relevance=[0, 1]),
        passage("unjudged", both(5, 5)),
        passage("failed", relevance=[0]),
    )

    def test_counts_and_order(self) -> None:
        rows = shown(Spurious(often=1), query(*self.PASSAGES))
        assert rows == [
            {"query_id": "q", "entry_id": "q/a", "entry": PIONEERS, "covered_by_non_relevant": 3,
             "non_relevant": 3, "covered_by_relevant": 1, "relevant": 1, "examples": "n2 n3 n1"},
            {"query_id": "q", "entry_id": "q/b", "entry": "When did it begin?", "covered_by_non_relevant": 2,
             "non_relevant": 3, "covered_by_relevant": 0, "relevant": 1, "examples": "n1 n2"},
        ]  # fmt: skip

    def test_often_limit_and_examples(self) -> None:
        report = Spurious()
        more = passage("n4", both(4, 0), relevance=[0])
        assert column(shown(report, query(*self.PASSAGES, more)), "examples") == ["n2 n3 n1"]
        assert summary(report) == (
            "1 of 2 entries of 1 query are covered (grade 4 or higher) by 3 or more non-relevant passages "
            "(judged below 1)."
        )
        limited = Spurious(often=1, limit=1)
        assert len(shown(limited, query(*self.PASSAGES))) == 1
        assert "1 more entry is not shown." in texts(pages(limited), Paragraph)

    def test_parts_of_a_query_add_up(self) -> None:
        whole, parts = Spurious(often=1), Spurious(often=1)
        pieces = [query(checked) for checked in self.PASSAGES]
        assert shown(whole, query(*self.PASSAGES)) == shown(parts, *pieces)


class TestDisagreements:
    PASSAGES = (
        passage("low3", both(0), relevance=[3]),
        passage("low1", both(0), relevance=[1]),
        passage("low3-near", both(3), relevance=[3]),
        passage("high-once", both(5), relevance=[0]),
        passage("high-twice", both(5, 4), relevance=[0]),
        passage("spam", both(4), relevance=[-2]),
        passage("agreed", both(5), relevance=[3]),
        passage("agreed-low", both(0), relevance=[0]),
        passage("unjudged", both(5)),
        passage("failed", relevance=[3]),
    )

    def test_both_directions_worst_first(self) -> None:
        """Steps from the thresholds 1 and 4: 2 + 4, 0 + 4, 2 + 1; 3 + 0, 1 + 1 with two entries, 1 + 1."""
        report = Disagreements()
        rows = shown(report, query(*self.PASSAGES))
        assert [(row["direction"], row["passage_id"]) for row in rows] == [
            (LOW, "low3"), (LOW, "low1"), (LOW, "low3-near"),
            (HIGH, "spam"), (HIGH, "high-twice"), (HIGH, "high-once"),
        ]  # fmt: skip
        assert summary(report) == (
            "Of 8 passages with a judgment and a grade, 3 are judged 1 or higher and have no grade of 4 or "
            "higher; 3 are judged lower and have such a grade."
        )


class TestGrid:
    PASSAGES = (
        passage("zero", both(5), relevance=[0]),
        passage("one", both(4), relevance=[2]),
        passage("two", both(4, 4), relevance=[2]),
        passage("best", both(5), relevance=[2]),
        passage("unjudged", both(5, 5)),
        passage("failed", relevance=[2]),
    )

    def test_answers_are_in_the_cells_or_below(self) -> None:
        subject = query(passage("p", both(4), grades(EXTRACTION, {"q/a": "Elvis", "q/b": "the 1930s"})))
        plain = Grid()
        plain.add(subject)
        in_cells = grid_report("md").blocks(plain)
        wide = [block for block in in_cells if isinstance(block, Table)]
        assert wide[1].rows[0][4:6] == ["4 · Elvis", "0 · the 1930s"]
        assert tables(plain)[1].rows[0][4:6] == [4, 0]
        assert tables(plain)[2].rows == [["p", 1, 4, "Elvis"]]

    def test_heat_map(self) -> None:
        """The passage is the first column; every rated cell has a shade, and texts are behind the cells."""
        subject = query(
            passage("p", both(4), grades(EXTRACTION, {"q/a": "Elvis"}), text="Elvis sang."),
            passage("unrated"),
        )
        selection = Grid(characters=3000)
        selection.add(subject)
        _, heat = [block for block in grid_report("html").blocks(selection) if isinstance(block, Table)]
        assert list(heat.columns) == ["passage", "judgment", "best", "≥4", "1", "2", "text"]
        assert [row[0] for row in heat.rows] == ["p", "unrated"]
        assert heat.shades == {(0, 4): 5, (0, 5): 0}
        assert heat.boxed == {(0, 4)}
        assert heat.hints == {4: PIONEERS, 5: "When did it begin?"}
        assert heat.details[0, 0] == [("text", "Elvis sang.")]
        assert heat.details[0, 4] == [("answer", "Elvis")]

    def test_all_pairs_for_scripts(self) -> None:
        rows = shown(Grid(), query(*self.PASSAGES))
        assert len(rows) == 12
        assert [(row["entry_id"], row["rating"]) for row in rows[:2]] == [("q/a", 5), ("q/b", 0)]
        assert column([row for row in rows if row["passage_id"] == "failed"], "reason") == ["not asked"] * 2


class TestUnparsed:
    PASSAGES = (
        passage("fine", both(4), text="Fine."),
        passage(
            "odd",
            rated({"q/a": 1, "q/b": 0}, {"q/a": "6 months", "q/b": "3: good"}, sources={"q/a": "default-1"}),
        ),
        passage(
            "cut",
            rated(
                {"q/a": 5},
                llm_response_errors={"q/b": {"failure_reason": "timed out", "response": ""}},
                tokens_cut={"q/a": 7, "q/b": 9},
            ),
        ),
        passage("half", rated({"q/a": 2})),
    )

    def rows(self, limit: int | None = None) -> tuple[Unparsed, list[dict[str, Any]]]:
        report = Unparsed(limit)
        return report, shown(report, query(*self.PASSAGES))

    def test_kinds(self) -> None:
        report, rows = self.rows()
        assert [(row["kind"], row["passage_id"], row["entry_id"]) for row in rows] == [
            ("not a number", "odd", "q/a"), ("not a number", "odd", "q/b"),
            ("ungraded", "cut", "q/b"), ("shortened", "cut", None),
        ]  # fmt: skip
        assert column(rows, "source") == ["default-1", "not recorded", None, None]
        assert column(rows, "reply") == ["6 months", "3: good", None, None]
        assert column(rows, "reason") == [None, None, "timed out", None]
        assert rows[3]["tokens_cut"] == 9
        assert summary(report) == (
            "8 pairs: 2 with a rating that is not a number in the reply, 1 ungraded, 1 not asked. The "
            "prompts of 1 passage were shortened."
        )

    def test_replies_are_read_again_where_the_prompt_is_known(self) -> None:
        asked: list[str | None] = []

        def read(prompt_class: str | None, reply: str) -> Reading:
            asked.append(prompt_class)
            return Reading(3, "number") if reply == "3: good" else Reading(1, "default-1")

        known = query(self.PASSAGES[1])
        report = Unparsed()
        report.add(with_reader(known, self.PASSAGES[1], read))
        assert [row[7] for row in table(report).rows] == [None, "3 (number)"]
        assert asked == [RATED, RATED]

    def test_a_number_in_words_is_a_number(self) -> None:
        subject = passage("p", rated({"q/a": 3, "q/b": 0}, {"q/a": "3: good"}))
        report = Unparsed()
        report.add(with_reader(query(subject), subject, lambda *_: Reading(3, "number")))
        assert summary(report).startswith("All 2 pairs are graded, all replies are numbers")
        assert pages(report) == []

    def test_most_frequent_replies_first(self) -> None:
        subjects = [
            passage(f"p{n}", rated({"q/a": 0}, {"q/a": reply})) for n, reply in enumerate(["x", "y", "y"])
        ]
        report = Unparsed()
        report.add(query(*subjects, bank={"q/a": BANK["q/a"]}))
        assert [list(row) for row in tables(report)[0].rows] == [
            [2, 0, "not recorded", "y"], [1, 0, "not recorded", "x"],
        ]  # fmt: skip


def with_reader(subject: CheckedQuery, source: Passage, read: Any) -> CheckedQuery:

    from exam_pp.grade_filter import GradeFilter, GradeSelector

    selector = GradeSelector(GradeFilter(prompt_class=RATED))
    return replace(subject, passages=checked_passages([source], selector, read_again=read))
