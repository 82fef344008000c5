"""Tables 6 and 7 of the AutoNuggetizer paper as leaderboards, and how two conditions agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kendalltau

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.phases.analysis.correlation import correlation
from exam_pp.phases.analysis.nugget_conditions import (
    compare_conditions,
    length_points,
    pareto_front,
    two_conditions,
)
from exam_pp.phases.evaluation.nugget_leaderboard import ScoringRules, nugget_leaderboard, read_conditions
from exam_pp.phases.evaluation.result import matched_names
from exam_pp.rendering.document import Paragraph, Table
from exam_pp.rendering.pictures.svg import svg_file
from exam_pp.reports.analysis.correlation import correlation_report
from exam_pp.reports.analysis.nugget_conditions import conditions_picture, length_picture, meta_report
from exam_pp.reports.evaluation.nugget_leaderboard import nugget_report
from tests.conftest import written
from tests.phases.nugget_material import answer, bank_line

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "metrics" / "cases" / "autonuggetizer_tables.json").read_text("utf-8")
)
COLUMNS = ["V_strict", "V", "W_strict", "W", "A_strict", "A", "L"]
CUT_6 = "TREMA-UNH.Ranked_Iterative_Fact_Extraction…"
CUT_7 = "TREMA-UNH.Ranked_Iterative_Fact_Extraction_and…"

ALONE = ScoringRules(reviewed=False)


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """Table 7 (automatic) and Table 6 (manual) as TSV files."""
    for number in (6, 7):
        rows = ["\t".join(map(str, row)) for row in PUBLISHED[f"table_{number}"]]
        lines = ["Run ID\tTask\tV_strict\tL", *rows]
        (tmp_path / f"table{number}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "table7.tsv", tmp_path / "table6.tsv"


def test_tau_of_tables_6_and_7(tables: tuple[Path, Path]) -> None:
    """Section 4 and figure 6: Kendall's τ of .783 over 45 runs, one of which the tables cut differently."""
    agreement = compare_conditions(*two_conditions(read_conditions(tables))).metrics["V_strict"]

    assert agreement.runs == 45
    assert agreement.by_run == pytest.approx(PUBLISHED["tau"], abs=5e-4)
    assert agreement.by_run is not None
    assert f"{agreement.by_run:.3f}" == "0.783"


def test_the_same_tau_by_analyze_correlation(tables: tuple[Path, Path]) -> None:
    report = correlation_report(correlation(*tables))
    (table,) = [block for block in report.blocks if isinstance(block, Table)]

    assert table.rows[0][:2] == ["V_strict", 45]
    assert table.rows[0][3] == pytest.approx(0.783, abs=5e-4)
    assert any(CUT_6 in block.text for block in report.blocks if isinstance(block, Paragraph))


def test_tables_as_a_leaderboard_of_two_conditions(tables: tuple[Path, Path], tmp_path: Path) -> None:
    types = tmp_path / "types.tsv"
    types.write_text("\n".join(f"{row[0]}\t{row[1]}" for row in PUBLISHED["table_6"]), encoding="utf-8")
    (automatic, manual) = two_conditions(read_conditions(tables, names=["AutoAssign", "ManualAssign"]))
    report = nugget_report(nugget_leaderboard([automatic, manual], run_types=types))
    (table,) = [block for block in report.blocks if isinstance(block, Table)]

    assert table.columns == ["Run ID", "Task", "AutoAssign V_strict", "ManualAssign V_strict", "L"]
    assert table.rows[0] == ["h2oloo.listgalore_gpt4o_ragnarokv4_top20", "RAG", 0.4772, 0.6411, "287.71"]
    assert {row[1] for row in table.rows} == {"AG", "RAG"}, "the cut name has its type too"
    assert len(table.rows) == 45


@pytest.fixture
def both_graders(write_jsonl: Callable[[str, list[Any]], Path]) -> tuple[Path, Path]:
    bank = write_jsonl("bank.jsonl", [bank_line("q1", "vv"), bank_line("q2", "vv")])
    lines = [
        [
            query_id,
            [
                answer(system, query_id, auto, "word " * length, human_ann=manual)
                for system, auto, manual, length in cells
            ],
        ]
        for query_id, cells in {
            "q1": [("a", "SS", "SS", 5), ("b", "SN", "SN", 3), ("c", "NN", "NN", 4)],
            "q2": [("a", "SS", "NN", 5), ("b", "SN", "SN", 3), ("c", "NN", "SN", 4)],
        }.items()
    ]
    return write_jsonl("graded.jsonl", lines), bank


def test_two_graders_of_one_file(both_graders: tuple[Path, Path]) -> None:
    graded, bank = both_graders
    first, second = two_conditions(read_conditions([graded], [bank], rules=ALONE))
    agreement = compare_conditions(first, second).metrics["V_strict"]

    assert (first.name, second.name) == ("judge", "human:ann")
    assert (agreement.runs, agreement.pairs, agreement.queries) == (3, 6, 2)
    assert agreement.by_query == pytest.approx((1 - (2 / 6) ** 0.5 * 2**0.5) / 2), (
        "τ-b with a tie on query q2"
    )
    text = [
        block.text
        for block in meta_report(compare_conditions(first, second)).blocks
        if isinstance(block, Paragraph)
    ]
    assert text[0] == "judge against human:ann; τ is Kendall's τ-b."


def test_figures_of_both_kinds(both_graders: tuple[Path, Path], tmp_path: Path) -> None:
    """Figures 6 and 7, drawn by the command: the same bytes for the same data."""
    graded, bank = both_graders
    types = written(tmp_path / "types.tsv", "a\tRAG\nb\tAG\nc\tRAG\n")
    scatter, length = tmp_path / "6.svg", tmp_path / "7.svg"
    main(
        ["analyze", "correlation", "--by", "condition", str(graded), "--bank", str(bank),
         "--run-types", str(types), "--plot", str(scatter), "--plot", f"length={length!s}",
         "-o", str(tmp_path / "out.txt")]
    )  # fmt: skip
    svg = scatter.read_text()
    assert "τ run:" in svg
    assert "AG query/run" in svg
    assert "V_strict, human:ann" in svg
    assert "Pareto front" in length.read_text()
    first, second = two_conditions(read_conditions([graded], [bank], rules=ALONE))
    kinds = {"a": "RAG", "b": "AG", "c": "RAG"}
    assert svg_file([conditions_picture(compare_conditions(first, second), kinds)]) == svg
    assert svg_file([length_picture(second, kinds)]) == length.read_text()


def test_one_run_is_compared_over_its_queries(both_graders: tuple[Path, Path]) -> None:
    graded, bank = both_graders
    alone = read_conditions([graded], [bank], runs=["c"], rules=ALONE)
    report = meta_report(compare_conditions(*two_conditions(alone)))
    (table,) = [block for block in report.blocks if isinstance(block, Table)]

    assert table.rows[0] == ["V_strict", 1, None, 2, None, None, None], "one side ties both queries"
    notes = [block.text for block in report.blocks if isinstance(block, Paragraph)]
    assert "The conditions have one run in common, so only its queries are compared (τ of pairs)." in notes


def test_conditions_that_cannot_be_compared(tables: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match=r"1 \(table7\)"):
        two_conditions(read_conditions(tables[:1]))
    other = written(tmp_path / "other.tsv", "Run ID\tV_strict\nx\t0.5\ny\t0.4\n")
    with pytest.raises(
        SelectionError, match=r"table7 and other .*runs in common: table7 has .*files of metrics"
    ):
        two_conditions(read_conditions([tables[0], other]))
    with pytest.raises(SelectionError, match=r"other .*lengths"):
        length_points(read_conditions([other])[0], "V_strict")


@pytest.mark.parametrize(
    ("ours", "theirs", "matched"),
    [
        ([CUT_7], [CUT_6], {CUT_6: CUT_7}),
        (["team.run_one"], ["team.ru…"], {"team.ru…": "team.run_one"}),
        (["team.run_o..."], ["team.run_one"], {"team.run_one": "team.run_o..."}),
        (["t.Ranked_Fact_x_RIFER_y"], ["t.Ra…RIFER…"], {"t.Ra…RIFER…": "t.Ranked_Fact_x_RIFER_y"}),
        (["team.run_one", "team.run_two"], ["team.ru…"], {}),
        (["team.ru…"], ["team.run_one", "team.run_two"], {}),
        (["a", "a.b"], ["a", "a…"], {"a…": "a.b"}),
        (["one"], ["two"], {}),
    ],
)  # fmt: skip
def test_truncated_names_are_matched(ours: list[str], theirs: list[str], matched: dict[str, str]) -> None:
    assert matched_names(ours, theirs) == matched


def test_agreement_by_run_type(tables: tuple[Path, Path]) -> None:
    """Tables 6 and 7: 31 RAG and 14 AG runs; τ by scipy, means of the columns."""
    types = {row[0]: row[1] for row in PUBLISHED["table_6"]}
    result = compare_conditions(*two_conditions(read_conditions(tables)), types)
    assert [agreement.run_type for agreement in result.by_type] == ["AG", "RAG"]

    manual = {row[0]: row[2] for row in PUBLISHED["table_6"]}
    automatic = {row[0]: row[2] for row in PUBLISHED["table_7"]}
    automatic[CUT_6] = automatic.pop(CUT_7)
    for agreement in result.by_type:
        runs = [run for run, type_ in types.items() if type_ == agreement.run_type]
        columns = [[scores[run] for run in runs] for scores in (automatic, manual)]
        row = agreement.metrics["V_strict"]
        assert row.runs == len(runs) == {"RAG": 31, "AG": 14}[agreement.run_type]
        assert row.by_run == pytest.approx(kendalltau(*columns).statistic)
        assert agreement.means["V_strict"] == pytest.approx([sum(c) / len(c) for c in columns])


def test_a_type_of_runs_in_one_condition_only_has_no_means(tables: tuple[Path, Path]) -> None:
    first, second = two_conditions(read_conditions(tables))
    only = first.evaluation.systems[0]
    second.evaluation.scores = [score for score in second.evaluation.scores if score.system != only]
    (agreement,) = compare_conditions(first, second, {only: "X"}).by_type
    assert (agreement.means, agreement.metrics["V_strict"].runs) == ({}, 0)
    assert any(table.title == "By run type" for table in meta_report(
        compare_conditions(first, second, {only: "X"})
    ).blocks if isinstance(table, Table))  # fmt: skip


def test_equal_points_are_on_the_front_and_dominated_points_are_not() -> None:
    """A point is dominated by a system that is as short and better, or as good and shorter."""
    points = {"a": (10, 0.5), "same": (10, 0.5), "worse": (10, 0.25), "longer": (11, 0.5), "best": (20, 0.75)}

    assert pareto_front(points) == ["a", "same", "best"]
