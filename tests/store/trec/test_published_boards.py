"""Published leaderboards with lines around tables, tables of correlations, and scores of queries in CSV."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.formats.base import format_of
from exam_pp.formats.scores import contains_scores, read_all_scores
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.results import Score
from exam_pp.store.trec.published_boards import is_footer
from exam_pp.store.trec.ranks import count_ignored_cells, read_ranks
from exam_pp.store.trec.scores import count_ignored_values

NINE = "\t".join(
    ["method", "exam", "+/-", "exam-std", "n-exam", "+/-", "n-exam-std", "orig_TREC_leaderboard_rank",
     "orig_EXAM_leaderboard_rank"]
)  # fmt: skip


def scores_of(path: Path, text: str) -> list[tuple[str, str, float]]:
    path.write_text(text)
    scores = read_all_scores(path)
    assert {score.query_id for score in scores} == {"all"}
    return [(score.system, score.metric, score.value) for score in scores]


@pytest.mark.parametrize("footers", [
    "spearman\t0.9\nkendall\t0.8\n",
    "spearman\t0.9\t\t\t0.8\n",
    "spearman_correlation =0.9\nkendall_correlation = 0.8\n",
    "\nspearman_correlation =0.9\n\nqrel_file\ta.qrels\nmin_rating\t4\n",
    "# spearman_correlation = 0.9\nqrel_file=a.qrels\nmin_rating: 4\n",
    "Kendall\t0.8\nSpearman\t0.9\nmin_self_rating\t4\n",
])  # fmt: skip
@pytest.mark.parametrize(
    "preamble", ["", "EXAM leaderboard\n", "qrel_file = a.qrels\nmin_rating = 4\n\n", "# x\n"]
)
def test_lines_around_a_table_are_not_systems(preamble: str, footers: str, tmp_path: Path) -> None:
    path = tmp_path / "board.tsv"
    table = f"{NINE}\nb\t0.5\t+/-\t0.1\t0.7\t+/-\t0.2\t1\t2\na\t0.25\t+/-\t0.1\t0.3\t+/-\t0.2\t2\t1\n"
    assert scores_of(path, preamble + table + footers) == [
        ("b", "exam", 0.5), ("b", "n-exam", 0.7), ("a", "exam", 0.25), ("a", "n-exam", 0.3),
    ]  # fmt: skip
    assert format_of(path).name == "leaderboard"
    assert contains_scores(path)
    dropped = convert(Conversion(path, tmp_path / "scores.jsonl", "scores-jsonl")).counts
    around = len([line for line in (preamble + footers).splitlines() if line])
    columns = ("exam-std", "n-exam-std", "orig_TREC_leaderboard_rank", "orig_EXAM_leaderboard_rank")
    assert sum(dropped.values()) == around + 2 * len(columns), (
        "every line and value that is not read is counted"
    )


def test_several_tables_in_a_file(tmp_path: Path) -> None:
    first = "min_rating\t4\nmethod\texam\nb\t0.5\na\t0.25\nspearman\t0.9\n\n"
    second = "min_rating\t5\nmethod\texam\nb\t0.1\na\t0.2\nspearman\t0.8\n"
    assert scores_of(tmp_path / "boards.tsv", first + second) == [
        ("b", "exam(min_rating=4)", 0.5), ("a", "exam(min_rating=4)", 0.25),
        ("b", "exam(min_rating=5)", 0.1), ("a", "exam(min_rating=5)", 0.2),
    ]  # fmt: skip
    below = "method\texam\nb\t0.5\nmin_rating = 4\nmethod\texam\nb\t0.1\nmin_rating = 5\n"
    assert scores_of(tmp_path / "below.tsv", below) == [
        ("b", "exam(min_rating=4)", 0.5), ("b", "exam(min_rating=5)", 0.1),
    ]  # fmt: skip
    other = "method\texam\nb\t0.5\n\nmethod\tP_20\nb\t0.1\n\nmethod\texam\nb\t0.4\n"
    assert scores_of(tmp_path / "other.tsv", other) == [
        ("b", "exam(1)", 0.5), ("b", "P_20", 0.1), ("b", "exam(3)", 0.4),
    ]  # fmt: skip


def test_correlations_are_scores_of_methods(tmp_path: Path) -> None:
    path = tmp_path / "dl.correlation.tsv"
    table = "method\tmin_rating\ttrec_eval_metric\tspearman\tkendall\n"
    rows = "Rubric\t4\tP_20\t0.9\t0.8\nRubric\t5\tP_20\t0.7\tnan\nSun\t\tmap\t0.3\t0.2\n"
    assert scores_of(path, f"Leaderboard analysis\n\n{table}{rows}") == [
        ("Rubric", "spearman(P_20, min_rating=4)", 0.9), ("Rubric", "kendall(P_20, min_rating=4)", 0.8),
        ("Rubric", "spearman(P_20, min_rating=5)", 0.7),
        ("Sun", "spearman(map)", 0.3), ("Sun", "kendall(map)", 0.2),
    ]  # fmt: skip
    assert format_of(path).name == "leaderboard"
    per_query = (
        "qrels\tquery\tmin_rating\ttrec_eval_metric\tspearman\tkendall\nrubric\tq1\t4\tP_20\t0.9\t0.8\n"
    )
    path.write_text(per_query)
    assert read_all_scores(path) == [
        Score("rubric", "q1", "spearman(P_20, min_rating=4)", 0.9),
        Score("rubric", "q1", "kendall(P_20, min_rating=4)", 0.8),
    ]


def test_a_measure_may_be_a_correlation(tmp_path: Path) -> None:
    """Only beside the measure that was correlated are the rows correlations of leaderboards."""
    table = "Results\n\nmethod\tspearman\nb\t0.5\na\t0.25\n"
    assert scores_of(tmp_path / "board.tsv", table) == [("b", "spearman", 0.5), ("a", "spearman", 0.25)]


FOOTERS = [
    "spearman", "Kendall", "spearman_correlation =0.9", "kendall_tau", "spearman@10", "qrel_file",
    "qrels_file=x", "min_rating", "min_self_rating = 4",
]  # fmt: skip
SYSTEMS = ["kendall_run", "spearmint", "my_min_rating", "qrel", "rating", "file", ""]


@pytest.mark.parametrize("name", FOOTERS + SYSTEMS)
def test_footers_and_systems_with_similar_names(name: str) -> None:
    assert is_footer(name) == (name in FOOTERS)


NAMES = st.text("abcz_-", min_size=1, max_size=5).filter(
    lambda name: name != "method" and not is_footer(name)
)


@given(
    st.dictionaries(NAMES, st.integers(0, 1000).map(lambda value: value / 1000), min_size=1), st.booleans()
)
def test_published_boards_with_footers_have_the_scores_of_boards_without(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, float], spaced: bool
) -> None:
    folder = tmp_path_factory.mktemp("boards")
    table = "method\texam\n" + "".join(f"{name}\t{value}\n" for name, value in values.items())
    footers = "\n" * spaced + "spearman_correlation =0.5\nqrel_file\tx\nmin_rating\t4\n"
    assert scores_of(folder / "a", table) == scores_of(folder / "b", "Results\n" + table + footers)
    assert scores_of(folder / "a", table) == [(name, "exam", value) for name, value in values.items()]


@pytest.mark.parametrize("text", [
    "topic,run,nDCG@10,P@10\nq1,a,0.5,0.2\nq2,a,0.25,\n",
    "run_id,query_id,nDCG@10,P@10\na,q1,0.5,0.2\na,q2,0.25,\n",
    "run\tqid\tmetric\tscore\na\tq1\tnDCG@10\t0.5\na\tq1\tP@10\t0.2\na\tq2\tnDCG@10\t0.25\n",
    "qid,nDCG@10,P@10\nq1,0.5,0.2\nq2,0.25,\n",
])  # fmt: skip
def test_scores_of_queries_in_csv(text: str, tmp_path: Path) -> None:
    """Without a column of systems, the system is the file name."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert format_of(path).name == "leaderboard"
    assert sorted(read_all_scores(path)) == [
        Score("a", "q1", "P@10", 0.2), Score("a", "q1", "nDCG@10", 0.5), Score("a", "q2", "nDCG@10", 0.25),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "table", ["system\tquery\tmeasure\tvalue\na\tq\tRR\t0.5\n", "system\trank\nspearman\t1\n"]
)
def test_a_correlation_below_any_table(table: str, tmp_path: Path) -> None:
    """It has no tab; a system may have the name of a correlation."""
    path = tmp_path / "board.tsv"
    path.write_text(f"{table}spearman_correlation =0.67\n")
    (tmp_path / "plain.tsv").write_text(table)
    if "rank" in table:
        assert read_ranks(path) == read_ranks(tmp_path / "plain.tsv") == {"spearman": 1}
        assert count_ignored_cells(path) == 1
    else:
        assert (
            read_all_scores(path) == read_all_scores(tmp_path / "plain.tsv") == [Score("a", "q", "RR", 0.5)]
        )
        assert count_ignored_values(path) == {"spearman_correlation =0.67": 1}
