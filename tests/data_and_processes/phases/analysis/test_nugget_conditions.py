"""Tables 6 and 7 of the AutoNuggetizer paper as leaderboards, and how two conditions agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from exam_pp.phases.analysis.nugget_conditions import compare_conditions, two_conditions
from exam_pp.phases.evaluation.nugget_leaderboard import read_conditions
from tests.phases.analysis.test_nugget_conditions import COLUMNS, PUBLISHED


def test_the_numbers_are_those_of_the_paper(shared_data: Path) -> None:
    paper = shared_data.parent / "papers" / "autonuggetizer-trec-rag-2024.txt"
    tables: dict[str, list[list[Any]]] = {}
    rows: list[list[Any]] = []
    for line in paper.read_text("utf-8").splitlines():
        if match := re.fullmatch(r"(\S+) (A?G|RAG)((?: \d+\.\d+){7})", line):
            numbers = [float(number) for number in match[3].split()]
            rows.append([match[1], match[2], numbers[0], numbers[6]])
        elif match := re.match(r"Table (\d): Scores", line):
            tables[match[1]], rows = rows, []

    assert tables["6"] == PUBLISHED["table_6"]
    assert tables["7"] == PUBLISHED["table_7"]


def test_all_metrics_of_the_paper_agree_at_least_as_well(shared_data: Path, tmp_path: Path) -> None:
    """The other columns of Tables 6 and 7; their Min, Median and Max rows are no runs."""
    paper = (shared_data.parent / "papers" / "autonuggetizer-trec-rag-2024.txt").read_text("utf-8")
    ends = {6: ("Table 5:", "Table 6: Scores"), 7: ("Table 6: Scores", "Table 7: Scores")}
    for number, (start, end) in ends.items():
        part = paper[paper.index(start) : paper.index(end)]
        rows = re.findall(r"^(\S+) (A?G|RAG)((?: \d+\.\d+){7})$", part, flags=re.MULTILINE)
        lines = ["\t".join([run, *values.split()]) for run, _, values in rows]
        board = tmp_path / f"table{number}.tsv"
        board.write_text("\n".join(["\t".join(["Run ID", *COLUMNS]), *lines]) + "\n", encoding="utf-8")
    agreement = compare_conditions(
        *two_conditions(read_conditions([tmp_path / "table7.tsv", tmp_path / "table6.tsv"]))
    ).metrics

    assert list(agreement) == COLUMNS[:-1]
    assert all(row.runs == 45 and row.by_run is not None and row.by_run > 0.779 for row in agreement.values())
