"""Agreement with judgments and of graders: published layouts, labels, tables, real data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.metrics.qrels import LabelRule
from exam_pp.phases.analysis.agreement import (
    RatedPassage,
    agreement,
    labelled_passages,
    layouts,
    rated_passages,
)
from exam_pp.rendering.document import Report, Table
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.agreement import agreement_report
from tests.conftest import passage, rubric
from tests.tables import tables_of


def rated(count: int, rating: int, judgment: int) -> list[RatedPassage]:
    return [RatedPassage(f"q{n % 5}", [rating, 0], frozenset({judgment})) for n in range(count)]


# Table 5 of the workbench paper, questions: rows 4-5 and 0-3, judgments 2-3 and 0-1.
TABLE_5 = [*rated(998, 5, 3), *rated(2377, 4, 1), *rated(668, 2, 2), *rated(7343, 0, 0)]


def test_table_5() -> None:
    strict = tables_of(agreement_report(agreement(TABLE_5, min_relevant=2)))["STRICT, best rating"]

    assert strict.columns == ["label", "2–3", "0–1", "Total", "κ", "interval"]
    assert [list(row[:4]) for row in strict.rows] == [["4–5", 998, 2377, 3375], ["0–3", 668, 7343, 8011]]
    assert [row[4] for row in strict.rows] == [pytest.approx(0.2488, abs=5e-5)] * 2


def test_boxes_are_the_published_ones() -> None:
    """GRADED: 5 and 4 to judgment 2, 3 to 1 to judgment 1; one higher if judgment 1 is not relevant."""

    def boxes(min_relevant: int) -> dict[str, str]:
        layout = layouts(min_relevant)[0]
        return {
            row.name: layout.columns[box].name for row, box in zip(layout.rows, layout.boxes, strict=True)
        }

    assert boxes(1) == {"5": "2", "4": "2", "3": "1", "2": "1", "1": "1", "0": "0"}
    assert boxes(2) == {"5": "3", "4": "3", "3": "2", "2": "2", "1": "2", "0": "0"}
    assert [column.name for column in layouts(1)[1].columns] == ["2–3", "1", "0"]
    assert [column.name for column in layouts(2)[1].columns] == ["3", "2", "0–1"]


def test_judgments_and_grades_outside_the_published_scales_are_counted() -> None:
    """A judgment below −2, a grade above 5 and one below 0: every passage is in one row and one column."""
    passages = [
        RatedPassage("q", [2_000_000_000], frozenset({7_000_000_000})),
        RatedPassage("q", [-1], frozenset({-4})),
        RatedPassage("r", [2], frozenset({1})),
    ]
    tables = tables_of(agreement_report(agreement(passages)))

    for title, table in list(tables.items())[:4]:
        judged = range(1, table.columns.index("Total"))
        assert sum(int(row[table.columns.index("Total")] or 0) for row in table.rows) == 3, title
        assert sum(int(row[column] or 0) for row in table.rows for column in judged) == 3, title
    assert [row[0] for row in tables["STRICT, best rating"].rows] == ["4–2000000000", "0–3"]


def test_only_the_best_judgment_may_be_relevant() -> None:
    merge = layouts(3)[1]

    assert [(c.name, sorted(c.labels)) for c in merge.columns] == [
        ("3", [3]), ("2", [2]), ("0–1", [-2, -1, 0, 1])
    ]  # fmt: skip
    with pytest.raises(SelectionError, match=r"--min-judgment 4 .* 3"):
        agreement(TABLE_5, min_relevant=4)


def test_a_table_for_every_minimum_grade() -> None:
    """The table for grade 4 is Table 5 of the workbench paper."""
    tables = tables_of(agreement_report(agreement(TABLE_5, min_relevant=2, min_grades=[4, 5])))

    assert [list(row[:4]) for row in tables["GRADE ≥ 4, best rating"].rows] == [
        ["≥ 4", 998, 2377, 3375], ["< 4", 668, 7343, 8011]
    ]  # fmt: skip
    assert tables["GRADE ≥ 4, best rating"].rows[0][4] == pytest.approx(0.2488, abs=5e-5)
    assert tables["GRADE ≥ 5, best rating"].rows[0][1:4] == [998, 0, 998]


def test_kappa_has_two_significant_digits() -> None:
    """As in the published tables, which show −0.0041, not −0.00."""
    table = Table(["label", "κ", "share"], [["5", 0.2488, 0.5], ["4", -0.00412, -0.0001]], significant=[1])

    assert render(Report("", [table]), "tsv").splitlines()[1:] == ["5\t0.25\t0.500", "4\t-0.0041\t0.000"]
    assert tables_of(agreement_report(agreement(TABLE_5)))["STRICT, best rating"].significant == [4]


def test_min_answers_takes_the_kth_best_rating() -> None:
    """The second best rating of every passage is 0, so no passage has two good answers."""
    tables = tables_of(agreement_report(agreement(TABLE_5, min_relevant=2, min_answers=[1, 2])))

    assert tables["STRICT, 2nd best rating"].rows[0][:4] == ["4–5", 0, 0, 0]


def test_a_passage_with_several_judgments_counts_in_every_column() -> None:
    table = tables_of(agreement_report(agreement([RatedPassage("q", [5], frozenset({0, 3}))])))[
        "STRICT, best rating"
    ]

    assert list(table.rows[0][:4]) == ["4–5", 1, 1, 1]


def test_a_rule_gives_a_confusion_matrix() -> None:
    passages = [RatedPassage("q", [5, 5], frozenset({3})), RatedPassage("r", [5, 1], frozenset({1}))]
    report = agreement_report(agreement(passages, rule=LabelRule.parse("2nd>=5:3, 2nd>=4:1, else 0")))
    table = next(iter(tables_of(report).values()))

    assert table.columns[:5] == ["label", "3", "1", "0", "Total"]
    assert [list(row[:5]) for row in table.rows] == [["3", 1, 0, 0, 1], ["1", 0, 0, 0, 0], ["0", 0, 1, 0, 1]]


def test_a_column_without_passages_is_allowed() -> None:
    """Without a judgment of 2 or more, the column is 0; an undefined κ is not bold."""
    passages = [RatedPassage("q", [5], frozenset({1})), RatedPassage("r", [5], frozenset({0}))]
    table = tables_of(agreement_report(agreement(passages, min_relevant=2)))["STRICT, best rating"]

    assert list(table.rows[0][:4]) == ["4–5", 0, 2, 2]
    one_label = [RatedPassage("q", [5], frozenset({3}))]
    assert not tables_of(agreement_report(agreement(one_label)))["STRICT, best rating"].bold


def direct(label: int = 1, **prompt: Any) -> dict[str, Any]:
    return {
        "correctAnswered": True, "answer": "1", "self_ratings": label, "llm": "m", "llm_options": {},
        "prompt_info": prompt, "prompt_type": "direct_grading",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("grades", "same_scale"),
    [
        # TREC judgments are 0 to 3; other prompts for direct grades have shorter scales.
        ([direct(prompt_class="GradedRelevance")], True),
        ([direct(prompt_class="Thomas")], False),
        ([direct(prompt_class="Sun")], False),
        # Grades with an unknown prompt record their scale, or their highest label decides.
        ([direct(prompt_class="UMBRELA", max_rating=3)], True),
        ([direct(prompt_class="UMBRELA", max_rating=5)], False),
        ([direct(prompt_class="UMBRELA")], False),
        *(([direct(label, prompt_class="mine", is_self_rated=True) for label in (0, highest)], highest == 3)
          for highest in (2, 3, 4)),
    ],
)  # fmt: skip
def test_labels_on_the_scale_of_judgments(
    write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path, grades: list[Any], same_scale: bool
) -> None:
    passages = [passage(f"p{number}", grades=[grade]) for number, grade in enumerate(grades)]
    (tmp_path / "qrels").write_text("q 0 p0 1\n")
    path = write_jsonl("direct.jsonl", [["q", passages]])
    assert rated_passages(path, qrels=tmp_path / "qrels").like_judgments is same_scale


def test_grades_of_right_and_wrong_have_one_table() -> None:
    passages = [RatedPassage("q", [1], frozenset({2})), RatedPassage("r", [0], frozenset({0}))]

    assert next(iter(tables_of(agreement_report(agreement(passages))))) == "BINARY, best rating"


def test_judgments_of_a_qrels_file(tiny_passages: Path, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("q1 0 p2 2\n007 0 p3 0\n007 0 other 1\n")

    assert rated_passages(tiny_passages, qrels=qrels) == [
        RatedPassage("q1", [4, 1], frozenset({2})), RatedPassage("007", [2], frozenset({0})),
    ]  # fmt: skip
    qrels.write_text("q9 0 p 2\n")
    with pytest.raises(SelectionError, match=r"graded\.jsonl.* judgment .*grade"):
        rated_passages(tiny_passages, qrels=qrels)


def test_the_highest_of_several_judgments_is_compared(
    write_jsonl: Callable[[str, list[Any]], Path],
) -> None:
    """Also if the judgments are on two lines of the query."""

    def judged(passage_id: str, grade: int, *relevance: int) -> dict[str, Any]:
        judgments = [
            {"paragraphId": passage_id, "query": "q", "relevance": r, "titleQuery": "q"} for r in relevance
        ]
        return passage(
            passage_id, paragraph_data={"judgments": judgments}, exam_grades=[rubric({"e": grade})]
        )

    lines = [["q", [judged("p1", 3, 3, 0), judged("p2", 2, 2)]], ["q", [judged("p2", 2, 0)]]]
    path = write_jsonl("judged.jsonl", lines)

    summary = tables_of(agreement_report(agreement(rated_passages(path))))["Labels and judgments as numbers"]
    assert list(summary.rows[0])[1:] == [1.0] * 4


def test_fractions_of_qrels_are_cut_off(tmp_path: Path) -> None:
    """Cohen's κ needs whole labels."""
    (tmp_path / "model").write_text("q 0 a 1.8\nq 0 b 0\n")
    (tmp_path / "people").write_text("q 0 a 1.\nq 0 b 0\n")
    result = agreement(labelled_passages(tmp_path / "model", tmp_path / "people"), same_scale=True)
    assert [row.kappa for row in result.tables[0].rows] == [1, 1]
    assert len(result.notes) == 1
    assert result.notes[0].endswith(
        "model: 1 of 2 labels has a fraction, which is cut off, as by trec_eval (1.8 is 1)."
    )


def test_latex_escapes_and_boxes() -> None:
    text = render(agreement_report(agreement(TABLE_5, min_relevant=2)), "latex")

    assert r"4--5 & \fbox{998} & 2377 & 3375" in text
    assert r"\textbf{0.25}" in text
    assert r"95 \%" in text
    assert "κ" not in text
