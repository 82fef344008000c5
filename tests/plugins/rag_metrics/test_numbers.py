"""Numbers in files of Open RAG Eval and UMBRELA, as in other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import DataError
from exam_pp.plugins.rag_metrics.open_rag_eval import read_results
from exam_pp.plugins.rag_metrics.umbrela import read_judge_rows


@pytest.mark.parametrize("value", ['"1_0"', '"4"', '" 4 "', '"１"', "true", "NaN", "1e400"])
def test_only_numbers_of_json_are_read(value: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    for number in ("1", "1.0"):
        file.write_text(f'{{"query": "q", "passage": "p", "judgment": {number}}}\n', encoding="utf-8")
        list(read_judge_rows(file))
    file.write_text(f'{{"query": "q", "passage": "p", "judgment": {value}}}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"file\.json"):
        list(read_judge_rows(file))


@pytest.mark.parametrize("cell", ["1_0", "２", "nan", "1e400"])
def test_cells_that_are_no_numbers(cell: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(f"query_id,query,generation_score_f1\nq,What?,{cell}\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"file, line \d, \w+: .*'{cell}' is not a (\w+ )?number"):
        read_results(file, "a")
