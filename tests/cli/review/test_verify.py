"""The command line of `exam-pp verify`."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from exam_pp.cli.main import main

REPORTS = ("grading", "grid", "uncovered", "spurious", "disagreements", "unparsed")


@pytest.fixture
def golden(repository: Path) -> list[str]:
    folder = repository / "tests" / "golden" / "reports"
    return [str(folder / "graded.jsonl"), "--bank", str(folder / "bank.jsonl")]


@pytest.mark.parametrize("report", REPORTS)
def test_shared_filters(report: str, golden: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["-q", "verify", report, *golden, "--query", "tide", "--system", "bm25", "--format", "tsv"])
    out = capsys.readouterr().out
    assert "\nrock" not in out
    assert "\tr1\t" not in out
    main(["-q", "verify", report, *golden, "--min-judgment", "2", "--limit", "1", "--grader", "a-model",
          "--prompt", "QuestionSelfRatedUnanswerablePromptWithChoices",
          "--grades", "answers=QuestionCompleteConciseUnanswerablePromptWithChoices"])  # fmt: skip
    assert "by a-model" in capsys.readouterr().out


def lines(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    main(["-q", "verify", *arguments, "--format", "tsv"])
    return list(csv.DictReader(capsys.readouterr().out.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def test_grades_that_cover(golden: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def passages(*arguments: str) -> set[str]:
        return {row["passage_id"] for row in lines([arguments[0], *golden, *arguments[1:]], capsys)}

    assert passages("grid", "--min-grade", "5") == {"r1", "r3", "t1"}
    assert passages("grid", "--min-grade", "4", "--min-answers", "2") == {"t1"}
    assert len(passages("grid")) == 11
    assert passages("uncovered", "--min-grade", "3") == {"r2", "r7", "t2"}
    assert passages("uncovered", "--min-judgment", "2") == {"r2", "r8"}
    assert passages("grading", "--min-grade", "5", "--min-judgment", "3") == {"r1", "t1"}


@pytest.mark.parametrize(
    ("report", "options", "message"),
    [
        ("uncovered", ["--min-grade", "1"], "the bank covers all of them."),
        (
            "uncovered",
            ["--min-judgment", "9"],
            "No passage is judged 9 or higher, so no passage is relevant.",
        ),
        ("spurious", [], "0 of 2 entries of 1 query are covered"),
        ("disagreements", ["--min-grade", "1"], "judgments and grades agree."),
        ("unparsed", ["--system", "dense"], "All 2 pairs are graded, all replies are numbers"),
    ],
)
def test_an_empty_report_gives_the_reason(
    report: str, options: list[str], message: str, golden: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["-q", "verify", report, *golden, "--query", "tide", *options])
    assert message in " ".join(capsys.readouterr().out.split())
