"""Numbers in the files of other tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exam_pp.plugins.rare_formats.candidates import read_candidates
from exam_pp.plugins.rare_formats.car_pages import read_run_pages
from exam_pp.plugins.rare_formats.nugget_assignments import read_assignments
from exam_pp.plugins.rare_formats.nuggetizer import read_nugget_metrics
from tests.store.test_numbers import check_numbers

FIELDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "nugget score": (read_nugget_metrics, '{"qid": "q", "all_score": @}'),
    "response_length": (
        lambda f: list(read_assignments(f)),
        '{"qid": "q", "run_id": "a", "answer_text": "t", "nuggets": [], "response_length": @}'),
    **{
        f"candidate's {name}": (
            lambda f: list(read_candidates(f)),
            '{"query": {"qid": "q"}, "candidates": [{"docid": "p", "doc": {"text": "t"}, '
            f'"{name}": @}}]}}')
        for name in ("score", "judgment")
    },
    "run page": (
        lambda f: list(read_run_pages(f)),
        '{"run_id": "a", "squid": "q", "paragraph_origins": [{"para_id": "p", "section_path": "s", '
        '"rank": @, "rank_score": @}]}'),
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_only_numbers_of_json_are_read(field: str, tmp_path: Path) -> None:
    check_numbers(*FIELDS[field], tmp_path / "file.json")
