"""Content and order of the verification reports."""

from __future__ import annotations

from typing import Any

from exam_pp.rendering.document import Quote, Report, Table
from exam_pp.reports.review.verification.disagreements import HIGH, LOW, disagreements
from exam_pp.reports.review.verification.grid import grid
from exam_pp.reports.review.verification.spurious import spurious
from exam_pp.reports.review.verification.uncovered import uncovered
from exam_pp.reports.review.verification.unparsed import unparsed
from tests.reports.review.verification.material import (
    BANK,
    EXTRACTION,
    PIONEERS,
    checked,
    grades,
    passage,
    rated,
    rows_of,
    summary,
)


def column(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in rows]


def tables(report: Report) -> list[Table]:
    return [block for block in report.blocks if isinstance(block, Table)]


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
        report = uncovered(checked(*self.PASSAGES), flat=True)
        far, near, less = rows_of(report)
        assert far == {
            "query_id": "q", "query": "rock", "passage_id": "far", "judgment": 3, "best_grade": 0,
            "covered": 0, "entry_id": "q/a", "entry": PIONEERS, "answer": None, "text": "Text of far.",
        }  # fmt: skip
        assert [near["passage_id"], less["passage_id"]] == ["near", "less"]
        assert summary(report) == (
            "3 of 5 relevant passages (judged 1 or higher) have no grade of 4 or higher; 1 more is not "
            "graded."
        )

    def test_thresholds(self) -> None:
        higher = uncovered(checked(*self.PASSAGES), min_judgment=2, flat=True)
        assert column(rows_of(higher), "passage_id") == ["far", "near"]
        lower = uncovered(checked(*self.PASSAGES, min_grade=3), flat=True)
        assert column(rows_of(lower), "passage_id") == ["far", "less"]

    def test_cards_have_a_page_of_text_and_the_start_of_an_answer(self) -> None:
        answers = grades(EXTRACTION, {"q/a": "roll " * 20})
        passages = [passage(f"p{n}", both(3), answers, relevance=[1], text="x" * n) for n in (3000, 3001)]
        report = uncovered(checked(*passages))
        quotes = [block.text for block in report.blocks if isinstance(block, Quote)]
        assert quotes == ["x" * 3000, "x" * 3000 + " … (1 more characters)"]
        assert tables(report)[-1].rows == [[3, "roll " * 11 + "…", PIONEERS]]

    def test_no_uncovered_passages(self) -> None:
        report = uncovered(checked(self.PASSAGES[0]))
        assert len(report.blocks) == 1
        assert summary(report).endswith("the bank covers all of them.")
        passages = passage("u", relevance=[2]), passage("n", both(5, 5), relevance=[0])
        assert summary(uncovered(checked(*passages))) == (
            "None of 1 relevant passages (judged 1 or higher) is graded, so the report is empty."
        )
        assert summary(uncovered(checked(*passages, self.PASSAGES[0]))).endswith(
            "have no grade of 4 or higher; 1 more is not graded."
        )


class TestSpurious:
    """Workbench paper, section 4.4: entries that non-relevant passages frequently cover."""

    PASSAGES = (
        passage("n1", both(4, 5), relevance=[0]),
        passage("n2", both(5, 4), relevance=[-2, 0]),
        passage("n3", both(5, 0), relevance=[-1]),
        passage("r1", both(5, 0), relevance=[0, 1]),
        passage("unjudged", both(5, 5)),
        passage("failed", relevance=[0]),
    )

    def test_counts_and_order(self) -> None:
        rows = rows_of(spurious(checked(*self.PASSAGES), often=1, flat=True))
        assert rows == [
            {"query_id": "q", "entry_id": "q/a", "entry": PIONEERS, "covered_by_non_relevant": 3,
             "non_relevant": 3, "covered_by_relevant": 1, "relevant": 1, "examples": "n3 n2 n1"},
            {"query_id": "q", "entry_id": "q/b", "entry": "When did it begin?", "covered_by_non_relevant": 2,
             "non_relevant": 3, "covered_by_relevant": 0, "relevant": 1, "examples": "n1 n2"},
        ]  # fmt: skip

    def test_often_limit_and_examples(self) -> None:
        more = passage("n4", both(4, 0), relevance=[0])
        report = spurious(checked(*self.PASSAGES, more), flat=True)
        assert column(rows_of(report), "examples") == ["n3 n2 n1"]
        assert summary(report) == (
            "1 of 2 entries of 1 query are covered (grade 4 or higher) by 3 or more non-relevant passages "
            "(judged below 1)."
        )
        limited = spurious(checked(*self.PASSAGES), often=1, limit=1)
        assert len(tables(limited)[0].rows) == 1
        assert "1 more entry is not shown." in limited.notes


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
        report = disagreements(checked(*self.PASSAGES), flat=True)
        assert [(row["direction"], row["passage_id"]) for row in rows_of(report)] == [
            (LOW, "low3"), (LOW, "low1"), (LOW, "low3-near"),
            (HIGH, "spam"), (HIGH, "high-twice"), (HIGH, "high-once"),
        ]  # fmt: skip
        assert summary(report) == (
            "Of 8 passages with a judgment and a grade, 3 are judged 1 or higher and have no grade of 4 or "
            "higher; 3 are judged lower and have such a grade."
        )
        for alone, counts in ((0, "1 are judged 1"), (3, "0 are judged 1"), (6, "0 are judged 1")):
            of_one = summary(disagreements(checked(self.PASSAGES[alone])))
            assert counts in of_one
            assert ("grades agree" in of_one) == (alone == 6)


class TestGrid:
    PASSAGES = (
        passage("zero", both(5), relevance=[0]),
        passage("one", both(4), relevance=[2]),
        passage("two", both(4, 4), relevance=[2]),
        passage("best", both(5), relevance=[2]),
        passage("unjudged", both(5, 5)),
        passage("failed", relevance=[2]),
    )

    def test_answers_are_below_the_grid(self) -> None:
        subject = checked(passage("p", both(4), grades(EXTRACTION, {"q/a": "Elvis", "q/b": "the 1930s"})))
        plain = grid(subject)
        assert tables(plain)[1].rows[0][4:6] == [4, 0]
        assert tables(plain)[2].rows == [["p", 1, 4, "Elvis"]]

    def test_heat_map(self) -> None:
        """The passage is the first column; every rated cell has a shade, and texts are behind the cells."""
        subject = checked(
            passage("p", both(4), grades(EXTRACTION, {"q/a": "Elvis"}), text="Elvis sang."),
            passage("unrated"),
        )
        _, heat = tables(grid(subject, form="html"))
        assert list(heat.columns) == ["passage", "judgment", "best", "≥4", "1", "2", "text"]
        assert [row[0] for row in heat.rows] == ["p", "unrated"]
        assert heat.shades == {(0, 4): 5, (0, 5): 0}
        assert heat.boxed == {(0, 4)}
        assert heat.hints == {4: PIONEERS, 5: "When did it begin?"}
        assert heat.details[0, 0] == [("text", "Elvis sang.")]
        assert heat.details[0, 4] == [("answer", "Elvis")]

    def test_all_pairs_for_scripts(self) -> None:
        rows = rows_of(grid(checked(*self.PASSAGES), flat=True))
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

    def test_kinds(self) -> None:
        report = unparsed(checked(*self.PASSAGES), flat=True)
        rows = rows_of(report)
        assert [(row["kind"], row["passage_id"], row["entry_id"]) for row in rows] == [
            ("not a number", "odd", "q/a"), ("not a number", "odd", "q/b"),
            ("ungraded", "cut", "q/b"), ("shortened", "cut", "q/a"), ("shortened", "cut", "q/b"),
        ]  # fmt: skip
        assert column(rows, "source") == ["default-1", "not recorded", None, "not recorded", None]
        assert column(rows, "reply") == ["6 months", "3: good", None, None, None]
        assert column(rows, "reason") == [None, None, "timed out", None, "timed out"]
        assert column(rows, "tokens_cut") == [None, None, 9, 7, 9]
        assert summary(report) == (
            "8 pairs: 2 with a rating that is not a number in the reply, 1 ungraded, 1 not asked, 2 with a "
            "shortened prompt."
        )

    def test_each_kind_alone_is_counted(self) -> None:
        half = self.PASSAGES[3]
        words = passage("p", rated({"q/a": 1, "q/b": 0}, {"q/a": "one"}))
        failed = {"q/b": {"failure_reason": "timed out", "response": ""}}
        ungraded = passage("p", rated({"q/a": 5}, llm_response_errors=failed))
        kinds = ((half, "0 ungraded, 1 not"), (words, "0 ungraded, 0 not"), (ungraded, "1 ungraded, 0 not"))
        for subject, counts in kinds:
            assert f"reply, {counts} asked," in summary(unparsed(checked(subject)))

    def test_a_number_in_words_is_a_number(self) -> None:
        subject = passage("p", rated({"q/a": 3, "q/b": 0}, {"q/a": "3: good"}))
        report = unparsed(checked(subject))
        assert summary(report).startswith("All 2 pairs are graded, all replies are numbers")
        assert len(report.blocks) == 1

    def test_the_prompt_says_what_a_number_is(self) -> None:
        """Not that the rating stands somewhere in the reply."""
        replies = {"q/a": "unanswerable, as 0 of the bands are named"}
        report = unparsed(checked(passage("p", rated({"q/a": 0, "q/b": 0}, replies))), flat=True)
        assert column(rows_of(report), "entry_id") == ["q/a"]

    def test_most_frequent_replies_first(self) -> None:
        subjects = [
            passage(f"p{n}", rated({"q/a": 0}, {"q/a": reply})) for n, reply in enumerate(["x", "y", "y"])
        ]
        report = unparsed(checked(*subjects, bank={"q/a": BANK["q/a"]}))
        assert [list(row) for row in tables(report)[0].rows] == [
            [2, 0, "not recorded", "y"], [1, 0, "not recorded", "x"],
        ]  # fmt: skip
