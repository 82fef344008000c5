"""Distributions of scores over queries, from files in several formats."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.uncertainty import mean_interval
from exam_pp.plugins.rag_metrics.distributions import COLUMNS, distributions_report
from exam_pp.rendering.document import Picture, Report, Table
from exam_pp.rendering.render import render
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score
from exam_pp.store.trec.scores import write_score_rows, write_scores
from tests.conftest import written
from tests.tables import rows_of

RAG_COLUMNS = (
    "query_id,query,run_1_retrieval_score_mean_umbrela_score,run_1_generation_score_no_answer_score,"
    "run_2_retrieval_score_mean_umbrela_score,run_2_generation_score_no_answer_score\n"
)
UMBRELA = "retrieval_score_mean_umbrela_score"


def scores(system: str, values: Sequence[float | None], measure: str = "F1") -> list[Score]:
    return [Score(system, f"q{n}", measure, value) for n, value in enumerate(values) if value is not None]


def rows(path: Path, *rows_of_systems: list[Score]) -> Path:
    write_score_rows([score for of_system in rows_of_systems for score in of_system], path)
    return path


def notes_after_the_first(report: Report) -> list[str]:
    """The notes without that on the columns of intervals."""
    return report.notes[1:]


def test_numbers_of_a_file(tmp_path: Path) -> None:
    """Intervals are those of `evaluate --intervals queries`; means and the upper bound are no scores."""
    values = [0.0, 0.25, 0.5, 1.0]
    more = [Score("a", ALL_QUERIES, "RR", 0.9), *scores(OVERALL_SYSTEM, [1.0], "RR")]
    result = distributions_report([rows(tmp_path / "s.jsonl", scores("a", values, "RR"), more)])
    (row,) = rows_of(result)
    assert (row["measure"], row["system"], row["missing"]) == ("RR", "a", 0)
    assert (row["mean"], row["median"]) == (0.4375, 0.375)
    assert (row["low"], row["high"]) == mean_interval(values, (0, 1))
    assert notes_after_the_first(result) == []


def test_missing_scores_are_counted_and_never_zero(tmp_path: Path) -> None:
    """A system's numbers do not depend on the other systems."""
    path = rows(tmp_path / "s.jsonl", scores("a", [0.5, None, 0.7, None]), scores("b", [0.1, 0.2, 0.3, 0.4]))
    alone = rows(tmp_path / "alone.jsonl", scores("a", [0.5, None, 0.7, None]))
    first, second = rows_of(distributions_report([path]))
    (row,) = rows_of(distributions_report([alone]))
    assert (first["missing"], second["missing"], row["missing"]) == (2, 0, 0)
    assert first | {"missing": 0} == row
    assert first["mean"] == 0.6
    note, of_range = notes_after_the_first(distributions_report([path]))
    assert "F1: intervals are Student's, which assume normal scores" in of_range
    assert note == "2 scores are missing, of 1 system (a): not counted as 0, but in no number."


@pytest.mark.parametrize("values", [[0.1], [0.1, 0.1, 0.1]])
def test_one_query_and_constant_scores(values: list[float], tmp_path: Path) -> None:
    report = distributions_report([rows(tmp_path / "s.jsonl", scores("a", values, "RR"))])
    (row,) = rows_of(report)
    assert (row["mean"], row["median"], row["lowest"], row["highest"]) == (0.1, 0.1, 0.1, 0.1)
    assert (row["low"], row["high"]) == mean_interval(values, (0, 1))
    for form in ("text", "md", "tsv", "html", "json"):
        assert "0.100" in render(report, form) or form == "json"


def test_several_files(tmp_path: Path) -> None:
    """A system of several files has the name of the file, too; equal names of files have their paths."""
    first = rows(tmp_path / "first.jsonl", scores("a", [0.1, 0.2]), scores("only", [0.5, 0.5]))
    second = tmp_path / "second.tsv"
    write_scores([*scores("a", [0.3, 0.4]), *scores("a", [1, 0], "RR")], second)
    result = distributions_report([first, second, first])
    assert [(row["measure"], row["system"]) for row in rows_of(result)] == [
        ("F1", "first: a"), ("F1", "only"), ("F1", "second: a"), ("RR", "a"),
    ]  # fmt: skip
    (tmp_path / "more").mkdir()
    third = rows(tmp_path / "more" / "first.jsonl", scores("a", [0.9, 0.9]))
    assert {row["system"] for row in rows_of(distributions_report([first, third], ["F1"]))} == {
        f"{first}: a", f"{third}: a", "only",
    }  # fmt: skip


def test_repeats_are_averaged_and_their_consistency_is_a_measure(tmp_path: Path) -> None:
    """Open RAG Eval: mean/(1+sd) over the runs of a query, with the population sd."""
    path = written(
        tmp_path / "rag.csv",
        RAG_COLUMNS + 'q1,,3,"{""query_answered"": ""yes""}",1,no\nq2,,2,yes,2,yes\nq3,,1,yes,,\nq4,,,,,\n',
    )
    result = distributions_report([path])
    found = rows_of(result)
    assert [(row["measure"], row["system"], row["queries"], row["missing"]) for row in found] == [
        (UMBRELA, "rag", 3, 1), ("Answered", "rag", 3, 1), (f"adjusted({UMBRELA})", "rag", 2, 2),
        ("adjusted(Answered)", "rag", 2, 2),
    ]  # fmt: skip
    umbrela, answered, adjusted, _ = found
    assert umbrela["mean"] == pytest.approx((2 + 2 + 1) / 3)
    assert answered["mean"] == pytest.approx((0.5 + 1 + 1) / 3)
    assert (adjusted["lowest"], adjusted["highest"]) == (2 / (1 + 1), 2.0)
    assert notes_after_the_first(result)[:2] == [
        "rag: the score of a query is the mean over its repeats (2 repeats).",
        "2 scores are missing from a repeat and in no mean.",
    ]
    assert rows_of(distributions_report([path], [f"adjusted({UMBRELA})"])) == [adjusted]


def test_repeats_in_several_files_have_one_note(tmp_path: Path) -> None:
    first = rows(tmp_path / "a.jsonl", scores("rag-run-1", [0.5, 0.7]), scores("rag-run-2", [0.5, None]))
    second = rows(
        tmp_path / "b.jsonl", scores("rag-run-1", [1.0, 0.0], "AP"), scores("rag-run-2", [None, 1.0], "AP")
    )
    assert notes_after_the_first(distributions_report([first, second]))[:3] == [
        "rag: the score of a query is the mean over its repeats (2 repeats).",
        "2 scores are missing from a repeat and in no mean.",
        "2 scores are missing, of 1 system (rag): not counted as 0, but in no number.",
    ]


def test_names_that_only_look_like_repeats(tmp_path: Path) -> None:
    """One number alone, numbers that exam_pp does not write, and a name that is also a system."""
    names = ["bm25-run-1", "x-run-01", "x-run-02", "rag", "rag-run-1", "rag-run-2"]
    path = rows(tmp_path / "s.jsonl", *(scores(name, [0.5, 0.7]) for name in names))
    assert [row["system"] for row in rows_of(distributions_report([path]))] == names


def test_the_report_has_a_picture_of_each_measure(tmp_path: Path) -> None:
    answered = scores("a", [1.0, 0.0], "Answered")
    report = distributions_report([rows(tmp_path / "s.jsonl", scores("a", [0.2, 0.4]), answered)])
    pictures = [block for block in report.blocks if isinstance(block, Picture)]
    assert [picture.title for picture in pictures] == ["Distribution of F1", "Questions answered"]
    (table,) = (block for block in report.blocks if isinstance(block, Table))
    assert (table.columns, table.rows[1][:5]) == (COLUMNS, ["Answered", "a", 2, 0, 0.5])
    page = render(report, "html")
    assert page.count("</svg>") == 2
    assert " style=" not in page


@pytest.mark.parametrize(
    ("content", "error", "about"),
    [
        ("system\tF1\na\t0.5\n", SelectionError, "--per-query"),
        ('{"system": "a", "query_id": "q", "metric": "m", "value": NaN}\n', DataError, "finite"),
        ("system\tquery\tmeasure\tvalue\na\tq1\tF1\tnan\n", DataError, "not a number"),
        (RAG_COLUMNS + "q1,,nan,,,\n", DataError, "not a finite number"),
        (
            "query_id,query,query_run,passage_id,passage,generated_answer\nq,what,1,[1],text,answer [1]\n",
            DataError,
            "has answers, not scores; `exam-pp evaluate`",
        ),
        (RAG_COLUMNS + 'q1,,"{""a"": ",,,\n', DataError, "not valid JSON"),
    ],
)
def test_refused_files(content: str, error: type[Exception], about: str, tmp_path: Path) -> None:
    path = written(tmp_path / "scores", content)
    with pytest.raises(error, match=about) as caught:
        distributions_report([path])
    assert "scores" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_measure_is_refused(tmp_path: Path) -> None:
    path = rows(tmp_path / "s.jsonl", scores("a", [0.2, 0.4]))
    with pytest.raises(SelectionError, match=r"'RR' \(measures of the files: F1\)\."):
        distributions_report([path], ["F1", "RR"])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = rows(tmp_path / "s.jsonl", scores("a", [0.2, 0.4]), scores("a", [1.0, 1.0], "RR"))
    figure = tmp_path / "s.svg"
    main(["-q", "analyze", "distributions", str(path), "-m", "RR", "-m", "F1", "--format", "json",
          "--plot", str(figure)])  # fmt: skip
    table = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    assert [(row["measure"], row["mean"], row["low"]) for row in table] == [
        ("RR", 1.0, pytest.approx(0.025**0.5)),
        ("F1", 0.3, None),
    ]
    assert re.findall("<title>(Distribution of .*?)</title>", figure.read_text()) == [
        "Distribution of RR",
        "Distribution of F1",
    ]
